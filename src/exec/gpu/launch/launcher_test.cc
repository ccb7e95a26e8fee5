// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/launcher.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "exec/gpu/launch/images.h"

// What kernels are started with, and when they are loaded, by a driver that writes it down.

namespace tutti::exec::gpu {
namespace {

using Overlap = Launcher::Overlap;

struct Launched {
  unsigned blocks, threads;
  unsigned cluster;  // 0: without
  bool overlaps;
};
std::vector<Launched> g_launched;
int g_refusals = 0;  // of clusters, to come

int Launch(const sys::cuda::LaunchConfig* config, sys::cuda::Kernel, void**, void**) {
  Launched launched{config->grid_x, config->block_x, 0, false};
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const sys::cuda::LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id == sys::cuda::kClusterDimension) launched.cluster = attribute.cluster[0];
    if (attribute.id == sys::cuda::kProgrammaticStreamSerialization) launched.overlaps = attribute.value == 1;
  }
  constexpr int kInvalidClusterSize = 912;
  if (launched.cluster != 0 && g_refusals > 0) {
    --g_refusals;
    return kInvalidClusterSize;
  }
  g_launched.push_back(launched);
  return 0;
}

class Launches : public testing::Test {
 protected:
  Launches() {
    g_launched.clear();
    g_refusals = 0;
    driver_.LaunchKernel = Launch;
  }

  Launched OfRelay(int blocks, Overlap overlap = Overlap::kNo) {
    const auto relay = std::make_unique<Relay>();
    relay->blocks = static_cast<std::uint16_t>(blocks);
    relay->teams_per_block = 3;
    relay->first_warp[1] = 4;
    relay->first_warp[2] = 12;
    relay->first_warp[3] = 16;
    EXPECT_TRUE(launcher_.Start(LaunchOf(nullptr, *relay), overlap, nullptr).ok());
    return g_launched.back();
  }
  Launched OfGroup(int blocks, GroupKernel kernel) {
    const auto group = std::make_unique<Group>();
    group->blocks = static_cast<std::uint16_t>(blocks);
    group->kernel = kernel;
    group->teams_per_block = 2;
    group->log2_team_threads = 8;
    EXPECT_TRUE(launcher_.Start(LaunchOf(nullptr, *group), Overlap::kNo, nullptr).ok());
    return g_launched.back();
  }

  sys::cuda::Driver driver_{};
  Launcher launcher_{&driver_};
};

TEST_F(Launches, HaveAHeraldForEachTeam) {
  EXPECT_EQ(OfRelay(8).threads, (16u + 3) * 32);
  EXPECT_EQ(OfGroup(8, GroupKernel::kLarge).threads, 2 * (256u + 32));
  EXPECT_EQ(OfGroup(8, GroupKernel::kUsual).threads, 2 * 256u);
}

TEST_F(Launches, AreInClustersOnlyWhereAskedFor) {
  EXPECT_EQ(OfRelay(8).cluster, 0u);
  launcher_.UseClustersUpTo(32);
  EXPECT_EQ(OfRelay(8).cluster, 4u);
  EXPECT_EQ(OfRelay(6).cluster, 2u);
  EXPECT_EQ(OfRelay(7).cluster, 0u);
  EXPECT_EQ(OfRelay(32).cluster, 4u);
  EXPECT_EQ(OfRelay(48).cluster, 0u);
  EXPECT_EQ(OfGroup(12, GroupKernel::kLarge).cluster, 4u);
  EXPECT_EQ(OfGroup(12, GroupKernel::kUsual).cluster, 0u);
}

TEST_F(Launches, OverlapWithClustersAndWithout) {
  launcher_.UseClustersUpTo(32);
  for (const int blocks : {7, 8}) {
    EXPECT_TRUE(OfRelay(blocks, Overlap::kWithPrevious).overlaps) << blocks;
    EXPECT_FALSE(OfRelay(blocks).overlaps) << blocks;
  }
  EXPECT_EQ(OfRelay(8, Overlap::kWithPrevious).cluster, 4u);
}

TEST_F(Launches, DoWithoutClustersOnceRefused) {
  launcher_.UseClustersUpTo(32);
  g_refusals = 1;
  const Launched first = OfRelay(8, Overlap::kWithPrevious);
  EXPECT_EQ(first.cluster, 0u);
  EXPECT_TRUE(first.overlaps);
  EXPECT_EQ(first.blocks, 8u);
  EXPECT_EQ(OfRelay(8).cluster, 0u);
  EXPECT_EQ(g_launched.size(), 2u);
}

