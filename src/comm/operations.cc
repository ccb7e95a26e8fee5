// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "algo/algorithm.h"
#include "base/log.h"
#include "comm/impl.h"
#include "sys/clock.h"

namespace tutti {
namespace {

using exec::cpu::Job;
using exec::cpu::PreparedPlan;
using Kind = Operation::Kind;

constexpr log::Subsystems kLogged = log::kColl | log::kTuning;
constexpr std::size_t kCachedGroups = 32;
// Outputs of this size are written past the caches: they would only push everything else out.
constexpr std::size_t kStreamingBytes = std::size_t{16} << 20;
// Times are taken of calls that move so much, where two looks at the clock do not show, and of every so many-th call.
constexpr std::size_t kTimedBytes = 1 << 20;
constexpr std::uint64_t kTimedEvery = 1024;

bool IsTransfer(Kind kind) { return kind == Kind::kSend || kind == Kind::kRecv; }

std::string_view KindName(Kind kind) {
  if (kind == Kind::kSend) return "send";
  if (kind == Kind::kRecv) return "recv";
  return Name(kind == Kind::kBarrier ? Collective::kBarrier : static_cast<Collective>(kind));
}

// The first eight kinds are numbered as their collectives.
static_assert(static_cast<int>(Kind::kAllToAll) == static_cast<int>(Collective::kAllToAll));
Collective CollectiveOf(Kind kind) {
  return kind == Kind::kBarrier ? Collective::kBarrier : static_cast<Collective>(kind);
}

std::size_t Pieces(const Operation& o, bool input, int ranks) {
  if (o.kind == Kind::kSend) return input ? 1 : 0;
  if (o.kind == Kind::kRecv) return input ? 0 : 1;
  return input ? plan::InPieces(CollectiveOf(o.kind), ranks) : plan::OutPieces(CollectiveOf(o.kind), ranks);
}

bool UsesInput(const Operation& o, int rank) {
  if (o.kind == Kind::kRecv || o.kind == Kind::kBarrier) return false;
  return o.kind == Kind::kBroadcast || o.kind == Kind::kScatter ? o.root == rank : true;
}

bool UsesOutput(const Operation& o, int rank) {
  if (o.kind == Kind::kSend || o.kind == Kind::kBarrier) return false;
  return o.kind == Kind::kReduce || o.kind == Kind::kGather ? o.root == rank : true;
}

// For each step of a group the last step before it between the same two ranks in the same direction, or -1.
std::vector<int> PreviousOnLink(const plan::RankPlan& plan) {
  std::vector<int> last_send(plan.ranks, -1), last_receive(plan.ranks, -1), previous(plan.step_count(), -1);
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    const bool receives = step.operands[0].kind == plan::Operand::Kind::kRecv;
    if (step.to.empty() && !receives) continue;  // a copy to self
    int& last = receives ? last_receive[step.operands[0].index] : last_send[step.to[0]];
    previous[i] = last;
    last = i;
  }
  return previous;
}

// For each step, whether it is a message that its sender may help to copy.
std::vector<exec::cpu::Sharing> SharingOf(const plan::RankPlan& plan) {
  using exec::cpu::Sharing;
  std::vector<int> sends(plan.ranks, 0), receives(plan.ranks, 0);
  int all_sends = 0;
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    for (const int peer : step.to) ++sends[peer];
    all_sends += static_cast<int>(step.to.size());
    for (const plan::Operand& operand : step.operands) {
      if (operand.kind == plan::Operand::Kind::kRecv) ++receives[operand.index];
    }
  }
  std::vector<Sharing> sharing(plan.step_count(), Sharing::kNone);
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    const plan::Operand& source = step.operands[0];
    if (step.operands.size() > 1 || source.kind != plan::Operand::Kind::kRecv || step.out == plan::kNoBlock) continue;
    if (sends[source.index] > 0) continue;
    sharing[i] = all_sends == 0 && receives[source.index] == 1 ? Sharing::kEarly : Sharing::kShared;
  }
  return sharing;
}

