// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_FLOW_H_
#define TUTTI_TRANSPORT_NET_FLOW_H_

// One of the connections of a pair of ranks. All carry the same links, so what one does not carry the others do.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/net/wire.h"

namespace tutti::transport::net {

struct Flow {
  int number = 0;

  // Over what follows, system calls included.
  std::mutex mutex;
  std::unique_ptr<Wire> wire;      // null: not connected
  std::uint64_t name = 0;          // of the connection, the same at its other end
  bool small_packets = false;      // made for a network that loses large ones, or by the other side, who sees to that
  std::vector<std::byte> nowhere;  // where data go that are there already
  // What was known when the rate was last looked at: the time, the backlog, and the bytes that had reached the other host.
  std::int64_t looked_ns = 0;
  std::uint64_t backlog_then = 0, arrived_then = 0;
  // Time in which it had enough to do, and what arrived in it; the last of both.
  double busy_ns = 0, busy_bytes = 0;
  bool peer_is_full = false;  // the other process takes nothing, as of `asked_ns`
  std::int64_t asked_ns = 0;

  // Read by others without the lock, who may see what was true a moment ago.
  std::atomic<bool> connected{false};
  std::atomic<bool> speaks{false};  // and may send
  std::atomic<bool> greets{false};  // something has to be sent, so that the other side may speak, or acknowledges it
  std::atomic<bool> busy{false};    // as of the wire
  std::atomic<std::uint64_t> backlog{0};  // as of the wire
  std::atomic<double> bytes_per_s{0};     // that it carries where it has enough to do; 0: not known
  std::atomic<std::int64_t> rated_ns{0};  // when that was last seen
  // Since the beginning: time in which it had enough to do and the other process took what came, and what arrived in it.
  std::atomic<std::int64_t> all_busy_ns{0};
  std::atomic<std::uint64_t> all_busy_bytes{0};
  // When something it carries last reached the other host, or it had nothing to carry; and the former alone.
  std::atomic<std::int64_t> well_ns{0}, arrived_ns{0};
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_FLOW_H_
