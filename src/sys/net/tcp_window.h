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

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_TCP_WINDOW_H_