// PreparedPlan::long_bytes_max of a rank that folds and sends nothing, or of any other.
std::size_t LongBytesMax(const plan::RankPlan& plan) {
  bool folds = false;
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    if (!step.to.empty()) return exec::cpu::kAnyLength;
    folds |= step.operands.size() > 1;
  }
  return folds ? transport::kLongestFoldedAlone : exec::cpu::kAnyLength;
}

// Fills in what the executor wants to know of a plan.
std::unique_ptr<PreparedPlan> PreparePlan(plan::RankPlan plan, std::string name) {
  auto prepared = std::make_unique<PreparedPlan>();
  const int in_pieces = plan::InPieces(plan.collective, plan.ranks);
  const int out_pieces = plan::OutPieces(plan.collective, plan.ranks);
  prepared->in_blocks_per_piece = std::max(plan.in_blocks / in_pieces, 1);
  prepared->out_blocks_per_piece = std::max(plan.out_blocks / out_pieces, 1);
  for (int i = 0; i < plan.step_count(); ++i) {
    prepared->max_stage = std::max(prepared->max_stage, plan.step(i).stage);
  }
  if (plan.collective == Collective::kSendRecv) prepared->previous = PreviousOnLink(plan);
  prepared->sharing = SharingOf(plan);
  prepared->long_bytes_max = LongBytesMax(plan);
  prepared->plan = std::move(plan);
  prepared->name = std::move(name);
  return prepared;
}

}  // namespace

Status Communicator::Impl::Validate(const Operation& o) const {
  const auto fail = [&](std::string why) {
    return Status(Code::kInvalidArgument, fmt::format("{} on rank {}: {}", KindName(o.kind), rank, why));
  };
  if (static_cast<unsigned>(o.kind) > static_cast<unsigned>(Kind::kRecv)) {
    return Status(Code::kInvalidArgument, fmt::format("operation kind {} does not exist", static_cast<int>(o.kind)));
  }
  if (o.kind == Kind::kBarrier) return Status::Ok();
  if (static_cast<unsigned>(o.type) >= kDataTypes) {
    return fail(fmt::format("data type {} does not exist", static_cast<int>(o.type)));
  }
  if (!IsTransfer(o.kind) && Reduces(CollectiveOf(o.kind)) && static_cast<unsigned>(o.op) >= kReduceOps) {
    return fail(fmt::format("reduction operator {} does not exist", static_cast<int>(o.op)));
  }
  const bool rooted = IsTransfer(o.kind) || HasRoot(CollectiveOf(o.kind));
  if (rooted && (o.root < 0 || o.root >= ranks)) {
    return fail(fmt::format("{} {} is not a rank; this communicator has ranks 0 to {}",
                            IsTransfer(o.kind) ? "peer" : "root", o.root, ranks - 1));
  }
  if (o.count == 0) return Status::Ok();
  std::size_t bytes;
  if (__builtin_mul_overflow(o.count, SizeOf(o.type) * ranks, &bytes)) {
    return fail(fmt::format("count {} overflows the address space", o.count));
  }
  if (UsesInput(o, rank) && o.in == nullptr) return fail("the input is null, its count is not 0");
  if (UsesOutput(o, rank) && o.out == nullptr) return fail("the output is null, its count is not 0");
  if (!UsesInput(o, rank) || !UsesOutput(o, rank)) return Status::Ok();
  // Overlap other than the documented in-place forms.
  const std::size_t piece = o.count * SizeOf(o.type);
  const auto in = reinterpret_cast<std::uintptr_t>(o.in), out = reinterpret_cast<std::uintptr_t>(o.out);
  const std::size_t in_bytes = piece * Pieces(o, true, ranks), out_bytes = piece * Pieces(o, false, ranks);
  if (in + in_bytes <= out || out + out_bytes <= in) return Status::Ok();
  const std::uintptr_t own = static_cast<std::uintptr_t>(rank) * piece;
  const bool in_place = in_bytes == out_bytes  ? in == out && o.kind != Kind::kAllToAll
                        : in_bytes < out_bytes ? in == out + own
                                               : out == in + own;
  if (in_place || ranks == 1) return Status::Ok();
  return fail(o.kind == Kind::kAllToAll
                  ? std::string("input and output overlap; all_to_all has no in-place form")
                  : std::string("input and output overlap, but not in the in-place form of this operation (Operation "
                                "in communicator.h says which)"));
}

