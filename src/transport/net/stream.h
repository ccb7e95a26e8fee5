// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_STREAM_H_
#define TUTTI_TRANSPORT_NET_STREAM_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "transport/remote.h"
#include "tutti/status.h"

namespace tutti::sys {
class TcpConnection;
}

namespace tutti::transport::net {

// Bytes that go both ways between two ranks, in order. Nothing waits. After an error it is good for nothing but to be destroyed.
// Threads: one at a time.
class Stream {
 public:
  virtual ~Stream() = default;

  // What it goes over, for sentences: "10.0.0.2:41000 to 10.0.0.1:500".
  virtual std::string Name() const = 0;

  // How many bytes of the pieces, one after the other, were taken; 0: no room now. At most sys::TcpConnection::kMostPieces count.
  // What was taken need not stay.
  virtual Result<std::size_t> TrySend(std::span<const std::span<const std::byte>> pieces) = 0;
  // How many bytes came into the buffers, one after the other; 0: none.
  virtual Result<std::size_t> TryReceive(std::span<const std::span<std::byte>> buffers) = 0;

  // Whether it needs more calls before what was taken leaves this host, or before it can take something.
  virtual bool busy() const = 0;
  // Bytes, more or less, that were taken and are not known to have reached the other host.
  virtual std::size_t Unacknowledged() const = 0;
  // Whether that waits for the other process, which has no room for more, and not for the network. None: it is not known.
  virtual std::optional<bool> WaitsForRoom() const = 0;
  // What has gone over it. None: nobody counts it.
  virtual std::optional<transport::Traffic> Traffic() const { return std::nullopt; }
  // What becomes readable when something has come; -1: it says so only when it is asked.
  virtual int fd() const = 0;
};

// Over a connection of TCP.
std::unique_ptr<Stream> OverTcp(sys::TcpConnection connection);

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_STREAM_H_
