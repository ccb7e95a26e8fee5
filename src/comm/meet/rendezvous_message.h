// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_RENDEZVOUS_MESSAGE_H_
#define TUTTI_COMM_MEET_RENDEZVOUS_MESSAGE_H_

// What the leaders of hosts and the rendezvous say to each other, in frames over a proven connection (sys/net/hello.h). Parsing
// trusts nothing: every length is checked, every byte must have been asked for, and what comes back points into the message.
//
//   leader                                  rendezvous
//      | -- Join: ranks, host ------------->  |
//      | -- Arrivals: some ranks' data ---->  |  as they come to the leader
//      | <- Known: who has come to it ------  |  twice a second: where nothing comes, nobody knows any more who has come
//      |      ... until all ranks have come   |
//      | <- Remote: ranks of other hosts ---  |  as many messages as it takes
//      | <- All: the hosts' names ----------  |
//      | -- Ready ------------------------->  |  all ranks of this host have all of that
//      | <- Complete -----------------------  |  so have all hosts
//      |   either way, at any time:           |
//      | -- Failure (bootstrap_message.h) --  |

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/meet/bootstrap_message.h"
#include "sys/net/frames.h"
#include "tutti/status.h"

namespace tutti::comm {

inline constexpr std::size_t kMostRendezvousBytes = 1 << 20;  // of a message
inline constexpr std::int32_t kMostHosts = 1 << 13;           // so many names fit a message

enum class RendezvousKind : std::uint32_t { kJoin = 1, kArrivals, kKnown, kRemote, kAll, kReady, kComplete };

// The kind that a message says it is; kInvalidArgument where it is none of these.
Result<RendezvousKind> RendezvousKindOf(std::span<const std::byte> message);
// Ready and Complete: a kind and nothing more.
sys::NetMessage EncodeBare(RendezvousKind kind);
Status ParseBare(std::span<const std::byte> message, RendezvousKind kind);

struct Join {
  std::int32_t ranks = 0;  // as this host's ranks were told
  std::string host;        // its name, for people: printable, and not empty
};
sys::NetMessage Encode(const Join& join);
Result<Join> ParseJoin(std::span<const std::byte> message);

// A rank as other hosts know it. `host` has a meaning in Remote only: an index into All::hosts.
struct Arrival {
  std::int32_t rank = 0;
  std::int32_t host = 0;
  std::int32_t pid = 0;           // on its host
  std::uint64_t start_ticks = 0;  // when that process began: another process has another pid or another beginning
  std::uint32_t uid = 0;
  std::span<const std::byte> payload;
};
std::size_t EncodedBytes(const Arrival& arrival);
// `kind`: kArrivals or kRemote. REQUIRES: all of them fit a message.
sys::NetMessage Encode(RendezvousKind kind, std::span<const Arrival> arrivals);
Result<std::vector<Arrival>> ParseArrivals(std::span<const std::byte> message, RendezvousKind kind);

// For sentences: which hosts have joined, with their ranks so far; after All, which of them are not known to have heard it. As many
// hosts as fit.
struct Known {
  struct Host {
    std::string name;
    std::vector<std::int32_t> ranks;
  };
  std::vector<Host> hosts;
};
sys::NetMessage Encode(const Known& known);
Result<Known> ParseKnown(std::span<const std::byte> message);

struct All {
  std::int32_t own = 0;            // which of them the reader is
  std::vector<std::string> hosts;  // in the order of their lowest ranks; all different
};
sys::NetMessage Encode(const All& all);
Result<All> ParseAll(std::span<const std::byte> message);

// Printable and of at most kMostHostName bytes; "?" in place of what is not.
std::string CleanHostName(std::string_view name);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_RENDEZVOUS_MESSAGE_H_
