// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a job does when a rank fails while the others' kernels spin, through NCCL's C interface: they must learn of it,
// with a sentence that names the rank, and be free again within a second. On the GPUs that there are, else in host memory.
//
//   nccl_faults [--ranks N] [--hosts N] [--only NAME] [--limit-ms MS] [--windows]
//
// --windows: what waits is an all_gather between windows under the zero-CTA policy, that is copy engines and no kernel.
// One line per fault; exit status 1 where anything was late, wrong, or did not end.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/gpu/nccl_job.h"

namespace tutti::tests {
namespace {

constexpr std::size_t kCount = 100'000;  // floats
constexpr double kHeadStart = 0.3;       // seconds for the others to be waiting in their kernels before the fault
constexpr double kPatience = 20;         // seconds before a rank that learns nothing gives up
constexpr double kScenarioSeconds = 60;

struct Setting {
  Job& job;
  int rank;
  int gpus;
  double limit_ms;
  bool windows;
  Place& place;
  ncclComm_t comm = nullptr;

  int last() const { return job.ranks() - 1; }
  bool victim() const { return rank == last(); }
  // Elements of an input; the buffers have room for kCount.
  std::size_t count() const { return windows ? kCount / static_cast<std::size_t>(job.ranks()) : kCount; }
};

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

double MsSince(std::int64_t ns) { return static_cast<double>(HostNowNs() - ns) / 1e6; }

Status AllReduceOnce(Setting& s, ncclComm_t comm, float expected) {
  std::vector<float> data(kCount, 1.0f);
  TUTTI_RETURN_IF_ERROR(s.place.CopyIn(s.place.buffer(0), data.data(), kCount * sizeof(float)));
  TUTTI_RETURN_IF_ERROR(CheckNccl(
      ncclAllReduce(s.place.buffer(0), s.place.buffer(1), kCount, ncclFloat32, ncclSum, comm, s.place.stream(0)), comm,
      "ncclAllReduce"));
  TUTTI_RETURN_IF_ERROR(s.place.Wait(comm, 0));
  TUTTI_RETURN_IF_ERROR(s.place.CopyOut(data.data(), s.place.buffer(1), kCount * sizeof(float)));
  const auto wrong = std::ranges::count_if(data, [&](float x) { return x != expected; });
  if (wrong == 0) return Status::Ok();
  return Status(Code::kInternal, fmt::format("an all_reduce gave {} wrong elements of {}", wrong, kCount));
}

Status Connect(Setting& s, int number) {
  const Result<ncclUniqueId> id = s.job.ShareId(s.rank, 0, number);
  if (!id.ok()) return id.status();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (s.windows) config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
  TUTTI_RETURN_IF_ERROR(CheckNccl(ncclCommInitRankConfig(&s.comm, s.job.ranks(), *id, s.rank, &config), s.comm,
                                  "ncclCommInitRankConfig"));
  for (int i = 0; i < 2 && s.windows; ++i) {
    ncclWindow_t window = nullptr;
    const ncclResult_t made =
        ncclCommWindowRegister(s.comm, s.place.buffer(i), kCount * sizeof(float), &window, NCCL_WIN_COLL_SYMMETRIC);
    TUTTI_RETURN_IF_ERROR(CheckNccl(made, s.comm, "ncclCommWindowRegister"));
    if (s.gpus > 0 && window == nullptr) return Status(Code::kInternal, "there is no window");
  }
  return AllReduceOnce(s, s.comm, static_cast<float>(s.job.ranks()));
}

// What waits for the others: `divisor` times less than usual of it.
ncclResult_t CallOnce(Setting& s, std::size_t divisor) {
  const std::size_t count = s.count() / divisor;
  void *in = s.place.buffer(0), *out = s.place.buffer(1);
  if (s.windows) return ncclAllGather(in, out, count, ncclFloat32, s.comm, s.place.stream(0));
  return ncclAllReduce(in, out, count, ncclFloat32, ncclSum, s.comm, s.place.stream(0));
}

// An operation that waits for the last rank; called, not waited for.
Status StartWaiting(Setting& s) {
  ncclResult_t result = ncclSuccess;
  for (int i = 0; i < (s.windows ? 5 : 1) && result == ncclSuccess; ++i) result = CallOnce(s, 1);
  if (result == ncclSuccess || result == ncclInProgress) return Status::Ok();
  return CheckNccl(result, nullptr, "a collective");
}

// Polls as frameworks do until the communicator has failed; aborts it; waits for the stream. All of it must happen within
// the limit after the fault, and the sentence must hold `named`.
Status ExpectEnd(Setting& s, const std::string& named) {
  ncclResult_t error = ncclSuccess;
  for (const std::int64_t begin = HostNowNs(); error == ncclSuccess || error == ncclInProgress;) {
    ncclCommGetAsyncError(s.comm, &error);
    if (MsSince(begin) > kPatience * 1e3) {
      ncclCommAbort(s.comm);
      return Status(Code::kTimeout, fmt::format("learnt nothing within {} s", kPatience));
    }
    Sleep(0.001);
  }
  const double told_ms = MsSince(s.job.mark_ns());
  const std::string sentence = ncclGetLastError(s.comm);
  const ncclResult_t aborted = ncclCommAbort(s.comm);
  s.comm = nullptr;
  TUTTI_RETURN_IF_ERROR(CheckNccl(aborted, nullptr, "ncclCommAbort"));
  TUTTI_RETURN_IF_ERROR(s.place.WaitForStream(0, kPatience));
  const double free_ms = MsSince(s.job.mark_ns());
  fmt::print("  rank {}: told after {:.0f} ms, free after {:.0f} ms: {}: {}\n", s.rank, told_ms, free_ms,
             ncclGetErrorString(error), sentence);
  if (free_ms > s.limit_ms) {
    return Status(Code::kTimeout, fmt::format("it took {:.0f} ms, more than {:.0f}", free_ms, s.limit_ms));
  }
  if (sentence.find(named) == std::string::npos) {
    return Status(Code::kInternal, fmt::format("the sentence does not name '{}'", named));
  }
  return Status::Ok();
}

// ---------------------------------------------------------------------------------------------------------------

Status Killed(Setting& s) {
  s.job.ExpectKilled(s.last());
  TUTTI_RETURN_IF_ERROR(Connect(s, 0));
  if (s.victim()) {
    Sleep(kHeadStart);
    s.job.mark_ns() = HostNowNs();
    std::raise(SIGKILL);
  }
  TUTTI_RETURN_IF_ERROR(StartWaiting(s));
  TUTTI_RETURN_IF_ERROR(ExpectEnd(s, fmt::format("rank {}", s.last())));
  // Life goes on in the same process without the lost rank.
  const Result<ncclUniqueId> id = s.job.ShareId(s.rank, 0, 1);
  if (!id.ok()) return id.status();
  const ncclResult_t made = ncclCommInitRank(&s.comm, s.job.ranks() - 1, *id, s.rank);
  TUTTI_RETURN_IF_ERROR(CheckNccl(made, s.comm, "ncclCommInitRank after a failure"));
  TUTTI_RETURN_IF_ERROR(AllReduceOnce(s, s.comm, static_cast<float>(s.job.ranks() - 1)));
  return CheckNccl(ncclCommDestroy(s.comm), nullptr, "ncclCommDestroy");
}

Status Exits(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0));
  if (s.victim()) {
    Sleep(kHeadStart);
    s.job.mark_ns() = HostNowNs();
    std::exit(0);  // without destroying anything
  }
  TUTTI_RETURN_IF_ERROR(StartWaiting(s));
  return ExpectEnd(s, fmt::format("rank {}", s.last()));
}

