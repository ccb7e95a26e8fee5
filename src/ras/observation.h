// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_RAS_OBSERVATION_H_
#define TUTTI_RAS_OBSERVATION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "diag/evidence.h"

namespace tutti::ras {

// What holds a communicator up, as it was told last.
struct Finding {
  std::uint64_t communicator = 0;
  std::string kind;          // diag::Name of a verdict's kind: "late host"
  std::string sentence;      // diag::Sentence, whose numbers grow while it stands
  std::string about;         // diag::Subject: the same while the same stands
  std::vector<int> exclude;  // ranks that have ended, are stopped, or whose host is gone

  bool operator==(const Finding&) const = default;
};

// What the service tells its clients about: a look at a job, and what stands.
struct Observation {
  diag::Look look;
  std::vector<Finding> findings;
};

// Makes one. Called by the service's thread, one at a time; it shall take milliseconds, whatever the ranks do.
using Observe = std::function<Observation()>;

}  // namespace tutti::ras

#endif  // TUTTI_RAS_OBSERVATION_H_
