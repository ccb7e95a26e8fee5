// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/preparer.h"

#include <algorithm>
#include <vector>

#include "comm/host/entry.h"
#include "comm/host/group_plan.h"
#include "comm/host/jobs.h"
#include "comm/host/planner.h"
#include "comm/host/transfer_trials.h"
#include "exec/cpu/fold.h"
#include "trace/call.h"

namespace tutti::comm {
namespace {

using exec::cpu::Job;
using exec::cpu::PreparedPlan;

// Outputs of this size are written past the caches: they would only push everything else out.
constexpr std::size_t kStreamingBytes = std::size_t{16} << 20;

}  // namespace

Status Preparer::PrepareCollective(const Operation& o, Job& job) {
  const Collective collective = o.kind;
  static const std::uint8_t kBarrierInput = 0;
  const bool barrier = o.kind == Collective::kBarrier;
  const std::size_t element = SizeOf(o.type);
  const Result<Entry*> entry = planner_.FindEntry(collective, barrier ? 1 : o.count * element, o.root);
  if (!entry.ok()) return entry.status();
  job.collective = collective;
  job.in = barrier ? reinterpret_cast<const std::byte*>(&kBarrierInput) : static_cast<const std::byte*>(o.in);
  job.out = barrier ? reinterpret_cast<std::byte*>(&barrier_output_) : static_cast<std::byte*>(o.out);
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
      const bool integer = IsInteger(o.type);
      job.divisor = integer ? ranks_ : 1;
      job.scale_inputs = !integer;
      job.scale = {0, 1.0 / ranks_};
    }
  }
  const std::size_t out_bytes = job.count * job.element * plan::OutPieces(collective, ranks_);
  job.stores = out_bytes >= kStreamingBytes ? Stores::kNonTemporal : Stores::kCached;
  job.calls.word = trace::PackCall(o);
  job.calls.elements = barrier ? 0 : o.count;
  job.calls.signature = trace::Signature(job.calls.word, job.calls.elements);
  TakeWay(**entry, job);
  return Status::Ok();
}

// Counts the call.
void Preparer::TakeWay(Entry& entry, Job& job) {
  if (jobs_.IsFirst(job)) left_ = &entry.left;
  if (entry.left > 1) [[likely]] {
    --entry.left;
    job.calls.watcher = nullptr;
    Follow(entry.recipe, job);
  } else {
    prepared_.reset();
    ahead_ = planner_.Try(entry, job);
  }
}

Status Preparer::Prepare(const Operation& o, Job& job) {
  const bool repeatable = jobs_.IsFirst(job);
  if (!repeatable || !PreparedFor(o) || *left_ <= 1) {
    if (repeatable) prepared_.reset();
    job.calls.run = exec::cpu::JobCalls::kNoRun;
    TUTTI_RETURN_IF_ERROR(IsTransfer(o.kind) ? PrepareTransfers(std::span(&o, 1), job) : PrepareCollective(o, job));
    // A collective whose way is tried is no pattern for the next. The way of a send is found as it begins.
    const bool pattern = IsTransfer(o.kind) || job.calls.watcher == nullptr;
    if (repeatable && o.op != ReduceOp::kPreMulSum && pattern) prepared_ = o;
    return Status::Ok();
  }
  --*left_;
  if (prepared_->in != o.in || prepared_->out != o.out) {
    ChangeBuffers(o, job);
    *prepared_ = o;
  }
  return Status::Ok();
}

Status Preparer::PrepareGroup(std::span<const Operation> operations, Job& job) {
  if (jobs_.IsFirst(job)) prepared_.reset();
  job.calls.run = exec::cpu::JobCalls::kNoRun;
  return PrepareTransfers(operations, job);
}

void Preparer::ChangeBuffers(const Operation& o, Job& job) {
  if (o.kind == Collective::kSend) {
    job.group.sends[0].address = static_cast<const std::byte*>(o.in);
  } else if (o.kind == Collective::kRecv) {
    job.group.receives[0].address = static_cast<std::byte*>(o.out);
  } else if (o.kind != Collective::kBarrier) {
    job.in = static_cast<const std::byte*>(o.in);
    job.out = static_cast<std::byte*>(o.out);
  }
}

Status Preparer::PrepareTransfers(std::span<const Operation> operations, Job& job) {
  to_self_.clear();
  from_self_.clear();
  job.group.sends.clear();
  job.group.receives.clear();
  bool tried = false;
  for (const Operation& o : operations) {
    const bool send = o.kind == Collective::kSend;
    const std::size_t bytes = o.count * SizeOf(o.type);
    const exec::cpu::Lane lane = planner_.FindLane(bytes);
    tried |= lane.tried && o.root != rank_;
    if (send) {
      job.group.sends.push_back({.address = static_cast<const std::byte*>(o.in), .bytes = bytes, .lane = lane});
    } else {
      job.group.receives.push_back({.address = static_cast<std::byte*>(o.out), .bytes = bytes, .lane = lane});
    }
    if (o.root == rank_) (send ? to_self_ : from_self_).push_back(bytes);
  }
  TUTTI_RETURN_IF_ERROR(CheckOwn(rank_, to_self_, from_self_));
  job.collective = Collective::kSendRecv;
  job.calls.watcher = nullptr;
  job.divisor = 1;
  if (jobs_.IsFirst(job)) left_ = &never_;
  job.group.plan = planner_.FindTransferPlan(operations);
  if (tried) planner_.transfers().Prepare(job);
  return Status::Ok();
}

}  // namespace tutti::comm
