// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_LANE_H_
#define TUTTI_EXEC_CPU_LANE_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "proto/protocol.h"

namespace tutti::exec::cpu {

// How one transfer of a group of sends and receives crosses its link. Both ends derive the protocol from the byte count. Whether
// messages by Simple go by reference is the sender's business: its receiver follows what the posts say, unless another host is
// involved.
struct Lane {
  proto::Protocol protocol = proto::Protocol::kSimple;
  bool by_reference = false;  // what a sender does
  bool tried = false;         // which of the two is found out by trying: its job has a watcher
  bool answered = false;      // of one that is tried: its group has messages from its receiver to its sender too
  std::uint32_t trial = 0;    // of a send: what its first post says (proto::OnTrial)
};

// Whether the sender of a large message by reference may help its receiver to copy it (shared_copy.h): where nothing goes
// back to that sender, which so has nothing else to do. kEarly: the receiver may offer that at once, because the plan
// sends nothing, so that nobody reads what lies there, and it is the one message from that sender.
enum class Sharing : std::uint8_t { kNone, kShared, kEarly };

inline constexpr std::size_t kAnyLength = std::numeric_limits<std::size_t>::max();

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_LANE_H_
