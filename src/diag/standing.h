// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_STANDING_H_
#define TUTTI_DIAG_STANDING_H_

// How each rank stands, from two looks.

#include <cstdint>
#include <vector>

#include "diag/evidence.h"

namespace tutti::diag {

enum class Standing : std::uint8_t {
  kUnseen,      // nothing is known of it
  kHostSilent,  // its host does not answer
  kGone,        // its process has ended without having left the communicator
  kStopped,     // its process is stopped or frozen, in both looks
  kTraced,      // a debugger holds it, in both looks
  kLeft,        // it has destroyed its communicator
  kFailed,      // its communicator is broken
  kStarting,    // it makes the communicator
  kMoving,      // it has got on between the looks
  kWaiting,     // it waits, for the same in both looks, and nothing has moved
  kInside,      // it is in a call and does not wait
  kIdle,        // all that it has called has ended
};

// Whether a rank in this standing is in an operation that goes on.
constexpr bool IsRunning(Standing s) { return s == Standing::kWaiting || s == Standing::kInside; }

struct Seen {
  Standing standing = Standing::kUnseen;
  const RankLook* now = nullptr;         // null: not seen
  const RankLook* before = nullptr;      // null: not seen in the look before
  const ProcessLook* process = nullptr;  // null: not known
  const ProcessLook* process_before = nullptr;
};

// The looks outlive it.
class Standings {
 public:
  Standings(const Look& before, const Look& now);

  // REQUIRES: 0 <= communicator < communicators of the later look; any rank.
  const Seen& Of(int communicator, int rank) const;

 private:
  Seen Judge(const CommunicatorLook& communicator, const RankLook& rank) const;

  const Look& before_;
  const Look& now_;
  std::vector<std::vector<Seen>> seen_;  // by communicator, as CommunicatorLook::seen
};

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_STANDING_H_
