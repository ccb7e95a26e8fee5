// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_TCP_WINDOW_H_
#define TUTTI_SYS_NET_TCP_WINDOW_H_

#include <cstdint>
#include <optional>

namespace tutti::sys {

// What the other end of a connection of TCP takes now, and what a packet to it carries.
struct TcpWindow {
  std::uint32_t bytes = 0, packet_bytes = 0;
};

// Also of a connection that has ended. None where the system does not say it: before Linux 5.4.
std::optional<TcpWindow> FindTcpWindow(int socket);

// What has gone over a connection of TCP since it was made, as the system counts it.
struct TcpTraffic {
  std::int64_t busy_ns =
      0;  // in which something that was sent had not been acknowledged, and the other end had room for more
  std::uint64_t arrived = 0;       // bytes that were acknowledged
  std::int64_t round_trip_ns = 0;  // of the latest ones, smoothed
  std::uint32_t packet_bytes = 0;  // at most, of what is sent
  // In memory, what waits in the queues of this host's card now, words on what has come included; 0 also where the system does not say.
  std::uint32_t queued_bytes = 0;
};

// Also of a connection that has ended. None where the system does not say it: before Linux 4.9.
std::optional<TcpTraffic> FindTcpTraffic(int socket);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_TCP_WINDOW_H_
