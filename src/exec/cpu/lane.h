// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_LANE_H_
#define TUTTI_EXEC_CPU_LANE_H_

#include "proto/protocol.h"

namespace tutti::exec::cpu {

// How one transfer of a group of sends and receives crosses its link. Both ends derive it from the byte count.
struct Lane {
  proto::Protocol protocol = proto::Protocol::kSimple;
  bool by_reference = false;
};

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_LANE_H_
