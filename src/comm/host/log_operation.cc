// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/log_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "algo/algorithm.h"
#include "comm/host/core.h"
#include "comm/host/log_choice.h"
#include "comm/host/planner.h"
#include "tune/choice.h"

namespace tutti::comm {
void LogCall(Core& core, const Operation& o) {
  TUTTI_INFO(log::kColl,
             "{}: opCount {:x} sendbuff {} recvbuff {} count {} datatype {} op {} root {} comm {} [nranks={}] rank {}",
             NcclName(o.kind), core.logged_calls++, fmt::ptr(o.in), fmt::ptr(o.out), o.count, static_cast<int>(o.type),
             static_cast<int>(o.op), o.root, fmt::ptr(&core), core.ranks, core.rank);
}

void LogOperation(Core& core, Planner& planner, const Operation& o, std::span<const Operation> together) {
  LogCall(core, o);
  const bool barrier = o.kind == Collective::kBarrier;
  if (!log::Enabled(log::Level::kInfo, log::kTuning) || (o.count == 0 && !barrier)) return;
  const std::size_t bytes = barrier ? 1 : o.count * SizeOf(o.type);
  if (IsTransfer(o.kind)) {
    exec::cpu::Lane lane = planner.FindLane(bytes);
    lane.answered = std::ranges::any_of(together, [&](const Operation& other) {
      return IsTransfer(other.kind) && other.kind != o.kind && other.root == o.root;
    });
    TUTTI_INFO(log::kTuning, "{}: {} Bytes -> Algo direct proto {}{}", NcclName(o.kind), bytes,
               proto::Name(lane.protocol), planner.FindReference(o, lane) ? " by reference" : "");
    return;
  }
  tune::Choice way;
  if (!planner.FindCurrent(o.kind, bytes, o.root, way).ok()) return;  // the operation itself will say so
  TUTTI_INFO(log::kTuning, "{}: {} Bytes -> Algo {} proto {}{} channel{{Lo..Hi}}={{0..{}}}", NcclName(o.kind), bytes,
             algo::Get(way.algorithm).name, proto::Name(way.protocol), way.by_reference ? " by reference" : "",
             way.channels - 1);
}

}  // namespace tutti::comm
