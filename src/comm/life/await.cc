// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "comm/life/creation.h"
#include "comm/life/watch_over.h"
#include "sys/os/clock.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {
namespace {

using transport::shm::RankState;

// A wait at init gives the core away, and after so many turns sleeps, so as not to be in the way of the others. What all do again
// and again they do the less often the more ranks there are.
constexpr int kTurnsBeforeSleep = 1000;
constexpr std::int64_t kSleepNs = 50000;
constexpr int kFewRanks = 16;
// Turns from one look at what the peers and the program say to the next, and the time from one look at their processes to the next.
constexpr int kTurnsPerLook = 64;
constexpr std::int64_t kProbeNs = 200 * sys::kNsPerMs;

}  // namespace

Status Creation::Cancelled() const {
  if (cancel == nullptr || !cancel->load(std::memory_order_acquire)) return Status::Ok();
  return Status(Code::kRemote,
                fmt::format("rank {} gave up while the ranks were connecting: its program aborted the "
                            "communicator",
                            made.rank),
                made.rank);
}

// What the peers say of themselves, and with `probe` whether their processes are there. Nothing of one that went after it did
// what it was waited for.
Status Creation::LookAtPeers(const std::function<bool()>& ready, Probe probe) const {
  const transport::shm::Fabric& fabric = *made.fabric;
  transport::shm::ProcessLook look(fabric);
  for (int peer = 0; peer < made.ranks; ++peer) {
    if (peer == made.rank) continue;
    if (fabric.StateOf(peer) == RankState::kFailed) {
      if (ready()) return Status::Ok();  // it was done with this, went on, and broke the communicator later
      const transport::shm::PeerState said = fabric.Describe(peer);
      if (said.culprit >= 0 && said.culprit != made.rank) return Status(Code::kRemote, said.reason, said.culprit);
      return Status(Code::kRemote, fmt::format("rank {} failed: {}", peer, said.reason), peer);
    }
    if (probe == Probe::kNo || look.WhyGone(peer).empty()) continue;
    // It did what it was waited for, and went; others may still be waited for.
    if (fabric.StateOf(peer) == RankState::kLeft) continue;
    if (ready()) return Status::Ok();
    return Status(
        Code::kRemote,
        fmt::format("rank {} (pid {}) died while rank {} was connecting to it", peer, fabric.PidOf(peer), made.rank),
        peer);
  }
  return Status::Ok();
}

Status Creation::Await(const std::function<bool()>& ready, const char* what) const {
  const int crowd = 1 + made.ranks / kFewRanks;
  std::int64_t probed_ns = sys::NowNs();
  for (int turn = 0; !ready(); ++turn) {
    if (turn < kTurnsBeforeSleep / crowd) {
      sys::YieldCpu();
    } else {
      sys::SleepNs(kSleepNs * crowd);
    }
    if (turn % kTurnsPerLook != 0) continue;
    TUTTI_RETURN_IF_ERROR(Cancelled());
    TUTTI_RETURN_IF_ERROR(GivenUp(made));
    const std::int64_t now_ns = sys::NowNs();
    const bool probes = now_ns - probed_ns > kProbeNs * crowd;
    if (probes) probed_ns = now_ns;
    TUTTI_RETURN_IF_ERROR(LookAtPeers(ready, probes ? Probe::kYes : Probe::kNo));
    if (now_ns > deadline_ns) {
      return Status(Code::kTimeout, fmt::format("rank {} of {} {} within TUTTI_INIT_TIMEOUT_MS={}", made.rank,
                                                made.ranks, what, made.settings.init_timeout_ms));
    }
  }
  return Status::Ok();
}

}  // namespace tutti::comm
