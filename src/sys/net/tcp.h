// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_TCP_H_
#define TUTTI_SYS_NET_TCP_H_

// TCP: listeners and connections. Sockets made here are close-on-exec and non-blocking, and never raise SIGPIPE.
//
// Codes and deadlines are those of unix_socket.h: kTimeout where the deadline passed, or the system has waited for the
// other host in vain, kRemote where the other side closed, died or can no longer be reached, kInProgress where an operation that does not wait has to be tried again later, kSystem
// for the rest. Every sentence names both ends, what was tried and the system's own error.
// Threads: an object belongs to one thread at a time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sys/net/address.h"
#include "sys/os/fd.h"
#include "tutti/status.h"

namespace tutti::sys {

struct TcpTraffic;

// When a connection whose other host says nothing ends. An idle one: after idle_s + interval_s * probes. One with data that
// nobody takes, because nothing is acknowledged or because the receiver's buffer stays full: after unacknowledged_ms. So a
// receiver that is alive but does not read for that long ends it too: credits must keep it from being sent more than fits.
struct TcpPatience {
  int idle_s = 5;
  int interval_s = 1;
  int probes = 5;
  int unacknowledged_ms = 10'000;
};

class TcpConnection {
 public:
  TcpConnection() = default;  // none
  // Takes a connected socket, and sets its options: small messages leave at once (TCP_NODELAY), and `patience`. Buffers are
  // left to the system, which adapts them. kRemote where it has ended already.
  static Result<TcpConnection> Adopt(Fd socket, const TcpPatience& patience = {});

  bool valid() const { return socket_.valid(); }
  const Fd& socket() const { return socket_; }
  const Endpoint& local() const { return local_; }
  const Endpoint& remote() const { return remote_; }
  // "10.0.0.2:41000 to 10.0.0.1:500": this side first.
  std::string Name() const;

  // Without waiting: how many bytes of the pieces, one after the other, were taken. At most kMostPieces count.
  static constexpr std::size_t kMostPieces = 16;
  Result<std::size_t> Send(std::span<const std::span<const std::byte>> pieces);
  Result<std::size_t> Send(std::span<const std::byte> bytes);
  // Without waiting: how many bytes came, at least 1. REQUIRES: the buffer is not empty.
  Result<std::size_t> Receive(std::span<std::byte> buffer);

  // The same for callers that ask all the time: 0 where the socket is full, or nothing has come. That costs no sentence.
  // TryReceive fills the buffers one after the other.
  Result<std::size_t> TrySend(std::span<const std::span<const std::byte>> pieces);
  Result<std::size_t> TryReceive(std::span<const std::span<std::byte>> buffers);

  // Bytes that were sent and that the other host has not acknowledged.
  std::size_t Unacknowledged() const;
  // Whether the other process has left so much unread that its system takes less than a packet. None: the system does not say.
  std::optional<bool> PeerIsFull() const;
  // What has gone over it so far. None: the system does not say.
  std::optional<TcpTraffic> Traffic() const;

  // Nothing more is sent: the other side reads an end behind what was, also where a forked child has the socket too.
  void EndSending();

  Status WaitReadable(std::int64_t deadline_ns) const;
  Status WaitWritable(std::int64_t deadline_ns) const;

 private:
  static constexpr std::size_t kSmallBytes = 1024;  // of pieces that are sent as one
  Status Broken(const char* what, int error) const;
  Status WaitFor(short events, std::int64_t deadline_ns) const;

  Fd socket_;
  Endpoint local_, remote_;
};

struct PortRange {
  std::uint16_t first = 0, last = 0;  // both included; 0 to 0: any free port
};

struct ListenOptions {
  std::vector<IpAddress> addresses;  // of this host; IpAddress::Any of a family: all of them
  PortRange ports;
  int backlog = 4096;  // connections that wait to be accepted; the system cuts it to net.core.somaxconn
};

// Listens on several addresses, on one port that is free on all of them.
class TcpListener {
 public:
  TcpListener() = default;
  // A port in TIME_WAIT counts as free. kInvalidUsage where all ports of the range are taken, or an address is not this
  // host's.
  static Result<TcpListener> Open(const ListenOptions& options);
  // Takes a socket that listens, as another process has handed it on. kInvalidArgument for another one.
  static Result<TcpListener> Adopt(Fd socket);

  const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  std::uint16_t port() const { return endpoints_.empty() ? 0 : endpoints_.front().port; }
  const std::vector<Fd>& sockets() const { return sockets_; }  // readable where somebody waits

  // A waiting connection of any address; kInProgress where there is none. kSystem where there is one, but no descriptor for
  // it: it waits on.
  Result<TcpConnection> Accept(const TcpPatience& patience = {});

 private:
  std::vector<Fd> sockets_;
  std::vector<Endpoint> endpoints_;  // one for each socket
  std::size_t next_ = 0;             // whose turn it is
};

// Begins to connect; the socket becomes writable when that has succeeded or failed. `from`: the own address to connect from.
// `interface`: the only one to go by, where the system allows to ask for that; empty: any. `segment_bytes`: the most of a packet's
// data, both ways; 0: as the network says.
// kInvalidUsage where it is no use to try again: no such own address or family, or a link-local address without interface.
Result<Fd> StartConnect(const Endpoint& remote, const std::optional<IpAddress>& from = std::nullopt,
                        const std::string& interface = {}, int segment_bytes = 0);
// After that: the connection; kInProgress while it is on its way.
Result<TcpConnection> FinishConnect(Fd& socket, const Endpoint& remote, const TcpPatience& patience = {});

// How a connection that was begun has ended: 0 where it was made, else the system's error; nullopt while it is on its way.
std::optional<int> ConnectError(const Fd& socket);

// What a network error likely means and what to do about it: "nothing listens there: ...". Empty where nothing is known.
std::string_view LikelyCause(int error_number);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_TCP_H_
