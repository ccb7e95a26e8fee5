// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <vector>

#include "comm/host/impl.h"
#include "comm/host/planner.h"
#include "exec/cpu/fold.h"
#include "tools/launch.h"
#include "tune/chooser.h"
#include "tutti/tutti.h"

namespace tutti::tools {
namespace {

constexpr int kBatches = 9;
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

// What the two ranks share with whoever started them.
struct Board {
  tune::Machine machine;
  bool can_refer;
  int cpus;
  std::atomic<std::uint32_t> turn;
  char failure[512];
};

double ElapsedUs(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - since).count();
}

// Time of one call of `call`, us: the least over batches of `count` calls, so that other load does little harm.
double TimeOf(int count, const std::function<void()>& call) {
  double least = std::numeric_limits<double>::infinity();
  call();
  for (int b = 0; b < kBatches; ++b) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) call();
    least = std::min(least, ElapsedUs(begin) / count);
  }
  return least;
}

// One of the two ranks, with a communicator for each way across a link.
class Rank {
 public:
  Rank(int rank, std::span<const UniqueId> ids) : rank_(rank), ids_(ids), in_(kBufferBytes), out_(kBufferBytes) {}

  Status Measure(tune::Machine& m) {
    TUTTI_RETURN_IF_ERROR(MeasureWay(0, "LL", SingleCopy::kOff, 2048, m.ll));
    TUTTI_RETURN_IF_ERROR(MeasureWay(1, "LL128", SingleCopy::kOff, 8192, m.ll128));
    TUTTI_RETURN_IF_ERROR(MeasureWay(2, "Simple", SingleCopy::kOff, 131072, m.simple));
    return MeasureReference(m);
  }

 private:
  Result<Communicator> Open(int which, const char* proto, SingleCopy copy) {
    Settings settings = Settings::FromEnvironment();
    settings.tuning_file.clear();  // what is measured does not depend on it, and it may be there to be written
    settings.algo = "one_shot";
    settings.proto = proto;
    settings.single_copy = copy;
    settings.min_channels = settings.max_channels = 1;
    return Communicator::Create({.rank = rank_, .ranks = 2, .id = ids_[which], .settings = settings});
  }
  double Time(Communicator& c, Collective kind, std::size_t bytes, int count) {
    const Operation o{.kind = kind, .in = in_.data(), .out = out_.data(), .count = bytes};
    return TimeOf(count, [&] {
      if (Status s = c.Run(o); failure_.ok()) failure_ = s;
    });
  }

  // An all-reduce of two ranks costs a hop, a message and the bytes; a stream of broadcasts, messages and no hops.
  Status MeasureWay(int which, const char* proto, SingleCopy copy, std::size_t large, tune::Way& way) {
    Result<Communicator> c = Open(which, proto, copy);
    if (!c.ok()) return c.status();
    const double small_us = Time(*c, Collective::kAllReduce, 8, 4000);
    const double stream_us = Time(*c, Collective::kBroadcast, 8, 4000);
    const double large_us = Time(*c, Collective::kAllReduce, large, static_cast<int>((4 << 20) / large));
    way.message_us = std::max(std::min(stream_us, small_us), 0.005);
    way.hop_us = std::max(small_us - stream_us, 0.01);
    const double per_kib = (large_us - small_us) / (static_cast<double>(large) / 1024);
    way.write_us_per_kib = way.read_us_per_kib = std::max(per_kib / 2, 0.001);
    return failure_;
  }

  // The system call: its price and its speed, from broadcasts of one chunk each.
  Status MeasureReference(tune::Machine& m) {
    Result<Communicator> c = Open(3, "Simple", SingleCopy::kForce);
    if (!c.ok()) return c.status();
    if (c->Explain({.kind = Collective::kBroadcast, .in = in_.data(), .out = out_.data(), .count = kBufferBytes})
            .find("by reference") == std::string::npos) {
      return Status::Ok();  // not possible here: the constants will not be used
    }
    const double small_us = Time(*c, Collective::kBroadcast, 4096, 1000);
    const double large_us = Time(*c, Collective::kBroadcast, kBufferBytes, 30);
    m.reference.read_us_per_kib = std::max((large_us - small_us) / 1020, 0.001);
    m.reference.message_us = std::max(small_us - 4 * m.reference.read_us_per_kib, 0.01);
    // The measured data has been read before; what has just been written costs about as much more as in the pool.
    m.reference_fresh_read_us_per_kib = m.reference.read_us_per_kib + m.simple.read_us_per_kib / 2;
    m.reference.hop_us = m.simple.hop_us;
    return failure_;
  }

