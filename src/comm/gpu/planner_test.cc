// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What a tuner plugin changes in how calls are done on GPUs. No GPU is needed: nothing is launched.
#include "comm/gpu/planner.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/gpu/limits.h"
#include "comm/gpu/recipe.h"
#include "transport/p2p/sections.h"
#include "tune/gpu_machine.h"
#include "tune/plugin/tuner.h"
#include "tutti/settings.h"

namespace tutti::comm {
namespace {

using proto::Protocol;
using tune::plugin::Tuner;
namespace abi = tune::plugin::abi;

constexpr int kRanks = 4;

// What the plugin was asked, and what it answers.
struct Asked {
  std::size_t bytes;
  int operations;
  bool operator==(const Asked&) const = default;
};
struct {
  std::vector<Asked> asked;
  int algorithm = -1, protocol = 0, channels = 0;
  std::size_t chunk_bytes = 0;
} g;

abi::Result Init(void**, std::uint64_t, std::size_t, std::size_t, abi::Log, abi::NvlDomainInfo*, abi::Constants*) {
  return abi::kSuccess;
}
abi::Result Ask(void*, abi::Function, std::size_t bytes, int operations, float** table, int, int, int, int* channels) {
  g.asked.push_back({bytes, operations});
  if (g.algorithm >= 0) reinterpret_cast<float(*)[abi::kProtocols]>(table)[g.algorithm][g.protocol] = 0;
  if (g.channels != 0) *channels = g.channels;
  return abi::kSuccess;
}
abi::Result Cut(void*, abi::Function, std::size_t, int, int, int, std::size_t* chunk_bytes) {
  if (g.chunk_bytes != 0) *chunk_bytes = g.chunk_bytes;
  return abi::kSuccess;
}
abi::Result End(void*) { return abi::kSuccess; }
constexpr abi::Tuner<6> kTable = {"Scripted", Init, Ask, End, Cut};

class GpuPlannerTest : public testing::Test {
 protected:
  void SetUp() override { g = {}; }
  // A planner that goes by the plugin, or by none.
  enum class Plugin : std::uint8_t { kNone, kScripted };
  std::unique_ptr<GpuPlanner> Start(Plugin plugin) {
    std::shared_ptr<Tuner> tuner;
    if (plugin == Plugin::kScripted) {
      Result<std::shared_ptr<Tuner>> begun = Tuner::Begin(tune::plugin::Adapt(6, &kTable), {.ranks = kRanks}, turn_);
      EXPECT_TRUE(begun.ok());
      tuner = *begun;
    }
    const tune::GpuTable& table = tune::FindGpuTable(
        {}, {.gpu = "NVIDIA H200", .compute_capability = 90, .multiprocessors = 132, .ranks = kRanks});
    auto planner = std::make_unique<GpuPlanner>(1, kRanks);
    const Status status =
        planner->Start(table.machine, {.most_blocks = 32, .whole_lines = true},
                       transport::p2p::Sections::Fit(kRanks, 32, std::size_t{64} << 20), Settings(), tuner);
    EXPECT_TRUE(status.ok()) << status.message();
    return planner;
  }
  std::mutex turn_;
  static GpuRecipe Find(GpuPlanner& planner, std::size_t bytes) {
    const Result<const GpuRecipe*> recipe = planner.FindRecipe(Collective::kAllReduce, bytes, 0);
    EXPECT_TRUE(recipe.ok()) << recipe.status().message();
    return recipe.ok() ? **recipe : GpuRecipe{};
  }
  static std::string Explain(GpuPlanner& planner, std::size_t count) {
    return planner.Explain({.kind = Collective::kAllReduce, .count = count, .type = DataType::kFloat32});
  }
};

TEST_F(GpuPlannerTest, APluginThatSaysNothingChangesNothing) {
  const auto alone = Start(Plugin::kNone), asking = Start(Plugin::kScripted);
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{70000}, std::size_t{1} << 26}) {
    const GpuRecipe a = Find(*alone, bytes), b = Find(*asking, bytes);
    EXPECT_EQ(a.shape.protocol, b.shape.protocol);
    EXPECT_EQ(a.shape.channels, b.shape.channels);
    EXPECT_EQ(a.shape.threads, b.shape.threads);
    EXPECT_EQ(a.shape.chunk_bytes, b.shape.chunk_bytes);
    EXPECT_EQ(a.direct, b.direct);
    EXPECT_EQ(a.predicted_us, b.predicted_us);
  }
  EXPECT_EQ(g.asked, std::vector<Asked>({{8, 1}, {70000, 1}, {1 << 26, 1}}));
}

TEST_F(GpuPlannerTest, ItsChoiceIsTaken) {
  const auto planner = Start(Plugin::kScripted);
  g.algorithm = abi::kTree;
  g.protocol = static_cast<int>(Protocol::kLl128);
  g.channels = 5;
  const GpuRecipe recipe = Find(*planner, 1 << 20);
  EXPECT_EQ(recipe.shape.protocol, Protocol::kLl128);
  EXPECT_EQ(recipe.shape.channels, 5);
  EXPECT_FALSE(recipe.direct);
  EXPECT_NE(Explain(*planner, 1 << 18).find("tree LL128, 5 channels"), std::string::npos);
  g.channels = 1 << 30;
  EXPECT_EQ(Find(*planner, 1 << 21).shape.channels, 32);
}

TEST_F(GpuPlannerTest, EverySizeIsAskedAboutOnce) {
  const auto planner = Start(Plugin::kScripted);
  for (int i = 0; i < 3; ++i) {
    Find(*planner, 1 << 20);
    Find(*planner, (1 << 20) + 4);
  }
  EXPECT_EQ(g.asked, std::vector<Asked>({{1 << 20, 1}, {(1 << 20) + 4, 1}}));
}

TEST_F(GpuPlannerTest, OperationsThatRunAsOneAreAskedAboutAsOne) {
  const auto planner = Start(Plugin::kScripted);
  g.algorithm = abi::kRing;
  g.protocol = static_cast<int>(Protocol::kLl);
  const Result<const GpuRecipe*> batch = planner->FindBatchRecipe(Collective::kAllReduce, 4096, 0, 7);
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ((*batch)->shape.protocol, Protocol::kLl);
  EXPECT_EQ(g.asked, std::vector<Asked>({{4096, 7}}));
}

TEST_F(GpuPlannerTest, ChunksMayBeShorter) {
  const auto planner = Start(Plugin::kScripted);
  g.algorithm = abi::kRing;
  for (const Protocol protocol : {Protocol::kLl, Protocol::kLl128}) {
    g.protocol = static_cast<int>(protocol);
    g.chunk_bytes = 0;
    const std::size_t bytes = (std::size_t{1} << 24) + static_cast<std::size_t>(g.protocol) * 8;
    EXPECT_EQ(Find(*planner, bytes).shape.chunk_bytes, 0u) << "as much as a ring takes";
    g.chunk_bytes = 4000;
    EXPECT_EQ(Find(*planner, bytes + 4).shape.chunk_bytes, protocol == Protocol::kLl ? 4000u : 3840u);
  }
}

}  // namespace
}  // namespace tutti::comm