// The plan of an algorithm, and the figures that all ranks must agree on.
const PreparedPlan* Communicator::Impl::FindPlan(algo::Algorithm algorithm, Collective collective, int root,
                                                 int channel) {
  std::unique_ptr<PreparedPlan>& slot = plans[{algorithm, collective, root, channel}];
  if (slot == nullptr) {
    const algo::Entry& entry = algo::Get(algorithm);
    plan::RankPlan plan =
        entry.build({.collective = collective, .rank = rank, .ranks = ranks, .root = root, .channel = channel});
    slot = PreparePlan(std::move(plan), fmt::format("{} {}", Name(collective), entry.name));
    slot->footprint = chooser.CostOf(algorithm, collective).footprint;
    slot->by_reference = algo::MayRefer(entry, collective, ranks);
  }
  return slot.get();
}

Result<const comm::Recipe*> Communicator::Impl::FindRecipe(Collective collective, std::size_t bytes, int root) {
  const int c = static_cast<int>(collective);
  std::unique_ptr<RecipeTable>* table = &recipes[c];
  if (HasRoot(collective)) {
    if (rooted_recipes[c].empty()) rooted_recipes[c].resize(ranks);
    table = &rooted_recipes[c][root];
  }
  if (*table == nullptr) *table = std::make_unique<RecipeTable>();
  const int size_class = comm::SizeClass(bytes);
  comm::Recipe& recipe = (**table)[size_class];
  if (recipe.plans.empty()) [[unlikely]] {
    const Result<tune::Choice> choice = chooser.Choose(collective, comm::SmallestOfClass(size_class));
    if (!choice.ok()) return choice.status();
    recipe.protocol = choice->protocol;
    recipe.by_reference = choice->by_reference;
    const exec::cpu::ChunkRules& rules = engine->chunks();
    const plan::Footprint& footprint = chooser.CostOf(choice->algorithm, collective).footprint;
    recipe.chunk_bytes = rules.ForPlan(footprint, choice->protocol, choice->by_reference, choice->channels);
    recipe.pool_chunk_bytes = rules.ForPlan(footprint, choice->protocol, false, choice->channels);
    recipe.how = trace::How{.algorithm = static_cast<std::uint8_t>(choice->algorithm),
                            .protocol = static_cast<std::uint8_t>(choice->protocol),
                            .channels = static_cast<std::uint8_t>(choice->channels),
                            .by_reference = choice->by_reference}
                     .Pack();
    for (int channel = 0; channel < choice->channels; ++channel) {
      recipe.plans.push_back(FindPlan(choice->algorithm, collective, root, channel));
    }
  }
  return &recipe;
}

