// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_PROVEN_CONNECTION_H_
#define TUTTI_SYS_NET_PROVEN_CONNECTION_H_

// TCP connections whose two sides have proven to each other that they know one secret (hello.h). Who cannot do that within a
// second is dropped: strangers, scanners, other jobs, and whoever repeats what he has overheard.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sys/net/frames.h"
#include "sys/net/hello.h"
#include "sys/net/poll_set.h"
#include "sys/net/tcp.h"
#include "sys/net/tcp_connect.h"
#include "sys/os/clock.h"
#include "tutti/status.h"

namespace tutti::sys {

struct ProvenConnection {
  FramedConnection connection;
  HelloOutcome outcome;
};

// As ConnectAny, with `terms` proven on both sides: the endpoint that proves itself first wins, and one where somebody else
// listens counts like one where nobody does. kInvalidUsage, at once, where the peer runs another version.
Result<ProvenConnection> ConnectProven(std::span<const Endpoint> endpoints, const HelloTerms& terms,
                                       ConnectOptions options, std::int64_t deadline_ns);

// The caller's part of a hello on one connection, for who may not wait: Advance until it says Ok. REQUIRES: `terms` outlive it; at most
// kMostHelloPayload bytes of payload.
std::unique_ptr<Handshake> CallersHello(const HelloTerms& terms, const Nonce& nonce);

// Accepts connections and says hello on them, many at a time.
//
// Connections that have not proven themselves are bounded in number. Where a new one comes and there is no room, or no
// descriptor, the oldest of those that come from the address that has most of them goes. So a flood from one address does
// not reach those that come from others, and who says hello at once is done before it is his turn.
// Threads: one at a time.
class Acceptor {
 public:
  struct Options {
    std::int64_t patience_ns = kNsPerSecond;  // from a connection's coming to the end of its hello
    std::size_t most_strangers = 256;         // at a time
    std::size_t most_bytes = 64 << 10;        // of a message, once proven
    TcpPatience patience;
  };
  // Connections that were dropped, by reason.
  struct Dropped {
    std::uint64_t silent = 0;     // did not come to an end in time
    std::uint64_t left = 0;       // closed or broke before the end
    std::uint64_t strange = 0;    // said something else, or did not know the secret
    std::uint64_t displaced = 0;  // had to make room
    std::string last;             // the last one of `strange`, in a sentence
    std::uint64_t all() const { return silent + left + strange + displaced; }
  };

  static Result<std::unique_ptr<Acceptor>> Make(TcpListener listener, const Options& options);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Lets those in who know these terms, from now on; replaces those of the same id.
  Status Admit(const HelloTerms& terms);
  // And no more, from now on.
  void Dismiss(const HelloId& id);

  // Waits for the next that has proven itself; kTimeout where none comes. kInvalidUsage: one has come that runs another
  // version; others may come after it. kSystem: this process can accept no more, for want of descriptors.
  Result<ProvenConnection> Accept(std::int64_t deadline_ns);

  // The same without waiting, for a caller that has more to wait for: kInProgress where none is there. Call it when fd() is
  // readable and when NextLookNs() has come.
  Result<ProvenConnection> TryAccept();
  const Fd& fd() const { return set_.fd(); }
  std::int64_t NextLookNs() const;

  const TcpListener& listener() const { return listener_; }
  std::size_t strangers() const { return strangers_.size(); }
  const Dropped& dropped() const { return dropped_; }

 private:
  struct Stranger {
    FramedConnection connection;
    std::unique_ptr<HelloListener> hello;
    std::int64_t until_ns = 0;
  };
  using Strangers = std::map<std::uint64_t, Stranger>;  // by token, which counts up: the first is the oldest

  Acceptor(TcpListener listener, const Options& options);
  const HelloTerms* Find(const HelloId& id) const;
  Status Turn();
  Status AcceptAll();
  void Take(TcpConnection connection);
  void Serve(Strangers::iterator place);
  void Drop(Strangers::iterator place, std::uint64_t& count);
  void DropLate();
  bool DisplaceOne();

  TcpListener listener_;
  const Options options_;
  PollSet set_;
  Strangers strangers_;
  std::uint64_t next_token_ = 0;
  std::map<HelloId, HelloTerms> admitted_;
  std::deque<Result<ProvenConnection>> ready_;
  Dropped dropped_;
};

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_PROVEN_CONNECTION_H_
