// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_LINK_USE_H_
#define TUTTI_SIM_LINK_USE_H_

#include <cstdint>

#include "sim/time.h"

namespace tutti::sim {

// What a link has done in one direction.
struct LinkUse {
  Time busy = 0;
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_LINK_USE_H_
