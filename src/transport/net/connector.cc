// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/connector.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/log.h"
#include "sys/log/thread_name.h"
#include "sys/net/proven_connection.h"
#include "sys/os/clock.h"
#include "sys/os/thread.h"

namespace tutti::transport::net {
namespace {

constexpr std::int64_t kTryNs = 100 * sys::kNsPerMs;     // that a caller waits for an answer, at a time
constexpr std::int64_t kStaggerNs = 20 * sys::kNsPerMs;  // from one address of a peer to the next
constexpr std::int64_t kFirstPauseNs = 200 * sys::kNsPerMs, kLongestPauseNs = 30 * sys::kNsPerSecond;
constexpr std::int64_t kTellNs = sys::kNsPerSecond / 2;  // for so long a flow may be missing without a line of the log

std::string AtRate(double bytes_per_s) {
  return bytes_per_s > 0 ? fmt::format(" at about {:.3g} MB/s", bytes_per_s / 1e6) : std::string();
}

std::string By(const Route& route) { return route.card.empty() ? "" : " by " + route.card; }

double Seconds(std::int64_t ns) { return static_cast<double>(ns) / sys::kNsPerSecond; }

}  // namespace

std::optional<MadeFlow> FlowOfCall(sys::ProvenConnection&& call) {
  ByteReader in(call.outcome.payload);
  MadeFlow made{
      .side = RemoteRank::Side::kCalled, .rank = in.Number<std::int32_t>(), .flow = in.Number<std::int32_t>()};
  if (!in.good()) return std::nullopt;
  std::memcpy(&made.name, call.outcome.session.data(), sizeof(made.name));
  made.session = call.outcome.session;
  made.connection = call.connection.Release();
  return made;
}

Result<MadeFlow> MakeFlow(const RemotePeer& peer, const Route& route, int flow, const sys::HelloTerms& terms) {
  Result<sys::ProvenConnection> proven =
      sys::ConnectProven(route.to, terms,
                         {.peer = fmt::format("rank {} on host {}", peer.rank, peer.host),
                          .from = route.from,
                          .interface = route.card,
                          .segment_bytes = route.segment_bytes,
                          .patience = kFlowPatience,
                          .stagger_ns = kStaggerNs},
                         sys::NowNs() + kTryNs);
  if (!proven.ok()) return proven.status();
  MadeFlow made{.rank = peer.rank, .flow = flow, .small_packets = route.segment_bytes > 0};
  std::memcpy(&made.name, proven->outcome.session.data(), sizeof(made.name));
  made.session = proven->outcome.session;
  made.connection = proven->connection.Release();
  return made;
}

Connector::Connector(Options options) : options_(std::move(options)) {}

Connector::~Connector() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.reset();
}

void Connector::Want(const RemotePeer& peer, const Route& route, int flow, std::int64_t delay_ns) {
  std::lock_guard lock(mutex_);
  const bool known =
      std::ranges::any_of(tasks_, [&](const Task& task) { return task.peer->rank == peer.rank && task.flow == flow; });
  if (known) return;
  const std::int64_t now_ns = sys::NowNs();
  tasks_.push_back({.peer = &peer,
                    .route = route,
                    .flow = flow,
                    .due_ns = now_ns + delay_ns,
                    .pause_ns = kFirstPauseNs,
                    .since_ns = now_ns});
  if (thread_ == nullptr) {
    Result<std::unique_ptr<sys::Thread>> started =
        sys::StartThread("connections of further network cards", [this] { Run(); });
    if (started.ok()) thread_ = std::move(*started);
  }
  changed_.notify_all();
}

void Connector::Try(Task& task) {
  Result<MadeFlow> made = MakeFlow(*task.peer, task.route, task.flow, options_.terms(task.peer->rank, task.flow));
  const std::int64_t now_ns = sys::NowNs();
  task.due_ns = now_ns + task.pause_ns;  // also where it was made: somebody has to take it first
  if (made.ok()) return options_.made(std::move(*made));
  task.pause_ns = std::min(2 * task.pause_ns, kLongestPauseNs);
  // A first try may fail because a machine is busy.
  if (now_ns - task.since_ns < kTellNs || std::exchange(task.told, true)) return;
  TUTTI_WARN("flow {}{} to rank {} on host {} carries nothing since {:.1f} s ago, and the others do its work{}: {}",
             task.flow, By(task.route), task.peer->rank, task.peer->host, Seconds(now_ns - task.since_ns),
             AtRate(options_.bytes_per_s(task.peer->rank)), made.status().message());
}

// Either side may have made it.
bool Connector::IsSettled(const Task& task) const {
  if (options_.wanted(task.peer->rank, task.flow)) return false;
  if (task.told && options_.connected(task.peer->rank, task.flow)) {
    TUTTI_INFO(log::kNet, "flow {}{} to rank {} on host {} carries data again, after {:.1f} s", task.flow,
               By(task.route), task.peer->rank, task.peer->host, Seconds(sys::NowNs() - task.since_ns));
  }
  return true;
}

void Connector::Run() {
  sys::SetThreadName("tutti-connect");
  std::unique_lock lock(mutex_);
  while (!stop_) {
    // Only this thread takes tasks away.
    std::erase_if(tasks_, [&](const Task& task) { return IsSettled(task); });
    const auto next = std::ranges::min_element(tasks_, {}, &Task::due_ns);
    if (next == tasks_.end()) {
      changed_.wait(lock);
      continue;
    }
    const std::int64_t now_ns = sys::NowNs();
    if (next->due_ns > now_ns) {
      changed_.wait_for(lock, std::chrono::nanoseconds(next->due_ns - now_ns));
      continue;
    }
    Task task = *next;
    lock.unlock();
    Try(task);
    lock.lock();
    const auto place = std::ranges::find_if(
        tasks_, [&](const Task& other) { return other.peer == task.peer && other.flow == task.flow; });
    if (place != tasks_.end()) *place = task;
  }
}

}  // namespace tutti::transport::net
