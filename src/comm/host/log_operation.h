// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_LOG_OPERATION_H_
#define TUTTI_COMM_HOST_LOG_OPERATION_H_

// What NCCL_DEBUG=INFO shows of a call under COLL and TUNING.

#include <span>
#include <string_view>

#include "base/log.h"
#include "tutti/operation.h"

namespace tutti::comm {

struct Core;
class Planner;

// Whether it shows anything.
inline bool LogsOperations() { return log::Enabled(log::Level::kInfo, log::kColl | log::kTuning); }
// Both lines, for a call on host memory, one of `together`.
void LogOperation(Core& core, Planner& planner, const Operation& operation, std::span<const Operation> together);

// The line under COLL alone.
void LogCall(Core& core, const Operation& operation);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_LOG_OPERATION_H_
