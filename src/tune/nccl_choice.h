// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_NCCL_CHOICE_H_
#define TUTTI_TUNE_NCCL_CHOICE_H_

// What NCCL chooses, by its own formula and constants: T = latency + bytes / bandwidth for each algorithm and protocol, the least
// wins. Formula and constants are those of NCCL's graph/tuning.cc from 2.18 to 2.31, which changed twice where multicast is concerned
// (2.19, 2.28). How long an operation really takes is another question (tune/nccl_model.h): the formula is up to a half below
// it, and yet its choice shows in measured times as knees where it says.

#include <optional>

#include "proto/protocol.h"
#include "tune/nccl_machine.h"
#include "tutti/types.h"

namespace tutti::tune {

struct NcclWay {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  proto::Protocol protocol = proto::Protocol::kSimple;
  bool operator==(const NcclWay&) const = default;
};

// What NCCL's formula says for one way, us; nothing where NCCL does not have it. `bytes`: of the larger side.
// REQUIRES: all_reduce, all_gather, reduce_scatter, broadcast or reduce.
std::optional<double> NcclFormulaUs(const NcclMachine& machine, const NcclGraph& graph, Collective collective,
                                    double bytes, const NcclWay& way);

struct NcclChoice {
  NcclWay way;
  double formula_us = 0;  // 0: the formula knows nothing of the collective
  int channels = 1;       // that take part at this size
};

// The way that NCCL goes. Collectives that are made of sends and receives are a ring in this respect, with LL for short messages and
// Simple for others. Where an algorithm is asked for that does not know the collective, rings take its place, as in NCCL.
// REQUIRES: as GraphOf; an algorithm that is asked for has the protocol that is.
NcclChoice ChooseNccl(const NcclMachine& machine, const NcclGraph& graph, Collective collective, double bytes);

// Whether a collective is made of sends and receives.
constexpr bool IsMadeOfTransfers(Collective collective) {
  return collective == Collective::kAllToAll || collective == Collective::kSendRecv ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

// What NCCL's developers saw trees reach with LL128 or Simple, whatever the links: GB/s of the operation's bytes, all channels together.
double NcclMostOfTree(const NcclMachine& machine, const NcclGraph& graph, proto::Protocol protocol);

// The same of multicast, as a share of NVLink.
double NcclNvlsEfficiency(const NcclMachine& machine);

// Steps of a ring, one behind the other.
int NcclRingSteps(const NcclMachine& machine, Collective collective);

// The closed form that simulators use for want of a better one: the bytes on the busiest of NVLink and cards at their rated speed, no
// latency, trees and multicast at what their traffic allows (aliyun/SimAI, calbusbw.cc). us.
double ClosedFormUs(const NcclMachine& machine, Collective collective, double bytes);

// Bus bandwidth as nccl-tests prints it, GB/s.
double BusGbPerS(int ranks, Collective collective, double bytes, double us);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_NCCL_CHOICE_H_