Status Communicator::Impl::Prepare(const Operation& o, Job& job) {
  const Collective collective = CollectiveOf(o.kind);
  static const std::uint8_t kBarrierInput = 0;
  const bool barrier = o.kind == Kind::kBarrier;
  const std::size_t element = SizeOf(o.type);
  const Result<const comm::Recipe*> recipe = FindRecipe(collective, barrier ? 1 : o.count * element, o.root);
  if (!recipe.ok()) return recipe.status();
  job.collective = collective;
  job.protocol = (*recipe)->protocol;
  job.in = barrier ? reinterpret_cast<const std::byte*>(&kBarrierInput) : static_cast<const std::byte*>(o.in);
  job.out = barrier ? reinterpret_cast<std::byte*>(&barrier_output) : static_cast<std::byte*>(o.out);
  job.count = barrier ? 1 : o.count;
  job.element = barrier ? 1 : element;
  job.type = barrier ? DataType::kUint8 : o.type;
  job.scale_inputs = false;
  job.divisor = 1;
  if (Reduces(collective) || barrier) {
    job.fold = GetFold(job.type, barrier ? ReduceOp::kMax : o.op);
    if (o.op == ReduceOp::kPreMulSum && !barrier) {
      job.scale_inputs = true;
      job.scale = MakeScaleFactor(o.scalar);
      if (o.integer_scalar) job.scale.integer = static_cast<std::uint64_t>(*o.integer_scalar);
    } else if (o.op == ReduceOp::kAvg && !barrier) {
      const bool integer = static_cast<int>(o.type) <= static_cast<int>(DataType::kUint64);
      job.divisor = integer ? ranks : 1;
      job.scale_inputs = !integer;
      job.scale = {0, 1.0 / ranks};
    }
  }
  // A value that was scaled first lies nowhere but in the pool; the chunks stay as the recipe's on all ranks.
  job.by_reference = (*recipe)->by_reference && !job.scale_inputs;
  job.chunk_bytes = job.by_reference == (*recipe)->by_reference ? (*recipe)->chunk_bytes : (*recipe)->pool_chunk_bytes;
  const std::size_t out_bytes = job.count * job.element * plan::OutPieces(collective, ranks);
  job.stores = out_bytes >= kStreamingBytes ? Stores::kNonTemporal : Stores::kCached;
  // Each channel gets an equal part of every piece, cut at cache lines.
  const std::vector<const PreparedPlan*>& by_channel = (*recipe)->plans;
  job.channels = static_cast<int>(by_channel.size());
  job.cut = false;
  if (job.parts.size() < by_channel.size()) job.parts.resize(by_channel.size());
  const plan::BlockCut cut = plan::BlockCut::Equal(job.count, job.channels, std::max<std::size_t>(64 / job.element, 1));
  for (int c = 0; c < job.channels; ++c) {
    exec::cpu::Part& part = job.parts[c];
    part.plan = by_channel[c];
    part.channel = c;
    part.first = cut.Begin(c);
    part.count = cut.Size(c);
  }
  job.how = (*recipe)->how;
  job.call = trace::PackCall(o);
  job.call_count = barrier ? 0 : o.count;
  job.signature = trace::Signature(job.call, job.call_count);
  return Status::Ok();
}

bool Communicator::Impl::PreparedFor(const Operation& o) const {
  return prepared && prepared->kind == o.kind && prepared->count == o.count && prepared->type == o.type &&
         prepared->op == o.op && prepared->root == o.root;
}

Status Communicator::Impl::ValidateCall(const Operation& o) const {
  if (PreparedFor(o) && prepared->in == o.in && prepared->out == o.out) [[likely]]
    return Status::Ok();
  return Validate(o);
}

Status Communicator::Impl::PrepareCall(const Operation& o, Job& job) {
  const bool repeatable = &job == &run_job;
  if (!repeatable || !PreparedFor(o)) {
    if (repeatable) prepared.reset();
    job.run = Job::kNoRun;
    TUTTI_RETURN_IF_ERROR(IsTransfer(o.kind) ? PrepareTransfers(std::span(&o, 1), job) : Prepare(o, job));
    if (repeatable && o.op != ReduceOp::kPreMulSum) prepared = o;
  } else if (prepared->in != o.in || prepared->out != o.out) {
    ChangeBuffers(o, job);
    *prepared = o;
  }
  if (IsTransfer(o.kind)) {
    RecordTransfers(std::span(&o, 1), job);
  } else {
    RecordCollective(job);
  }
  return Status::Ok();
}

Status Communicator::Impl::PrepareGroup(std::span<const Operation> operations, Job& job) {
  if (&job == &run_job) prepared.reset();
  job.run = Job::kNoRun;
  TUTTI_RETURN_IF_ERROR(PrepareTransfers(operations, job));
  RecordTransfers(operations, job);
  return Status::Ok();
}

void Communicator::Impl::ChangeBuffers(const Operation& o, Job& job) {
  if (o.kind == Kind::kSend) {
    job.in_addresses[0] = static_cast<const std::byte*>(o.in);
  } else if (o.kind == Kind::kRecv) {
    job.out_addresses[0] = static_cast<std::byte*>(o.out);
  } else if (o.kind != Kind::kBarrier) {
    job.in = static_cast<const std::byte*>(o.in);
    job.out = static_cast<std::byte*>(o.out);
  }
}

