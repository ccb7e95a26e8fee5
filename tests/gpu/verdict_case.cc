// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/verdict_case.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/gpu/nccl_job.h"
#include "tests/gpu/own_kernel.h"

namespace tutti::tests {
namespace {

constexpr double kPatience = 20;  // seconds until a rank that is told nothing gives up

struct Setting {
  const VerdictCase& c;
  Job& job;
  int rank;
  Place& place;
  ToldOfRank& told;
  ncclComm_t comm = nullptr;

  bool holds_up() const { return rank == c.culprit; }
  std::string operation() const {
    return fmt::format("all_reduce(count {}, float32, sum), operation {} of", c.count, c.calls + 1);
  }
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
      ncclAllReduce(s.place.buffer(0), s.place.buffer(1), s.c.count, ncclFloat32, ncclSum, comm, s.place.stream(0)),
      comm, "ncclAllReduce");
}

Status Fill(Setting& s) {
  const std::vector<float> data(s.c.count, 1.0f);
  return s.place.CopyIn(s.place.buffer(0), data.data(), s.c.count * sizeof(float));
}

Status WaitAndCompare(Setting& s, ncclComm_t comm) {
  TUTTI_RETURN_IF_ERROR(s.place.Wait(comm, 0));
  std::vector<float> data(s.c.count);
  TUTTI_RETURN_IF_ERROR(s.place.CopyOut(data.data(), s.place.buffer(1), s.c.count * sizeof(float)));
  const auto wrong = std::ranges::count_if(data, [&](float x) { return x != static_cast<float>(s.job.ranks()); });
  if (wrong == 0) return Status::Ok();
  return Status(Code::kInternal, fmt::format("an all_reduce gave {} wrong elements of {}", wrong, s.c.count));
}

// What all ranks call before anything is wrong.
Status CallBefore(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Fill(s));
  for (int i = 0; i < s.c.calls; ++i) TUTTI_RETURN_IF_ERROR(AllReduce(s, s.comm));
  return WaitAndCompare(s, s.comm);
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
  s.told.seconds = SecondsSince(begin);
  fmt::format_to_n(s.told.sentence, sizeof(s.told.sentence) - 1, "{}", sentence);
  fmt::print("  rank {}: after {:.1f} s: {}\n", s.rank, s.told.seconds, sentence);
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

// Until all others have said that they were told.
Status AwaitTold(Setting& s) {
  const std::int64_t begin = HostNowNs();
  while (s.job.arrived() < s.c.ranks - 1) {
    if (SecondsSince(begin) > 2 * kPatience) return Status(Code::kTimeout, "some rank was told nothing");
    Sleep(0.01);
  }
  return Status::Ok();
}

std::string Name(const Setting& s) { return fmt::format("rank {} (host ", s.c.culprit); }

// One call of all ranks, whom one of them holds up in this way.
Status RunHeldUp(Setting& s, const std::function<Status()>& call, const std::function<Status()>& hold_up,
                 const std::vector<std::string>& words) {
  TUTTI_RETURN_IF_ERROR(CallBefore(s));
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

Status LateHost(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0, s.comm));
  const auto call = [&] { return AllReduce(s, s.comm); };
  return RunHeldUp(s, call,
                   [&] {
                     TUTTI_RETURN_IF_ERROR(AwaitTold(s));
                     return call();
                   },
                   {Name(s), "has not called " + s.operation()});
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
                   {Name(s), "has called " + s.operation(), "its GPU still runs earlier work"});
}

Status BusyGpu(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0, s.comm));
  const auto call = [&] { return AllReduce(s, s.comm); };
  return RunHeldUp(s, call,
                   [&] {
                     Result<Hog> hog = Hog::Launch(s.place.stream(1));
                     if (!hog.ok()) return hog.status();
                     Status status = call();
                     if (status.ok()) status = AwaitTold(s);
                     hog->Release();
                     return status;
                   },
                   {Name(s), "has called " + s.operation(), "its GPU still runs earlier work"});
}

// Its context is lost by a kernel of the program, so none of its kernels will ever run.
Status BrokenGpu(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0, s.comm));
  TUTTI_RETURN_IF_ERROR(CallBefore(s));
  if (s.holds_up()) {
    TUTTI_RETURN_IF_ERROR(BreakContext(s.place.stream(1)));
    (void)AwaitTold(s);
  } else {
    TUTTI_RETURN_IF_ERROR(AllReduce(s, s.comm));
    const Status told = AwaitVerdict(s, s.comm, {fmt::format("rank {}", s.c.culprit)});
    ++s.job.arrived();
    TUTTI_RETURN_IF_ERROR(told);
  }
  (void)ncclCommAbort(s.comm);
  return Status::Ok();
}

