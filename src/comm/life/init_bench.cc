// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// How long a job's ranks take to become a communicator, from the moment when all are let go until the last one has it.
// Meet: only the bootstrap. Create: the whole communicator. Ranks are processes or threads.
// FirstAllReduce: until the end of a first all_reduce of 8 bytes. Ranks are threads of several processes, and of several hosts
// by NCCL_HOSTID. init_ms is when the last one had its communicator. MB_a_rank is what all processes have resident at the end,
// pages that several share counted once.

#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <latch>
#include <span>
#include <string>
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

// What this process has resident, its share of what others have too.
std::int64_t ResidentKib() {
  std::FILE* file = std::fopen("/proc/self/smaps_rollup", "r");
  if (file == nullptr) return 0;
  long long kib = 0;
  for (char line[256]; std::fgets(line, sizeof(line), file) != nullptr;) {
    if (std::sscanf(line, "Pss: %lld kB", &kib) == 1) break;
  }
  std::fclose(file);
  return kib;
}

struct Job {
  int ranks, processes, hosts;
};
struct Took {
  double seconds = 0;
  double init_ms = 0;
  double mb_a_rank = 0;
};
// What a process says of itself.
struct Figures {
  std::int64_t created_ns;  // when its last rank had its communicator
  std::int64_t resident_kib;
};

// One rank, until its first all_reduce is right.
Result<Communicator> FirstAllReduce(const UniqueId& id, int rank, const Job& job, int host,
                                    std::atomic<std::int64_t>& created_ns) {
  Settings settings;
  settings.init_timeout_ms = settings.timeout_ms = 10 * kTimeoutMs;
  if (job.hosts > 1) settings.host_id = "host" + std::to_string(host);
  Result<Communicator> communicator =
      Communicator::Create({.rank = rank, .ranks = job.ranks, .id = id, .settings = settings});
  if (!communicator.ok()) return communicator;
  const std::int64_t now_ns = sys::NowNs();
  for (std::int64_t last = created_ns; last < now_ns && !created_ns.compare_exchange_weak(last, now_ns);) {
  }
  std::int64_t sum = rank;
  const std::span<std::int64_t> one(&sum, 1);
  TUTTI_RETURN_IF_ERROR(communicator->Run(AllReduce(one, one)));
  if (sum != std::int64_t{job.ranks} * (job.ranks - 1) / 2) return Status(Code::kInternal, "a wrong sum");
  return communicator;
}

// Process `process` of a job, whose threads are ranks. It calls `done` when all of them are, and ends them after that.
bool RunProcess(const UniqueId& id, const Job& job, int process, const std::function<void()>& go,
                const std::function<void(std::int64_t created_ns)>& done) {
  const int each = job.ranks / job.processes;
  std::atomic<bool> good = true;
  std::atomic<std::int64_t> created_ns = 0;
  std::latch ready(each), begin(1), all_there(each + 1), leave(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < each; ++i) {
    threads.emplace_back([&, i] {
      ready.count_down();
      begin.wait();
      const Result<Communicator> made =
          FirstAllReduce(id, process * each + i, job, process * job.hosts / job.processes, created_ns);
      if (!made.ok() && good.exchange(false)) fprintf(stderr, "%s\n", made.status().ToString().c_str());
      all_there.count_down();
      leave.wait();
    });
  }
  ready.wait();
  go();
  begin.count_down();
  all_there.arrive_and_wait();
  done(created_ns);
  leave.count_down();
  for (std::thread& thread : threads) thread.join();
  return good;
}

Took TimeJob(const Job& job) {
  const UniqueId id = *CreateUniqueId();
  Pipe ready, go, there, measure, leave, figures;
  for (int process = 0; process < job.processes; ++process) {
    if (fork() != 0) continue;
    const auto let_go = [&] {
      ready.Put();
      go.Get();
    };
    const bool good = RunProcess(id, job, process, let_go, [&](std::int64_t created_ns) {
      there.Put();
      measure.Get();
      const Figures own{.created_ns = created_ns, .resident_kib = ResidentKib()};
      if (write(figures.ends[1], &own, sizeof(own)) != sizeof(own)) std::abort();
      leave.Get();
    });
    _exit(good ? 0 : 1);
  }
  for (int i = 0; i < job.processes; ++i) ready.Get();
  const std::int64_t begin_ns = sys::NowNs();
  for (int i = 0; i < job.processes; ++i) go.Put();
  for (int i = 0; i < job.processes; ++i) there.Get();
  Took took{.seconds = static_cast<double>(sys::NowNs() - begin_ns) / 1e9};
  for (int i = 0; i < job.processes; ++i) measure.Put();
  for (int i = 0; i < job.processes; ++i) {
    Figures theirs;
    if (read(figures.ends[0], &theirs, sizeof(theirs)) != sizeof(theirs)) std::abort();
    took.init_ms = std::max(took.init_ms, static_cast<double>(theirs.created_ns - begin_ns) / sys::kNsPerMs);
    took.mb_a_rank += static_cast<double>(theirs.resident_kib) / 1024 / job.ranks;
  }
  for (int i = 0; i < job.processes; ++i) leave.Put();
  for (int i = 0; i < job.processes; ++i) {
    int status = -1;
    if (wait(&status) <= 0 || status != 0) took.seconds = -1;
  }
  return took;
}

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

void FirstAllReduce(benchmark::State& state) {
  for (auto _ : state) {
    const Took took = TimeJob({.ranks = static_cast<int>(state.range(0)),
                               .processes = static_cast<int>(state.range(1)),
                               .hosts = static_cast<int>(state.range(2))});
    if (took.seconds < 0) return state.SkipWithError("a rank failed");
    state.SetIterationTime(took.seconds);
    state.counters["init_ms"] = took.init_ms;
    state.counters["MB_a_rank"] = took.mb_a_rank;
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
BENCHMARK(FirstAllReduce)
    ->ArgNames({"ranks", "processes", "hosts"})
    ->Args({64, 1, 1})
    ->Args({128, 1, 1})
    ->Args({256, 1, 1})
    ->Args({256, 4, 1})
    ->Args({64, 4, 4})
    ->Args({128, 4, 4})
    ->Args({256, 4, 4})
    ->Args({256, 16, 16})
    ->Args({1024, 16, 16})
    ->Args({1024, 4, 4})
    ->Args({1024, 4, 1})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tutti
