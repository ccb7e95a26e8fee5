// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_TERMS_H_
#define TUTTI_WATCH_TERMS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tutti/status.h"

namespace tutti::watch {

// What stands of a rank's communicator.
struct Standing {
  std::string kind;          // diag::Name; empty: nothing stands
  std::string sentence;      // diag::Sentence
  std::string about;         // diag::Subject: the same while the same stands
  std::vector<int> exclude;  // ranks that have ended, are stopped, or whose host is gone
};

// On which a rank of a communicator is watched.
struct Terms {
  std::uint64_t communicator = 0;
  int rank = 0;
  int ranks = 1;
  std::byte* box = nullptr;          // the own black box
  std::int64_t abort_after_ns = -1;  // how long a verdict may stand until `end`; -1: for ever
  std::string kernel_log;            // where the kernel's log is read: "/dev/kmsg"; empty: nowhere
  std::string ras_address;           // where RAS clients are answered: "localhost:28028"; empty: nowhere
  // Breaks the communicator with an error that names the culprit, if one rank is. Called by the monitor at most once, and not
  // any more when the destructor has returned.
  std::function<void(const Status&)> end;
};
}  // namespace tutti::watch

#endif  // TUTTI_WATCH_TERMS_H_
