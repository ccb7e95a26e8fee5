// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// NCCL_ALGO, NCCL_PROTO and the bounds of channels do what they say: of every algorithm and protocol what is asked for is done, what is
// excluded is not, and one collective may be told apart from others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "algo/algorithm.h"
#include "base/words.h"
#include "comm/gpu/limits.h"
#include "comm/gpu/planner.h"
#include "sys/log/log_output.h"
#include "sys/os/text_file.h"
#include "tests/support/ranks.h"
#include "tests/support/scratch_folder.h"
#include "transport/p2p/sections.h"
#include "tune/gpu_machine.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

constexpr int kRanks = 4;

std::vector<float>& Data() {
  static std::vector<float>& data = *new std::vector<float>(1 << 20);
  return data;
}

Operation Of(Collective kind, std::size_t count) {
  return {.kind = kind,
          .in = Data().data(),
          .out = Data().data() + Data().size() / 2,
          .count = count,
          .type = DataType::kFloat32};
}

// What would be done with these settings, of several sizes.
std::set<std::string> HostWays(const Settings& settings, Collective kind) {
  std::set<std::string> ways;
  std::mutex mutex;
  const std::string failure = tests::RunRanks(kRanks, settings, [&](Communicator& c) {
    for (const std::size_t count : {1, 1000, 100000}) {
      const std::string way = c.Explain(Of(kind, count));
      std::lock_guard lock(mutex);
      ways.insert(way);
    }
    return c.Run(Barrier());
  });
  EXPECT_EQ(failure, "");
  return ways;
}

std::set<std::string> GpuWays(const Settings& settings, Collective kind) {
  const tune::GpuTable& table =
      tune::FindGpuTable({}, {.gpu = "NVIDIA H200", .compute_capability = 90, .multiprocessors = 132, .ranks = kRanks});
  GpuPlanner planner(1, kRanks);
  const Status status =
      planner.Start(table.machine, {.most_blocks = 32, .whole_lines = true},
                    transport::p2p::Sections::Fit(kRanks, 32, std::size_t{64} << 20), settings, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  std::set<std::string> ways;
  for (const std::size_t count : {1, 1000, 100000}) ways.insert(planner.Explain(Of(kind, count)));
  return ways;
}

using Ways = std::function<std::set<std::string>(const Settings&, Collective)>;

// Some names are NCCL's, for several algorithms.
bool IsNamed(const algo::Entry& entry, std::string_view name) {
  return entry.name == name || EqualIgnoringCase(entry.nccl_name, name);
}

bool IsWayOf(const algo::Entry& entry, const std::string& way) {
  return way.starts_with(fmt::format("{} ", entry.name)) || way.starts_with(fmt::format("{},", entry.name));
}

void ExpectAlgorithms(const Ways& find) {
  for (const algo::Entry& entry : algo::Registry()) {
    if (!entry.supports(Collective::kAllReduce, kRanks)) continue;
    Settings settings;
    settings.algo = entry.name;
    for (const std::string& way : find(settings, Collective::kAllReduce)) {
      const bool is_one = std::ranges::any_of(
          algo::Registry(), [&](const algo::Entry& one) { return IsNamed(one, entry.name) && IsWayOf(one, way); });
      EXPECT_TRUE(is_one) << "NCCL_ALGO=" << entry.name << ": " << way;
    }
    settings.algo = fmt::format("^{}", entry.name);
    for (const std::string& way : find(settings, Collective::kAllReduce)) {
      EXPECT_FALSE(IsWayOf(entry, way)) << "NCCL_ALGO=^" << entry.name << ": " << way;
    }
  }
}

TEST(Choices, EveryAlgorithmIsUsedWhereItIsAskedForAndNotWhereItIsExcluded) {
  ExpectAlgorithms(HostWays);
  ExpectAlgorithms(GpuWays);
}

TEST(Choices, NamesOfNcclCount) {
  Settings settings;
  settings.algo = "Ring";
  for (const std::string& way : GpuWays(settings, Collective::kBroadcast)) EXPECT_TRUE(way.starts_with("ring")) << way;
  settings.algo = "TREE";
  for (const std::string& way : HostWays(settings, Collective::kAllReduce)) {
    EXPECT_NE(way.find("tree"), std::string::npos) << way;
  }
}

TEST(Choices, EveryProtocolIsUsedWhereItIsAskedFor) {
  for (const char* protocol : {"LL", "LL128", "Simple"}) {
    Settings settings;
    settings.proto = protocol;
    settings.algo = "ring";  // of those that are done by teams the protocol is not named
    for (const std::string& way : GpuWays(settings, Collective::kAllReduce)) {
      EXPECT_TRUE(way.starts_with(fmt::format("ring {}, ", protocol))) << way;
    }
    for (const std::string& way : HostWays(settings, Collective::kAllReduce)) {
      EXPECT_TRUE((way + " ").starts_with(fmt::format("ring {} ", protocol)) ||
                  way.starts_with(fmt::format("ring {},", protocol)))
          << way;
    }
  }
  Settings settings;
  settings.proto = "^LL,LL128";
  settings.algo = "ring";
  for (const std::string& way : HostWays(settings, Collective::kAllReduce)) {
    EXPECT_NE(way.find("Simple"), std::string::npos) << way;
  }
}

TEST(Choices, OneCollectiveMayBeToldApart) {
  Settings settings;
  settings.algo = "allreduce:tree;broadcast:ring";
  for (const Ways& find : {Ways(HostWays), Ways(GpuWays)}) {
    for (const std::string& way : find(settings, Collective::kAllReduce))
      EXPECT_NE(way.find("tree"), std::string::npos) << way;
    for (const std::string& way : find(settings, Collective::kBroadcast)) EXPECT_TRUE(way.starts_with("ring")) << way;
  }
}

// What is done, by the log.
TEST(Choices, BoundsOfChannelsHold) {
  const tests::ScratchFolder folder;
  const auto channels = [&](int least, int most, std::size_t count) {
    Settings settings;
    settings.min_channels = least;
    settings.max_channels = most;
    settings.algo = "ring";
    const std::string file = folder.Path(fmt::format("{}-{}-{}", least, most, count));
    sys::ReopenLog({.level = log::Level::kInfo, .subsystems = log::kTuning, .file = file});
    const std::string failure = tests::RunRanks(2, settings, [&](Communicator& c) {
      std::vector<float> in(count, 1), out(count);
      return c.Run(AllReduce(in, out));
    });
    sys::ReopenLog({.level = log::Level::kWarn});
    EXPECT_EQ(failure, "");
    const std::string said = *sys::ReadFile(file);
    const std::size_t at = said.find("channel{Lo..Hi}=");
    return at == std::string::npos ? said : said.substr(at + 16, said.find('}', at + 16) - at - 15);
  };
  EXPECT_EQ(channels(1, 1, 1 << 20), "{0..0}");
  EXPECT_EQ(channels(2, 2, 1), "{0..1}");
  EXPECT_EQ(channels(2, 2, 1 << 20), "{0..1}");
  EXPECT_EQ(channels(1, 2, 1), "{0..0}");
}

}  // namespace
}  // namespace tutti::comm
