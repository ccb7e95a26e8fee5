// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// How long a job's ranks take to become a communicator, from the moment when all are let go until the last one has it.
// Meet: only the bootstrap. Create: the whole communicator. Ranks are processes or threads.

#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "comm/meet/bootstrap.h"
#include "sys/os/clock.h"
#include "sys/os/memory.h"

namespace tutti {
namespace {

constexpr std::int64_t kTimeoutMs = 60'000;

// Becomes a rank, and calls `arrived` as soon as it is one.
using Body = std::function<Status(const UniqueId& id, int rank, int ranks, const std::function<void()>& arrived)>;

Status MeetOnly(const UniqueId& id, int rank, int ranks, const std::function<void()>& arrived) {
  const Result<sys::Fd> memory = sys::CreateSharedMemory("tutti-bench", 4096);
  TUTTI_RETURN_IF_ERROR(memory.status());
  const std::vector<std::byte> payload(1000);
  const Status met = comm::Meet(
      {.id = id, .rank = rank, .ranks = ranks, .timeout_ms = kTimeoutMs, .payload = payload, .shared = &*memory},
      [](int, comm::Member&&) { return Status::Ok(); });
  arrived();
  return met;
}

Status CreateWhole(const UniqueId& id, int rank, int ranks, const std::function<void()>& arrived) {
  const Result<Communicator> communicator = Communicator::Create({.rank = rank, .ranks = ranks, .id = id});
  arrived();
  return communicator.status();
}

// Seconds that `ranks` threads take; negative where one failed.
double TimeThreads(int ranks, const Body& body) {
  const UniqueId id = *CreateUniqueId();
  std::latch ready(ranks), all_there(ranks + 1);
  std::latch go(1);
  std::vector<std::thread> threads;
  std::atomic<bool> good = true;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ready.count_down();
      go.wait();
      const Status status = body(id, rank, ranks, [&] { all_there.arrive_and_wait(); });
      if (!status.ok()) good = false;
    });
  }
  ready.wait();
  const std::int64_t begin_ns = sys::NowNs();
  go.count_down();
  all_there.arrive_and_wait();
  const std::int64_t end_ns = sys::NowNs();
  for (std::thread& thread : threads) thread.join();
  return good ? static_cast<double>(end_ns - begin_ns) / 1e9 : -1;
}

struct Pipe {
  int ends[2];
  Pipe() {
    if (pipe(ends) != 0) std::abort();
  }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  void Put() {
    if (write(ends[1], "x", 1) != 1) std::abort();
  }
  void Get() {
    char byte;
    if (read(ends[0], &byte, 1) != 1) std::abort();
  }
};

// The same with processes.
double TimeProcesses(int ranks, const Body& body) {
  const UniqueId id = *CreateUniqueId();
  Pipe ready, go, there, leave;
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    ready.Put();
    go.Get();
    const Status status = body(id, rank, ranks, [&] {
      there.Put();
      leave.Get();
    });
    if (!status.ok()) fprintf(stderr, "%s\n", status.ToString().c_str());
    _exit(status.ok() ? 0 : 1);
  }
  for (int rank = 0; rank < ranks; ++rank) ready.Get();
  const std::int64_t begin_ns = sys::NowNs();
  for (int rank = 0; rank < ranks; ++rank) go.Put();
  for (int rank = 0; rank < ranks; ++rank) there.Get();
  const std::int64_t end_ns = sys::NowNs();
  for (int rank = 0; rank < ranks; ++rank) leave.Put();
  bool good = true;
  for (int rank = 0; rank < ranks; ++rank) {
    int status = -1;
    good = wait(&status) > 0 && status == 0 && good;
  }
  return good ? static_cast<double>(end_ns - begin_ns) / 1e9 : -1;
}

template <double (*Time)(int, const Body&), Status (*What)(const UniqueId&, int, int, const std::function<void()>&)>
void Init(benchmark::State& state) {
  for (auto _ : state) {
    const double seconds = Time(static_cast<int>(state.range(0)), What);
    if (seconds < 0) return state.SkipWithError("a rank failed");
    state.SetIterationTime(seconds);
  }
}

void MeetAsProcesses(benchmark::State& state) { Init<TimeProcesses, MeetOnly>(state); }
void MeetAsThreads(benchmark::State& state) { Init<TimeThreads, MeetOnly>(state); }
void CreateAsProcesses(benchmark::State& state) { Init<TimeProcesses, CreateWhole>(state); }
void CreateAsThreads(benchmark::State& state) { Init<TimeThreads, CreateWhole>(state); }

BENCHMARK(MeetAsProcesses)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->Arg(256)
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(MeetAsThreads)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->Arg(256)
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(CreateAsProcesses)->Arg(2)->Arg(8)->Arg(64)->Iterations(3)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(CreateAsThreads)
    ->Arg(2)
    ->Arg(8)
    ->Arg(64)
    ->Arg(256)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tutti
