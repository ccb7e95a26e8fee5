// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/workload_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

namespace tutti::sim {
namespace {

using Kind = Statement::Kind;

// Streams of a rank behind that of computation and those of groups.
enum Direction : int { kSendOn, kSendBack, kReceiveOn, kReceiveBack, kDirections };

// Statements of a section, repeated ones as often as they are: at most kMostStatements.
std::uint64_t CountOf(const std::vector<Statement>& statements) {
  std::uint64_t count = 0;
  std::vector<std::uint64_t> times = {1};
  for (const Statement& statement : statements) {
    if (statement.kind == Kind::kRepeat) {
      times.push_back(times.back() * statement.times);
    } else if (statement.kind == Kind::kEnd) {
      times.pop_back();
    } else {
      count += times.back();
    }
  }
  return count;
}

class Builder {
 public:
  Builder(const Workload& workload, const Machine& machine, const Chooser& choose)
      : workload_(workload),
        machine_(machine),
        choose_(choose),
        groups_(static_cast<int>(workload.groups.size() + workload.joined.size())) {}

  Result<WorkloadJob> Build();

 private:
  // What a rank has done so far.
  struct Rank {
    int number = 0;
    std::vector<int> tail;  // tasks that the next one waits for
    struct Beside {
      int task = 0;
      int name = Statement::kNoName;
    };
    std::vector<Beside> beside;  // what goes on beside
  };
  struct Step {
    Workload::Section section;
    int microbatch;
  };

  std::vector<Step> StepsOf(int stage) const;
  Status AddSection(const Step& step, std::size_t begin, std::size_t end, Rank& rank);
  Status AddStatement(const Step& step, const Statement& statement, Rank& rank);
  void AddTask(Task task, const Statement& statement, Rank& rank);
  void Wait(int name, Rank& rank);
  Status AddCollective(const Statement& statement, Rank& rank);
  Status AddTransfer(const Step& step, const Statement& statement, Rank& rank);

  int StrideOf(int group) const;
  int MemberOf(int rank, int group) const;
  int CommunicatorOf(int rank, int group);
  Result<Operation> Describe(const Statement& statement, int communicator);

