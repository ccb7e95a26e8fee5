// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/executor.h"

#include <algorithm>

#include "exec/gpu/launch/batch.h"
#include "exec/gpu/launch/failures.h"
#include "exec/gpu/launch/launcher.h"
#include "exec/gpu/launch/overlap_limit.h"
#include "exec/gpu/launch/setup.h"
#include "exec/gpu/launch/side_streams.h"
#include "exec/gpu/lower/compile.h"
#include "exec/gpu/lower/rounds.h"
#include "sys/os/clock.h"

namespace tutti::exec::gpu {
namespace {

using proto::Protocol;

// Whether the kernel of moves does this rank's part. A rank that only sends to a reduction moves bytes, unless it scales them.
bool MovesOnly(const PreparedPlan& plan, const Work& work, Protocol protocol) {
  if (plan.collective == Collective::kBarrier) return false;
  const bool scales = work.op == ReduceOp::kAvg || work.op == ReduceOp::kPreMulSum;
  return !Reduces(plan.collective) || (plan.copies && !scales && protocol == Protocol::kSimple);
}

}  // namespace

struct Executor::Section {
  transport::p2p::Layout layout;
  std::size_t begin = 0;
  transport::p2p::StateShift shift;
  std::uint64_t counts = 0;  // from where it begins
};

struct Executor::RoundOfGroup {
  transport::p2p::Round round;
  std::vector<int> rank_of;  // by seat
  std::vector<TransferRequest> sends, receives;
  Group group{};
  OwnCopies own_copies;
  Launch launch;
};

struct Executor::Inside {
  explicit Inside(const sys::cuda::Driver* driver) : launcher(driver), sides(driver) {}