Status LateSend(Setting& s) {
  TUTTI_RETURN_IF_ERROR(Connect(s, 0, s.comm));
  // It sends to all others what they would have had by the all_reduce.
  const auto call = [&] {
    void *from = s.place.buffer(1), *to = s.place.buffer(1);
    if (!s.holds_up()) {
      return CheckNccl(ncclRecv(to, s.c.count, ncclFloat32, s.c.culprit, s.comm, s.place.stream(0)), s.comm,
                       "ncclRecv");
    }
    (void)ncclGroupStart();
    for (int r = 0; r < s.c.ranks; ++r) {
      if (r != s.rank) (void)ncclSend(from, s.c.count, ncclFloat32, r, s.comm, s.place.stream(0));
    }
    return CheckNccl(ncclGroupEnd(), s.comm, "ncclGroupEnd");
  };
  return RunHeldUp(s, call,
                   [&] {
                     TUTTI_RETURN_IF_ERROR(AwaitTold(s));
                     return call();
                   },
                   {Name(s), fmt::format("has not called send(count {}, float32, to rank ", s.c.count)});
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

// Two communicators, whose calls one rank puts into its stream in the other order.
Status Orders(Setting& s) {
  ncclComm_t other = nullptr;
  TUTTI_RETURN_IF_ERROR(Connect(s, 0, s.comm));
  TUTTI_RETURN_IF_ERROR(Connect(s, 1, other));
  TUTTI_RETURN_IF_ERROR(Fill(s));
  for (const ncclComm_t comm : {s.comm, other}) {
    for (int i = 0; i < s.c.calls; ++i) TUTTI_RETURN_IF_ERROR(AllReduce(s, comm));
    TUTTI_RETURN_IF_ERROR(WaitAndCompare(s, comm));
  }
  TUTTI_RETURN_IF_ERROR(AllReduce(s, s.holds_up() ? other : s.comm));
  TUTTI_RETURN_IF_ERROR(AllReduce(s, s.holds_up() ? s.comm : other));
  const ncclComm_t waits = s.holds_up() ? other : s.comm;
  Status told = AwaitVerdict(
      s, waits, {"deadlock: ", "the GPU of rank ", fmt::format("and has not begun all_reduce(count {}", s.c.count)});
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

struct Way {
  const char* name;
  const char* what;
  Status (*run)(Setting&);
  bool owns_gpu;       // the rank must have its GPU to itself
  bool stops_kernels;  // and no copies, by which ranks of different hosts exchange what is long
};
constexpr Way kWays[] = {
    {"well", "nobody holds the job up", Well, false, false},
    {"late-host", "a rank does not call", LateHost, false, false},
    {"late-gpu", "a rank has called, and a function of the host keeps its stream", LateGpu, false, false},
    {"busy-gpu", "a rank has called, and a kernel of the program has its whole GPU", BusyGpu, true, true},
    {"late-send", "a rank does not send", LateSend, false, false},
    {"late-graph", "a rank does not launch a graph", LateGraph, false, false},
    {"orders", "a rank calls two communicators in another order", Orders, false, false},
    {"broken-gpu", "a kernel of the program writes where no memory is", BrokenGpu, true, false},
};
static_assert(std::size(kWays) == kVerdictWays);

}  // namespace

const char* NameOf(int way) { return kWays[way].name; }
bool Fits(const VerdictCase& c, int gpus) {
  const Way& way = kWays[c.way];
  constexpr std::size_t kLongest = 1000;  // elements that surely go by a kernel
  const bool within_hosts = c.ranks > c.hosts && c.ranks % c.hosts == 0;
  if (way.stops_kernels && c.hosts > 1 && !within_hosts && c.count > kLongest) return false;
  return c.ranks <= gpus || !way.owns_gpu;
}

bool RunVerdictCase(const VerdictCase& c, int gpus, ToldOfRank* told) {
  Job job(c.ranks);
  job.SpreadOver(c.hosts);
  const Way& way = kWays[c.way];
  const std::string what = fmt::format("{}: rank {} of {} on {} host{}, {} floats, after {} calls", way.what, c.culprit,
                                       c.ranks, c.hosts, c.hosts == 1 ? "" : "s", c.count, c.calls);
  constexpr double kCaseSeconds = 80;
  return RunCase(way.name, what, job, gpus, c.count * sizeof(float), kCaseSeconds, [&](int rank, Place& place) {
    Setting setting{c, job, rank, place, told[rank]};
    return way.run(setting);
  });
}

}  // namespace tutti::tests