  const Workload& workload_;
  const Machine& machine_;
  const Chooser& choose_;
  int groups_;  // and those that are named together
  WorkloadJob made_;
  std::map<std::pair<int, int>, int> communicators_;  // by group and first member
  std::map<std::pair<int, int>, int> pairs_;          // by sender and receiver
  // By communicator: its operations in the order of calls, and the statements that made them; by rank and communicator: how many of
  // them the rank has called.
  std::vector<std::vector<std::pair<int, const Statement*>>> calls_;
  std::map<std::pair<int, int>, std::size_t> called_;
};

// A stage's microbatches. With 1f1b it goes forward with as many as there are stages behind it before it goes back with the first one.
std::vector<Builder::Step> Builder::StepsOf(int stage) const {
  const int pipeline = workload_.pipeline(), count = workload_.microbatches;
  const int stages = pipeline < 0 ? 1 : workload_.groups[static_cast<std::size_t>(pipeline)].size;
  const bool all_first = workload_.schedule == Workload::Schedule::kAllForward;
  const int ahead = all_first ? count : std::min(stages - stage, count);
  std::vector<Step> steps = {{Workload::kBegin, 0}};
  for (int i = 0; i < count + ahead; ++i) {
    if (i < count) steps.push_back({Workload::kForward, i});
    if (i + 1 >= ahead && i + 1 - ahead < count) steps.push_back({Workload::kBackward, i + 1 - ahead});
  }
  steps.push_back({Workload::kFinish, 0});
  return steps;
}

int Builder::StrideOf(int group) const {
  int stride = 1;
  for (int i = 0; i < group; ++i) stride *= workload_.groups[static_cast<std::size_t>(i)].size;
  return stride;
}

int Builder::MemberOf(int rank, int group) const {
  return rank / StrideOf(group) % workload_.groups[static_cast<std::size_t>(group)].size;
}

int Builder::CommunicatorOf(int rank, int group) {
  const std::vector<int> groups = workload_.GroupsOf(group);
  int first = rank;
  for (const int each : groups) first -= MemberOf(rank, each) * StrideOf(each);
  const auto [known, fresh] =
      communicators_.try_emplace({group, first}, static_cast<int>(made_.job.communicators.size()));
  if (fresh) {
    std::vector<int>& ranks = made_.job.communicators.emplace_back().ranks;
    ranks = {first};
    for (const int each : groups) {
      const std::size_t before = ranks.size();
      for (int i = 1; i < workload_.groups[static_cast<std::size_t>(each)].size; ++i) {
        for (std::size_t k = 0; k < before; ++k) ranks.push_back(ranks[k] + i * StrideOf(each));
      }
    }
    calls_.emplace_back();
  }
  return known->second;
}

void Builder::AddTask(Task task, const Statement& statement, Rank& rank) {
  const int index = static_cast<int>(made_.job.tasks.size());
  task.rank = rank.number;
  task.after = rank.tail;
  const bool computes = task.operation < 0;
  made_.job.tasks.push_back(std::move(task));
  if (statement.beside) {
    rank.beside.push_back({.task = index, .name = statement.name});
    return;
  }
  rank.tail = {index};
  made_.stops[static_cast<std::size_t>(rank.number)].push_back({.task = index, .computes = computes});
}

// For what goes on under a name, or for everything.
void Builder::Wait(int name, Rank& rank) {
  std::vector<Rank::Beside> left;
  for (const Rank::Beside& each : rank.beside) {
    if (name != Statement::kNoName && each.name != name) {
      left.push_back(each);
      continue;
    }
    rank.tail.push_back(each.task);
    made_.stops[static_cast<std::size_t>(rank.number)].push_back({.task = each.task});
  }
  rank.beside = std::move(left);
}

Result<Operation> Builder::Describe(const Statement& statement, int communicator) {
  const std::vector<int>& ranks = made_.job.communicators[static_cast<std::size_t>(communicator)].ranks;
  const Collective c = statement.collective;
  const bool pieces = c == Collective::kAllGather || c == Collective::kGather || c == Collective::kReduceScatter ||
                      c == Collective::kScatter || c == Collective::kAllToAll;
  constexpr std::uint64_t kBarrierBytes = 16;
  const Call call{.collective = c,
                  .bytes = c == Collective::kBarrier ? kBarrierBytes : statement.bytes / (pieces ? ranks.size() : 1),
                  .ranks = ranks,
                  .hosts = HostsOf(machine_, ranks)};
  Result<Way> way = statement.by ? Result<Way>(*statement.by) : choose_(call);
  if (statement.by) way->order = OrderFor(call.hosts);
  const Result<Operation> operation = way.ok() ? MakeOperation(call, *way, communicator) : way.status();
  if (operation.ok()) return operation;
  return Status(operation.status().code(),
                fmt::format("line {} of the workload: {}", statement.line, operation.status().message()));
}

Status Builder::AddCollective(const Statement& statement, Rank& rank) {
  const int communicator = CommunicatorOf(rank.number, statement.group);
  auto& calls = calls_[static_cast<std::size_t>(communicator)];
  const std::size_t call = called_[{rank.number, communicator}]++;
  if (call == calls.size()) {
    Result<Operation> operation = Describe(statement, communicator);
    if (!operation.ok()) return operation.status();
    calls.emplace_back(static_cast<int>(made_.job.operations.size()), &statement);
    made_.job.operations.push_back(*std::move(operation));
    made_.group_of.push_back(statement.group == Statement::kAll ? groups_ : statement.group);
  } else if (const Statement& first = *calls[call].second;
             first.collective != statement.collective || first.bytes != statement.bytes) {
    return Status(
        Code::kInvalidUsage,
        fmt::format(
            "line {} of the workload: rank {} calls {} where another member of its group calls that of line {}; "
            "all stages have to call a group's collectives in the same order",
            statement.line, rank.number, Name(statement.collective), first.line));
  }
  const int stream = 1 + (statement.group == Statement::kAll ? groups_ : statement.group);
  AddTask({.stream = stream, .operation = calls[call].first}, statement, rank);
  return Status::Ok();
}

Status Builder::AddTransfer(const Step& step, const Statement& statement, Rank& rank) {
  const int pipeline = workload_.pipeline();
  const bool sends = statement.kind == Kind::kSend, on = step.section == Workload::kForward;
  const int towards = sends == on ? 1 : -1;
  const int stage = MemberOf(rank.number, pipeline) + towards;
  if (stage < 0 || stage >= workload_.groups[static_cast<std::size_t>(pipeline)].size) return Status::Ok();
  const int peer = rank.number + towards * StrideOf(pipeline);
  const std::pair<int, int> ends = sends ? std::pair(rank.number, peer) : std::pair(peer, rank.number);
  const auto [known, fresh] = pairs_.try_emplace(ends, static_cast<int>(made_.job.communicators.size()));
  if (fresh) {
    made_.job.communicators.push_back({.ranks = {ends.first, ends.second}});
    calls_.emplace_back();
  }
  auto& calls = calls_[static_cast<std::size_t>(known->second)];
  const std::size_t call = called_[{rank.number, known->second}]++;
  if (call == calls.size()) {
    calls.emplace_back(static_cast<int>(made_.job.operations.size()), &statement);
    const std::vector<TransferPlans::Transfer> transfer = {{.from = 0, .to = 1, .bytes = statement.bytes}};
    made_.job.operations.push_back({.name = on ? "forward" : "backward",
                                    .communicator = known->second,
                                    .plans = std::make_shared<TransferPlans>(2, transfer)});
    made_.group_of.push_back(groups_ + 1);
  } else if (calls[call].second->bytes != statement.bytes) {
    return Status(Code::kInvalidUsage,
                  fmt::format("line {} of the workload: {} bytes meet the {} of line {}", statement.line,
                              statement.bytes, calls[call].second->bytes, calls[call].second->line));
  }
  const int direction = sends ? (on ? kSendOn : kSendBack) : (on ? kReceiveOn : kReceiveBack);
  AddTask({.stream = 2 + groups_ + direction, .operation = calls[call].first}, statement, rank);
  return Status::Ok();
}

Status Builder::AddStatement(const Step& step, const Statement& statement, Rank& rank) {
  const bool first = step.microbatch == 0, last = step.microbatch + 1 == workload_.microbatches;
  if (statement.when == Statement::When::kFirst && !first) return Status::Ok();
  if (statement.when == Statement::When::kLast && !last) return Status::Ok();
  switch (statement.kind) {
    case Kind::kCompute:
      AddTask({.stream = 0, .compute_us = statement.compute_us}, statement, rank);
      return Status::Ok();
    case Kind::kCollective:
      return AddCollective(statement, rank);
    case Kind::kSend:
    case Kind::kReceive:
      return AddTransfer(step, statement, rank);
    default:
      Wait(statement.name, rank);
      return Status::Ok();
  }
}

Status Builder::AddSection(const Step& step, std::size_t begin, std::size_t end, Rank& rank) {
  const std::vector<Statement>& statements = workload_.sections[step.section];
  for (std::size_t i = begin; i < end; ++i) {
    if (statements[i].kind != Kind::kRepeat) {
      TUTTI_RETURN_IF_ERROR(AddStatement(step, statements[i], rank));
      continue;
    }
    std::size_t close = i + 1;
    for (int open = 1; open > 0; ++close) {
      open += statements[close].kind == Kind::kRepeat ? 1 : statements[close].kind == Kind::kEnd ? -1 : 0;
    }
    for (std::uint64_t k = 0; k < statements[i].times; ++k) {
      TUTTI_RETURN_IF_ERROR(AddSection(step, i + 1, close - 1, rank));
    }
    i = close - 1;
  }
  return Status::Ok();
}

Result<WorkloadJob> Builder::Build() {
  const int ranks = workload_.ranks();
  if (static_cast<int>(machine_.nodes.size()) != ranks) {
    return Status(Code::kInvalidArgument, fmt::format("the workload has {} ranks, the machine {}; give it as many",
                                                      ranks, machine_.nodes.size()));
  }
  const auto& sections = workload_.sections;
  const std::uint64_t tasks = static_cast<std::uint64_t>(ranks) *
                              (CountOf(sections[Workload::kBegin]) + CountOf(sections[Workload::kFinish]) +
                               static_cast<std::uint64_t>(workload_.microbatches) *
                                   (CountOf(sections[Workload::kForward]) + CountOf(sections[Workload::kBackward])));
  if (tasks > kMostTasks) {
    return Status(Code::kInvalidArgument, fmt::format("the workload has {} tasks, more than {}; take fewer ranks, "
                                                      "microbatches or layers",
                                                      tasks, kMostTasks));
  }
  made_.stops.resize(static_cast<std::size_t>(ranks));
  const int pipeline = workload_.pipeline();
  for (int number = 0; number < ranks; ++number) {
    Rank rank{.number = number};
    for (const Step& step : StepsOf(pipeline < 0 ? 0 : MemberOf(number, pipeline))) {
      TUTTI_RETURN_IF_ERROR(AddSection(step, 0, workload_.sections[step.section].size(), rank));
    }
    Wait(Statement::kNoName, rank);
  }
  return std::move(made_);
}

// What one rank's computation and communication took.
class RankTimes {
 public:
  RankTimes(const WorkloadJob& job, const Outcome& outcome, std::vector<WorkloadTimes::Communication>& communication)
      : job_(job), outcome_(outcome), communication_(communication) {}

