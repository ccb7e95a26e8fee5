// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_HEALTH_MEASURE_H_
#define TUTTI_TOOLS_HEALTH_MEASURE_H_

// The transfers of `tutti health`: runs them, times them, checks every word.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/health_judge.h"
#include "tools/health_rounds.h"
#include "tools/perf_buffers.h"
#include "tools/perf_gpu.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::tools {

// Faults on purpose, for tests: "slow-rank:2:50" adds 50 ms to each of that rank's transfers, "slow-link:1-3:50" to those between two
// ranks, "corrupt-rank:2" and "corrupt-link:1-3" change a bit of what is sent.
struct Injected {
  bool corrupts = false;
  int a = -1, b = -1;  // a rank and -1, or two; -1: no fault
  std::int64_t delay_ms = 0;

  bool Hits(int from, int to) const;
};
std::optional<Injected> ParseInjected(std::string_view text);

// A kind of transfers: a line of the table.
struct HealthRound {
  std::string name;
  std::vector<std::pair<int, int>> links;  // from, to
};

class HealthRank {
 public:
  // `gpu`: where the data lie, with mirrors of `buffers`; null: in `buffers` themselves, which have `large` bytes each.
  HealthRank(Communicator& communicator, const Buffers& buffers, PerfGpu* gpu, std::size_t large,
             const Injected& injected)
      : communicator_(communicator), buffers_(buffers), gpu_(gpu), large_(large), injected_(injected) {}

  // What is expected of a transfer, which the function fills in.
  using Expect = std::function<void(Transfer& transfer, int links_at_once)>;

  // Collective. All rounds of pairs and rings; then the worst pairs again, one after the other. The same list on all ranks.
  // `expect` is called on rank 0 only.
  Result<std::vector<Transfer>> Run(const HealthShape& shape, const Thresholds& thresholds, const Expect& expect);
  // The parts, since Run.
  const std::vector<HealthRound>& rounds() const { return rounds_; }
  // An all_reduce of so many bytes, checked. Seconds of the slowest rank, and elements that were wrong on all.
  struct Reduced {
    double us = 0;
    std::int64_t wrong = 0;
  };
  Result<Reduced> AllReduceAll(std::size_t bytes);

 private:
  Status RunPairing(const Pairing& pairing, int round);
  Status RunRing(const std::vector<int>& ring, int round);
  // Whether there were any.
  Result<bool> ConfirmSlow(const HealthShape& shape, const Thresholds& thresholds, std::vector<Transfer>& transfers);
  // One direction of a pair: the receiver asks for each message, so that its clock alone counts.
  Status Give(int to, std::size_t bytes, int round);
  Result<Transfer> Take(int from, std::size_t bytes, int times, int round);
  Status Exchange(int a, int b, int round);
  Status Fill(int from, int to, std::size_t bytes, int round);
  Status Check(int from, int round, Transfer& transfer);
  Status Once(std::span<const Operation> operations);
  Result<std::vector<Transfer>> GatherAll();
  // What the ranks of a ring saw at both ends of each link: the lower is the link's.
  void CombineRings(std::vector<Transfer>& transfers) const;
  std::span<std::uint64_t> Words(std::byte* buffer, std::size_t bytes) const {
    return {reinterpret_cast<std::uint64_t*>(buffer), bytes / sizeof(std::uint64_t)};
  }
  void DelayIfInjected(int from, int to) const;

  Communicator& communicator_;
  const Buffers& buffers_;
  PerfGpu* gpu_;
  std::size_t large_;
  Injected injected_;
  std::vector<HealthRound> rounds_;
  int first_ring_ = 0;
  std::vector<Transfer> mine_;  // what this rank has received
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_HEALTH_MEASURE_H_
