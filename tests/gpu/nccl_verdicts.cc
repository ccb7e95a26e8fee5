// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a job whose kernels wait is told of who holds it up (docs/diagnosis.md), through NCCL's C interface. Needs a GPU.
//
//   nccl_verdicts [--ranks N] [--only NAME]
//
// Ranks are processes. In each scenario the last rank holds the others up, whose verdict is asked for until it says what it must; then
// the last one goes on, all results must be right, and the verdict must go. One line for each rank that was told, with the sentence and
// the time since it began to wait; exit status 1 where something was wrong, missing, or did not end.

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/gpu/nccl_job.h"

namespace tutti::tests {
namespace {

constexpr std::size_t kCount = 100'000;  // floats
constexpr double kPatience = 20;         // seconds until a rank that is told nothing gives up
constexpr double kScenarioSeconds = 80;

struct Setting {
  Job& job;
  int rank;
  Place& place;
  ncclComm_t comm = nullptr;

  int last() const { return job.ranks() - 1; }
  bool holds_up() const { return rank == last(); }
};

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }
double SecondsSince(std::int64_t ns) { return static_cast<double>(HostNowNs() - ns) / 1e9; }

Status Connect(Setting& s, int number, ncclComm_t& comm) {
  const Result<ncclUniqueId> id = s.job.ShareId(s.rank, 0, number);
  if (!id.ok()) return id.status();
  return CheckNccl(ncclCommInitRank(&comm, s.job.ranks(), *id, s.rank), comm, "ncclCommInitRank");
}

Status AllReduce(Setting& s, ncclComm_t comm) {
  return CheckNccl(
      ncclAllReduce(s.place.buffer(0), s.place.buffer(1), kCount, ncclFloat32, ncclSum, comm, s.place.stream(0)), comm,
      "ncclAllReduce");
}

Status Fill(Setting& s) {
  const std::vector<float> data(kCount, 1.0f);
  return s.place.CopyIn(s.place.buffer(0), data.data(), kCount * sizeof(float));
}

Status WaitAndCompare(Setting& s, ncclComm_t comm) {
  TUTTI_RETURN_IF_ERROR(s.place.Wait(comm, 0));
  std::vector<float> data(kCount);
  TUTTI_RETURN_IF_ERROR(s.place.CopyOut(data.data(), s.place.buffer(1), kCount * sizeof(float)));
  const auto wrong = std::ranges::count_if(data, [&](float x) { return x != static_cast<float>(s.job.ranks()); });
  if (wrong == 0) return Status::Ok();
  return Status(Code::kInternal, fmt::format("an all_reduce gave {} wrong elements of {}", wrong, kCount));
}

std::string VerdictOf(ncclComm_t comm) {
  char sentence[1024] = "";
  int none = 0;
  (void)ncclTuttiVerdict(comm, sentence, sizeof(sentence), nullptr, &none);
  return sentence;
}

bool HasAll(const std::string& sentence, const std::vector<std::string>& words) {
  return std::ranges::all_of(words, [&](const auto& w) { return sentence.find(w) != std::string::npos; });
}

// Until the verdict says all that.
Status AwaitVerdict(Setting& s, ncclComm_t comm, const std::vector<std::string>& words) {
  const std::int64_t begin = HostNowNs();
  std::string sentence;
  while (!HasAll(sentence = VerdictOf(comm), words)) {
    if (SecondsSince(begin) > kPatience) {
      return Status(Code::kTimeout,
                    fmt::format("'{}' was not told in {} s; the verdict is '{}'", words.front(), kPatience, sentence));
    }
    Sleep(0.02);
  }
  fmt::print("  rank {}: after {:.1f} s: {}\n", s.rank, SecondsSince(begin), sentence);
  return Status::Ok();
}

Status AwaitNone(Setting& s, ncclComm_t comm) {
  const std::int64_t begin = HostNowNs();
  while (!VerdictOf(comm).empty()) {
    if (SecondsSince(begin) > kPatience)
      return Status(Code::kInternal, fmt::format("rank {} is still told: {}", s.rank, VerdictOf(comm)));
    Sleep(0.02);
  }
  return Status::Ok();
}

// Until all ranks but the last have said that they were told.
Status AwaitTold(Setting& s) {
  const std::int64_t begin = HostNowNs();
  while (s.job.arrived() < s.last()) {
    if (SecondsSince(begin) > 2 * kPatience) return Status(Code::kTimeout, "some rank was told nothing");
    Sleep(0.01);
  }
  return Status::Ok();
}

// One call of all ranks, whom the last one holds up in this way.
Status RunHeldUp(Setting& s, const std::function<Status()>& call, const std::function<Status()>& hold_up,
                 const std::vector<std::string>& words) {
  TUTTI_RETURN_IF_ERROR(Fill(s));
  TUTTI_RETURN_IF_ERROR(AllReduce(s, s.comm));
  TUTTI_RETURN_IF_ERROR(WaitAndCompare(s, s.comm));
  if (s.holds_up()) {
    TUTTI_RETURN_IF_ERROR(hold_up());
  } else {
    TUTTI_RETURN_IF_ERROR(call());
    const Status told = AwaitVerdict(s, s.comm, words);
    ++s.job.arrived();  // also where that failed, so that the job ends
    TUTTI_RETURN_IF_ERROR(told);
  }
  TUTTI_RETURN_IF_ERROR(WaitAndCompare(s, s.comm));
  TUTTI_RETURN_IF_ERROR(AwaitNone(s, s.comm));
  return CheckNccl(ncclCommDestroy(s.comm), nullptr, "ncclCommDestroy");
}

std::string Name(const Setting& s) { return fmt::format("rank {} (host ", s.last()); }

Status LateHost(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0, s.comm));
  const auto call = [&] { return AllReduce(s, s.comm); };
  return RunHeldUp(s, call,
                   [&] {
                     TUTTI_RETURN_IF_ERROR(AwaitTold(s));
                     return call();
                   },
                   {Name(s), "has not called all_reduce(count 100000, float32, sum), operation 2 of"});
}