  double Add(const std::vector<WorkloadJob::Stop>& stops) {
    double compute_us = 0;
    std::vector<int> waited;  // for, since the last computation
    Time since = 0;
    for (const WorkloadJob::Stop& stop : stops) {
      if (!stop.computes) {
        waited.push_back(stop.task);
        continue;
      }
      AddWaited(since, waited);
      const Span& span = SpanOf(stop.task);
      compute_us += ToUs(span.end - span.start);
      since = span.end;
    }
    AddWaited(since, waited);
    return compute_us;
  }

 private:
  const Span& SpanOf(int task) const { return outcome_.tasks[static_cast<std::size_t>(task)]; }

  void AddWaited(Time since, std::vector<int>& waited) {
    std::ranges::stable_sort(waited, {}, [&](int task) { return SpanOf(task).end; });
    for (const int task : waited) {
      const Time end = SpanOf(task).end;
      if (end == kNever || since == kNever) continue;
      const auto operation = static_cast<std::size_t>(job_.job.tasks[static_cast<std::size_t>(task)].operation);
      WorkloadTimes::Communication& into = communication_[static_cast<std::size_t>(job_.group_of[operation])];
      const Time others = std::clamp(outcome_.last_start[operation], since, std::max(since, end));
      into.exposed_us += ToUs(std::max(end, since) - since);
      into.waiting_us += ToUs(others - since);
      since = std::max(since, end);
    }
    waited.clear();
  }

