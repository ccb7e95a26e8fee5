// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_ROUTING_H_
#define TUTTI_SIM_ROUTING_H_

// How messages find their way; routes.h says what that means.

#include <cstdint>

#include "topo/policy.h"

namespace tutti::sim {

enum class Routing : std::uint8_t { kHash, kAdaptive };
enum class CrossRail : std::uint8_t { kNetwork, kSenderCrosses };

struct RoutingOptions {
  Routing routing = Routing::kHash;
  std::uint64_t seed = 1;
  int flows = 1;
  CrossRail cross_rail = CrossRail::kNetwork;
  topo::PolicyOptions policy;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_ROUTING_H_