  const int rank_;
  std::span<const UniqueId> ids_;
  std::vector<std::byte> in_, out_;
  Status failure_;
};

// Two processes on one core hand a word to and fro by giving the core away.
void MeasureSwitch(int rank, Board& board) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof(all), &all);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    CPU_SET(cpu, &one);
    break;
  }
  sched_setaffinity(0, sizeof(one), &one);
  constexpr std::uint32_t kTurns = 20000;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t i = rank; i < kTurns; i += 2) {
    while (board.turn.load() != i) sched_yield();
    board.turn.store(i + 1);
  }
  if (rank == 0) board.machine.switch_us = ElapsedUs(begin) / kTurns;
  sched_setaffinity(0, sizeof(all), &all);
}

void MeasureMemory(tune::Machine& m) {
  constexpr std::size_t kBytes = 64 << 10;
  std::vector<float> a(kBytes / 4, 1.0f), b(kBytes / 4, 2.0f), c(kBytes / 4);
  const FoldFn fold = GetFold(DataType::kFloat32, ReduceOp::kSum);
  const void* operands[2] = {a.data(), b.data()};
  m.fold_us_per_kib = TimeOf(200, [&] { fold(c.data(), operands, 2, a.size(), Stores::kCached); }) / (2 * 64);
  m.copy_us_per_kib = TimeOf(200, [&] { CopyBytes(c.data(), a.data(), kBytes); }) / 64;
}

// Starts two ranks and gives them ids of `count` communicators; what the first leaves on the board is the result.
Result<AtInit> AskTwoRanks(std::size_t count,
                           const std::function<Status(int rank, std::span<const UniqueId>, Board&)>& work) {
  void* page = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return Status(Code::kSystem, "no memory for the measurement");
  Board* board = new (page) Board{};
  std::vector<UniqueId> ids(count);
  for (UniqueId& id : ids) {
    const Result<UniqueId> fresh = CreateUniqueId();
    if (!fresh.ok()) return fresh.status();
    id = *fresh;
  }
  const int code = LaunchRanks(2, {.name = "tutti tune"}, [&](int rank) {
    const Status s = work(rank, ids, *board);
    if (!s.ok()) std::snprintf(board->failure, sizeof(board->failure), "%s", s.message().c_str());
    return s.ok() ? 0 : 1;
  });
  const AtInit found{.machine = board->machine, .can_refer = board->can_refer, .cpus = board->cpus};
  const std::string failure = board->failure;
  munmap(page, sizeof(Board));
  if (code == 0) return found;
  return Status(Code::kInternal, fmt::format("the measuring ranks failed{}{}", failure.empty() ? "" : ": ", failure));
}

}  // namespace

Result<tune::Machine> MeasureMachine() {
  const Result<AtInit> measured = AskTwoRanks(4, [](int rank, std::span<const UniqueId> ids, Board& board) {
    Rank measuring(rank, ids);
    tune::Machine machine;
    TUTTI_RETURN_IF_ERROR(measuring.Measure(machine));
    if (rank == 0) {
      MeasureMemory(machine);
      board.machine = machine;
    }
    MeasureSwitch(rank, board);
    return Status::Ok();
  });
  if (!measured.ok()) return measured.status();
  return measured->machine;
}

Result<AtInit> AskAtInit() {
  return AskTwoRanks(1, [](int rank, std::span<const UniqueId> ids, Board& board) {
    const Result<Communicator> c = Communicator::Create({.rank = rank, .ranks = 2, .id = ids[0]});
    if (!c.ok()) return c.status();
    if (rank != 0) return Status::Ok();
    const tune::ChooserOptions& options = c->impl()->planner.chooser().options();
    board.machine = options.machine;
    board.can_refer = options.can_refer;
    board.cpus = options.cpus;
    return Status::Ok();
  });
}

Result<tune::Machine> MachineAtInit() {
  const Result<AtInit> found = AskAtInit();
  if (!found.ok()) return found.status();
  return found->machine;
}

}  // namespace tutti::tools