  const WorkloadJob& job_;
  const Outcome& outcome_;
  std::vector<WorkloadTimes::Communication>& communication_;
};

}  // namespace

Result<WorkloadJob> MakeWorkloadJob(const Workload& workload, const Machine& machine, const Chooser& choose) {
  return Builder(workload, machine, choose).Build();
}

WorkloadTimes Summarize(const Workload& workload, const WorkloadJob& job, const Outcome& outcome) {
  WorkloadTimes times{.step_us = ToUs(outcome.end)};
  const auto groups = static_cast<int>(workload.groups.size() + workload.joined.size());
  for (int group = 0; group < groups; ++group) times.communication.push_back({.name = workload.NameOf(group)});
  times.communication.push_back({.name = workload.NameOf(Statement::kAll)});
  times.communication.push_back({.name = "pipeline transfers"});
  RankTimes ranks(job, outcome, times.communication);
  for (const auto& stops : job.stops) times.compute_us += ranks.Add(stops);
  for (std::size_t i = 0; i < job.job.tasks.size(); ++i) {
    const Task& task = job.job.tasks[i];
    const Span& span = outcome.tasks[i];
    if (task.operation < 0 || span.end == kNever) continue;
    const auto operation = static_cast<std::size_t>(task.operation);
    times.communication[static_cast<std::size_t>(job.group_of[operation])].busy_us +=
        ToUs(std::max<Time>(span.end - std::max(span.start, outcome.last_start[operation]), 0));
  }
  const auto count = static_cast<double>(job.stops.size());
  times.compute_us /= count;
  for (WorkloadTimes::Communication& each : times.communication) {
    each.busy_us /= count;
    each.exposed_us /= count;
    each.waiting_us /= count;
    times.exposed_us += each.exposed_us;
  }
  if (workload.parameters > 0 && workload.peak_tflop_per_s > 0 && times.step_us > 0) {
    constexpr double kOperations = 6;  // for each parameter and token: 2 forward, 4 back
    times.utilisation = kOperations * workload.parameters * workload.tokens /
                        (count * workload.peak_tflop_per_s * 1e12 * times.step_us / 1e6);
  }
  std::erase_if(times.communication,
                [](const WorkloadTimes::Communication& each) { return each.busy_us == 0 && each.exposed_us == 0; });
  return times;
}

}  // namespace tutti::sim