void Communicator::Impl::RecordCollective(Job& job) {
  job.timed = false;
  if (!recorder.on()) {
    job.mark = 0;
    return;
  }
  if (job.run == recorder.run()) [[likely]] {
    job.mark = mark = job.next_mark;
    job.last_call = recorder.Repeat();
  } else {
    job.mark = mark = trace::NextMark(mark, job.signature);
    job.calls = 1;
    job.last_call = recorder.Add(job.call, job.call_count, Collectives() + 1, job.how);
    job.run = recorder.run();
  }
  job.next_mark = trace::NextMark(mark, job.signature);
  if (job.call_count * job.element >= kTimedBytes || job.last_call % kTimedEvery == 0) [[unlikely]]
    TimeCalls(job);
}

std::uint64_t Communicator::Impl::NumberTransfer(const Operation& o) {
  ++transfers;
  return ++(o.kind == Kind::kSend ? sends : receives)[o.root];
}

std::uint64_t Communicator::Impl::RecordTransfer(const Operation& o, std::uint64_t* its_mark) {
  const std::uint64_t index = NumberTransfer(o);
  const std::size_t bytes = o.count * SizeOf(o.type);
  *its_mark = trace::TransferMark(bytes, index);
  const exec::cpu::Lane lane = FindLane(bytes);
  const trace::How how{.protocol = static_cast<std::uint8_t>(lane.protocol), .by_reference = lane.by_reference};
  return recorder.Add(trace::PackCall(o), o.count, index, how.Pack());
}

void Communicator::Impl::RecordTransfers(std::span<const Operation> operations, Job& job) {
  job.in_marks.clear();
  job.out_marks.clear();
  std::size_t bytes = 0;
  job.calls = operations.size();
  job.timed = false;
  if (!recorder.on()) {
    for (const Operation& o : operations) (o.kind == Kind::kSend ? job.in_marks : job.out_marks).push_back(0);
    return;
  }
  for (const Operation& o : operations) {
    std::uint64_t its_mark;
    job.last_call = RecordTransfer(o, &its_mark);
    (o.kind == Kind::kSend ? job.in_marks : job.out_marks).push_back(its_mark);
    bytes += o.count * SizeOf(o.type);
  }
  if (bytes >= kTimedBytes || (job.last_call - job.calls) / kTimedEvery != job.last_call / kTimedEvery) [[unlikely]]
    TimeCalls(job);
}

void Communicator::Impl::RecordEmpty(const Operation& o) {
  if (!recorder.on()) return;
  std::uint64_t number, unused;
  if (IsTransfer(o.kind)) {
    number = RecordTransfer(o, &unused);
  } else {
    const trace::CallWord word = trace::PackCall(o);
    mark = trace::NextMark(mark, trace::Signature(word, 0));
    number = recorder.Add(word, 0, Collectives() + 1, trace::How{}.Pack());
  }
  if (engine->idle()) recorder.Finish(number);
}

void Communicator::Impl::RecordGpuCall(const Operation& o) {
  if (!recorder.on() || (o.count == 0 && o.kind != Kind::kBarrier)) return;
  const trace::CallWord word = trace::PackCall(o);
  const std::uint64_t count = o.kind == Kind::kBarrier ? 0 : o.count;
  std::uint64_t number;
  if (IsTransfer(o.kind)) {
    number = recorder.Add(word, count, NumberTransfer(o), trace::How{}.Pack());
  } else if (gpu_call.run == recorder.run() && gpu_call.run > 0 && gpu_call.word == word && gpu_call.count == count) {
    number = recorder.Repeat();
  } else {
    number = recorder.Add(word, count, Collectives() + 1, trace::How{}.Pack());
    gpu_call = {.word = word, .count = count, .run = recorder.run()};
  }
  if (engine->idle()) recorder.Finish(number);
}