// One block, with as many threads as its largest copy has units, and nothing that lets it overlap with others.
TEST_F(Launches, BetweenHostsAreOneBlock) {
  alignas(16) std::byte memory[16];
  const auto of_bytes = [&](std::uint32_t in, std::uint32_t out, std::size_t misalign) {
    Across across{.ins = 1, .outs = 1};
    across.in[0] = {memory, memory + misalign, in};
    across.out[0] = {memory, memory, out};
    EXPECT_TRUE(launcher_.StartAcross(nullptr, across, nullptr).ok());
    const Launched& launched = g_launched.back();
    EXPECT_EQ(launched.blocks, 1u);
    EXPECT_EQ(launched.cluster, 0u);
    EXPECT_FALSE(launched.overlaps);
    return launched.threads;
  };
  EXPECT_EQ(of_bytes(0, 0, 0), 32u);
  EXPECT_EQ(of_bytes(8, 8, 0), 32u);
  EXPECT_EQ(of_bytes(16, 33 * 16, 0), 64u);
  EXPECT_EQ(of_bytes(33, 16, 8), 64u);
  EXPECT_EQ(of_bytes(kMostAcrossBytes, 0, 0), static_cast<unsigned>(kMostAcrossThreads));
}

// ---------------------------------------------------------------------------------------------------------------
// What is loaded

std::set<std::string> g_loaded;
int g_loads = 0;

int LoadLibrary(sys::cuda::Library* library, const void* image, int*, void**, unsigned, int*, void**, unsigned) {
  *library = static_cast<sys::cuda::Library>(const_cast<void*>(image));
  return 0;
}
int GetKernel(sys::cuda::Kernel* kernel, sys::cuda::Library, const char* name) {
  *kernel = reinterpret_cast<sys::cuda::Kernel>(const_cast<char*>(g_loaded.emplace(name).first->c_str()));
  return 0;
}
int GetFunction(void** function, sys::cuda::Kernel kernel) {
  ++g_loads;
  *function = kernel;
  return 0;
}
int ExchangeMode(int*) { return 0; }

TEST(Kernels, AreNeverLoadedAfterLoadAll) {
  if (MoveKernelImage() == nullptr) GTEST_SKIP() << "a build without kernels";
  sys::cuda::Driver driver{};
  driver.LibraryLoadData = LoadLibrary;
  driver.LibraryGetKernel = GetKernel;
  driver.KernelGetFunction = GetFunction;
  driver.ThreadExchangeStreamCaptureMode = ExchangeMode;
  Launcher launcher(&driver);
  ASSERT_TRUE(launcher.LoadAll().ok());
  // Per type four operators by three protocols and as relays, sums in batches of two sizes; moves; sends and receives.
  EXPECT_EQ(g_loaded.size(), kNcclDataTypes * (4u * 4 + 2 * 3) + (4 + 2 * 3) + kGroupKernels + 1);
  const int loads = g_loads;
  for (int t = 0; t < kNcclDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    for (int o = 0; o < kNcclReduceOps; ++o) {
      const auto op = static_cast<ReduceOp>(o);
      EXPECT_TRUE(launcher.FindRelay(type, op).ok());
      for (int p = 0; p < proto::kProtocols; ++p) {
        EXPECT_TRUE(launcher.Find(type, op, static_cast<proto::Protocol>(p)).ok());
      }
    }
    for (std::size_t items = 1; items <= kMaxItems; ++items) {
      for (int p = 0; p < proto::kProtocols; ++p) {
        EXPECT_TRUE(launcher.FindBatch(type, static_cast<proto::Protocol>(p), items).ok());
        EXPECT_TRUE(launcher.FindMoveBatch(static_cast<proto::Protocol>(p), items).ok());
        EXPECT_TRUE(launcher.FindMove(static_cast<proto::Protocol>(p)).ok());
      }
    }
  }
  EXPECT_TRUE(launcher.FindMoveRelay().ok());
  for (int k = 0; k < kGroupKernels; ++k) EXPECT_TRUE(launcher.FindSendRecv(static_cast<GroupKernel>(k)).ok());
  EXPECT_EQ(g_loads, loads);
  // That between hosts is for others than the rest.
  EXPECT_TRUE(launcher.FindAcross().ok());
  EXPECT_TRUE(g_loaded.contains("ncclTuttiAcross"));
  EXPECT_EQ(g_loads, loads + 1);
}

}  // namespace
}  // namespace tutti::exec::gpu
