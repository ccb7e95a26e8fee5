// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/costs.h"

#include "tune/nccl_model.h"

namespace tutti::sim {

SwitchCosts SwitchCostsOf(int compute_capability) {
  constexpr int kHopper = 90, kBlackwell = 100;
  constexpr double kHopperShare = 0.825, kBlackwellShare = 0.75, kReadUs = 0.83;
  const double share = compute_capability >= kBlackwell ? kBlackwellShare
                       : compute_capability >= kHopper  ? kHopperShare
                                                        : 0;
  return {.nvlink_share = share, .network_share = tune::NcclConstants{}.switch_share, .read_us = kReadUs};
}

}  // namespace tutti::sim
