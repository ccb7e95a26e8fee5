// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What calls would take.
#include "comm/host/planner.h"
#include "comm/host/predict.h"
#include "tune/choice.h"

namespace tutti::comm {

Result<double> Planner::PredictUs(std::span<const Operation> operations) {
  return PredictGroupUs(*chooser_, operations,
                        [this](Collective collective, std::size_t bytes) { return DecideWay(collective, bytes); });
}

}  // namespace tutti::comm