// The thread of a stream that is held until the others were told.
void AwaitToldInStream(void* setting) { (void)AwaitTold(*static_cast<Setting*>(setting)); }

Status LateGpu(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0, s.comm));
  using LaunchHostFunc = int (*)(void* stream, void (*function)(void*), void* argument);
  const auto launch = reinterpret_cast<LaunchHostFunc>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchHostFunc"));
  if (launch == nullptr) return Status(Code::kUnsupported, "libcuda.so.1 has no cuLaunchHostFunc");
  const auto call = [&] { return AllReduce(s, s.comm); };
  return RunHeldUp(s, call,
                   [&] {
                     if (launch(s.place.stream(0), AwaitToldInStream, &s) != 0)
                       return Status(Code::kInternal, "cuLaunchHostFunc");
                     return call();
                   },
                   {Name(s), "has called all_reduce(count 100000, float32, sum), operation 2 of",
                    "its GPU still runs earlier work"});
}

Status LateSend(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0, s.comm));
  // The last one sends to all others what they would have had by the all_reduce.
  const auto call = [&] {
    void *from = s.place.buffer(1), *to = s.place.buffer(1);
    if (!s.holds_up()) {
      return CheckNccl(ncclRecv(to, kCount, ncclFloat32, s.last(), s.comm, s.place.stream(0)), s.comm, "ncclRecv");
    }
    (void)ncclGroupStart();
    for (int r = 0; r < s.last(); ++r) (void)ncclSend(from, kCount, ncclFloat32, r, s.comm, s.place.stream(0));
    return CheckNccl(ncclGroupEnd(), s.comm, "ncclGroupEnd");
  };
  return RunHeldUp(s, call,
                   [&] {
                     TUTTI_RETURN_IF_ERROR(AwaitTold(s));
                     return call();
                   },
                   {Name(s), "has not called send(count 100000, float32, to rank "});
}

Status LateGraph(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0, s.comm));
  TUTTI_RETURN_IF_ERROR(Fill(s));
  const Result<sys::cuda::GraphExec> graph = s.place.Capture(0, [&] { return AllReduce(s, s.comm); });
  if (!graph.ok()) return graph.status();
  const auto call = [&] { return s.place.Replay(*graph, 0); };
  TUTTI_RETURN_IF_ERROR(RunHeldUp(s, call,
                                  [&] {
                                    TUTTI_RETURN_IF_ERROR(AwaitTold(s));
                                    return call();
                                  },
                                  {Name(s), "has not come to an operation of a CUDA graph that others wait in"}));
  s.place.Forget(*graph);
  return Status::Ok();
}

