// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/host_rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "sys/os/clock.h"
#include "sys/os/mappings.h"
#include "trace/layout.h"
#include "transport/shm/segment.h"

namespace tutti::tests {
namespace {

constexpr int kWarmUp = 20, kWarmUpSlow = 3;  // calls
constexpr double kStarvedCpuSeconds = 0.15;

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

[[noreturn]] void Pause() {
  while (true) pause();
}

double CpuSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// This process's own black box; it has one communicator.
trace::BoxHeader* FindOwnBox() {
  const auto mappings = sys::ReadMappings(getpid());
  if (!mappings.ok()) return nullptr;
  for (const sys::Mapping& m : *mappings) {
    if (!m.IsSharedMemory(transport::shm::kSegmentName) || !m.writable || m.offset != 0) continue;
    if (m.end - m.begin <= transport::shm::kBoxOffset + sizeof(trace::BoxHeader)) continue;
    auto* box = reinterpret_cast<trace::BoxHeader*>(m.begin + transport::shm::kBoxOffset);
    if (box->magic == trace::kBoxMagic) return box;
  }
  return nullptr;
}

void WriteWait(trace::WaitWords& wait, std::uint64_t number, int peer) {
  const auto data = static_cast<std::uint64_t>(trace::WaitKind::kData);
  wait.turn.fetch_add(1);
  wait.number.store(number);
  wait.peer_kind.store(static_cast<std::uint32_t>(peer) | data << 32);
  wait.since_ns.store(sys::NowNs());
  wait.looked_ns.store(sys::NowNs());
  wait.turn.fetch_add(1);
}

// Words that cannot be true, in the black box of a rank that is outside of all calls. They stay: it writes nothing meanwhile.
Status Lie(int lie, int rank) {
  trace::BoxHeader* box = FindOwnBox();
  if (box == nullptr) return Status(Code::kInternal, "this process has no black box");
  const std::uint64_t called = box->called.load();
  if (lie == 0) box->finished.store(called + 7);  // more than it has called
  if (lie == 1) WriteWait(box->wait, called, rank);
  if (lie == 2) WriteWait(box->wait, called + 9, rank == 0 ? 1 : 0);  // in a call that it has not made
  return Status::Ok();
}

class Rank {
 public:
  Rank(const HostCase& what, int rank, const Settings& settings, HostBoard& board)
      : what_(what), rank_(rank), deed_(what.DeedOf(rank)), board_(board), in_(what.count, 1.0f), out_(what.count) {
    options_ = {.rank = rank, .ranks = what.ranks(), .settings = settings, .name = "dp"};
  }

  Status Run() {
    if (rank_ == 0) {
      std::strcpy(board_.id, CreateUniqueId()->ToHex().c_str());
      std::strcpy(board_.second_id, CreateUniqueId()->ToHex().c_str());
      board_.has_ids = 1;
    }
    while (board_.has_ids == 0) SleepMs(1);
    options_.id = *UniqueId::FromHex(board_.id);
    if (what_.phase == Phase::kInit) AwaitGo();
    if (deed_ == HostFault::kNeverComes) SleepUntilRepaired();
    Result<Communicator> dp = Communicator::Create(options_);
    if (!dp.ok()) return dp.status();
    // A communicator that breaks stays until the process ends: there is something to look at.
    dp_ = std::move(*dp);
    if (what_.fault == HostFault::kOrders) return Orders(*dp_);
    if (what_.fault == HostFault::kNoReceive) return NoReceive(*dp_);
    return Loop(*dp_);
  }

 private:
  void AwaitGo() {
    ++board_.ready;
    while (board_.go == 0) SleepMs(1);
  }
  void SleepUntilRepaired() {
    while (board_.repair == 0) SleepMs(50);
  }

  Status Loop(Communicator& c) {
    if (what_.phase == Phase::kFirst) AwaitGo();
    const int warm_up = what_.IsSlowLink() ? kWarmUpSlow : kWarmUp;
    for (int call = 0;; ++call) {
      if (call == warm_up && what_.phase == Phase::kSteady) ++board_.ready;
      const bool warm = call >= warm_up || what_.phase == Phase::kFirst;
      if (warm && deed_ != HostFault::kNothing && board_.go == 1) TUTTI_RETURN_IF_ERROR(Act(c));
      TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in_, out_)));
    }
  }

  // Its part in the fault, at the first call after it was told.
  Status Act(Communicator& c) {
    if (deed_ == HostFault::kSlow) SleepMs(20);
    if (std::exchange(acted_, true)) return Status::Ok();
    switch (deed_) {
      case HostFault::kSleep:
        SleepUntilRepaired();
        return Status::Ok();
      case HostFault::kLie:
        TUTTI_RETURN_IF_ERROR(Lie(what_.lie, rank_));
        Pause();
      case HostFault::kShortPause:
      case HostFault::kLongPause:
        SleepMs(what_.pause_ms);
        return Status::Ok();
      case HostFault::kWrite: {
        // Blocks for good when the pipe is full. To look like a file it would have to be one of a dead server.
        int ends[2];
        if (pipe(ends) != 0) return Status(Code::kSystem, "no pipe");
        const std::vector<char> much(1 << 20);
        (void)!write(ends[1], much.data(), much.size());
        return Status::Ok();
      }
      case HostFault::kOtherCall:
        return c.Run(AllReduce(in_, out_, ReduceOp::kMax));
      case HostFault::kStarved:
        for (const double end = CpuSeconds() + kStarvedCpuSeconds; CpuSeconds() < end && board_.repair == 0;) {
        }
        return Status::Ok();
      default:
        return Status::Ok();
    }
  }

  // The rank before the victim sends more than links hold, and the victim does something else.
  Status NoReceive(Communicator& c) {
    for (int call = 0; call < kWarmUp; ++call) TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in_, out_)));
    AwaitGo();
    if ((rank_ + 1) % what_.ranks() != what_.victim) Pause();
    while (true) TUTTI_RETURN_IF_ERROR(c.Run(Send(in_, what_.victim)));
  }

  // The same number of calls everywhere, then each half begins with another communicator.
  Status Orders(Communicator& dp) {
    options_.id = *UniqueId::FromHex(board_.second_id);
    options_.name = "tp";
    Result<Communicator> made = Communicator::Create(options_);
    if (!made.ok()) return made.status();
    Communicator& tp = tp_.emplace(std::move(*made));
    for (int call = 0; call < kWarmUp; ++call) {
      TUTTI_RETURN_IF_ERROR(dp.Run(AllReduce(in_, out_)));
      TUTTI_RETURN_IF_ERROR(tp.Run(AllReduce(in_, out_)));
    }
    AwaitGo();
    const bool first = rank_ < (what_.ranks() + 1) / 2;
    TUTTI_RETURN_IF_ERROR((first ? dp : tp).Run(AllReduce(in_, out_)));
    return (first ? tp : dp).Run(AllReduce(in_, out_));
  }

  const HostCase& what_;
  const int rank_;
  const HostFault deed_;
  HostBoard& board_;
  CommunicatorOptions options_;
  std::vector<float> in_, out_;
  std::optional<Communicator> dp_, tp_;
  bool acted_ = false;
};

}  // namespace

void RunHostRank(const HostCase& what, int rank, const Settings& settings, HostBoard& board) {
  Rank one(what, rank, settings, board);
  const Status s = one.Run();
  fmt::print("rank {}: {}\n", rank, s.ToString());
  std::fflush(stdout);
  ++board.ended;
  Pause();
}

}  // namespace tutti::tests
