// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/log.h"
#include "comm/impl.h"
#include "comm/queue.h"
#include "sys/clock.h"

namespace tutti {
namespace {

using transport::shm::RankState;

constexpr std::int64_t kNsPerMs = 1000000;
constexpr std::uint32_t kTurnsPerLook = 16;
constexpr std::uint32_t kPausesPerBalance = 1024;
constexpr std::int64_t kYieldNs = 2 * kNsPerMs;  // then sleep
constexpr std::int64_t kSleepNs = 500000;
// Yielding is useless where the ranks that share the core are not the scheduler's next choice: in sessions of their own
// (as mpirun of MPICH starts them) Linux weighs sessions against each other, and a yield comes back at once. One that let
// another rank run takes longer than kSwitchNs. After kUselessNs of useless ones a crowded rank sleeps.
constexpr std::int64_t kSwitchNs = 700, kUselessNs = 15000;
constexpr std::int64_t kProbeNs = 100 * kNsPerMs;  // between looks at the peers' processes
// A rank that has not looked around for longer than this was stopped: by a signal, a debugger, the freezing of its container
// or virtual machine. Its peers may have been too, so a stop counts as no more than this towards the timeout.
constexpr std::int64_t kStoppedNs = 250 * kNsPerMs;
constexpr std::int64_t kReportNs = 50 * kNsPerMs;  // between reports of a wait, and looks at the peers' calls

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
      recorder.Fail(status.code(), status.message());
      fabric->own().PublishFailure(status.code(), status.message(), status.peer() >= 0 ? status.peer() : rank);
    }
  }
  broken.store(true, std::memory_order_release);
  TUTTI_WARN("{} is broken: {}", who, status.message());
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
      // Calls that do not match are told in the same words everywhere.
      if (said.code == Code::kInvalidUsage) return Status(said.code, said.reason, said.culprit);
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
  if (engine->moves() != test_moves || now_ns - last_test_ns > 2 * kProbeNs) {
    test_moves = engine->moves();
    test_since_ns = now_ns;
  }
  last_test_ns = now_ns;
  ReportWait(test_since_ns, now_ns);
  const Status s = CheckPeers(true);
  if (!s.ok() && s.code() == Code::kInvalidUsage) return s;
  const Status calls = CompareCalls(test_since_ns);
  return calls.ok() ? s : calls;
}

Status Communicator::Impl::CauseOf(const Status& status) {
  if (status.code() != Code::kRemote || fabric == nullptr) return status;
  const Status peers = CheckPeers(false);
  return peers.code() == Code::kInvalidUsage ? peers : status;
}

void Communicator::Impl::AddWaited(std::int64_t ns) {
  const exec::cpu::Job* job = engine->current();
  if (job == nullptr || job->waits_for < 0) return;
  recorder.AddWaited(job->collective == Collective::kSendRecv ? 0 : job->waiting_part, job->waits_for,
                     static_cast<trace::WaitKind>(job->waits_what), ns);
}

void Communicator::Impl::ReportWait(std::int64_t since_ns, std::int64_t now_ns) {
  exec::cpu::Job* job = engine->current();
  if (job == nullptr) return;
  wait_reported = true;
  last_report_ns = now_ns;
  const int channel = job->collective == Collective::kSendRecv ? 0 : job->waiting_part;
  auto kind = static_cast<trace::WaitKind>(job->waits_what);
  if (kind == trace::WaitKind::kPages && engine->WaitsOnlyForPeer()) kind = trace::WaitKind::kRoom;
  recorder.Wait(job->last_call, job->waits_for, kind, channel, since_ns, now_ns);
  ReportLinks();
}

void Communicator::Impl::ReportLinks() {
  for (int c = 0; c < fabric->channels(); ++c) {
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      const transport::Outgoing& tx = fabric->out(c, peer);
      const transport::Incoming& rx = fabric->in(c, peer);
      recorder.Count(c, peer,
                     {.sent = {tx.ll_head, tx.ll128_head, tx.post_head},
                      .received = {rx.ll_head, rx.ll128_head, rx.post_head},
                      .credit = {tx.ll_consumed, tx.ll128_consumed, tx.posts_consumed}});
    }
  }
}

void Communicator::Impl::EndReport() {
  if (!wait_reported) return;
  wait_reported = false;
  recorder.EndWait();
}