void Communicator::Impl::TimeCalls(Job& job) {
  const std::int64_t now_ns = sys::NowNs();
  job.timed = true;
  for (std::uint64_t call = job.first_call(); call <= job.last_call; ++call) {
    recorder.TimeEnqueued(call, now_ns, engine->idle() ? now_ns : 0);
  }
}

// A plan for the same list of transfers, of whatever sizes, is built once; the cache forgets the oldest.
const PreparedPlan* Communicator::Impl::FindTransferPlan(std::span<const Operation> operations) {
  const auto same_shape = [&](const CachedGroup& group) {
    return std::ranges::equal(group.shape, operations, [](const Operation& a, const Operation& b) {
      return a.kind == b.kind && a.root == b.root;
    });
  };
  if (last_group < groups.size() && same_shape(groups[last_group])) return groups[last_group].plan.get();
  for (last_group = 0; last_group < groups.size(); ++last_group) {
    if (same_shape(groups[last_group])) return groups[last_group].plan.get();
  }
  std::vector<algo::Transfer> sends, receives;
  for (const Operation& o : operations) {
    (o.kind == Kind::kSend ? sends : receives).push_back({.peer = o.root, .count = 1});
  }
  std::string name = "a group of sends and receives";
  if (operations.size() == 1) {
    name = KindName(operations[0].kind);
  }
  CachedGroup group{{operations.begin(), operations.end()},
                    PreparePlan(algo::BuildSendRecv(rank, ranks, sends, receives), std::move(name))};
  if (groups.size() < kCachedGroups) {
    groups.push_back(std::move(group));
    return groups.back().plan.get();
  }
  // A plan that an unfinished job still runs must stay.
  for (std::size_t tried = 0; tried < kCachedGroups; ++tried) {
    CachedGroup& oldest = groups[next_group++ % kCachedGroups];
    const bool used = run_job.transfer_plan == oldest.plan.get() || std::ranges::any_of(jobs, [&](const auto& j) {
                        return j->in_use && j->transfer_plan == oldest.plan.get();
                      });
    if (used) continue;
    oldest = std::move(group);
    return oldest.plan.get();
  }
  groups.push_back(std::move(group));
  return groups.back().plan.get();
}

exec::cpu::Lane Communicator::Impl::FindLane(std::size_t bytes) {
  const int size_class = comm::SizeClass(bytes);
  std::optional<exec::cpu::Lane>& lane = lanes[size_class];
  if (!lane) [[unlikely]] {
    const tune::Choice choice = chooser.ChooseTransfer(comm::SmallestOfClass(size_class));
    lane = exec::cpu::Lane{choice.protocol, choice.by_reference};
  }
  return *lane;
}

Status Communicator::Impl::PrepareTransfers(std::span<const Operation> operations, Job& job) {
  std::vector<std::size_t> to_self, from_self;
  job.in_addresses.clear();
  job.out_addresses.clear();
  job.in_sizes.clear();
  job.out_sizes.clear();
  job.in_lanes.clear();
  job.out_lanes.clear();
  for (const Operation& o : operations) {
    const bool send = o.kind == Kind::kSend;
    const std::size_t bytes = o.count * SizeOf(o.type);
    const exec::cpu::Lane lane = FindLane(bytes);
    if (send) {
      job.in_addresses.push_back(static_cast<const std::byte*>(o.in));
      job.in_sizes.push_back(bytes);
      job.in_lanes.push_back(lane);
    } else {
      job.out_addresses.push_back(static_cast<std::byte*>(o.out));
      job.out_sizes.push_back(bytes);
      job.out_lanes.push_back(lane);
    }
    if (o.root == rank) (send ? to_self : from_self).push_back(bytes);
  }
  if (to_self != from_self) {
    return Status(Code::kInvalidUsage,
                  fmt::format("rank {} sends to itself without a matching receive in the same group: {} sends and {} "
                              "receives, or of different sizes; put both into one group",
                              rank, to_self.size(), from_self.size()),
                  rank);
  }
  job.collective = Collective::kSendRecv;
  job.divisor = 1;
  job.transfer_plan = FindTransferPlan(operations);
  return Status::Ok();
}

