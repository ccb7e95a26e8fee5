// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Communicators in host memory whose choices a tuner plugin makes (tuner_plugin.c).
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "base/log.h"
#include "comm/host/entry.h"
#include "comm/host/impl.h"
#include "comm/host/planner.h"
#include "comm/identity/settings_source.h"
#include "tests/support/ranks.h"
#include "tests/tuner_plugin/seen.h"
#include "tutti/communicator.h"

#ifndef TUTTI_TEST_PLUGINS
#define TUTTI_TEST_PLUGINS "."  // the folder of the plugins, which CMakeLists.txt names where a test is built
#endif

namespace tutti::tests {
namespace {

std::mutex g_mutex;
std::vector<std::string> g_lines;  // "WARN text"

constexpr log::Sink kSink = {
    .write =
        [](const log::Record& record) {
          std::lock_guard lock(g_mutex);
          g_lines.push_back(std::string(log::Name(record.level)) + " " + std::string(record.text));
        },
    .now_ns = [] { return std::int64_t{1}; }};

std::string PathOf(const std::string& name) { return fmt::format("{}/libnccl-tuner-{}.so", TUTTI_TEST_PLUGINS, name); }
std::string VersionPath(int version) { return PathOf(fmt::format("tests-v{}", version)); }

class TunerPluginTest : public testing::TestWithParam<int> {
 protected:
  static constexpr int kRanks = 4;
  static constexpr std::size_t kCount = 30'000;

