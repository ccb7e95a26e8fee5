// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "comm/impl.h"
#include "sys/clock.h"

namespace tutti {
namespace {

using transport::shm::RankState;

constexpr std::int64_t kNsPerMs = 1000000;
constexpr std::int64_t kSpinNs = 10000;           // then yield, where every rank has a core
constexpr std::int64_t kLeastSpinNs = 300;
constexpr std::int64_t kYieldNs = 2 * kNsPerMs;   // then sleep
constexpr std::int64_t kSleepNs = 500000;
constexpr std::int64_t kProbeNs = 100 * kNsPerMs;  // between looks at the peers' processes

// Communicators of this thread with unfinished operations that were started without waiting. While the thread waits in
// one of them, all move on.
thread_local std::vector<Communicator::Impl*> t_running;

void MoveOthers(const Communicator::Impl* self) {
  for (std::size_t i = 0; i < t_running.size(); ++i) {
    if (t_running[i] != self && !t_running[i]->broken.load(std::memory_order_relaxed)) t_running[i]->engine->Advance();
  }
}

}  // namespace

void Communicator::Impl::JoinThread() {
  if (in_thread_list) return;
  t_running.push_back(this);
  in_thread_list = true;
}

void Communicator::Impl::LeaveThread() {
  if (!in_thread_list) return;
  std::erase(t_running, this);
  in_thread_list = false;
}

void Communicator::Impl::Break(const Status& status) {
  {
    std::lock_guard lock(failure_mutex);
    if (!failure.ok()) return;
    failure = status;
    if (fabric != nullptr) {
      fabric->own().PublishFailure(status.code(), status.message(), status.peer() >= 0 ? status.peer() : rank);
    }
  }
  broken.store(true, std::memory_order_release);
}

Status Communicator::Impl::Broken() {
  if (!broken.load(std::memory_order_acquire)) return Status::Ok();
  std::lock_guard lock(failure_mutex);
  return failure;
}

// Looks at what the peers say of themselves and, now and then, whether their processes are still there.
Status Communicator::Impl::CheckPeers(bool probe_processes) {
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    const RankState state = fabric->StateOf(peer);
    if (state == RankState::kFailed) {
      const transport::shm::PeerState said = fabric->Describe(peer);
      const int culprit = said.culprit >= 0 && said.culprit != rank ? said.culprit : peer;
      const std::string how = culprit == peer ? fmt::format("rank {} failed", peer)
                                              : fmt::format("rank {} reports that rank {} is the cause", peer, culprit);
      return Status(Code::kRemote, fmt::format("{}: {}", how, said.reason), culprit);
    }
    if (state == RankState::kLeft && engine->waits_for() == peer) {
      engine->Advance();  // it may have left after giving what was asked of it
      if (engine->waits_for() != peer) continue;
      return Status(Code::kRemote,
                    fmt::format("rank {} destroyed its communicator while rank {} waits {}; every rank must make the "
                                "same calls before it leaves",
                                peer, rank, engine->DescribeWait()),
                    peer);
    }
    if (probe_processes && state != RankState::kLeft && fabric->ProcessIsDead(peer)) {
      if (fabric->StateOf(peer) == RankState::kLeft) continue;
      return Status(Code::kRemote,
                    fmt::format("rank {} (pid {}) died: its process is gone, while rank {} waits {}; look at the log "
                                "and exit status of that process first",
                                peer, fabric->process(peer).pid, rank, engine->DescribeWait()),
                    peer);
    }
  }
  return Status::Ok();
}

Status Communicator::Impl::TestPeers() {
  TUTTI_RETURN_IF_ERROR(Broken());
  const std::int64_t now_ns = sys::NowNs();
  if (fabric == nullptr || now_ns - last_test_ns < kProbeNs) return Status::Ok();
  last_test_ns = now_ns;
  return CheckPeers(true);
}

// Waits until `job` is done: spins while the peer is likely on its way, then gives the core away, then sleeps.
Status Communicator::Impl::WaitFor(const exec::cpu::Job& job) {
  engine->Advance();
  if (job.done) [[likely]] return job.status;
  const std::int64_t begin_ns = sys::NowNs();
  std::int64_t waiting_since_ns = begin_ns;
  std::int64_t last_probe_ns = begin_ns;
  // Where yielding is what lets the peer go on, the two share a core, whatever their number: spin less next time.
  const auto finish = [&](std::int64_t waited_ns) {
    if (settings.spin_us >= 0 || crowded) return;
    spin_ns = waited_ns < spin_ns ? std::min(spin_ns * 2, kSpinNs) : std::max(spin_ns / 2, kLeastSpinNs);
  };
  std::uint64_t moves = engine->moves();
  for (std::uint32_t turn = 0;; ++turn) {
    if (engine->Advance(); job.done) {
      finish(sys::NowNs() - waiting_since_ns);
      return job.status;
    }
    if (!t_running.empty()) MoveOthers(this);
    if (Status s = Broken(); !s.ok()) {
      engine->Fail(s);
      return s;
    }
    const std::int64_t now_ns = sys::NowNs();
    if (engine->moves() != moves) {
      moves = engine->moves();
      waiting_since_ns = now_ns;
    }
    const std::int64_t waited_ns = now_ns - waiting_since_ns;
    if (waited_ns < spin_ns) {
      sys::CpuPause();
      continue;
    }
    if (turn % 16 == 0 || waited_ns > kYieldNs) {
      const bool probe = now_ns - last_probe_ns > kProbeNs;
      if (probe) last_probe_ns = now_ns;
      if (Status s = CheckPeers(probe); !s.ok()) {
        if (engine->Advance(); job.done) return job.status;
        Break(s);
        continue;
      }
      if (waited_ns > settings.timeout_ms * kNsPerMs) {
        Break(Status(Code::kTimeout,
                     fmt::format("rank {} has waited {} ms {}; raise TUTTI_TIMEOUT_MS (now {}) if that rank may be so "
                                 "late, else find out what holds it up",
                                 rank, waited_ns / kNsPerMs, engine->DescribeWait(), settings.timeout_ms),
                     engine->waits_for()));
        continue;
      }
    }
    if (waited_ns < kYieldNs || !t_running.empty()) {
      sys::YieldCpu();
    } else {
      fabric->Sleep(kSleepNs, [&] {
        engine->Advance();
        return job.done || engine->moves() != moves;
      });
    }
  }
}

}  // namespace tutti