// The last rank aborts its communicator instead of joining in.
Status Aborts(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0));
  if (!s.victim()) {
    TUTTI_RETURN_IF_ERROR(StartWaiting(s));
    return ExpectEnd(s, fmt::format("rank {}", s.last()));
  }
  Sleep(kHeadStart);
  s.job.mark_ns() = HostNowNs();
  const ncclResult_t aborted = ncclCommAbort(s.comm);
  TUTTI_RETURN_IF_ERROR(CheckNccl(aborted, nullptr, "ncclCommAbort"));
  Sleep(2);  // its process lives on: nobody may learn of the abort from its end
  return Status::Ok();
}

// Every rank but the last aborts its own spinning kernel, as a framework's watchdog does, from another thread.
Status WatchdogAborts(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0));
  if (s.victim()) {
    Sleep(2);
    ncclCommAbort(s.comm);
    return Status::Ok();
  }
  TUTTI_RETURN_IF_ERROR(StartWaiting(s));
  Sleep(kHeadStart);
  const std::int64_t begin = HostNowNs();
  ncclResult_t aborted = ncclInternalError;
  std::thread watchdog([&] { aborted = ncclCommAbort(s.comm); });
  watchdog.join();
  TUTTI_RETURN_IF_ERROR(CheckNccl(aborted, nullptr, "ncclCommAbort"));
  TUTTI_RETURN_IF_ERROR(s.place.WaitForStream(0, kPatience));
  const double ms = MsSince(begin);
  fmt::print("  rank {}: free {:.0f} ms after its abort\n", s.rank, ms);
  if (ms <= s.limit_ms) return Status::Ok();
  return Status(Code::kTimeout, fmt::format("an abort took {:.0f} ms, more than {:.0f}", ms, s.limit_ms));
}

