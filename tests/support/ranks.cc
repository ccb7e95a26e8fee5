// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ranks.h"

#include <thread>
#include <vector>

namespace tutti::tests {
namespace {
// A deadlock ends as a sentence that says who waits for whom.
constexpr std::int64_t kTimeoutMs = 20000;
}  // namespace

std::string RunRanks(int ranks, const Settings& settings, const std::function<Status(Communicator&)>& body) {
  return RunOnHosts(std::vector<int>(static_cast<std::size_t>(ranks), -1), settings, body);
}

std::string RunOnHosts(std::span<const int> host_of, const Settings& settings,
                       const std::function<Status(Communicator&)>& body) {
  const int ranks = static_cast<int>(host_of.size());
  const Result<UniqueId> id = CreateUniqueId();
  if (!id.ok()) return id.status().ToString();
  std::vector<std::string> failures(ranks);
  Settings impatient = settings;
  if (impatient.timeout_ms == Settings{}.timeout_ms) impatient.timeout_ms = kTimeoutMs;
  const auto rank_main = [&](int rank) {
    CommunicatorOptions options{.rank = rank, .ranks = ranks, .id = *id, .settings = impatient};
    if (const int host = host_of[static_cast<std::size_t>(rank)]; host >= 0) {
      options.settings.host_id = "host-" + std::to_string(host);
    }
    Result<Communicator> c = Communicator::Create(options);
    Status s = c.status();
    if (s.ok()) s = body(*c);
    if (s.ok()) return;
    if (c.ok()) c->Abort("the test failed here: " + s.message());
    failures[rank] = "rank " + std::to_string(rank) + ": " + s.ToString();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(rank_main, rank);
  for (std::thread& thread : threads) thread.join();
  // A rank that failed by itself says more than one that heard of it.
  for (const bool own : {true, false}) {
    for (const std::string& failure : failures) {
      if (!failure.empty() && (failure.find("REMOTE") == std::string::npos) == own) return failure;
    }
  }
  return "";
}

}  // namespace tutti::tests
