// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_PORT_H_
#define TUTTI_TRANSPORT_NET_PORT_H_

// Where a process listens for processes of other hosts that want a connection, for all its communicators. Two threads of its own
// accept calls, and move on what a rank has left unsent. Both sleep nearly all the time.

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "sys/net/hello.h"
#include "sys/net/tcp.h"
#include "transport/net/remote_peer.h"
#include "tutti/status.h"

namespace tutti::sys {
class Acceptor;
struct ProvenConnection;
class Thread;
}  // namespace tutti::sys

namespace tutti::transport::net {

// Who is called at a port.
class Caller {
 public:
  // Somebody who knows its terms has called. Must not wait for long.
  virtual void Called(sys::ProvenConnection&& call) = 0;
  // Moves on what is unsent and left alone; called all the time. What there is: something unsent; nothing, but data have moved of late;
  // or nothing for a while.
  enum class Left : std::uint8_t { kNothing, kActive, kUnsent };
  virtual Left Tend() = 0;

 protected:
  ~Caller() = default;
};

// Threads: any.
class Port {
 public:
  // `cards`: those that the listener listens on.
  static Result<std::shared_ptr<Port>> Open(sys::TcpListener listener, std::vector<Card> cards);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  const std::vector<Card>& cards() const { return cards_; }
  // Lets those in who prove these terms, for `caller`, until Remove, which waits while it is being called.
  Status Add(const sys::HelloTerms& terms, Caller* caller);
  void Remove(const sys::HelloId& id);

 private:
  struct Entry {
    sys::HelloId id{};
    Caller* caller = nullptr;
  };
  Port(std::unique_ptr<sys::Acceptor> acceptor, std::vector<Card> cards);
  Status Start();
  void Accept();
  void Tend();

  const std::vector<Card> cards_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> in_use_{false};
  std::mutex accept_mutex_;  // over the acceptor
  std::unique_ptr<sys::Acceptor> acceptor_;
  // Taken after accept_mutex_. Entries change with both held. The accepting thread reads them with the first alone, since the tending
  // thread holds the second while it calls other hosts, which answer only if somebody accepts there.
  std::mutex entries_mutex_;
  std::vector<Entry> entries_;
  std::unique_ptr<sys::Thread> accepting_, tending_;
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_PORT_H_