// One look around while waiting: at other threads' aborts, at the peers, at the clock. Breaks the communicator where
// one of them says so.
void Communicator::Impl::LookAround(WaitState& wait, std::int64_t now_ns) {
  const bool probe = now_ns - wait.last_probe_ns > kProbeNs;
  if (probe) wait.last_probe_ns = now_ns;
  const bool report = now_ns - std::max(wait.begin_ns, last_report_ns) > kReportNs;
  if (report) ReportWait(wait.since_ns, now_ns);
  Status s = CheckPeers(probe);
  // Calls that do not match explain more than that a peer has failed or left.
  if (s.code() != Code::kInvalidUsage) {
    if (Status calls = CompareCalls(report || !s.ok() ? wait.since_ns : 0); !calls.ok()) s = calls;
  }
  if (!s.ok()) {
    engine->Advance();  // what the peer wrote before it went may be all that was missing
    if (engine->moves() == wait.moves) Break(s);
    return;
  }
  const std::int64_t stopped_ns = now_ns - std::max(wait.looked_ns, wait.since_ns) - kStoppedNs;
  wait.looked_ns = now_ns;
  wait.counts_from_ns = std::max(wait.counts_from_ns, wait.since_ns) + std::max<std::int64_t>(stopped_ns, 0);
  const std::int64_t waited_ms = (now_ns - wait.counts_from_ns) / kNsPerMs;
  if (waited_ms <= settings.timeout_ms) return;
  Break(Status(
      Code::kTimeout,
      fmt::format("rank {} has waited {} ms {}; raise TUTTI_TIMEOUT_MS (now {}) if that rank may be so late, else "
                  "find out what holds it up",
                  rank, waited_ms, engine->DescribeWait(), settings.timeout_ms),
      engine->waits_for()));
}

// Where ranks share cores and some core has two ranks more than another, the last rank of the fuller one steps over.
// The system's own balancing does not see a difference: all ranks look busy.
void Communicator::Impl::BalanceCores() {
  std::map<int, int> ranks_on;
  int last_here = rank;
  const int here = sys::CurrentCpu();
  for (int peer = 0; peer < ranks; ++peer) {
    const int cpu = peer == rank ? here : fabric->CpuOf(peer);
    if (cpu < 0) return;  // not all have waited yet
    ++ranks_on[cpu];
    if (cpu == here) last_here = peer;
  }
  if (last_here != rank) return;
  int least = here;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    if (ranks_on[cpu] < ranks_on[least]) least = cpu;
  }
  if (ranks_on[here] >= ranks_on[least] + 2) sys::StepOverTo(least);
}

// Gives way as the wait deserves: steps aside for a peer on the same core, spins while one on another core is likely
// on its way, then gives the core away, then sleeps.
void Communicator::Impl::Pause(const exec::cpu::Job& job, const WaitState& wait) {
  const int cpu = sys::CurrentCpu();
  fabric->PublishCpu(cpu);
  if (crowded && ++pauses % kPausesPerBalance == 0) BalanceCores();
  if (wait.waited_ns < spin_ns && !engine->WaitsForPeerOn(cpu)) {
    sys::CpuPause();
  } else if ((wait.waited_ns < kYieldNs && wait.useless_ns < kUselessNs) || !t_running.empty() ||
             comm::OthersOpenOnThread(this)) {
    sys::YieldCpu();
  } else {
    fabric->Sleep(kSleepNs, [&] {
      engine->Advance();
      return job.done || engine->moves() != wait.moves;
    });
  }
}

Status Communicator::Impl::WaitFor(const exec::cpu::Job& job) {
  engine->Advance();
  if (job.done) [[likely]]
    return job.status;
  const std::int64_t begin_ns = sys::NowNs();
  WaitState wait{.since_ns = begin_ns,
                 .last_probe_ns = begin_ns,
                 .moves = engine->moves(),
                 .begin_ns = begin_ns,
                 .now_ns = begin_ns};
  const Status s = WaitOn(job, wait);
  EndReport();
  return s;
}

Status Communicator::Impl::WaitOn(const exec::cpu::Job& job, WaitState& wait) {
  for (std::uint32_t turn = 1;; ++turn) {
    Pause(job, wait);
    if (engine->Advance(); job.done) return job.status;
    if (!t_running.empty()) MoveOthers(this);
    comm::MoveOthersOnThread(this);
    if (broken.load(std::memory_order_relaxed)) [[unlikely]] {
      const Status s = Broken();
      engine->Fail(s);
      return s;
    }
    const std::int64_t now_ns = sys::NowNs();
    AddWaited(now_ns - wait.now_ns);
    const bool useless = crowded && wait.waited_ns >= spin_ns && now_ns - wait.now_ns < kSwitchNs;
    wait.useless_ns = useless ? wait.useless_ns + now_ns - wait.now_ns : 0;
    wait.now_ns = now_ns;
    if (engine->moves() != wait.moves) {
      wait.moves = engine->moves();
      wait.since_ns = now_ns;
    }
    wait.waited_ns = now_ns - wait.since_ns;
    if (turn % kTurnsPerLook == 0 || wait.waited_ns > kYieldNs) LookAround(wait, now_ns);
  }
}

}  // namespace tutti
