// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_JOINT_LOOK_H_
#define TUTTI_WATCH_JOINT_LOOK_H_

// A look at ranks of several hosts, as a process of a job tells it to programs of its own host: a report (far_report.h), and what that
// leaves out because monitors know it of each other.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diag/evidence.h"
#include "tutti/status.h"

namespace tutti::watch {

struct JointLook {
  std::uint64_t machine = 0;  // sys::HostHash of who tells it. Times are of that machine's clock
  diag::Look look;            // the hosts and their names included
};

// Empty where it would be more than kMostReportBytes.
std::vector<std::byte> Encode(const JointLook& joint);
// Trusts nothing. kInvalidArgument where it is not what Encode writes.
Result<JointLook> ParseJointLook(std::span<const std::byte> message);

// Adds to a look of this machine what it is told of ranks that it does not see itself. A process that both know gets the host's name that
// the job has for it.
void AddJointLook(diag::Look& own, const JointLook& told);

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_JOINT_LOOK_H_
