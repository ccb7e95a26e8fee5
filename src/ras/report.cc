// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "ras/report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tutti::ras {
namespace {

// Values of ncclResult_t beside those that Code shares with it.
constexpr int kNcclInvalidUsage = 5;

int NcclResult(Code code) { return code == Code::kUnsupported ? kNcclInvalidUsage : static_cast<int>(code); }

Stage StageOf(diag::RankState state) {
  switch (state) {
    case diag::RankState::kStarting:
      return Stage::kInit;
    case diag::RankState::kLeft:
      return Stage::kNoComm;
    case diag::RankState::kFailed:
      return Stage::kAbort;
    default:
      return Stage::kRunning;
  }
}

Rank ReadRank(const diag::RankLook& seen, int process) {
  Rank rank{.rank = seen.rank,
            .process = process,
            .gpu = seen.gpu,
            .stage = StageOf(seen.state),
            .failure = seen.failure,
            .called = seen.called,
            .finished = seen.finished};
  if (seen.state == diag::RankState::kFailed) {
    // One that heard of the failure from another rank may not have written its own sentence yet.
    rank.async_error = NcclResult(seen.failure_code == Code::kOk ? Code::kRemote : seen.failure_code);
  }
  for (std::size_t i = 0; i < kCounted.size(); ++i)
    rank.counts[i] = seen.calls[static_cast<std::size_t>(kCounted[i].kind)];
  return rank;
}

// Processes by host and pid, each once, and where each of the look's is among them.
std::vector<int> ListProcesses(const diag::Look& look, std::vector<Process>& processes) {
  std::vector<int> order(look.processes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto key = [&](int i) {
    const diag::ProcessLook& p = look.processes[static_cast<std::size_t>(i)];
    return std::tuple(p.host, p.pid);
  };
  std::ranges::stable_sort(order, {}, key);
  std::vector<int> places(look.processes.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const diag::ProcessLook& p = look.processes[static_cast<std::size_t>(order[i])];
    // Processes of another pid name space have no pid here, and are different ones.
    if (i == 0 || p.pid == 0 || key(order[i]) != key(order[i - 1]))
      processes.push_back({.host = p.host, .pid = p.pid, .state = p.state});
    places[static_cast<std::size_t>(order[i])] = static_cast<int>(processes.size()) - 1;
  }
  return places;
}

void CountHosts(const Report& report, CommunicatorReport& c) {
  std::map<std::string, int> ranks_of;
  for (const Rank& rank : c.ranks) {
    const Process* process = report.ProcessAt(rank.process);
    ++ranks_of[process == nullptr ? "" : process->host];
  }
  c.hosts = static_cast<int>(ranks_of.size());
  if (ranks_of.empty()) return;
  const auto [fewest, most] = std::ranges::minmax_element(ranks_of, {}, [](const auto& entry) { return entry.second; });
  c.fewest_per_host = fewest->second;
  c.most_per_host = most->second;
}

bool CountsDifferIn(const CommunicatorReport& c) {
  return std::ranges::any_of(c.ranks, [&](const Rank& rank) { return rank.counts != c.ranks.front().counts; });
}

// Of each collective.
Counts Most(const std::vector<Rank>& ranks) {
  Counts most{};
  for (const Rank& rank : ranks) {
    for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], rank.counts[i]);
  }
  return most;
}

bool HasReached(const Rank& rank, const Counts& counts) {
  return std::ranges::equal(rank.counts, counts, std::ranges::greater_equal{});
}

void Conclude(CommunicatorReport& c) {
  c.errors = CountsDifferIn(c) ? unsigned{kMismatch} : 0u;
  std::vector<Stage> stages;
  for (const Rank& rank : c.ranks) {
    stages.push_back(rank.stage);
    if (rank.async_error != 0) c.errors |= kError;
  }
  for (const MissingRank& missing : c.missing) {
    if (missing.why == MissingRank::Why::kLeft) stages.push_back(Stage::kNoComm);
    if (missing.why != MissingRank::Why::kLeft) c.errors |= kIncomplete;
  }
  if (!stages.empty()) {
    const auto [first, last] = std::ranges::minmax(stages);
    c.stage = last;
    c.stages_differ = first != last;
  }
  if (c.stages_differ) c.errors |= kMismatch;
  if (!c.findings.empty()) c.errors |= kVerdict;
}

