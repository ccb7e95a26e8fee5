// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/waiter.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/host/comparer.h"
#include "comm/host/core.h"
#include "comm/host/unfinished.h"
#include "exec/cpu/engine.h"
#include "sys/os/clock.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {
namespace {

using transport::shm::RankState;

constexpr std::int64_t kNsPerMs = 1000000;
constexpr std::uint32_t kTurnsPerLook = 16;
// Where every rank could have a core of its own, and another program has driven two of them together.
constexpr std::uint32_t kTurnsTogether = 64;
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
// What a rank looks at while it waits grows with the ranks. Where there are so many times this many, it looks at processes and
// calls so many times less often, and at the rest no more often than every kLookNs for each of these times, up to kLongestLookNs:
// else many ranks that wait keep the cores from those that could go on.
constexpr int kFewRanks = 32;
constexpr std::int64_t kLookNs = 125000, kLongestLookNs = 20 * kNsPerMs;
// For the same reason ranks look less often, and sleep longer, where so many times this many share a core; they sleep no longer than
// kMostSleeps times.
constexpr int kFewOfCore = 16;
constexpr int kMostSleeps = 64;
// Nothing wakes a rank that waits for one of another host when that one calls.
constexpr int kMostSleepsForHosts = 4;

}  // namespace

// Looks at what the peers say of themselves and, now and then, whether their processes are still there.
Status Waiter::CheckPeers(bool probe_processes) {
  transport::shm::ProcessLook look(*core_.fabric);
  for (int peer = 0; peer < core_.ranks; ++peer) {
    if (peer == core_.rank) continue;
    const RankState state = core_.fabric->StateOf(peer);
    if (state == RankState::kFailed) {
      const transport::shm::PeerState said = core_.fabric->Describe(peer);
      // Calls that do not match are told in the same words everywhere.
      if (said.code == Code::kInvalidUsage) return Status(said.code, said.reason, said.culprit);
      const int culprit = said.culprit >= 0 && said.culprit != core_.rank ? said.culprit : peer;
      // One that ended this communicator on purpose may have done so because another one is dead.
      if (culprit == peer) TUTTI_RETURN_IF_ERROR(core_.FindDead());
      const std::string how = culprit == peer ? fmt::format("rank {} failed", peer)
                                              : fmt::format("rank {} reports that rank {} is the cause", peer, culprit);
      return Status(Code::kRemote, fmt::format("{}: {}", how, said.reason), culprit);
    }
    if (state == RankState::kLeft && core_.engine->waits_for() == peer) {
      core_.engine->Advance();  // it may have left after giving what was asked of it
      if (core_.engine->waits_for() != peer) continue;
      return Status(Code::kRemote,
                    fmt::format("rank {} destroyed its communicator while rank {} waits {}; every rank must make the "
                                "same calls before it leaves",
                                peer, core_.rank, core_.engine->DescribeWait()),
                    peer);
    }
    if (!probe_processes || state == RankState::kLeft) continue;
    if (const std::string why = look.WhyGone(peer); !why.empty()) {
      if (core_.fabric->StateOf(peer) == RankState::kLeft) continue;
      return Status(Code::kRemote,
                    fmt::format("rank {} (pid {}) {}, while rank {} waits {}; look at the log and exit status of that "
                                "process first",
                                peer, core_.fabric->PidOf(peer), why, core_.rank, core_.engine->DescribeWait()),
                    peer);
    }
  }
  return Status::Ok();
}

Status Waiter::TestPeers() {
  TUTTI_RETURN_IF_ERROR(core_.Broken());
  const std::int64_t now_ns = sys::NowNs();
  if (core_.fabric == nullptr || now_ns - last_test_ns_ < kProbeNs) return Status::Ok();
  if (core_.engine->moves() != test_moves_ || now_ns - last_test_ns_ > 2 * kProbeNs) {
    test_moves_ = core_.engine->moves();
    test_since_ns_ = now_ns;
  }
  last_test_ns_ = now_ns;
  ReportWait(test_since_ns_, now_ns, Caller::kPolls);
  const Status s = CheckPeers(true);
  if (!s.ok() && s.code() == Code::kInvalidUsage) return s;
  const Status calls = comparer_.CompareCalls(test_since_ns_);
  return calls.ok() ? s : calls;
}

Status Waiter::CauseOf(const Status& status) {
  if (status.code() != Code::kRemote || core_.fabric == nullptr) return status;
  const Status peers = CheckPeers(false);
  return peers.code() == Code::kInvalidUsage ? peers : status;
}

void Waiter::AddWaited(std::int64_t ns) {
  const exec::cpu::Job* job = core_.engine->current();
  if (job == nullptr || job->waits_for < 0) return;
  const int channel = job->collective == Collective::kSendRecv ? 0 : job->waiting_part;
  core_.recorder.AddWaited(channel, job->waits_for, static_cast<trace::WaitKind>(job->waits_what), ns);
  if (core_.observed != nullptr) [[unlikely]]
    Tell(*job);
}