Job* Communicator::Impl::NewJob() {
  if (free_jobs.empty()) {
    jobs.push_back(std::make_unique<comm::OwnedJob>());
    free_jobs.push_back(jobs.back().get());
  }
  comm::OwnedJob* job = free_jobs.back();
  free_jobs.pop_back();
  job->in_use = true;
  return job;
}

void Communicator::Impl::Submit(Job* job) { engine->Submit(job); }

Status Communicator::Impl::SubmitAll(std::span<const Operation> operations, std::vector<Job*>& submitted) {
  TUTTI_RETURN_IF_ERROR(Broken());
  std::vector<Operation> transfers;
  for (const Operation& o : operations) {
    TUTTI_RETURN_IF_ERROR(Validate(o));
    if (log::Enabled(log::Level::kInfo, kLogged)) LogOperation(o);
    if (IsTransfer(o.kind)) transfers.push_back(o);
  }
  const auto submit = [&](auto&& prepare) {
    Job* job = NewJob();
    if (Status s = prepare(*job); !s.ok()) {
      Release(job);
      return s;
    }
    Submit(job);
    submitted.push_back(job);
    return Status::Ok();
  };
  if (!transfers.empty()) {
    TUTTI_RETURN_IF_ERROR(submit([&](Job& job) { return PrepareGroup(transfers, job); }));
  }
  for (const Operation& o : operations) {
    if (IsTransfer(o.kind)) continue;
    if (o.count == 0 && o.kind != Kind::kBarrier) {
      RecordEmpty(o);
      continue;
    }
    TUTTI_RETURN_IF_ERROR(submit([&](Job& job) { return PrepareCall(o, job); }));
  }
  return Status::Ok();
}

void Communicator::Impl::Release(Job* job) {
  auto* owned = static_cast<comm::OwnedJob*>(job);
  owned->in_use = false;
  free_jobs.push_back(owned);
}

Status Communicator::Impl::RunPrepared() {
  Submit(&run_job);
  Status s = WaitFor(run_job);
  if (!s.ok()) [[unlikely]] {
    s = CauseOf(s);
    Break(s);
  }
  return s;
}

// The way of a single blocking call: no allocation, no request.
Status Communicator::Run(const Operation& o) {
  Impl& c = *impl_;
  if (Status s = c.ValidateCall(o); !s.ok()) [[unlikely]]
    return s;
  if (c.broken.load(std::memory_order_relaxed)) [[unlikely]]
    return c.Broken();
  if (log::Enabled(log::Level::kInfo, kLogged)) [[unlikely]]
    c.LogOperation(o);
  if (o.count == 0 && o.kind != Kind::kBarrier) {
    c.RecordEmpty(o);
    return Status::Ok();
  }
  if (Status s = c.PrepareCall(o, c.run_job); !s.ok()) [[unlikely]]
    return s;
  return c.RunPrepared();
}

// REQUIRES: Validate found no fault.
Result<double> Communicator::Impl::PredictUs(const Operation& o) {
  const std::size_t bytes = comm::SmallestOfClass(comm::SizeClass(o.count * SizeOf(o.type)));
  if (o.count == 0 && o.kind != Kind::kBarrier) return 0.0;
  if (IsTransfer(o.kind)) return chooser.ChooseTransfer(bytes).predicted_us;
  const Result<tune::Choice> choice = chooser.Choose(CollectiveOf(o.kind), bytes);
  if (!choice.ok()) return choice.status();
  return choice->predicted_us;
}

std::string Communicator::Explain(const Operation& o) const {
  if (Status s = impl_->Validate(o); !s.ok()) return s.ToString();
  const std::size_t bytes = o.count * SizeOf(o.type);
  if (IsTransfer(o.kind)) {
    return tune::ToString(impl_->chooser.ChooseTransfer(comm::SmallestOfClass(comm::SizeClass(bytes))));
  }
  const Result<tune::Choice> choice =
      impl_->chooser.Choose(CollectiveOf(o.kind), comm::SmallestOfClass(comm::SizeClass(bytes)));
  return choice.ok() ? tune::ToString(*choice) : choice.status().ToString();
}

}  // namespace tutti
