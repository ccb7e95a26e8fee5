// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_RAS_DOOR_H_
#define TUTTI_RAS_DOOR_H_

// The port that RAS clients knock at. A host has one, and all processes of a user share it: they hold descriptors of one and the
// same socket, so a client is answered as long as any of them is, whoever has opened it.
//
//   The first process opens the port, and takes an abstract name that stands for it (unix_socket.h). Each later one finds the port
//   taken, and gets the socket from whoever has the name. Where that one has ended, one of the others takes the name.
//
// Whoever has the name is the porter: it answers clients at once, so that all see the job from one place. The others do where it
// does not, as when it is stopped.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sys/net/address.h"
#include "sys/net/tcp.h"
#include "sys/os/fd.h"
#include "sys/os/fork.h"
#include "tutti/status.h"

namespace tutti::ras {

// The endpoints that an address stands for, "localhost:28028", "10.0.0.1:500", "[::1]:500", "node7:500": they are to be tried in this
// order. A name may have to be looked up, until the deadline. kInvalidArgument where it is no address.
Result<std::vector<sys::Endpoint>> EndpointsOf(const std::string& address, std::int64_t deadline_ns);

// Threads: one.
class Door {
 public:
  explicit Door(std::string address) : address_(std::move(address)) {}

  // Gets hold of the port, and of its name, as far as that can be done: again and again while somebody else has them. Takes up to
  // half a second. An error says why the port is not there; that another program has it is one.
  Status Seek();

  bool open() const { return listener_.port() != 0; }
  bool is_porter() const { return name_.valid(); }
  sys::Endpoint endpoint() const { return open() ? listener_.endpoints().front() : sys::Endpoint{}; }
  // Readable where a client knocks, and where another process asks for the port. REQUIRES: open(), is_porter().
  const sys::Fd& listener() const { return listener_.sockets().front(); }
  const sys::Fd& name() const { return name_; }

  // A client; kInProgress where none waits any more.
  Result<sys::TcpConnection> Accept() { return listener_.Accept(); }
  // Gives the port to those who ask for it, if they are of this user.
  void HandOn();

 private:
  Status OpenAny();
  Result<sys::TcpListener> AskFor(const sys::Endpoint& endpoint) const;
  void TakeName();

  const std::string address_;
  std::vector<sys::Endpoint> endpoints_;
  sys::TcpListener listener_;
  sys::Fd name_;
  // Behind the descriptors: these are to end first.
  sys::ClosedInForkedChildren listener_guard_, name_guard_;
};

}  // namespace tutti::ras

#endif  // TUTTI_RAS_DOOR_H_
