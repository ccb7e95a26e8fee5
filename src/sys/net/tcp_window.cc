// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// By itself, since the C library's header knows a shorter tcp_info than the system's, and they do not go together.
#include "sys/net/tcp_window.h"

#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::sys {

std::optional<TcpWindow> FindTcpWindow(int socket) {
  tcp_info info{};
  socklen_t bytes = sizeof(info);
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return std::nullopt;
  if (bytes < offsetof(tcp_info, tcpi_snd_wnd) + sizeof(info.tcpi_snd_wnd)) return std::nullopt;
  return TcpWindow{.bytes = info.tcpi_snd_wnd, .packet_bytes = info.tcpi_snd_mss};
}

std::optional<TcpTraffic> FindTcpTraffic(int socket) {
  constexpr std::int64_t kNsPerUs = 1000;
  tcp_info info{};
  socklen_t bytes = sizeof(info);
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return std::nullopt;
  if (bytes < offsetof(tcp_info, tcpi_rwnd_limited) + sizeof(info.tcpi_rwnd_limited)) return std::nullopt;
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t memory_bytes = sizeof(memory);
  if (getsockopt(socket, SOL_SOCKET, SO_MEMINFO, memory.data(), &memory_bytes) != 0) memory = {};
  const auto busy_us = static_cast<std::int64_t>(info.tcpi_busy_time - info.tcpi_rwnd_limited);
  return TcpTraffic{.busy_ns = busy_us * kNsPerUs,
                    .arrived = info.tcpi_bytes_acked,
                    .round_trip_ns = static_cast<std::int64_t>(info.tcpi_rtt) * kNsPerUs,
                    .packet_bytes = info.tcpi_snd_mss,
                    .queued_bytes = memory[SK_MEMINFO_WMEM_ALLOC]};
}

}  // namespace tutti::sys
