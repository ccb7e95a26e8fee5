// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_HELLO_H_
#define TUTTI_SYS_NET_HELLO_H_

// How two processes of different hosts prove to each other that they know one secret, before anything else is said.
// Messages only: who sends them and waits for them is in proven_connection.h.
//
//   caller                                          listener
//      | -- Opening: id, version, nonce ------------->  |   the id says which secret is meant, and nothing about it
//      | <- Challenge: version, nonce, code ----------  |   the listener shows that it knows the secret
//      | -- Answer: payload, code ------------------->  |   the caller shows it too
//      | <- Welcome: payload, code -------------------  |
//
// A code is a keyed hash (auth.h) over the message's name, the id, both nonces, both versions and the payloads so far. So no
// message serves a second time, for the other side, for another id, or as another message. Both sides draw a nonce for each
// hello. Where the versions differ, Challenge and Answer are still exchanged, so that each side knows that it heard its
// peer, and says so; no Welcome follows.
//
// All numbers are little endian. Every message begins with its kind and the form of this hello; what differs in form is
// refused with a sentence that says so. Parsing trusts nothing: every length is checked and every byte must be asked for.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sys/net/auth.h"
#include "sys/net/frames.h"
#include "tutti/status.h"

namespace tutti::sys {

inline constexpr std::uint16_t kHelloForm = 1;
inline constexpr std::size_t kMostHelloPayload = 1024;  // bytes
inline constexpr std::size_t kMostVersionName = 32;     // bytes
inline constexpr std::size_t kMostHelloBytes = 1280;    // of a message

// Names a secret without saying anything about it: bytes that both sides derive from the secret or agree on otherwise.
using HelloId = std::array<std::byte, 16>;

struct HelloVersion {
  std::uint32_t number = 0;  // sides with different numbers do not work together
  std::string name;          // for people: "0.1.0"; what is longer than kMostVersionName is cut off
};

// What a side brings to a hello.
struct HelloTerms {
  HelloId id{};
  Key secret{};
  HelloVersion version;
  NetMessage payload;  // for the other side, once it has proven itself; at most kMostHelloPayload bytes
};

// What a side has after it.
struct HelloOutcome {
  HelloId id{};
  HelloVersion version;  // the other side's
  NetMessage payload;    // the other side's
  // A key that only the two sides of this one connection have, for codes on what follows.
  Key session{};
};

// The caller's part.
class HelloCaller {
 public:
  HelloCaller(HelloTerms terms, const Nonce& nonce) : terms_(std::move(terms)), nonce_(nonce) {}

  NetMessage Opening() const;
  // The listener's next message. `reply` is what to send, where it is not empty, whatever is returned. Ok: done.
  // kInProgress: another message has to come. kInvalidUsage: it is the peer, but of another version. kInvalidArgument: it is
  // not the peer. Sentences begin with a verb, for the listener's name before them; that of kInvalidUsage is whole.
  Status Take(std::span<const std::byte> message, const std::string& caller_name, const std::string& listener_name,
              NetMessage& reply);
  const HelloOutcome& outcome() const { return outcome_; }

 private:
  HelloTerms terms_;
  Nonce nonce_;
  bool challenged_ = false;
  Nonce its_nonce_{};
  HelloOutcome outcome_;
};

// The listener's part, which may know several secrets.
class HelloListener {
 public:
  using Find = std::function<const HelloTerms*(const HelloId&)>;  // null: there is no such id

  HelloListener(Find find, const Nonce& nonce) : find_(std::move(find)), nonce_(nonce) {}

  // The caller's next message; the rest is as with HelloCaller::Take.
  Status Take(std::span<const std::byte> message, const std::string& caller_name, const std::string& listener_name,
              NetMessage& reply);
  const HelloOutcome& outcome() const { return outcome_; }

 private:
  Find find_;
  Nonce nonce_;
  bool opened_ = false;
  Nonce its_nonce_{};
  HelloOutcome outcome_;
};

namespace internal {

struct HelloOpening {
  HelloId id{};
  HelloVersion version;
  Nonce nonce{};
};
struct HelloChallenge {
  HelloVersion version;
  Nonce nonce{};
  Mac mac{};
};
struct HelloAnswer {  // Welcome looks the same
  NetMessage payload;
  Mac mac{};
};
enum class HelloKind : std::uint16_t { kOpening = 1, kChallenge, kAnswer, kWelcome };

NetMessage Encode(const HelloOpening& opening);
NetMessage Encode(const HelloChallenge& challenge);
NetMessage Encode(const HelloAnswer& answer, HelloKind kind);
// kInvalidArgument where it is none; where its form is another, the sentence says so and `other_form` is set.
Result<HelloOpening> ParseOpening(std::span<const std::byte> message, bool* other_form = nullptr);
Result<HelloChallenge> ParseChallenge(std::span<const std::byte> message);
Result<HelloAnswer> ParseAnswer(std::span<const std::byte> message, HelloKind kind);

}  // namespace internal

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_HELLO_H_
