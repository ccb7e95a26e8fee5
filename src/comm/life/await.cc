// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "comm/life/creation.h"
#include "sys/os/clock.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {
namespace {

using transport::shm::RankState;

// A wait at init gives the core away, and after so many turns sleeps, so as not to be in the way of the others.
constexpr int kTurnsBeforeSleep = 1000;
constexpr std::int64_t kSleepNs = 50000;
// Turns from one look at what the peers and the program say to the next, and from one look at their processes to the next.
constexpr int kTurnsPerLook = 64;
constexpr int kTurnsPerProbe = 4096;

}  // namespace

Status Creation::Cancelled() const {
  if (cancel == nullptr || !cancel->load(std::memory_order_acquire)) return Status::Ok();
  return Status(Code::kRemote,
                fmt::format("rank {} gave up while the ranks were connecting: its program aborted the "
                            "communicator",
                            made.rank),
                made.rank);
}

Status Creation::Await(const std::function<bool()>& ready, const char* what) const {
  const transport::shm::Fabric& fabric = *made.fabric;
  for (int turn = 0; !ready(); ++turn) {
    if (turn < kTurnsBeforeSleep) {
      sys::YieldCpu();
    } else {
      sys::SleepNs(kSleepNs);
    }
    if (turn % kTurnsPerLook != 0) continue;
    TUTTI_RETURN_IF_ERROR(Cancelled());
    for (int peer = 0; peer < made.ranks; ++peer) {
      if (peer == made.rank) continue;
      if (fabric.StateOf(peer) == RankState::kFailed) {
        if (ready()) return Status::Ok();  // it was done with this, went on, and broke the communicator later
        const transport::shm::PeerState said = fabric.Describe(peer);
        if (said.culprit >= 0 && said.culprit != made.rank) return Status(Code::kRemote, said.reason, said.culprit);
        return Status(Code::kRemote, fmt::format("rank {} failed: {}", peer, said.reason), peer);
      }
      if (turn % kTurnsPerProbe == 0 && !fabric.WhyGone(peer).empty()) {
        // It did what it was waited for, and went; others may still be waited for.
        if (fabric.StateOf(peer) == RankState::kLeft) continue;
        if (ready()) return Status::Ok();
        return Status(Code::kRemote,
                      fmt::format("rank {} (pid {}) died while rank {} was connecting to it", peer, fabric.PidOf(peer),
                                  made.rank),
                      peer);
      }
    }
    if (sys::NowNs() > deadline_ns) {
      return Status(Code::kTimeout, fmt::format("rank {} of {} {} within TUTTI_INIT_TIMEOUT_MS={}", made.rank,
                                                made.ranks, what, made.settings.init_timeout_ms));
    }
  }
  return Status::Ok();
}

}  // namespace tutti::comm
