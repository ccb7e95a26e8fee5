// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_WAITER_H_
#define TUTTI_COMM_HOST_WAITER_H_

#include <atomic>
#include <cstdint>
#include <limits>

#include "tutti/status.h"

namespace tutti {
namespace exec::cpu {
struct Job;
}
namespace trace {
enum class WaitKind : std::uint32_t;
}
}  // namespace tutti

namespace tutti::comm {

class Comparer;
struct Core;

// A wait, as it is told from look to look.
struct WaitState {
  std::int64_t since_ns = 0;       // when something last moved
  std::int64_t last_probe_ns = 0;  // when the peers' processes were last looked for
  std::uint64_t moves = 0;
  std::int64_t begin_ns = 0;
  std::int64_t waited_ns = 0;
  std::int64_t now_ns = 0;
  std::int64_t looked_ns = 0;  // LookAround's: when it last looked, and from when on the wait counts
  std::int64_t counts_from_ns = 0;
  std::int64_t useless_ns = 0;  // spent in yields that let no other rank run
};

// A wait that its caller may leave before what it waits for has ended, and take up again later. How long the peers have kept it
// waiting counts on through all its parts. It is looked whether to leave only once a peer has kept the caller waiting for two
// milliseconds, so a short wait is not slower for it.
struct Stay {
  static constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

  std::uint64_t place = 0;                             // in the queue: Submitter::Place
  Status submitted;                                    // what was said when it was begun
  std::int64_t until_ns = kForEver;                    // by sys::NowNs: the caller leaves soon after
  const std::atomic<std::uint32_t>* wanted = nullptr;  // not 0: another thread wants the queue, so the caller leaves
  WaitState wait;                                      // so far

  bool MustLeave(std::int64_t now_ns) const {
    return now_ns >= until_ns || (wanted != nullptr && wanted->load(std::memory_order_relaxed) != 0);
  }
};

// How a rank waits for its peers, and finds out that it waits in vain.
class Waiter {
 public:
  Waiter(Core& core, Comparer& comparer) : core_(core), comparer_(comparer) {}

  // Moves the engine on until a job has ended; its outcome. kInProgress where the caller has left before (Stay); null: it does not.
  Status WaitFor(const exec::cpu::Job& job, Stay* stay = nullptr);
  // One look around while waiting: at other threads' aborts, at the peers, at the clock. Breaks the communicator where
  // one of them says so.
  void LookAround(WaitState& wait, std::int64_t now_ns);
  // A look at the peers at a bearable rate, for callers that poll.
  Status TestPeers();
  // The cause of a failed operation: where a peer has broken its communicator because calls do not match, that.
  Status CauseOf(const Status& status);
  // The wait that was written down is over.
  void EndReport();

 private:
  Status WaitOn(const exec::cpu::Job& job, WaitState& wait, const Stay* stay);
  void BalanceCores();
  std::int64_t SleepFor(int peer) const;
  void Pause(const exec::cpu::Job& job, const WaitState& wait);
  Status CheckPeers(bool probe_processes);
  void AddWaited(std::int64_t ns);
  // What the engine's first job waits for.
  trace::WaitKind KindOf(const exec::cpu::Job& job) const;
  // Tells who observes calls. REQUIRES: somebody does.
  void Tell(const exec::cpu::Job& job);
  // Writes down what this rank waits for, and how far its links are.
  // kInside: this thread can do nothing else until the wait is over.
  enum class Caller : std::uint8_t { kInside, kPolls };
  void ReportWait(std::int64_t since_ns, std::int64_t now_ns, Caller caller);
  void ReportLinks();

  static constexpr std::uint32_t kPausesPerBalance = 1024;  // of crowded ranks

  Core& core_;
  Comparer& comparer_;
  bool wait_reported_ = false;
  std::int64_t last_report_ns_ = 0;
  std::int64_t last_test_ns_ = 0;
  std::uint64_t test_moves_ = 0;               // when the peers were last looked at by TestPeers,
  std::int64_t test_since_ns_ = 0;             // and since when they are the same
  std::uint64_t pauses_ = 0, joins_from_ = 0;  // those from which on this rank may try to step over to its neighbours
  int joined_ = 0;                             // how often it has tried, one try soon after the other
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_WAITER_H_
