// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "comm/gpu_impl.h"
#include "comm/impl.h"

namespace tutti {
namespace {

using Kind = Operation::Kind;

// As NCCL names its functions.
constexpr std::string_view kNames[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "Gather",
                                       "Scatter",   "AlltoAll",  "Barrier",       "Send",      "Recv"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Kind::kRecv) + 1);

bool IsTransfer(Kind kind) { return kind == Kind::kSend || kind == Kind::kRecv; }

void LogCall(Communicator::Impl& c, const Operation& o) {
  TUTTI_INFO(log::kColl,
             "{}: opCount {:x} sendbuff {} recvbuff {} count {} datatype {} op {} root {} comm {} [nranks={}] rank {}",
             kNames[static_cast<int>(o.kind)], c.logged_operations++, fmt::ptr(o.in), fmt::ptr(o.out), o.count,
             static_cast<int>(o.type), static_cast<int>(o.op), o.root, fmt::ptr(&c), c.ranks, c.rank);
}

}  // namespace

void GpuCommunicator::Impl::LogOperation(const Operation& o) {
  LogCall(host, o);
  if (!log::Enabled(log::Level::kInfo, log::kTuning) || (o.count == 0 && o.kind != Kind::kBarrier)) return;
  TUTTI_INFO(log::kTuning, "{}: {} Bytes -> {} on the GPU", kNames[static_cast<int>(o.kind)], o.count * SizeOf(o.type),
             Explain(o));
}

void GpuCommunicator::Impl::LogBatch(const Operation& first, int operations, const exec::gpu::Shape& shape,
                                     int channels) {
  TUTTI_INFO(log::kTuning, "{}: {} operations -> one launch, proto {}, {} channels of {} threads",
             kNames[static_cast<int>(first.kind)], operations, proto::Name(shape.protocol), channels, shape.threads);
}

void Communicator::Impl::LogOperation(const Operation& o) {
  LogCall(*this, o);
  const std::string_view name = kNames[static_cast<int>(o.kind)];
  const bool barrier = o.kind == Kind::kBarrier;
  if (!log::Enabled(log::Level::kInfo, log::kTuning) || (o.count == 0 && !barrier)) return;
  const std::size_t bytes = barrier ? 1 : o.count * SizeOf(o.type);
  if (IsTransfer(o.kind)) {
    const exec::cpu::Lane lane = FindLane(bytes);
    TUTTI_INFO(log::kTuning, "{}: {} Bytes -> Algo direct proto {}{}", name, bytes, proto::Name(lane.protocol),
               lane.by_reference ? " by reference" : "");
    return;
  }
  const Collective collective = barrier ? Collective::kBarrier : static_cast<Collective>(o.kind);
  const Result<const comm::Recipe*> recipe = FindRecipe(collective, bytes, o.root);
  if (!recipe.ok()) return;                             // the operation itself will say so
  const std::string& plan = (*recipe)->plans[0]->name;  // "all_reduce ring"
  TUTTI_INFO(log::kTuning, "{}: {} Bytes -> Algo {} proto {}{} channel{{Lo..Hi}}={{0..{}}}", name, bytes,
             plan.substr(plan.rfind(' ') + 1), proto::Name((*recipe)->protocol),
             (*recipe)->by_reference ? " by reference" : "", (*recipe)->plans.size() - 1);
}

}  // namespace tutti