  void SetUp() override {
    comm::StartLog({}, -1);  // the first communicator of a process would do so, and take the sink away
    log::Install(&kSink, {.level = log::Level::kInfo, .subsystems = log::kAllSubsystems, .lines_per_second = 0});
    g_lines.clear();
    settings_.calls_before_trial = 0;
  }
  void Use(const std::string& plugin, const std::string& script) {
    settings_.tuner_plugin = plugin;
    setenv("TUTTI_TEST_TUNER", script.c_str(), 1);
  }
  // Runs all_reduces of so many floats and sees to it that the results are right; how they were done.
  std::vector<std::string> RunAll(const std::vector<std::size_t>& counts) {
    std::vector<std::string> how;
    const std::string failure = RunRanks(kRanks, settings_, [&](Communicator& c) -> Status {
      for (const std::size_t count : counts) {
        const Result<std::string> one = AllReduceAndExplain(c, count, 1);
        if (!one.ok()) return one.status();
        if (c.rank() == 0) how.push_back(*one);
      }
      return Status::Ok();
    });
    EXPECT_EQ(failure, "");
    how.resize(counts.size());
    return how;
  }
  std::string Run(std::size_t count) { return RunAll({count}).front(); }
  static Result<std::string> AllReduceAndExplain(Communicator& c, std::size_t count, int times) {
    std::vector<float> in(count), out(count);
    const Operation operation = AllReduce(in, out);
    for (int i = 0; i < times; ++i) {
      std::iota(in.begin(), in.end(), static_cast<float>(c.rank() + i));
      const Status status = c.Run(operation);
      if (!status.ok()) return status;
      for (std::size_t at = 0; at < count; ++at) {
        const int sum = c.ranks() * (static_cast<int>(at) + i) + c.ranks() * (c.ranks() - 1) / 2;
        if (out[at] != static_cast<float>(sum)) {
          return Status(Code::kInternal, fmt::format("element {} is {}, not {}", at, out[at], sum));
        }
      }
    }
    return c.Explain(operation);
  }
  // What the plugin has seen since it was loaded, in this or another test.
  static const Seen& SeenBy(int version) {
    void* library = dlopen(VersionPath(version).c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    const auto get = reinterpret_cast<const Seen* (*)()>(dlsym(library, "tutti_test_seen"));
    return *get();
  }
  static int CountLines(const std::string& level, const std::string& text) {
    std::lock_guard lock(g_mutex);
    int count = 0;
    for (const std::string& line : g_lines) {
      count += line.starts_with(level + " ") && line.find(text) != std::string::npos ? 1 : 0;
    }
    return count;
  }
  static std::string AllLines() {
    std::lock_guard lock(g_mutex);
    std::string all;
    for (const std::string& line : g_lines) all += line + "\n";
    return all;
  }

  Settings settings_;
};

TEST_P(TunerPluginTest, ItsChoiceIsTaken) {
  const int version = GetParam();
  const Seen before = SeenBy(version);
  Use(VersionPath(version), "want 1 2 1 0");
  EXPECT_EQ(Run(kCount).substr(0, 11), "ring Simple");
  EXPECT_EQ(CountLines("INFO", fmt::format("TUNER/Plugin: Tests (v{}) has all_reduce of {} bytes done by ring Simple",
                                           version, 4 * kCount)),
            kRanks)
      << AllLines();
  EXPECT_EQ(CountLines("INFO", "Algorithm Ring, Protocol Simple (AllReduce)"), kRanks) << AllLines();
  EXPECT_EQ(CountLines("INFO", "a tuner of tests begins for 4 ranks"), kRanks);
  const Seen& seen = SeenBy(version);
  EXPECT_EQ(seen.inits - before.inits, kRanks);
  EXPECT_EQ(seen.ends - before.ends, kRanks);
  EXPECT_EQ(seen.asks - before.asks, kRanks) << "once for a size";
  EXPECT_EQ(seen.ranks, 4u);
  EXPECT_EQ(seen.nodes, 1u);
  EXPECT_EQ(seen.function, 4);
  EXPECT_EQ(seen.bytes, 4 * kCount);
  EXPECT_EQ(seen.operations, 1);
  if (version >= 3) {
    EXPECT_GT(seen.table[0][0], 0);
    EXPECT_GT(seen.table[1][2], 0);
    EXPECT_EQ(seen.table[4][2], -1);
  }
  if (version >= 5) {
    EXPECT_NE(seen.communicator, 0u);
    EXPECT_EQ(seen.domains, 1);
    EXPECT_EQ(seen.fewest, 4);
    EXPECT_EQ(seen.most, 4);
    EXPECT_EQ(seen.tree_base_us, 6.8);
    EXPECT_EQ(CountLines("INFO", fmt::format("Tests (v{}) has changed constants", version)), kRanks);
  }
}

TEST_P(TunerPluginTest, OneThatDoesNotBeginIsNotUsed) {
  Use(VersionPath(GetParam()), "fail_init");
  const int ends = SeenBy(GetParam()).ends;
  EXPECT_EQ(Run(kCount).find("ring"), std::string::npos);
  EXPECT_EQ(
      CountLines("WARN",
                 fmt::format("libnccl-tuner-tests-v{}.so is not used: the tuner Tests (v{}) does not begin: its init "
                             "said ncclInternalError (3)",
                             GetParam(), GetParam())),
      1)
      << AllLines();
  EXPECT_EQ(SeenBy(GetParam()).ends, ends);
}

TEST_P(TunerPluginTest, OneThatFailsIsSwitchedOff) {
  Use(VersionPath(GetParam()), "fail_ask");
  const int asks = SeenBy(GetParam()).asks;
  for (const std::string& how : RunAll({kCount, kCount / 2})) EXPECT_EQ(how.find("ring"), std::string::npos) << how;
  EXPECT_EQ(CountLines("WARN", fmt::format("the tuner plugin Tests (v{}) is switched off: its getCollInfo said "
                                           "ncclInternalError (3)",
                                           GetParam())),
            kRanks)
      << "one for each communicator\n"
      << AllLines();
  EXPECT_EQ(SeenBy(GetParam()).asks - asks, kRanks);
}

TEST_P(TunerPluginTest, NonsenseDoesNoHarm) {
  for (const char* script : {"nan", "outside", "want 4 2 1 0", "want 6 2 1 0"}) {
    Use(VersionPath(GetParam()), script);
    for (const std::string& how : RunAll({1, kCount})) EXPECT_EQ(how.find("ring"), std::string::npos) << script << how;
    EXPECT_EQ(CountLines("WARN", ""), 0) << AllLines();
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, TunerPluginTest, testing::Range(2, 7),
                         [](const auto& info) { return "v" + std::to_string(info.param); });

class OneVersion : public TunerPluginTest {};

TEST_F(OneVersion, EverySizeIsAskedAbout) {
  Use(VersionPath(4), "only 40004 0 1");
  // Of one class of sizes.
  std::vector<bool> trees;
  for (const std::string& how : RunAll({10'000, 10'001, 10'002, 10'001})) {
    trees.push_back(how.find("tree LL128") != std::string::npos);
  }
  EXPECT_EQ(trees, std::vector<bool>({false, true, false, true}));
}

TEST_F(OneVersion, IsToldTheBytesOfAllRanks) {
  Use(VersionPath(4), "want 6 2 0 0");
  std::string how;
  EXPECT_EQ(RunRanks(kRanks, settings_,
                     [&](Communicator& c) -> Status {
                       std::vector<int> in(1000, c.rank()), out(4000);
                       const Operation operation = AllGather(in, out);
                       const Status status = c.Run(operation);
                       for (std::size_t i = 0; i < out.size(); ++i) {
                         if (status.ok() && out[i] != static_cast<int>(i / 1000))
                           return Status(Code::kInternal, "wrong");
                       }
                       if (c.rank() == 0) how = c.Explain(operation);
                       return status;
                     }),
            "");
  EXPECT_EQ(how.substr(0, 10), "pat Simple");
  EXPECT_EQ(SeenBy(4).bytes, 16'000u);
  EXPECT_EQ(SeenBy(4).function, 2);
}

TEST_F(OneVersion, ChannelsAreKept) {
  for (const auto& [channels, ending] : {std::pair(1, ""), {2, ", 2 channels"}, {1 << 30, ", 2 channels"}}) {
    Use(VersionPath(5), fmt::format("want 1 2 {} 0", channels));
    const std::string how = Run(1 << 18);
    EXPECT_TRUE(how.starts_with("ring Simple") && how.ends_with(ending)) << how;
    EXPECT_EQ(how.find("channels") != std::string::npos, channels > 1) << how;
  }
}

TEST_F(OneVersion, AWayThatIsForbiddenIsNotTaken) {
  settings_.algo = "ring,tree";
  Use(VersionPath(6), "nothing");
  const std::string own = Run(100);
  const bool ring = own.starts_with("ring");
  const int protocol = own.find("LL128") != std::string::npos ? 1 : own.find("LL") != std::string::npos ? 0 : 2;
  ASSERT_TRUE(ring || own.find("tree") != std::string::npos) << own;
  Use(VersionPath(6), fmt::format("forbid {} {}", ring ? 1 : 0, protocol));
  EXPECT_NE(Run(100), own);
}

TEST_F(OneVersion, ChunksMayBeShorter) {
  for (int protocol = 0; protocol < 3; ++protocol) {
    const int asks = SeenBy(6).chunk_asks;
    Use(VersionPath(6), fmt::format("want 1 {} 0 2000", protocol));
    for (const std::string& how : RunAll({kCount, 7})) EXPECT_EQ(how.substr(0, 4), "ring");
    EXPECT_EQ(SeenBy(6).chunk_asks - asks, 2 * kRanks);
    EXPECT_GT(SeenBy(6).chunk_bytes, 2000u);
  }
  EXPECT_EQ(CountLines("WARN", ""), 0) << AllLines();
  Use(VersionPath(6), "fail_chunk");
  settings_.algo = "ring";
  Run(kCount);
  EXPECT_EQ(CountLines("WARN", "is switched off: its getChunkSize said ncclInternalError (3)"), kRanks) << AllLines();
}

TEST_F(OneVersion, WhatItHasChosenIsNotTried) {
  settings_.calls_before_trial = 2;
  constexpr std::size_t kFew = 16;
  const auto is_tried = [&](const std::string& script) {
    Use(VersionPath(6), script);
    bool tried = false;
    const std::string failure = RunRanks(kRanks, settings_, [&](Communicator& c) -> Status {
      const Result<std::string> how = AllReduceAndExplain(c, kFew, 100);
      if (!how.ok()) return how.status();
      const auto entry = c.impl()->planner.FindEntry(Collective::kAllReduce, kFew * sizeof(float), 0);
      if (c.rank() == 0) tried = (*entry)->trials != nullptr;
      return entry.status();
    });
    EXPECT_EQ(failure, "");
    return tried;
  };
  EXPECT_TRUE(is_tried("nothing"));
  EXPECT_FALSE(is_tried("want 1 2 1 0"));
  EXPECT_FALSE(is_tried("want -1 -1 1 0")) << "it has asked for channels";
  EXPECT_FALSE(is_tried("forbid 1 2"));
}

TEST_F(OneVersion, FilesThatAreNoTunersAreNamed) {
  Use(PathOf("tests-v7"), "nothing");
  Run(1);
  EXPECT_EQ(CountLines("WARN", "is not used: none of the symbols ncclTunerPlugin_v2 to _v6 is in "), 1) << AllLines();
  Use(PathOf("tests-no-ask"), "nothing");
  Run(1);
  EXPECT_EQ(CountLines("WARN", "is not used: the tuner Tests (v4) lacks the function getCollInfo"), 1) << AllLines();
  Use("not-there", "nothing");
  Run(1);
  Run(1);
  EXPECT_EQ(CountLines("WARN", "the tuner plugin not-there is not used: it cannot be loaded: "), 1) << AllLines();
  EXPECT_EQ(CountLines("WARN", ""), 3) << AllLines();
  Use("none", "want 1 2 1 0");
  EXPECT_EQ(Run(kCount).find("ring"), std::string::npos);
  Use("", "want 1 2 1 0");
  EXPECT_EQ(Run(kCount).find("ring"), std::string::npos) << "is there a libnccl-tuner.so here?";
  EXPECT_EQ(CountLines("WARN", ""), 3) << AllLines();
}

TEST_F(OneVersion, CountsHosts) {
  Use(VersionPath(5), "want 1 2 0 0");
  std::string how;
  const std::vector<int> host_of = {0, 0, 1};
  EXPECT_EQ(RunOnHosts(host_of, settings_,
                       [&](Communicator& c) -> Status {
                         const Result<std::string> one = AllReduceAndExplain(c, kCount, 1);
                         if (one.ok() && c.rank() == 0) how = *one;
                         return one.status();
                       }),
            "");
  EXPECT_EQ(how.substr(0, 11), "ring Simple");
  EXPECT_EQ(SeenBy(5).nodes, 2u);
  EXPECT_EQ(SeenBy(5).domains, 2);
  EXPECT_EQ(SeenBy(5).fewest, 1);
  EXPECT_EQ(SeenBy(5).most, 2);
}

TEST_F(OneVersion, HostsThatDifferUseNone) {
  Use(std::string(TUTTI_TEST_PLUGINS) + "/./libnccl-tuner-tests-v3.so", "fail_every_other");  // a warning of its own
  const Seen before = SeenBy(3);
  const std::vector<int> host_of = {0, 1};
  EXPECT_EQ(RunOnHosts(host_of, settings_,
                       [&](Communicator& c) -> Status { return AllReduceAndExplain(c, kCount, 1).status(); }),
            "");
  EXPECT_EQ(SeenBy(3).inits - before.inits, 2);
  EXPECT_EQ(SeenBy(3).asks, before.asks);
  EXPECT_EQ(SeenBy(3).ends - before.ends, 1);
  EXPECT_EQ(CountLines("WARN", "no tuner plugin is used, since not all ranks have the same: rank "), 1) << AllLines();
}

}  // namespace
}  // namespace tutti::tests
