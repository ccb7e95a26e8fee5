// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_TCP_PAIR_H_
#define TUTTI_TESTS_SUPPORT_TCP_PAIR_H_

#include <array>
#include <cstdint>
#include <utility>

#include "sys/net/tcp.h"
#include "sys/os/clock.h"
#include "tutti/status.h"

namespace tutti::tests {

// Two ends of one connection over the loopback interface. kTimeout: they did not meet by `deadline_ns`.
inline Result<std::array<sys::TcpConnection, 2>> MakeTcpPair(std::int64_t deadline_ns) {
  Result<sys::TcpListener> listener = sys::TcpListener::Open({.addresses = {sys::IpAddress::V4(127, 0, 0, 1)}});
  if (!listener.ok()) return listener.status();
  const sys::Endpoint to = listener->endpoints().front();
  Result<sys::Fd> socket = sys::StartConnect(to);
  if (!socket.ok()) return socket.status();
  std::array<sys::TcpConnection, 2> ends;
  while (!ends[0].valid() || !ends[1].valid()) {
    if (sys::NowNs() > deadline_ns) return Status(Code::kTimeout, "the two ends have not met");
    if (!ends[0].valid()) {
      if (Result<sys::TcpConnection> made = sys::FinishConnect(*socket, to); made.ok()) ends[0] = std::move(*made);
    }
    if (!ends[1].valid()) {
      if (Result<sys::TcpConnection> made = listener->Accept(); made.ok()) ends[1] = std::move(*made);
    }
  }
  return ends;
}

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_TCP_PAIR_H_