  Launcher launcher;
  OverlapLimit overlap_limit;
  Failures failures;
  SideStreams sides;
  // As long as a page, and at the beginning of one: where a load follows a store to the same place of another page, it waits. A call
  // writes both ends of a program; wherever else it lay, that was up to 10 ns of a call's 85, by chance.
  alignas(4096) Program program{};
  Batch batch{};
  Group group{};
  Relay relay{};
  OwnCopies own_copies;
  GroupLimits limits;
};

Executor::Executor(const sys::cuda::Driver* driver)
    : inside_(std::make_unique<Inside>(driver)),
      program_(inside_->program),
      launcher_(inside_->launcher),
      overlap_limit_(inside_->overlap_limit),
      sides_(inside_->sides),
      failures_(inside_->failures),
      group_(inside_->group),
      relay_(inside_->relay),
      own_copies_(inside_->own_copies),
      limits_(inside_->limits) {}

Executor::~Executor() = default;

const Executor::Section& Executor::SectionOf(const PreparedPlan& plan) const {
  return sections_[static_cast<std::size_t>(plan.section)];
}

void Executor::SetUp(int rank, const ExecutorSetup& setup) {
  rank_ = rank;
  limits_ = setup.limits;
  overlap_limit_.SetTo(setup.overlapping_alone, setup.overlapping_beside_others,
                       {.kernels = setup.overlap_kernels,
                        .threads = setup.multiprocessor_threads,
                        .shares = setup.multiprocessor_shares});
  launcher_.UseClustersUpTo(setup.clustered_blocks);
  segments_.assign(setup.segments.begin(), setup.segments.end());
  const transport::p2p::Sections& all = setup.sections;
  sections_.clear();
  for (int s = 0; s < all.count(); ++s) {
    const std::uint64_t counts = all.Counts() - all.Begin(s) + setup.state_shifts.back().transfers;
    sections_.push_back({.layout = all.At(s),
                         .begin = all.Begin(s),
                         .shift = setup.state_shifts[static_cast<std::size_t>(s)],
                         .counts = counts});
  }
  last_common_ = {};
  failures_.Use(setup.host_words, setup.device_words);
  program_.host = inside_->batch.program.host = group_.host = relay_.host = setup.device_words;
  program_.timeout_ns = inside_->batch.program.timeout_ns = group_.timeout_ns = relay_.timeout_ns =
      static_cast<std::uint64_t>(setup.timeout_ms) * sys::kNsPerMs;
  if (all.many()) return SetUpRounds(setup);
  program_.counts = inside_->batch.program.counts = sections_[0].counts;
  for (std::byte** segments : {program_.segments, inside_->batch.program.segments, group_.segments, relay_.segments}) {
    std::ranges::copy(setup.segments, segments);
  }
}

void Executor::SetUpRounds(const ExecutorSetup& setup) {
  const int ranks = setup.sections.ranks;
  rounds_.clear();
  for (int r = 0; r < setup.sections.rounds(); ++r) {
    RoundOfGroup& of = rounds_.emplace_back(RoundOfGroup{.round = {ranks, r, rank_}});
    of.group.host = setup.device_words;
    of.group.timeout_ns = group_.timeout_ns;
    of.rank_of = ConnectRound(of.round, segments_, sections_[static_cast<std::size_t>(r)].begin, of.group);
  }
}

void Executor::Connect(const PreparedPlan& plan, Program& program) const {
  if (plan.rank_of.empty()) return;
  const Section& section = SectionOf(plan);
  program.counts = section.counts;
  ConnectSeats(plan, segments_, section.begin, program);
}

Status Executor::CanRunSteps(const PreparedPlan& plan, Protocol protocol) const {
  return gpu::CanRunSteps(plan, protocol, SectionOf(plan).layout.collectives);
}

Result<Launch> Executor::CompileSteps(const PreparedPlan& plan, const Work& work, const Shape& shape) {
  const Result<sys::cuda::Kernel> kernel = MovesOnly(plan, work, shape.protocol)
                                               ? launcher_.FindMove(shape.protocol)
                                               : launcher_.Find(work.type, work.op, shape.protocol);
  if (!kernel.ok()) return kernel.status();
  Connect(plan, program_);
  const Section& section = SectionOf(plan);
  const transport::p2p::Geometry& geometry = section.layout.collectives;
  // Of a call that differs from the last one in its count alone, most is there already.
  const Common common{
      .plan = &plan, .type = work.type, .op = work.op, .protocol = shape.protocol, .threads = shape.threads};
  if (common != last_common_ || work.op == ReduceOp::kPreMulSum) {
    CompileCommon(plan, work, shape, geometry, program_);
    program_.states += section.shift.collectives;
    last_common_ = common;
  }
  CompileItem(plan, work, shape, geometry, program_);
  AddShortForm(plan, shape, geometry, limits_.cuts, program_);
  if (const Ways ways{&plan, program_.is_short != kSteps}; ways != last_ways_) {
    program_.host = failures_.WordsFor(plan, program_);
    last_ways_ = ways;
  }
  const int channels = static_cast<int>(program_.full_parts) + (program_.parts[1].count != 0 ? 1 : 0);
  return LaunchOf(*kernel, program_, channels, shape.threads);
}

Result<Launch> Executor::CompileTeams(const PreparedPlan& plan, const Work& work) {
  if (plan.forms.relay) return CompileRelayOf(plan, work);
  ListRequests(plan, work, sends_, receives_);
  return CompileMoves(plan);
}

Result<Launch> Executor::CompileGroup(const PreparedPlan& plan, const GroupData& data) {
  ListRequests(plan, data, sends_, receives_);
  Result<Launch> launch = CompileMoves(plan);
  if (launch.ok() && rounds_.empty()) group_plan_ = &plan;
  return launch;
}

Result<Launch> Executor::CompileRelayOf(const PreparedPlan& plan, const Work& work) {
  const Result<sys::cuda::Kernel> kernel =
      MovesOnly(plan, work, Protocol::kSimple) ? launcher_.FindMoveRelay() : launcher_.FindRelay(work.type, work.op);
  if (!kernel.ok()) return kernel.status();
  const Section& section = SectionOf(plan);
  CompileRelay(plan, work, section.layout, limits_.cuts, RelayBlocks(plan, work, limits_), relay_);
  for (std::uint64_t& states : relay_.states) states += section.shift.transfers;
  relay_.lent.states += section.shift.transfers;
  relay_.counts = section.counts;
  relay_.host = failures_.WordsFor(plan, relay_);
  return LaunchOf(*kernel, relay_);
}

Result<Launch> Executor::CompileMoves(const PreparedPlan& plan) {
  group_plan_ = nullptr;
  if (!rounds_.empty()) return CompileRounds(plan);
  GroupLimits limits = limits_;
  limits.lanes = plan.moves.most_directions * (static_cast<int>(segments_.size()) - 1);
  return CompileMovesIn(sections_[0], rank_, limits, plan, {}, sends_, receives_, group_, own_copies_);
}

Result<Launch> Executor::CompileMovesIn(const Section& section, int self, const GroupLimits& limits,
                                        const PreparedPlan& plan, const std::vector<int>& rank_of,
                                        std::span<const TransferRequest> sends,
                                        std::span<const TransferRequest> receives, Group& group,
                                        OwnCopies& own_copies) {
  TUTTI_RETURN_IF_ERROR(gpu::CompileGroup(sends, receives, self, section.layout, limits, group, own_copies));
  for (std::uint64_t& states : group.states) states += section.shift.transfers;
  group.counts = section.counts;
  group.host = failures_.WordsFor(plan, group, ListSteps(sends, receives, self), rank_of);
  const OwnCopies* const beside = own_copies.count > 0 ? &own_copies : nullptr;
  if (group.blocks == 0) return Launch{.beside = beside};
  const Result<sys::cuda::Kernel> kernel = launcher_.FindSendRecv(group.kernel);
  if (!kernel.ok()) return kernel.status();
  Launch launch = LaunchOf(*kernel, group);
  launch.beside = beside;
  return launch;
}

Result<Launch> Executor::CompileRounds(const PreparedPlan& plan) {
  GroupLimits limits = limits_;
  limits.lanes = plan.moves.most_directions * (kSeats - 1);
  Launch first;
  Launch* last = &first;
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    RoundOfGroup& of = rounds_[r];
    SelectRound(sends_, of.round, of.sends);
    SelectRound(receives_, of.round, of.receives);
    if (of.sends.empty() && of.receives.empty()) continue;
    const Result<Launch> launch = CompileMovesIn(sections_[r], of.round.SeatOf(rank_), limits, plan, of.rank_of,
                                                 of.sends, of.receives, of.group, of.own_copies);
    if (!launch.ok()) return launch.status();
    of.launch = *launch;
    last->next = &of.launch;
    last = &of.launch;
  }
  return first.next == nullptr ? first : *first.next;
}