// One look around while waiting: at other threads' aborts, at the peers, at the clock. Breaks the communicator where
// one of them says so.
void Waiter::LookAround(WaitState& wait, std::int64_t now_ns) {
  const int many = core_.ranks / kFewRanks;
  const int crowd = core_.crowded ? std::max(core_.ranks / core_.cpus / kFewOfCore, 1) : 1;
  if (now_ns - wait.looked_ns < std::min(kLookNs * many * crowd, kLongestLookNs)) return;
  const bool probe = now_ns - wait.last_probe_ns > kProbeNs * (1 + many);
  if (probe) wait.last_probe_ns = now_ns;
  const bool report = now_ns - std::max(wait.begin_ns, last_report_ns_) > kReportNs * (1 + many);
  // Only who waits here has a beginning; the progress thread looks at what nobody waits for.
  if (report) ReportWait(wait.since_ns, now_ns, wait.begin_ns > 0 ? Caller::kInside : Caller::kPolls);
  Status s = CheckPeers(probe);
  // Calls that do not match explain more than that a peer has failed or left.
  if (s.code() != Code::kInvalidUsage) {
    if (Status calls = comparer_.CompareCalls(report || !s.ok() ? wait.since_ns : 0); !calls.ok()) s = calls;
  }
  if (!s.ok()) {
    core_.engine->Advance();  // what the peer wrote before it went may be all that was missing
    if (core_.engine->moves() == wait.moves) core_.Break(s);
    return;
  }
  const std::int64_t stopped_ns = now_ns - std::max(wait.looked_ns, wait.since_ns) - kStoppedNs;
  wait.looked_ns = now_ns;
  wait.counts_from_ns = std::max(wait.counts_from_ns, wait.since_ns) + std::max<std::int64_t>(stopped_ns, 0);
  const std::int64_t waited_ms = (now_ns - wait.counts_from_ns) / kNsPerMs;
  if (waited_ms <= core_.settings.timeout_ms) return;
  core_.Break(Status(
      Code::kTimeout,
      fmt::format("rank {} has waited {} ms {}; raise TUTTI_TIMEOUT_MS (now {}) if that rank may be so late, else "
                  "find out what holds it up",
                  core_.rank, waited_ms, core_.engine->DescribeWait(), core_.settings.timeout_ms),
      core_.engine->waits_for()));
}

std::int64_t Waiter::SleepFor(int peer) const {
  if (!core_.crowded) return kSleepNs;
  const int most = core_.fabric->IsRemote(peer) ? kMostSleepsForHosts : kMostSleeps;
  return kSleepNs * std::clamp(core_.ranks / core_.cpus / kFewOfCore, 1, most);
}

// Gives way as the wait deserves: steps aside for a peer on the same core, spins while one on another core is likely
// on its way, then gives the core away, then sleeps.
void Waiter::Pause(const exec::cpu::Job& job, const WaitState& wait) {
  const int cpu = sys::CurrentCpu();
  core_.fabric->PublishCpu(cpu);
  const bool together = core_.engine->WaitsForPeerOn(cpu);
  const std::uint32_t pauses_per_balance = core_.crowded ? kPausesPerBalance : kTurnsTogether;
  if ((core_.crowded || together) && ++pauses_ % pauses_per_balance == 0) BalanceCores();
  if (wait.waited_ns < core_.spin_ns && !together) {
    sys::CpuPause();
  } else if ((wait.waited_ns < kYieldNs && wait.useless_ns < kUselessNs) || OthersOpenOnThread(core_)) {
    sys::YieldCpu();
  } else {
    const int peer = core_.engine->waits_for();
    core_.fabric->Sleep(peer, SleepFor(peer), [&] {
      core_.engine->Advance();
      return job.done || core_.engine->moves() != wait.moves;
    });
  }
}

Status Waiter::WaitFor(const exec::cpu::Job& job, Stay* stay) {
  core_.engine->Advance();
  if (job.done) [[likely]]
    return job.status;
  const std::int64_t begin_ns = sys::NowNs();
  WaitState wait{.since_ns = begin_ns,
                 .last_probe_ns = begin_ns,
                 .moves = core_.engine->moves(),
                 .begin_ns = begin_ns,
                 .now_ns = begin_ns};
  const bool goes_on = stay != nullptr && stay->wait.begin_ns > 0;
  if (goes_on) {
    wait = stay->wait;
    wait.now_ns = begin_ns;
  }
  const Status s = WaitOn(job, wait, stay);
  if (stay != nullptr) stay->wait = wait;
  EndReport();
  return s;
}

Status Waiter::WaitOn(const exec::cpu::Job& job, WaitState& wait, const Stay* stay) {
  for (std::uint32_t turn = 1;; ++turn) {
    Pause(job, wait);
    if (core_.engine->Advance(); job.done) return job.status;
    MoveOthersOnThread(core_);
    if (core_.broken.load(std::memory_order_relaxed)) [[unlikely]] {
      const Status s = core_.Broken();
      core_.engine->Fail(s);
      return s;
    }
    const std::int64_t now_ns = sys::NowNs();
    AddWaited(now_ns - wait.now_ns);
    const bool useless = core_.crowded && wait.waited_ns >= core_.spin_ns && now_ns - wait.now_ns < kSwitchNs;
    wait.useless_ns = useless ? wait.useless_ns + now_ns - wait.now_ns : 0;
    wait.now_ns = now_ns;
    if (core_.engine->moves() != wait.moves) {
      wait.moves = core_.engine->moves();
      wait.since_ns = now_ns;
    }
    wait.waited_ns = now_ns - wait.since_ns;
    if (turn % kTurnsPerLook == 0 || wait.waited_ns > std::max(kYieldNs, core_.spin_ns)) LookAround(wait, now_ns);
    if (stay != nullptr && wait.waited_ns > kYieldNs && stay->MustLeave(now_ns)) [[unlikely]]
      return Status(Code::kInProgress, "operations are still running");
  }
}

}  // namespace tutti::comm
