// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "sys/net/tcp.h"
#include "sys/net/tcp_window.h"
#include "transport/net/stream.h"

namespace tutti::transport::net {
namespace {

class TcpStream final : public Stream {
 public:
  explicit TcpStream(sys::TcpConnection connection) : connection_(std::move(connection)) {}

  std::string Name() const override { return connection_.Name(); }
  Result<std::size_t> TrySend(std::span<const std::span<const std::byte>> pieces) override {
    return connection_.TrySend(pieces);
  }
  Result<std::size_t> TryReceive(std::span<const std::span<std::byte>> buffers) override {
    return connection_.TryReceive(buffers);
  }
  bool busy() const override { return false; }
  std::size_t Unacknowledged() const override { return connection_.Unacknowledged(); }
  std::optional<bool> WaitsForRoom() const override { return connection_.PeerIsFull(); }
  std::optional<transport::Traffic> Traffic() const override {
    const std::optional<sys::TcpTraffic> traffic = connection_.Traffic();
    if (!traffic) return std::nullopt;
    return transport::Traffic{.busy_ns = traffic->busy_ns,
                              .arrived = traffic->arrived,
                              .round_trip_ns = traffic->round_trip_ns,
                              .packet_bytes = traffic->packet_bytes,
                              .is_queued = traffic->queued_bytes > 0};
  }
  int fd() const override { return connection_.socket().get(); }

 private:
  sys::TcpConnection connection_;
};

}  // namespace

std::unique_ptr<Stream> OverTcp(sys::TcpConnection connection) {
  return std::make_unique<TcpStream>(std::move(connection));
}

}  // namespace tutti::transport::net