// The last rank calls with another count than the others. All ranks must be told, with both calls; where it is alone on its host
// nobody sees what it called, only that other data came.
Status Mismatch(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0));
  if (!s.victim()) {
    TUTTI_RETURN_IF_ERROR(StartWaiting(s));
  } else {
    Sleep(kHeadStart);
    s.job.mark_ns() = HostNowNs();
    const ncclResult_t called = CallOnce(s, 2);
    if (called != ncclSuccess && called != ncclInProgress && called != ncclInvalidUsage) {
      return CheckNccl(called, s.comm, "a collective");
    }
  }
  if (s.job.hosts() == s.job.ranks()) return ExpectEnd(s, " sent data of another call than all_reduce(count ");
  return ExpectEnd(
      s, fmt::format("rank {} called {}(count {}", s.last(), s.windows ? "all_gather" : "all_reduce", s.count() / 2));
}

// A rank that is late is no fault.
Status Late(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0));
  if (s.victim()) Sleep(3);
  TUTTI_RETURN_IF_ERROR(CheckNccl(CallOnce(s, 1), s.comm, "a collective"));
  TUTTI_RETURN_IF_ERROR(s.place.Wait(s.comm, 0));
  TUTTI_RETURN_IF_ERROR(AllReduceOnce(s, s.comm, static_cast<float>(s.job.ranks())));
  return CheckNccl(ncclCommDestroy(s.comm), nullptr, "ncclCommDestroy");
}

// All ranks end with live communicators.
Status NoDestroy(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0));
  std::exit(0);
}

// Ten communicators after one another, and three at a time.
Status MakeMany(Setting& s) {
  ncclComm_t kept[3] = {};
  for (int i = 0; i < 10; ++i) {
    TUTTI_RETURN_IF_ERROR(Connect(s, i));
    ncclComm_t& place = kept[i % 3];
    if (place != nullptr) TUTTI_RETURN_IF_ERROR(CheckNccl(ncclCommDestroy(place), nullptr, "ncclCommDestroy"));
    place = s.comm;
    for (const ncclComm_t comm : kept) {
      if (comm == nullptr) continue;
      TUTTI_RETURN_IF_ERROR(AllReduceOnce(s, comm, static_cast<float>(s.job.ranks())));
    }
  }
  for (const ncclComm_t comm : kept)
    TUTTI_RETURN_IF_ERROR(CheckNccl(ncclCommDestroy(comm), nullptr, "ncclCommDestroy"));
  return Status::Ok();
}

struct Scenario {
  const char* name;
  const char* what;
  Status (*run)(Setting&);
};
constexpr Scenario kScenarios[] = {
    {"killed", "a rank is killed while the others wait; they go on without it", Killed},
    {"exits", "a rank exits while the others wait", Exits},
    {"aborts", "a rank aborts while the others wait", Aborts},
    {"watchdog", "waiting ranks abort from another thread", WatchdogAborts},
    {"mismatch", "a rank calls with another count", Mismatch},
    {"late", "a rank comes 3 s late: no fault", Late},
    {"no-destroy", "all ranks exit with live communicators", NoDestroy},
    {"many", "ten communicators after one another", MakeMany},
};

bool RunScenario(const Scenario& scenario, int ranks, int hosts, int gpus, double limit_ms, bool windows) {
  Job job(ranks);
  job.SpreadOver(hosts);
  return RunCase(scenario.name, scenario.what, job, gpus, kCount * sizeof(float), kScenarioSeconds,
                 [&](int rank, Place& place) {
                   Setting setting{job, rank, gpus, limit_ms, windows, place};
                   return scenario.run(setting);
                 });
}

}  // namespace
}  // namespace tutti::tests

int main(int argc, char** argv) {
  using namespace tutti::tests;
  int ranks = 0, hosts = 1;
  double limit_ms = 1000;
  std::string only;
  bool windows = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--windows") {
      windows = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (argument == "--ranks") {
      ranks = std::atoi(value);
    } else if (argument == "--hosts") {
      hosts = std::atoi(value);
    } else if (argument == "--limit-ms") {
      limit_ms = std::atof(value);
    } else if (argument == "--only") {
      only = value;
    } else {
      fmt::print(stderr, "usage: {} [--ranks N] [--hosts N] [--only NAME] [--limit-ms MS] [--windows]\n", argv[0]);
      return 2;
    }
  }
  const int gpus = CountGpus();
  if (ranks == 0) ranks = gpus == 0 ? 3 : std::max(gpus, 2);
  if (ranks < 2 || ranks > 64) {
    fmt::print(stderr, "a fault needs at least 2 ranks, and at most 64 are tried\n");
    return 2;
  }
  int run = 0, failed = 0;
  for (const Scenario& scenario : kScenarios) {
    if (!only.empty() && only != scenario.name) continue;
    ++run;
    if (!RunScenario(scenario, ranks, hosts, gpus, limit_ms, windows)) ++failed;
  }
  fmt::print("faults: {} ranks {}, {} of {} passed\n", ranks,
             gpus == 0 ? std::string("in host memory") : fmt::format("on {} GPUs", gpus), run - failed, run);
  return failed == 0 && run > 0 ? 0 : 1;
}
