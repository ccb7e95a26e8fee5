// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_TCP_CONNECT_H_
#define TUTTI_SYS_NET_TCP_CONNECT_H_

// Connects to a peer that has several addresses, of which some may lead nowhere or to somebody else: all are tried side by
// side, and the first that answers wins.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sys/net/address.h"
#include "sys/net/frames.h"
#include "sys/net/tcp.h"
#include "sys/os/clock.h"
#include "tutti/status.h"

namespace tutti::sys {

// What has to be said on a new connection before it counts as an answer.
class Handshake {
 public:
  virtual ~Handshake() = default;
  // Does what can be done without waiting; called when the connection is made and whenever something may have come. Ok: it
  // counts. kInProgress: more has to come. kInvalidUsage: this is the peer, and it will never do; the race ends with this.
  // Any other error: this was not the peer, or it is gone.
  virtual Status Advance(FramedConnection& connection) = 0;
};

struct ConnectOptions {
  std::string peer = "the other host";  // who is looked for, for sentences
  std::optional<IpAddress> from;        // the own address to connect from; nullopt: the system chooses
  std::string interface;                // the own network interface to go by; empty: the system chooses
  int segment_bytes = 0;                // see StartConnect
  TcpPatience patience;
  std::size_t most_bytes = 64 << 10;  // of a message on the connection
  // How long after one endpoint the next is tried, where the earlier ones have neither answered nor failed.
  std::int64_t stagger_ns = 100 * kNsPerMs;
  // How long a handshake may last, once connected.
  std::int64_t handshake_ns = 2 * kNsPerSecond;
  std::function<std::unique_ptr<Handshake>()> handshake;  // makes one for each try; null: to be connected is enough
};

struct Connected {
  FramedConnection connection;
  std::unique_ptr<Handshake> handshake;  // the one that succeeded; null where none was asked for
  std::size_t index = 0;                 // which endpoint it was
  int tries = 0;                         // in all
};

// Tries until one endpoint answers or the deadline has passed. What fails is tried again, after 20 ms at first and a second
// at last, with a little chance in it so that many callers do not come all at once: a network may come up late, and a
// process be still about to listen. kTimeout: a sentence with each endpoint, how often it was tried and how the last try
// ended. kInvalidUsage, at once, where no endpoint can ever be reached, or a handshake says so.
Result<Connected> ConnectAny(std::span<const Endpoint> endpoints, const ConnectOptions& options,
                             std::int64_t deadline_ns);

// What becomes of connections to a peer's endpoints, without a word said on them. kRefused: every host answered that nothing
// listens there, so the process that did has ended. kAccepted: one was made, by a process that is there, though it may be
// stopped. kSilent: neither, before the deadline.
enum class Reply : std::uint8_t { kAccepted, kRefused, kSilent };
Reply Knock(std::span<const Endpoint> endpoints, std::int64_t deadline_ns);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_TCP_CONNECT_H_
