// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What a profiler plugin is told of calls through nccl.h, on host memory (profiler_plugin.cc). A process has one plugin for ever, so each
// test is a process of its own.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "nccl.h"
#include "profiler/abi.h"
#include "tests/profiler_plugin/seen.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/soon.h"

namespace tutti::tests {
namespace {

namespace abi = profiler::abi;
using std::chrono::milliseconds;

constexpr unsigned kEverything = 0xfff;
constexpr unsigned kTypesOfVersion4 =
    abi::kGroup | abi::kColl | abi::kP2p | abi::kProxyOp | abi::kProxyStep | abi::kKernelCh;

std::string PathOf(const std::string& name) { return TUTTI_TEST_PLUGINS "/libnccl-profiler-tests-" + name + ".so"; }

// The plugin as this process has loaded it.
class Plugin {
 public:
  explicit Plugin(const std::string& name) : library_(dlopen(PathOf(name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr) << dlerror();
    setenv("NCCL_PROFILER_PLUGIN", PathOf(name).c_str(), 1);
  }
  void Ask(unsigned mask) const {
    reinterpret_cast<void (*)(int)>(dlsym(library_, "tutti_test_ask"))(static_cast<int>(mask));
  }
  std::vector<Entry> Entries() const {
    int count = 0;
    const Entry* first = reinterpret_cast<const Entry* (*)(int*)>(dlsym(library_, "tutti_test_entries"))(&count);
    return {first, first + count};
  }

 private:
  void* const library_;
};

// Runs `body` in a process of its own; what it finds wrong is shown there and fails the test here.
void InProcess(const std::function<void()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

std::vector<Entry> StartsOf(const std::vector<Entry>& entries, std::uint64_t type, int rank = -1) {
  std::vector<Entry> found;
  for (const Entry& e : entries) {
    if (e.what == Entry::kStart && e.type == type && (rank < 0 || e.rank == rank)) found.push_back(e);
  }
  return found;
}

int Count(const std::vector<Entry>& entries, Entry::What what) {
  return static_cast<int>(std::ranges::count(entries, what, &Entry::what));
}

// That the plugin was called as NCCL would: contexts begin and end once, events lie between, each is stopped once and told of only
// before, and names an event above it that was started before.
void CheckOrder(const std::vector<Entry>& entries) {
  std::set<void*> begun, ended, started, stopped;
  std::map<void*, void*> context_of;
  for (const Entry& e : entries) {
    switch (e.what) {
      case Entry::kInit:
        if (e.context != nullptr) {
          EXPECT_TRUE(begun.insert(e.context).second);
        }
        break;
      case Entry::kStart:
        EXPECT_TRUE(begun.contains(e.context));
        EXPECT_FALSE(ended.contains(e.context)) << "an event after finalize";
        if (e.parent != nullptr) {
          EXPECT_TRUE(started.contains(e.parent));
        }
        EXPECT_TRUE(started.insert(e.event).second);
        context_of[e.event] = e.context;
        break;
      case Entry::kState:
        EXPECT_TRUE(started.contains(e.event) && !stopped.contains(e.event)) << "state " << e.state;
        EXPECT_FALSE(ended.contains(context_of[e.event])) << "a state after finalize";
        break;
      case Entry::kStop:
        EXPECT_TRUE(started.contains(e.event));
        EXPECT_TRUE(stopped.insert(e.event).second) << "stopped twice";
        EXPECT_FALSE(ended.contains(context_of[e.event])) << "a stop after finalize";
        break;
      case Entry::kFinalize:
        EXPECT_TRUE(begun.contains(e.context));
        EXPECT_TRUE(ended.insert(e.context).second) << "finalized twice";
        break;
    }
  }
  EXPECT_EQ(begun, ended) << "every context that began must end";
  EXPECT_EQ(started, stopped) << "every event that was started must be stopped";
}

// An all_reduce, and a group in which the ranks of a ring send to each other.
void CallAll(ncclComm_t comm, int rank, int ranks) {
  EXPECT_EQ(Sum(comm, rank + 1), ranks * (ranks + 1) / 2);
  int in = rank, out = -1;
  NCCL_EXPECT_OK(ncclGroupStart());
  NCCL_EXPECT_OK(ncclSend(&in, 1, ncclInt32, (rank + 1) % ranks, comm, nullptr));
  NCCL_EXPECT_OK(ncclRecv(&out, 1, ncclInt32, (rank + ranks - 1) % ranks, comm, nullptr));
  NCCL_EXPECT_OK(ncclGroupEnd());
  NCCL_EXPECT_OK(ncclTuttiSynchronize(comm));
  EXPECT_EQ(out, (rank + ranks - 1) % ranks);
}

class ProfilerPlugin : public testing::TestWithParam<int> {};

TEST_P(ProfilerPlugin, IsToldOfEveryCall) {
  const int version = GetParam();
  InProcess([&] {
    const Plugin plugin("v" + std::to_string(version));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = "data";
    WithRanks(
        3, [](ncclComm_t& comm, int rank) { CallAll(comm, rank, 3); }, &config);
    const std::vector<Entry> entries = plugin.Entries();
    CheckOrder(entries);
    std::uint64_t communicator = 0;
    for (const Entry& e : entries) {
      if (e.what != Entry::kInit) continue;
      EXPECT_STREQ(e.name, "data");
      EXPECT_EQ(e.ranks, 3);
      EXPECT_EQ(e.hosts, 1);
      EXPECT_TRUE(communicator == 0 || communicator == e.communicator);
      communicator = e.communicator;
    }
    EXPECT_NE(communicator, 0u);
    std::map<void*, Entry> by_handle;
    for (const Entry& e : entries) {
      if (e.what == Entry::kStart) by_handle[e.event] = e;
    }
    for (int rank = 0; rank < 3; ++rank) {
      const std::vector<Entry> colls = StartsOf(entries, abi::kColl, rank), p2ps = StartsOf(entries, abi::kP2p, rank);
      ASSERT_EQ(colls.size(), 1u);
      EXPECT_STREQ(colls[0].function, "AllReduce");
      EXPECT_STREQ(colls[0].datatype, "ncclInt32");
      EXPECT_STREQ(colls[0].protocol, "LL");
      EXPECT_STRNE(colls[0].algorithm, "Unknown");
      EXPECT_EQ(colls[0].count, 1u);
      EXPECT_EQ(colls[0].sequence, 0u);
      EXPECT_EQ(colls[0].channels, 1);
      ASSERT_EQ(p2ps.size(), 2u);
      EXPECT_STREQ(p2ps[0].function, "Send");
      EXPECT_EQ(p2ps[0].peer, (rank + 1) % 3);
      EXPECT_STREQ(p2ps[1].function, "Recv");
      EXPECT_EQ(p2ps[1].peer, (rank + 2) % 3);
      ASSERT_EQ(StartsOf(entries, abi::kKernelCh, rank).size(), 3u);  // of each of these calls
      ASSERT_EQ(StartsOf(entries, abi::kGroup, rank).size(), 2u);
      const auto parent_type = [&](const Entry& e) { return by_handle[e.parent].type; };
      for (const Entry& kernel : StartsOf(entries, abi::kKernelCh, rank)) {
        EXPECT_TRUE(parent_type(kernel) == abi::kColl || parent_type(kernel) == abi::kP2p);
      }
      if (version == 4) {
        EXPECT_EQ(parent_type(colls[0]), abi::kGroup);
        EXPECT_EQ(parent_type(p2ps[0]), abi::kGroup);
        continue;
      }
      EXPECT_EQ(parent_type(colls[0]), abi::kCollApi);
      EXPECT_EQ(by_handle[colls[0].parent_group].type, abi::kGroup);
      EXPECT_EQ(parent_type(p2ps[0]), abi::kP2pApi);
      EXPECT_EQ(parent_type(p2ps[1]), abi::kP2pApi);
      const Entry api = by_handle[colls[0].parent], group_api = by_handle[api.parent];
      EXPECT_STREQ(api.function, "AllReduce");
      EXPECT_EQ(group_api.type, abi::kGroupApi);
      EXPECT_EQ(group_api.depth, 1);
      const Entry send = by_handle[p2ps[0].parent], receive = by_handle[p2ps[1].parent];
      EXPECT_EQ(send.parent, receive.parent) << "one group";
      EXPECT_EQ(by_handle[send.parent].depth, 2);
    }
    if (version == 4) {
      for (const auto& [handle, e] : by_handle) EXPECT_NE(e.type & kTypesOfVersion4, 0u) << e.type;
    }
  });
}

// Of an event's type, itself and what lies above it.
unsigned WithParents(unsigned type) {
  switch (type) {
    case abi::kGroupApi:
    case abi::kGroup:
      return type | abi::kGroupApi;
    case abi::kCollApi:
    case abi::kP2pApi:
    case abi::kKernelLaunch:
      return type | abi::kGroupApi;
    case abi::kColl:
      return type | abi::kGroup | abi::kCollApi | abi::kGroupApi;
    case abi::kP2p:
      return type | abi::kGroup | abi::kP2pApi | abi::kGroupApi;
    default:  // below either
      return type | abi::kColl | abi::kP2p | abi::kGroup | abi::kCollApi | abi::kP2pApi | abi::kGroupApi |
             (type == abi::kProxyStep ? unsigned{abi::kProxyOp} : 0u);
  }
}

TEST_P(ProfilerPlugin, IsToldOnlyWhatItAsksForAndWhatLiesAbove) {
  const int version = GetParam();
  for (unsigned type = 1; type <= abi::kKernelLaunch; type <<= 1) {
    InProcess([&] {
      const Plugin plugin("v" + std::to_string(version));
      plugin.Ask(type);
      WithRanks(2, [](ncclComm_t& comm, int rank) { CallAll(comm, rank, 2); });
      const std::vector<Entry> entries = plugin.Entries();
      CheckOrder(entries);
      for (const Entry& e : entries) {
        if (e.what != Entry::kStart) continue;
        EXPECT_NE(e.type & WithParents(type), 0u) << e.type << " where " << type << " was asked for";
      }
      // Waits depend on the machine, and nothing is launched on host memory.
      const unsigned certain = version == 4
                                   ? abi::kGroup | abi::kColl | abi::kP2p | abi::kKernelCh
                                   : kEverything & ~(abi::kProxyOp | abi::kProxyStep | abi::kKernelLaunch | 0xa0u);
      if ((type & certain) != 0) {
        EXPECT_FALSE(StartsOf(entries, type).empty()) << type;
      }
    });
  }
}

TEST_P(ProfilerPlugin, ChangesItsMaskWhileCallsGoOn) {
  InProcess([&] {
    const Plugin plugin("v" + std::to_string(GetParam()));
    plugin.Ask(0);
    WithRanks(1, [&](ncclComm_t& comm, int) {
      EXPECT_EQ(Sum(comm, 5), 5);
      EXPECT_EQ(Count(plugin.Entries(), Entry::kStart), 0);
      plugin.Ask(abi::kColl);
      EXPECT_EQ(Sum(comm, 6), 6);
      plugin.Ask(0);
      EXPECT_EQ(Sum(comm, 7), 7);
    });
    const std::vector<Entry> entries = plugin.Entries();
    CheckOrder(entries);
    const std::vector<Entry> colls = StartsOf(entries, abi::kColl);
    ASSERT_EQ(colls.size(), 1u);
    EXPECT_EQ(colls[0].sequence, 1u) << "calls count although nobody is told of them";
  });
}
INSTANTIATE_TEST_SUITE_P(Versions, ProfilerPlugin, testing::Values(4, 5, 6));

TEST(Profiler, SaysWhenACallsWorkBeginsAndEnds) {
  InProcess([] {
    const Plugin plugin("v5");
    WithRanks(2, [](ncclComm_t& comm, int rank) {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(Sum(comm, rank), 1);
    });
    const std::vector<Entry> entries = plugin.Entries();
    CheckOrder(entries);
    for (int rank = 0; rank < 2; ++rank) {
      std::uint64_t last = 0;
      const std::vector<Entry> kernels = StartsOf(entries, abi::kKernelCh, rank);
      EXPECT_EQ(kernels.size(), 20u);
      for (const Entry& kernel : kernels) {
        const auto stop = std::ranges::find_if(
            entries, [&](const Entry& e) { return e.what == Entry::kState && e.event == kernel.event; });
        ASSERT_NE(stop, entries.end());
        EXPECT_EQ(stop->state, abi::kKernelChStop);
        EXPECT_GE(kernel.timer_ns, last) << "one after the other";
        EXPECT_GE(stop->timer_ns, kernel.timer_ns);
        last = stop->timer_ns;
      }
    }
  });
}

TEST(Profiler, IsToldOfWaits) {
  InProcess([] {
    const Plugin plugin("v5");
    plugin.Ask(abi::kProxyStep);
    WithRanks(2, [](ncclComm_t& comm, int rank) {
      if (rank == 1) std::this_thread::sleep_for(milliseconds(50));
      EXPECT_EQ(Sum(comm, rank), 1);
    });
    const std::vector<Entry> entries = plugin.Entries();
    CheckOrder(entries);
    const std::vector<Entry> links = StartsOf(entries, abi::kProxyOp, 0), steps = StartsOf(entries, abi::kProxyStep, 0);
    ASSERT_FALSE(links.empty());
    EXPECT_EQ(links[0].peer, 1);
    EXPECT_EQ(links[0].is_send, 0);
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps[0].parent, links[0].event);
    std::vector<int> states;
    for (const Entry& e : entries) {
      if (e.what == Entry::kState && e.event == steps[0].event) states.push_back(e.state);
    }
    EXPECT_EQ(states, (std::vector<int>{abi::kRecvWait, abi::kRecvFlushWait, abi::kRecvGpuWait}));
  });
}

TEST(Profiler, IsToldThatASenderWaitsForRoom) {
  InProcess([] {
    const Plugin plugin("v5");
    plugin.Ask(abi::kProxyStep);
    constexpr std::size_t kBytes = 64 << 20;  // more than any link has room for
    WithRanks(2, [](ncclComm_t& comm, int rank) {
      std::vector<char> data(kBytes, static_cast<char>(rank + 1));
      if (rank == 0) {
        NCCL_EXPECT_OK(ncclSend(data.data(), kBytes, ncclInt8, 1, comm, nullptr));
      } else {
        std::this_thread::sleep_for(milliseconds(50));
        NCCL_EXPECT_OK(ncclRecv(data.data(), kBytes, ncclInt8, 0, comm, nullptr));
      }
      NCCL_EXPECT_OK(ncclTuttiSynchronize(comm));
      EXPECT_EQ(data[kBytes - 1], 1);
    });
    const std::vector<Entry> entries = plugin.Entries();
    CheckOrder(entries);
    const std::vector<Entry> steps = StartsOf(entries, abi::kProxyStep, 0);
    ASSERT_FALSE(steps.empty());
    std::vector<int> states;
    for (const Entry& e : entries) {
      if (e.what == Entry::kState && e.event == steps[0].event) states.push_back(e.state);
    }
    EXPECT_EQ(states, (std::vector<int>{abi::kSendGpuWait, abi::kSendPeerWait, abi::kSendWait}));
  });
}

TEST(Profiler, HearsOfCommunicatorsOfOneGroup) {
  InProcess([] {
    const Plugin plugin("v6");
    WithRanks(2, [](ncclComm_t& comm, int rank) {
      ncclComm_t half = nullptr;
      NCCL_OK(ncclCommSplit(comm, 0, -rank, &half, nullptr));
      int one = 1, of_both = 0, of_half = 0;
      NCCL_EXPECT_OK(ncclGroupStart());
      NCCL_EXPECT_OK(ncclAllReduce(&one, &of_both, 1, ncclInt32, ncclSum, comm, nullptr));
      NCCL_EXPECT_OK(ncclAllReduce(&one, &of_half, 1, ncclInt32, ncclSum, half, nullptr));
      NCCL_EXPECT_OK(ncclGroupEnd());
      NCCL_EXPECT_OK(ncclTuttiSynchronize(comm));
      NCCL_EXPECT_OK(ncclTuttiSynchronize(half));
      EXPECT_EQ(of_both + of_half, 4);
      NCCL_EXPECT_OK(ncclCommDestroy(half));
    });
    const std::vector<Entry> entries = plugin.Entries();
    CheckOrder(entries);
    EXPECT_EQ(Count(entries, Entry::kInit), 4);
    EXPECT_EQ(StartsOf(entries, abi::kGroupApi).size(), 2u) << "one for each thread's group";
    EXPECT_EQ(StartsOf(entries, abi::kColl).size(), 4u);
    EXPECT_EQ(StartsOf(entries, abi::kKernelCh).size(), 4u);
  });
}

TEST(Profiler, EndsOnceWhereACommunicatorIsAborted) {
  InProcess([] {
    const Plugin plugin("v5");
    std::barrier called(2);
    WithRanks(2, [&](ncclComm_t& comm, int rank) {
      int one = 1, sum = 0;
      if (rank == 0) {
        NCCL_EXPECT_OK(ncclAllReduce(&one, &sum, 1, ncclInt32, ncclSum, comm, nullptr));
      }
      called.arrive_and_wait();
      NCCL_EXPECT_OK(ncclCommAbort(comm));
      comm = nullptr;
    });
    const std::vector<Entry> entries = plugin.Entries();
    CheckOrder(entries);
    EXPECT_EQ(Count(entries, Entry::kFinalize), 2);
    for (const Entry& kernel : StartsOf(entries, abi::kKernelCh)) {
      for (const Entry& e : entries) {
        EXPECT_FALSE(e.what == Entry::kState && e.event == kernel.event) << "no end is known of what has not ended";
      }
    }
  });
}

TEST(Profiler, BeginsAndEndsAlikeWhereACommunicatorIsAbortedWhileItIsMade) {
  InProcess([] {
    const Plugin plugin("v5");
    ncclUniqueId id;
    NCCL_OK(ncclGetUniqueId(&id));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
    NCCL_EXPECT_OK(ncclCommAbort(comm));
    std::this_thread::sleep_for(milliseconds(200));
    CheckOrder(plugin.Entries());
  });
}

// Lines of the log that hold `text`, after `body` has run in a process with a plugin.
int Warnings(const std::string& plugin, const std::string& text, const std::function<void()>& body) {
  const std::string file = testing::TempDir() + "/profiler_plugin_test." + std::to_string(getpid());
  InProcess([&] {
    setenv("NCCL_PROFILER_PLUGIN", plugin.c_str(), 1);
    setenv("NCCL_DEBUG", "WARN", 1);
    setenv("NCCL_DEBUG_FILE", file.c_str(), 1);
    body();
  });
  std::ifstream log(file);
  int found = 0;
  for (std::string line; std::getline(log, line);) found += line.find(text) != std::string::npos ? 1 : 0;
  std::filesystem::remove(file);
  return found;
}

void MakeTwoCommunicators() {
  for (int i = 0; i < 2; ++i) {
    WithRanks(2, [](ncclComm_t& comm, int rank) { EXPECT_EQ(Sum(comm, rank), 1); });
  }
}

TEST(Profiler, IsLeftOutWithOneLineWhereItCannotBeUsed) {
  EXPECT_EQ(Warnings("/nowhere/libnccl-profiler.so", "the profiler plugin /nowhere/libnccl-profiler.so is left out",
                     &MakeTwoCommunicators),
            1);
  EXPECT_EQ(Warnings(PathOf("v7"), "none of the symbols ncclProfiler_v4 to _v6 is in", &MakeTwoCommunicators), 1);
  EXPECT_EQ(Warnings(PathOf("no-stop"), "lacks the function stopEvent", &MakeTwoCommunicators), 1);
  EXPECT_EQ(Warnings(PathOf("v5"), "its init said ncclSystemError (2)",
                     [] {
                       setenv("TUTTI_TEST_PROFILER", "fail", 1);
                       MakeTwoCommunicators();
                     }),
            1);
  EXPECT_EQ(Warnings("none", "profiler", &MakeTwoCommunicators), 0);
}

TEST(Profiler, ThatWantsNothingIsToldNothing) {
  InProcess([] {
    const Plugin plugin("v5");
    setenv("TUTTI_TEST_PROFILER", "deaf", 1);
    MakeTwoCommunicators();
    const std::vector<Entry> entries = plugin.Entries();
    EXPECT_EQ(Count(entries, Entry::kInit), static_cast<int>(entries.size()));
    EXPECT_EQ(entries.size(), 4u);
  });
}

#ifdef TUTTI_FAKE_CUDA
// By a driver that takes kernels and runs none, so their calls end without a time.
TEST(Profiler, IsToldOfKernels) {
  InProcess([] {
    ASSERT_TRUE(LoadFakeCuda(TUTTI_FAKE_CUDA));
    const Plugin plugin("v5");
    std::barrier called(2);
    WithRanks(2, [&](ncclComm_t& comm, int rank) {
      std::vector<float> in(1000), out(2000);
      NCCL_EXPECT_OK(ncclAllReduce(in.data(), out.data(), 1000, ncclFloat32, ncclSum, comm, nullptr));
      NCCL_EXPECT_OK(ncclGroupStart());
      NCCL_EXPECT_OK(ncclSend(in.data(), 10, ncclFloat32, 1 - rank, comm, nullptr));
      NCCL_EXPECT_OK(ncclRecv(out.data(), 10, ncclFloat32, 1 - rank, comm, nullptr));
      NCCL_EXPECT_OK(ncclGroupEnd());
      called.arrive_and_wait();
      NCCL_EXPECT_OK(ncclCommAbort(comm));
      comm = nullptr;
    });
    const std::vector<Entry> entries = plugin.Entries();
    CheckOrder(entries);
    for (int rank = 0; rank < 2; ++rank) {
      const std::vector<Entry> launches = StartsOf(entries, abi::kKernelLaunch, rank);
      const std::vector<Entry> groups = StartsOf(entries, abi::kGroupApi, rank);
      const std::vector<Entry> colls = StartsOf(entries, abi::kColl, rank);
      ASSERT_EQ(launches.size(), 2u) << "one for the all_reduce, one for the group";
      ASSERT_EQ(groups.size(), 2u);
      EXPECT_EQ(launches[0].parent, groups[0].event);
      EXPECT_EQ(launches[1].parent, groups[1].event);
      ASSERT_EQ(colls.size(), 1u);
      EXPECT_STRNE(colls[0].algorithm, "Unknown");
      EXPECT_STRNE(colls[0].protocol, "Unknown");
      EXPECT_EQ(StartsOf(entries, abi::kP2p, rank).size(), 2u);
      EXPECT_TRUE(StartsOf(entries, abi::kKernelCh, rank).empty()) << "no time is made up";
    }
  });
}
#endif

TEST(Profiler, HearsNothingOfAForkedChild) {
  InProcess([] {
    const Plugin plugin("v5");
    WithRanks(1, [&](ncclComm_t& comm, int) {
      EXPECT_EQ(Sum(comm, 1), 1);
      const std::size_t before = plugin.Entries().size();
      InProcess([&] {
        EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
        EXPECT_EQ(plugin.Entries().size(), before);
      });
    });
    CheckOrder(plugin.Entries());
  });
}

}  // namespace
}  // namespace tutti::tests
