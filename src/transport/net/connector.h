// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_CONNECTOR_H_
#define TUTTI_TRANSPORT_NET_CONNECTOR_H_

// Makes the flows of pairs of ranks that have one already, so that nobody waits for a card that leads nowhere. What it is asked for
// it tries again and again, after 0.2 s at first and 30 s at last; so a card is taken back when it works again.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sys/net/hello.h"
#include "sys/net/tcp.h"
#include "transport/net/remote_peer.h"
#include "transport/net/remote_rank.h"
#include "transport/net/routes.h"
#include "tutti/status.h"

namespace tutti::sys {
struct ProvenConnection;
class Thread;
}  // namespace tutti::sys

namespace tutti::transport::net {

// A connection that has proven itself, whoever made it.
struct MadeFlow {
  RemoteRank::Side side = RemoteRank::Side::kCaller;
  int rank = 0;
  int flow = 0;
  std::uint64_t name = 0;
  bool small_packets = false;  // this side has asked for that (Route::segment_bytes)
  sys::Key session{};          // that only the two sides have
  sys::TcpConnection connection;
};

// How connections of flows end by themselves: in less than a host may be silent.
inline constexpr sys::TcpPatience kFlowPatience{.idle_s = 2, .interval_s = 1, .probes = 4, .unacknowledged_ms = 6'000};

// What a caller has said of itself; nothing where that is no flow's (MakeFlow's `terms`).
std::optional<MadeFlow> FlowOfCall(sys::ProvenConnection&& call);

// Calls `peer` once, for at most 100 ms.
Result<MadeFlow> MakeFlow(const RemotePeer& peer, const Route& route, int flow, const sys::HelloTerms& terms);

// Threads: any.
class Connector {
 public:
  struct Options {
    std::function<sys::HelloTerms(int rank, int flow)> terms;
    std::function<void(MadeFlow)> made;              // is handed what was made; on the connector's thread
    std::function<bool(int rank, int flow)> wanted;  // whether it is still missing; on the connector's thread
    std::function<bool(int rank, int flow)> connected;
    std::function<double(int rank)> bytes_per_s;  // what the other flows with it carry; 0: not known; on its thread
  };
  explicit Connector(Options options);
  // Waits for a call that is under way.
  ~Connector();

  // Makes flow `flow` with a peer, from `delay_ns` on, until it is not wanted any more. Once is enough. The thread starts with the
  // first; where there is none to be had, nothing is made.
  void Want(const RemotePeer& peer, const Route& route, int flow, std::int64_t delay_ns);

 private:
  struct Task {
    const RemotePeer* peer = nullptr;
    Route route;
    int flow = 0;
    std::int64_t due_ns = 0, pause_ns = 0;
    std::int64_t since_ns = 0;  // since when it is missing
    bool told = false;          // a line of the log says so
  };
  void Run();
  void Try(Task& task);
  bool IsSettled(const Task& task) const;

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<sys::Thread> thread_;
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_CONNECTOR_H_