// Two communicators, whose calls the last rank puts into its stream in the other order.
Status Orders(Setting& s) {
  ncclComm_t other = nullptr;
  TUTTI_RETURN_IF_ERROR(Connect(s, 0, s.comm));
  TUTTI_RETURN_IF_ERROR(Connect(s, 1, other));
  TUTTI_RETURN_IF_ERROR(Fill(s));
  for (const ncclComm_t comm : {s.comm, other}) {
    TUTTI_RETURN_IF_ERROR(AllReduce(s, comm));
    TUTTI_RETURN_IF_ERROR(WaitAndCompare(s, comm));
  }
  TUTTI_RETURN_IF_ERROR(AllReduce(s, s.holds_up() ? other : s.comm));
  TUTTI_RETURN_IF_ERROR(AllReduce(s, s.holds_up() ? s.comm : other));
  const ncclComm_t waits = s.holds_up() ? other : s.comm;
  Status told = AwaitVerdict(s, waits, {"deadlock: ", "the GPU of rank ", "and has not begun all_reduce(count 100000"});
  ++s.job.arrived();
  for (const std::int64_t begin = HostNowNs(); s.job.arrived() < s.job.ranks() && SecondsSince(begin) < kPatience;)
    Sleep(0.01);
  (void)ncclCommAbort(s.comm);
  (void)ncclCommAbort(other);
  return told;
}

// Nobody holds anybody up, but for what takes its time.
Status Well(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0, s.comm));
  TUTTI_RETURN_IF_ERROR(Fill(s));
  std::int64_t calls = 0;
  for (const std::int64_t begin = HostNowNs();; ++calls) {
    const Result<int> goes_on = s.job.Decide(s.rank, static_cast<int>(calls), SecondsSince(begin) < 5 ? 1 : 0);
    if (!goes_on.ok()) return goes_on.status();
    if (*goes_on == 0) break;
    if (s.holds_up() && calls % 8 == 7) Sleep(0.4);
    for (int i = 0; i < 50; ++i) TUTTI_RETURN_IF_ERROR(AllReduce(s, s.comm));
    TUTTI_RETURN_IF_ERROR(WaitAndCompare(s, s.comm));
    if (const std::string sentence = VerdictOf(s.comm); !sentence.empty())
      return Status(Code::kInternal, "it is told: " + sentence);
  }
  fmt::print("  rank {}: told nothing in {} all_reduces\n", s.rank, 50 * calls);
  return CheckNccl(ncclCommDestroy(s.comm), nullptr, "ncclCommDestroy");
}

struct Scenario {
  const char* name;
  const char* what;
  Status (*run)(Setting&);
};
constexpr Scenario kScenarios[] = {
    {"well", "nobody holds the job up", Well},
    {"late-host", "a rank does not call", LateHost},
    {"late-gpu", "a rank has called, and other work is in its stream", LateGpu},
    {"late-send", "a rank does not send", LateSend},
    {"late-graph", "a rank does not launch a graph", LateGraph},
    {"orders", "a rank calls two communicators in another order", Orders},
};

bool RunScenario(const Scenario& scenario, int ranks, int gpus) {
  Job job(ranks);
  return RunCase(scenario.name, scenario.what, job, gpus, kCount * sizeof(float), kScenarioSeconds,
                 [&](int rank, Place& place) {
                   Setting setting{job, rank, place};
                   return scenario.run(setting);
                 });
}

}  // namespace
}  // namespace tutti::tests

int main(int argc, char** argv) {
  using namespace tutti::tests;
  int ranks = 0;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (argument == "--ranks") {
      ranks = std::atoi(value);
    } else if (argument == "--only") {
      only = value;
    } else {
      fmt::print(stderr, "usage: {} [--ranks N] [--only NAME]\n", argv[0]);
      return 2;
    }
  }
  const int gpus = CountGpus();
  if (gpus == 0) {
    fmt::print(stderr, "there is no GPU that the driver shows here\n");
    return 2;
  }
  if (ranks == 0) ranks = std::max(gpus, 2);
  if (ranks < 2 || ranks > 64) {
    fmt::print(stderr, "at least 2 ranks are needed, and at most 64 are tried\n");
    return 2;
  }
  int run = 0, failed = 0;
  for (const Scenario& scenario : kScenarios) {
    if (!only.empty() && only != scenario.name) continue;
    ++run;
    if (!RunScenario(scenario, ranks, gpus)) ++failed;
  }
  fmt::print("verdicts: {} ranks on {} GPUs, {} of {} passed\n", ranks, gpus, run - failed, run);
  return failed == 0 && run > 0 ? 0 : 1;
}
