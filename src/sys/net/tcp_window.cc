// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// By itself, since the C library's header knows a shorter tcp_info than the system's, and they do not go together.
#include "sys/net/tcp_window.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace tutti::sys {

std::optional<TcpWindow> FindTcpWindow(int socket) {
  tcp_info info{};
  socklen_t bytes = sizeof(info);
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return std::nullopt;
  if (bytes < offsetof(tcp_info, tcpi_snd_wnd) + sizeof(info.tcpi_snd_wnd)) return std::nullopt;
  return TcpWindow{.bytes = info.tcpi_snd_wnd, .packet_bytes = info.tcpi_snd_mss};
}

}  // namespace tutti::sys
