// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_SIDE_BY_SIDE_H_
#define TUTTI_TESTS_DIAG_SIDE_BY_SIDE_H_

// Runs cases in processes of their own, some of them beside each other.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {

class SideBySide {
 public:
  using Case = std::function<nlohmann::json()>;
  // What a case has returned, or null where its process ended without that: then `said` tells how and with what output.
  using Heard = std::function<void(std::uint64_t seed, const nlohmann::json& result, const std::string& said)>;

  // At most `jobs` at a time. `heard` is called by the functions below.
  SideBySide(int jobs, Heard heard) : jobs_(static_cast<std::size_t>(jobs)), heard_(std::move(heard)) {}

  // Waits until there is room for it. It is ended after so many seconds. REQUIRES: this process has one thread.
  void Start(std::uint64_t seed, int most_seconds, const Case& run);
  // Waits until all have ended.
  void Finish();
  // Whether Start would not have to wait.
  bool HasRoom();
  void SignalAll(int signal);

 private:
  struct Running {
    std::uint64_t seed;
    std::string file;
    std::unique_ptr<ChildProcess> process;
  };
  void HearEnded();

  const std::size_t jobs_;
  const Heard heard_;
  const ScratchFolder folder_;
  std::vector<Running> running_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_SIDE_BY_SIDE_H_