BatchCut Executor::CutBatch(const PreparedPlan& plan, std::span<const Work> works, const Shape& shape) {
  return CompileItems(plan, works, shape, SectionOf(plan).layout.collectives, limits_.cuts, inside_->batch);
}

Result<Launch> Executor::CompileBatch(const PreparedPlan& plan, std::span<const Work> works, const Shape& shape,
                                      const BatchCut& cut) {
  const Result<sys::cuda::Kernel> kernel = MovesOnly(plan, works[0], shape.protocol)
                                               ? launcher_.FindMoveBatch(shape.protocol, works.size())
                                               : launcher_.FindBatch(works[0].type, shape.protocol, works.size());
  if (!kernel.ok()) return kernel.status();
  Connect(plan, inside_->batch.program);
  CompileCommon(plan, works[0], shape, SectionOf(plan).layout.collectives, inside_->batch.program);
  inside_->batch.program.states += SectionOf(plan).shift.collectives;
  inside_->batch.program.host = failures_.WordsForBatch(plan);
  return LaunchOf(*kernel, inside_->batch, cut.blocks, shape.threads);
}

Status Executor::LoadKernels() { return launcher_.LoadAll(); }

bool Executor::ChangeBuffers(const void* in, void* out) {
  return gpu::ChangeBuffers(in, out, static_cast<int>(segments_.size()), program_);
}

bool Executor::ChangeBuffers(const GroupData& data) {
  return group_plan_ != nullptr && gpu::ChangeBuffers(*group_plan_, data, group_);
}

Status Executor::Start(const Launch& launch, const CallMark& mark, sys::cuda::Stream stream, bool alone) {
  // What nearly all launches are, without what the others need beside it.
  const bool one_kernel = launch.blocks > 0 && launch.next == nullptr && launch.beside == nullptr;
  if (one_kernel) [[likely]]
    return StartKernel(launch, mark, stream, alone);
  if (launch.blocks == 0) failures_.NoKernelFor(mark.number);
  for (const Launch* one = &launch; one != nullptr; one = one->next) {
    TUTTI_RETURN_IF_ERROR(StartOne(*one, mark, stream, alone));
  }
  return Status::Ok();
}

// Launches overlap in streams, where it saves 0.7 us of 4.9; in graphs it would cost 0.1 us.
Status Executor::StartKernel(const Launch& launch, const CallMark& mark, sys::cuda::Stream stream, bool alone) {
  using Overlap = Launcher::Overlap;
  *launch.mark = mark;
  const bool overlaps = mark.captured == 0 && overlap_limit_.Admit(launch.blocks, launch.threads, alone);
  TUTTI_RETURN_IF_ERROR(launcher_.Start(launch, overlaps ? Overlap::kWithPrevious : Overlap::kNo, stream));
  blocks_launched_ += static_cast<std::uint64_t>(launch.blocks);
  ++kernels_launched_;
  if (mark.captured == 0) ends_to_count_ += static_cast<std::uint64_t>(launch.ends);
  return Status::Ok();
}

Status Executor::StartOne(const Launch& launch, const CallMark& mark, sys::cuda::Stream stream, bool alone) {
  Result<SideStreams::Side> side = SideStreams::Side();
  if (launch.beside != nullptr) [[unlikely]] {
    side = sides_.Copy(std::span(launch.beside->copies, static_cast<std::size_t>(launch.beside->count)), stream);
    if (!side.ok()) return side.status();
  }
  if (launch.blocks > 0) {
    TUTTI_RETURN_IF_ERROR(StartKernel(launch, mark, stream, alone));
  } else if (launch.copies != nullptr) {
    return StartCopies(launch, stream, mark.captured != 0);
  }
  return sides_.Join(*side, stream);
}

}  // namespace tutti::exec::gpu
