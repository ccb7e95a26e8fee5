// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_BOOTSTRAP_MESSAGE_H_
#define TUTTI_COMM_MEET_BOOTSTRAP_MESSAGE_H_

// What the ranks of a job say to each other while they meet. Whole messages, over packet sockets of one host; numbers are
// little endian (base/bytes.h). Parsing trusts nothing: every length is checked, every byte must have been asked for, and
// what comes back points into the message.
//
//   visitor                               gatherer
//      | -- Greeting: nonce ------------->  |
//      | <- Challenge: nonce, code -------  |   the gatherer shows that it knows the secret
//      | -- Hello: code, who, payload ---->  |  + descriptor; the visitor shows it too, and joins
//      | <- Welcome: who gathers ---------  |
//      |        ... until all have come ... |
//      | <- Missing: who has not come ----  |   where that takes a second, and when it changes
//      | <- Place: links in the tree -----  |  + a socket to the parent, and one to each child
//      |                                    |
//      | <- Members: some ranks' data       |  + their descriptors; as many messages as it takes. From the parent,
//      | -- the same to each child          |    and on to the children; the gatherer is the root
//      |                                    |
//      | -- Ready ----------------------->  |   I have all of them, and have passed all of them on
//      | <- Complete ---------------------  |   all have all of them: success
//      |   either way, at any time:         |
//      | -- Failure: code, rank, sentence - |
//
// The first three messages, and the first three numbers of Hello's body, keep their form in all versions, so
// that ranks of different versions can tell each other so.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sys/net/auth.h"
#include "sys/os/process.h"
#include "tutti/status.h"

namespace tutti::comm {

inline constexpr std::uint32_t kBootstrapVersion =
    5;  // raise it with every change to what ranks say here or share later
inline constexpr std::size_t kMostMessageBytes = 64 << 10;
inline constexpr std::size_t kMostPayloadBytes = 32 << 10;  // of one rank
inline constexpr std::size_t kMostHostName = 64;            // bytes of a host's name; what is longer is cut off
inline constexpr std::size_t kMostSentenceBytes = 4 << 10;
inline constexpr std::uint32_t kMostChildren = 2;

enum class MessageKind : std::uint32_t {
  kGreeting = 1,
  kChallenge,
  kHello,
  kWelcome,
  kPlace,
  kMembers,
  kReady,
  kComplete,
  kFailure,
  kMissing,
};

using Message = std::vector<std::byte>;

// The kind that a message says it is; kInvalidArgument where it is none of ours.
Result<MessageKind> KindOf(std::span<const std::byte> message);
// Ready and Complete: a kind and nothing more.
Message EncodeBare(MessageKind kind);
Status ParseBare(std::span<const std::byte> message, MessageKind kind);

struct Greeting {
  sys::Nonce nonce{};
};
Message Encode(const Greeting& greeting);
Result<Greeting> ParseGreeting(std::span<const std::byte> message);

struct Challenge {
  sys::Nonce nonce{};
  sys::Mac mac{};
};
// The code that shows the gatherer's knowledge of the secret.
sys::Mac ChallengeMac(const sys::Key& secret, const sys::Nonce& visitor, const sys::Nonce& gatherer);
Message Encode(const Challenge& challenge);
Result<Challenge> ParseChallenge(std::span<const std::byte> message);

// What a rank says of itself. In Hello, and passed on in Members.
struct Introduction {
  sys::ProcessId process;
  std::uint64_t process_namespace = 0;
  std::uint32_t uid = 0;         // said by the gatherer, who asked the kernel; 0 in Hello
  std::uint32_t has_shared = 0;  // 1: a descriptor belongs to it; 0: none
  std::uint32_t remote = 0;      // 1: it is on another host; 0: it is not, as always in Hello
  std::string_view host;         // where there are several hosts; empty in Hello
  std::span<const std::byte> payload;
};

struct Hello {
  std::uint32_t version = kBootstrapVersion;
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::int64_t left_ms = 0;  // until this rank's deadline
  Introduction self;
};
// Encodes it with the code that shows the visitor's knowledge of the secret.
Message Encode(const Hello& hello, const sys::Key& secret, const sys::Nonce& visitor, const sys::Nonce& gatherer);
// kInvalidArgument where the message or its code is wrong. Of another version only version, rank and ranks
// are read.
Result<Hello> ParseHello(std::span<const std::byte> message, const sys::Key& secret, const sys::Nonce& visitor,
                         const sys::Nonce& gatherer);
// ParseHello without its check of the code, for the fuzzer.
Result<Hello> ParseUncheckedHello(std::span<const std::byte> message);

struct Welcome {
  std::int32_t rank = 0;  // of the gatherer
  sys::ProcessId process;
  std::uint64_t process_namespace = 0;
};
Message Encode(const Welcome& welcome);
Result<Welcome> ParseWelcome(std::span<const std::byte> message);

// Ranks that have not come, in ascending order. Where `place` is not empty it is where hosts meet, and does not answer: then these
// may have come to other hosts.
struct Missing {
  std::vector<int> ranks;
  std::string place;  // at most kMostPlaceBytes are kept

  bool operator==(const Missing&) const = default;
};
inline constexpr std::size_t kMostPlaceBytes = 512;
Message Encode(const Missing& missing);
Result<Missing> ParseMissing(std::span<const std::byte> message);

// Where a rank stands in the tree along which Members go. A socket to its parent travels along, then one to each child.
struct Place {
  std::uint32_t children = 0;
};
Message Encode(const Place& place);
Result<Place> ParsePlace(std::span<const std::byte> message);

// Consecutive ranks' introductions; the descriptors of those that have one travel along, in the same order.
struct Members {
  std::int32_t first = 0;  // rank of the first
  std::vector<Introduction> members;
};
std::size_t EncodedBytes(const Introduction& member);
Message Encode(const Members& members);
Result<Members> ParseMembers(std::span<const std::byte> message);

// Why the meeting failed. A sentence of more than kMostSentenceBytes is cut off.
Message Encode(const Status& failure);
// The Status in a Failure message, in `failure`. The outcome of parsing is returned.
Status ParseFailure(std::span<const std::byte> message, Status& failure);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_BOOTSTRAP_MESSAGE_H_