CommunicatorReport ReadCommunicator(const diag::CommunicatorLook& seen, const std::vector<int>& places,
                                    const Report& report) {
  CommunicatorReport c{.id = seen.id, .name = seen.name, .size = seen.ranks};
  bool begins = false;
  int next = 0;
  std::vector<int> unseen;
  for (const diag::RankLook& look : seen.seen) {
    if (look.rank < next || look.rank >= seen.ranks) continue;
    for (; next < look.rank; ++next) unseen.push_back(next);
    ++next;
    const bool known = look.process >= 0 && look.process < static_cast<int>(places.size());
    const int place = known ? places[static_cast<std::size_t>(look.process)] : -1;
    const Process* process = report.ProcessAt(place);
    begins |= look.state == diag::RankState::kStarting;
    if (look.state == diag::RankState::kLeft) {
      c.missing.push_back({.rank = look.rank, .process = place, .gpu = look.gpu, .why = MissingRank::Why::kLeft});
    } else if (process != nullptr && process->has_ended()) {
      c.missing.push_back({.rank = look.rank, .process = place, .gpu = look.gpu, .why = MissingRank::Why::kEnded});
    } else {
      c.ranks.push_back(ReadRank(look, place));
    }
  }
  for (; next < seen.ranks; ++next) unseen.push_back(next);
  if (begins) {
    for (const int rank : unseen) c.missing.push_back({.rank = rank});
    std::ranges::sort(c.missing, {}, &MissingRank::rank);
  } else {
    c.unseen = static_cast<int>(unseen.size());
  }
  return c;
}

void Sort(Report& report) {
  std::ranges::stable_sort(report.communicators, std::ranges::greater{}, [](const CommunicatorReport& c) {
    return std::tuple(c.size, c.hosts, c.stage, c.errors, c.missing.size());
  });
}

}  // namespace

const char* Name(Stage stage) {
  constexpr const char* kNames[] = {"NOCOMM", "INIT", "RUNNING", "FINALIZE", "ABORT"};
  return kNames[static_cast<int>(stage)];
}

const Process* Report::ProcessAt(int place) const {
  return place < 0 || place >= static_cast<int>(processes.size()) ? nullptr
                                                                  : &processes[static_cast<std::size_t>(place)];
}

Report MakeReport(const Observation& observation) {
  Report report{.taken_unix_ns = observation.look.taken_unix_ns};
  const std::vector<int> places = ListProcesses(observation.look, report.processes);
  for (const diag::CommunicatorLook& seen : observation.look.communicators) {
    CommunicatorReport c = ReadCommunicator(seen, places, report);
    std::ranges::copy_if(observation.findings, std::back_inserter(c.findings),
                         [&](const Finding& f) { return f.communicator == seen.id; });
    for (const Rank& rank : c.ranks) {
      if (rank.gpu < 0 || report.ProcessAt(rank.process) == nullptr) continue;
      std::vector<int>& gpus = report.processes[static_cast<std::size_t>(rank.process)].gpus;
      if (std::ranges::find(gpus, rank.gpu) == gpus.end()) gpus.push_back(rank.gpu);
    }
    CountHosts(report, c);
    Conclude(c);
    report.communicators.push_back(std::move(c));
  }
  for (Process& process : report.processes) std::ranges::sort(process.gpus);
  Sort(report);
  return report;
}

bool CountsDiffer(const Report& report) { return std::ranges::any_of(report.communicators, CountsDifferIn); }

void AlignCounts(const Report& earlier, Report& report) {
  for (CommunicatorReport& c : report.communicators) {
    const auto before = std::ranges::find(earlier.communicators, c.id, &CommunicatorReport::id);
    if (before == earlier.communicators.end()) continue;
    const Counts most = Most(before->ranks);
    if (!std::ranges::all_of(c.ranks, [&](const Rank& rank) { return HasReached(rank, most); })) continue;
    for (Rank& rank : c.ranks) rank.counts = most;
    Conclude(c);
  }
  Sort(report);
}

}  // namespace tutti::ras
