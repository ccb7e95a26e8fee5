// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The part of Engine that holds the queue: how jobs begin, take turns and end.
#include "exec/cpu/engine.h"

#include <algorithm>

#include "exec/cpu/chunks.h"
#include "exec/cpu/fold.h"
#include "exec/cpu/pool.h"
#include "exec/cpu/prepared_plan.h"
#include "sys/os/clock.h"
#include "trace/recorder.h"
#include "transport/shm/fabric.h"

namespace tutti::exec::cpu {
namespace {

constexpr int kMostTurns = 16;  // of the links to other hosts, in one Advance

}  // namespace

Engine::Engine(transport::shm::Fabric* fabric, trace::Recorder* recorder, int rank, int ranks)
    : fabric_(fabric),
      recorder_(recorder),
      rank_(rank),
      ranks_(ranks),
      chunks_(std::make_unique<ChunkRules>()),
      pool_(std::make_unique<Pool>()) {
  if (fabric_ == nullptr) return;
  remote_ = fabric_->remote();
  const transport::shm::Geometry& geometry = fabric_->own().geometry();
  pool_->Init(fabric_->own().pool(), geometry.pool_bytes, ranks);
  shares_.resize(static_cast<std::size_t>(fabric_->channels()) * ranks);
  to_come_.resize(ranks);
  references_.reserve(shares_.size() * fabric_->rings().posts());
  *chunks_ = {
      .rings = geometry.rings, .pool_bytes = geometry.pool_bytes, .ranks = ranks, .several_hosts = remote_ != nullptr};
}
Engine::~Engine() = default;

void Engine::Submit(Job* job) {
  job->done = false;
  job->status = Status::Ok();
  job->next = nullptr;
  if (first_ == nullptr) {
    first_ = last_ = job;
    Start(*job);
  } else {
    last_->next = job;
    last_ = job;
  }
}

void Engine::SubmitAgain(Job* job) {
  const bool is_cut = job->collective != Collective::kSendRecv && job->found.cut;
  if (!is_cut || first_ != nullptr || job->calls.watcher != nullptr || job->calls.timed) [[unlikely]]
    return Submit(job);
  switch (RunBrief(*job)) {
    case AtOnce::kDone:
      job->done = true;
      recorder_->Finish(job->calls.last);
      return;
    case AtOnce::kStopped:
      job->done = false;
      job->next = nullptr;
      first_ = last_ = job;
      return;
    case AtOnce::kNotBrief:
      return Submit(job);
  }
}

void Engine::Start(Job& job) {
  if (job.calls.watcher != nullptr) [[unlikely]]
    job.calls.watcher->Starts(job);
  if (huge_ != nullptr && HasLargeBuffers(job)) [[unlikely]]
    UseBuffers(job);
  if (job.collective == Collective::kSendRecv) return StartTransfers(job);
  if (!job.found.cut && Refuse(job)) return;
  for (int c = 0; c < job.channels; ++c) {
    if (!job.found.cut) CutPart(job, job.parts[c]);
    StartPart(job.parts[c]);
  }
  job.found.cut = true;
  job.found.awaits = remote_ != nullptr && BeginAhead(job);
  if (job.by_reference) {
    OfferEarly(job);
    OfferOutputs(job);
  }
}

// Whether a job's plan is one that nobody runs: it ends at once then, with the reason.
bool Engine::Refuse(Job& job) {
  job.status = job.parts[0].plan->runnable;
  if (job.status.ok()) return false;
  for (int c = 0; c < job.channels; ++c) job.parts[c].done = true;
  return true;
}

void Engine::CutPart(const Job& job, Part& part) {
  const std::size_t granule = job.element < 64 ? 64 / job.element : 1;
  part.in_cut = plan::BlockCut::Equal(part.count, part.plan->in_blocks_per_piece, granule);
  part.out_cut = plan::BlockCut::Equal(part.count, part.plan->out_blocks_per_piece, granule);
  const std::size_t block = std::max(part.in_cut.block, part.out_cut.block);
  if (block * job.element <= job.chunk_bytes) {
    part.chunk = block;
    part.rounds = 1;
  } else {
    part.chunk = std::max<std::size_t>(job.chunk_bytes / job.element, 1);
    part.rounds = static_cast<int>((block + part.chunk - 1) / part.chunk);
  }
  const std::size_t operands = static_cast<std::size_t>(ranks_) + 1;
  if (part.operands.size() < operands) part.operands.resize(operands);
  const std::size_t lines = LinesOf(part.chunk * job.element) * operands;
  if ((fabric_ != nullptr || job.scale_inputs) && part.scratch.size() < lines) part.scratch.resize(lines);
}

void Engine::StartPart(Part& part) {
  part.slot = part.turn = part.step = part.operand = 0;
  part.progress = part.sent = 0;
  part.computed = false;
  part.place = Part::kNowhere;
  part.at_root = part.at_root_here = nullptr;
  part.done = part.count == 0;
  part.pool_slot = -1;
}

void Engine::TimeFinished(const Job& job) {
  const std::int64_t now_ns = sys::NowNs();
  for (std::uint64_t call = job.calls.first(); call <= job.calls.last; ++call) recorder_->TimeFinished(call, now_ns);
}

bool Engine::Advance() {
  int turns = 0;
  while (first_ != nullptr) {
    Job& job = *first_;
    if (!Run(job)) {
      if (!references_.empty() && Help()) continue;
      if (remote_ == nullptr || ++turns > kMostTurns || !TurnRemote(job)) return false;
      continue;
    }
    if (remote_ != nullptr) RestRemote();
    if (job.collective == Collective::kSendRecv && job.group.refused) [[unlikely]] {
      const Status why = job.status;
      Fail(why);  // nothing behind it may begin: what was offered for it is open
      return true;
    }
    job.done = true;
    recorder_->Finish(job.calls.count > 0 ? job.calls.last : job.calls.last - 1);
    if (job.calls.timed) [[unlikely]]
      TimeFinished(job);
    if (job.calls.watcher != nullptr) [[unlikely]]
      job.calls.watcher->Ended(job);
    first_ = job.next;
    if (first_ == nullptr) {
      last_ = nullptr;
    } else {
      Start(*first_);
      if (first_->calls.timed) recorder_->TimeStarted(first_->calls.last, sys::NowNs());
    }
  }
  return true;
}

bool Engine::Run(Job& job) {
  job.waits_for = -1;
  job.waits_what = Job::WaitsFor::kNothing;
  if (job.collective == Collective::kSendRecv) return RunTransfers(job) && (job.group.refused || Finish(job));
  return RunCollective(job) && Finish(job);
}

bool Engine::Finish(Job& job) {
  if (!ReferencesRead(job)) return false;
  if (offers_output_) CloseOutputs(job);
  if (job.divisor > 1 && job.first_plan().plan.out_blocks > 0) {
    DivideIntegers(job.out, job.count, job.type, job.divisor);
  }
  return true;
}

}  // namespace tutti::exec::cpu
