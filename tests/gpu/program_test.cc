// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "algo/algorithm.h"
#include "tests/gpu/cuts.h"

namespace tutti::exec::gpu {
namespace {

using transport::p2p::Geometry;

constexpr int kChannels = 3;

// Whether all ranks' programs have a short form; `rounds`: those of the operation.
bool HaveShortForms(const std::vector<PreparedPlan>& plans, std::size_t count, const Shape& shape,
                    const Geometry& geometry, std::uint32_t& rounds) {
  std::byte buffer[8]{};  // only its address is used
  bool all = true;
  for (const PreparedPlan& plan : plans) {
    const auto program = std::make_unique<Program>();
    Compile(plan, {.in = buffer, .out = buffer + 4, .count = count, .type = DataType::kUint32}, shape, geometry, Cuts(),
            *program);
    all = all && program->is_short != kSteps;
    rounds = program->rounds;
  }
  return all;
}

// What the short forms do is run by tests/kernels/.
TEST(GpuPrograms, PlansOfOneAndTwoHopsHaveShortForms) {
  int expected_ones = 0;
  for (int ranks : {1, 2, 3, 4, 8, 9}) {
    const Geometry geometry{.ranks = ranks, .channels = kChannels, .log2_units = {10, 7, 10}};
    for (const algo::Entry& entry : algo::Registry()) {
      const bool one_shot = entry.algorithm == algo::Algorithm::kOneShot;
      const bool two_shot = entry.algorithm == algo::Algorithm::kTwoShot;
      if (!one_shot && !two_shot) continue;
      for (int c = 0; c < kCollectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        if (collective == Collective::kSendRecv || !entry.supports(collective, ranks)) continue;
        std::vector<PreparedPlan> plans;
        for (int rank = 0; rank < ranks; ++rank) {
          const auto plan = PreparePlan(algo::BuildAll(entry.algorithm, collective, ranks, ranks / 2), rank);
          ASSERT_TRUE(plan.ok());
          plans.push_back(*plan);
        }
        for (const auto protocol : {proto::Protocol::kLl, proto::Protocol::kLl128}) {
          const bool ll128 = protocol == proto::Protocol::kLl128;
          const std::uint32_t most_rounds = ll128 && Reduces(collective) ? 4 : 1;
          for (const std::size_t count : {1, 131, 3000, 9000, 50000, 80000}) {
            if (collective == Collective::kBarrier && count != 1) continue;
            for (const int channels : {1, kChannels}) {
              std::uint32_t rounds = 0;
              const bool have =
                  HaveShortForms(plans, count, {.protocol = protocol, .channels = channels}, geometry, rounds);
              const auto what = testing::Message()
                                << entry.name << " " << Name(collective) << " " << ranks << " ranks, " << count
                                << " elements, " << channels << " channels, " << proto::Name(protocol);
              const bool expected = ranks <= 8 && (one_shot || ll128) && rounds <= most_rounds;
              expected_ones += expected ? 1 : 0;
              EXPECT_TRUE(have || !expected) << what;
              EXPECT_FALSE(have && one_shot && ranks > 8 && Reduces(collective)) << what;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(expected_ones, 100);
}

TEST(GpuPrograms, FewBlocksAskForOperandsOfSeveralPeersTogether) {
  const auto form = [](int ranks, int rank, Collective collective, proto::Protocol protocol, int channels) {
    const std::vector<plan::RankPlan> plans = algo::BuildAll(algo::Algorithm::kOneShot, collective, ranks);
    const Result<PreparedPlan> plan = PreparePlan(plans, rank);
    EXPECT_TRUE(plan.ok());
    std::byte buffer[8]{};
    const auto program = std::make_unique<Program>();
    Compile(*plan, {.in = buffer, .out = buffer, .count = 1, .type = DataType::kFloat32},
            {.protocol = protocol, .channels = channels}, Geometry::Fit(ranks, 32, std::size_t{32} << 20), Cuts(),
            *program);
    return program->is_short;
  };
  using proto::Protocol;
  for (const Collective c : {Collective::kAllReduce, Collective::kAllGather, Collective::kAllToAll}) {
    EXPECT_EQ(form(4, 1, c, Protocol::kLl, 1), kShortTogether);
    EXPECT_EQ(form(4, 1, c, Protocol::kLl, 8), kShortTogether);
    EXPECT_EQ(form(4, 1, c, Protocol::kLl, 9), kShort);
    EXPECT_EQ(form(2, 1, c, Protocol::kLl, 1), kShort);
    EXPECT_EQ(form(4, 1, c, Protocol::kLl128, 1), kShort);
    EXPECT_EQ(form(4, 1, c, Protocol::kSimple, 1), kSteps);
  }
  EXPECT_EQ(form(4, 1, Collective::kBroadcast, Protocol::kLl, 1), kShort);  // takes from the root alone
}

// A warp that got a little more than a unit would take a second turn for it.
TEST(GpuPrograms, PartsOfLl128AreWholeUnits) {
  constexpr int kRanks = 4, kMostChannels = 64;
  constexpr std::size_t kUnit = transport::p2p::kUnitPayloadBytes[1];
  const Geometry geometry = Geometry::Fit(kRanks, kMostChannels, std::size_t{64} << 20);
  const auto program = std::make_unique<Program>();
  for (const algo::Algorithm algorithm : {algo::Algorithm::kOneShot, algo::Algorithm::kTwoShot}) {
    const auto plan = PreparePlan(algo::BuildAll(algorithm, Collective::kAllReduce, kRanks), 0);
    ASSERT_TRUE(plan.ok());
    for (const DataType type : {DataType::kInt8, DataType::kFloat32, DataType::kFloat64}) {
      const std::size_t count = (std::size_t{256} << 10) * plan->blocks_per_piece / SizeOf(type);
      const int parts =
          CompileItem(*plan, {.count = count, .type = type},
                      {.protocol = proto::Protocol::kLl128, .channels = kMostChannels}, geometry, *program);
      EXPECT_EQ(program->part_elements * SizeOf(type), 5 * kUnit * plan->blocks_per_piece) << SizeOf(type);
      EXPECT_EQ(program->parts[0].block * SizeOf(type), 5 * kUnit) << SizeOf(type);
      EXPECT_EQ(parts, 55) << SizeOf(type);  // of 273 units
    }
  }
}

// The channels that each of a batch's items gets.
std::vector<int> ChannelsOf(const std::vector<std::size_t>& counts, int channels, int& blocks) {
  const Result<PreparedPlan> plan =
      PreparePlan(algo::BuildAll(algo::Algorithm::kOneShot, Collective::kAllReduce, 2, 0), 0);
  EXPECT_TRUE(plan.ok());
  std::vector<Work> works;
  for (const std::size_t count : counts) works.push_back({.count = count, .type = DataType::kFloat32});
  const auto batch = std::make_unique<Batch>();
  const Geometry geometry = Geometry::Fit(2, kMaxBatchChannels, std::size_t{64} << 20);
  blocks =
      CompileItems(*plan, works, {.protocol = proto::Protocol::kLl128, .channels = channels}, geometry, Cuts(), *batch)
          .blocks;
  std::vector<int> of_item(counts.size(), 0);
  for (int channel = 0; channel < blocks; ++channel) {
    for (std::uint16_t item = batch->first_item[channel]; item != kNoItem; item = batch->items[item].next)
      ++of_item[item];
  }
  return of_item;
}

TEST(GpuPrograms, ItemsOfABatchGetChannelsByTheirBytes) {
  int blocks = 0;
  // As many as there are channels: each has its own.
  EXPECT_EQ(ChannelsOf(std::vector<std::size_t>(64, 256), 64, blocks), std::vector<int>(64, 1));
  EXPECT_EQ(blocks, 64);
  // More than there are: in turn, and no channel is left out.
  EXPECT_EQ(ChannelsOf(std::vector<std::size_t>(64, 256), 5, blocks), std::vector<int>(64, 1));
  EXPECT_EQ(blocks, 5);
  // Fewer: all channels are used.
  EXPECT_EQ(ChannelsOf(std::vector<std::size_t>(8, 100000), 64, blocks), std::vector<int>(8, 8));
  EXPECT_EQ(blocks, 64);
  // A large one leaves the small ones a channel.
  const std::vector<int> mixed = ChannelsOf({10, 10000000, 10, 10}, 16, blocks);
  EXPECT_EQ(mixed, (std::vector<int>{1, 15, 1, 1}));
  EXPECT_EQ(blocks, 16);
  EXPECT_EQ(ChannelsOf({10, 10000000, 10, 10}, 1, blocks), std::vector<int>(4, 1));
  EXPECT_EQ(blocks, 1);
  // What is too small to be cut takes no more channels than it fills.
  EXPECT_EQ(ChannelsOf({1}, 16, blocks), std::vector<int>{1});
  EXPECT_EQ(blocks, 1);
}

TEST(GpuPrograms, APlanThatDoesNotFitIsAnError) {
  const std::vector<plan::RankPlan> plans = algo::BuildAll(algo::Algorithm::kOneShot, Collective::kAllReduce, 17);
  const Result<PreparedPlan> prepared = PreparePlan(plans, 0);
  EXPECT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.status().code(), Code::kUnsupported);
}

TEST(GpuPrograms, ScalingFollowsTheOperator) {
  const std::vector<plan::RankPlan> plans = algo::BuildAll(algo::Algorithm::kOneShot, Collective::kReduce, 4, 1);
  const Geometry geometry = Geometry::Fit(4, 8, std::size_t{16} << 20);
  std::byte buffer[64]{};
  Work work{.in = buffer, .out = buffer, .count = 4, .type = DataType::kFloat32, .op = ReduceOp::kAvg};
  const auto program = std::make_unique<Program>();
  for (int rank : {0, 1}) {
    const Result<PreparedPlan> plan = PreparePlan(plans, rank);
    ASSERT_TRUE(plan.ok());
    work.type = DataType::kFloat32;
    Compile(*plan, work, {}, geometry, Cuts(), *program);
    EXPECT_EQ(program->scale, kScaleByValue);
    EXPECT_EQ(program->scalar, 0.25);
    EXPECT_EQ(program->divisor, 0u);
    work.type = DataType::kInt32;
    Compile(*plan, work, {}, geometry, Cuts(), *program);
    EXPECT_EQ(program->scale, kNoScale);
    EXPECT_EQ(program->divisor, rank == 1 ? 4u : 0u);  // only the root has something to divide
    Work scaled = work;
    scaled.op = ReduceOp::kPreMulSum;
    Compile(*plan, scaled, {}, geometry, Cuts(), *program);
    EXPECT_EQ(program->scale, kScaleByValue);
    scaled.device_scalar = buffer + 8;
    Compile(*plan, scaled, {}, geometry, Cuts(), *program);
    EXPECT_EQ(program->scale, kScaleFromMemory);
    EXPECT_EQ(program->factor, buffer + 8);
  }
}

// What Compile makes of a call with other buffers, on top of the call before, and what ChangeBuffers makes of it.
TEST(GpuPrograms, OtherBuffersChangeNothingButAddresses) {
  std::vector<std::byte> memory(std::size_t{4} << 20);
  std::byte* const at = memory.data();
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  struct Buffers {
    std::byte *in, *out;
  };
  int changed = 0, changed_short = 0;
  for (int ranks : {1, 2, 3, 8}) {
    const Geometry geometry{.ranks = ranks, .channels = kChannels, .log2_units = {10, 7, 10}};
    for (const algo::Entry& entry : algo::Registry()) {
      for (int c = 0; c < kCollectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        if (collective == Collective::kSendRecv || !entry.supports(collective, ranks)) continue;
        for (int rank = 0; rank < std::min(ranks, 2); ++rank) {
          const Result<PreparedPlan> plan =
              PreparePlan(algo::BuildAll(entry.algorithm, collective, ranks, ranks - 1), rank);
          if (!plan.ok()) continue;
          for (const std::size_t count : {std::size_t{3}, std::size_t{700}, std::size_t{20000}}) {
            const std::size_t own = rank * count * 4;
            const Buffers all[] = {{at, at + kMiB},
                                   {at + kMiB, at + 16},
                                   {at, at},
                                   {at + own, at},
                                   {at, at + own},
                                   {at + 2 * kMiB + 4, at + 3 * kMiB},
                                   {at + kMiB, at + kMiB},
                                   {at + kMiB + own, at + kMiB}};
            for (int protocol = 0; protocol < proto::kProtocols; ++protocol) {
              const Shape shape{.protocol = static_cast<proto::Protocol>(protocol), .channels = 3};
              for (const Buffers& first : all) {
                const auto program = std::make_unique<Program>(), expected = std::make_unique<Program>();
                for (int p = 0; p < ranks; ++p) program->segments[p] = at + p * 4096;
                Work work{.in = first.in, .out = first.out, .count = count, .type = DataType::kFloat32};
                Compile(*plan, work, shape, geometry, Cuts(), *program);
                for (const Buffers& then : all) {
                  std::memcpy(expected.get(), program.get(), sizeof(Program));
                  work.in = then.in;
                  work.out = then.out;
                  Compile(*plan, work, shape, geometry, Cuts(), *expected);
                  const bool done = ChangeBuffers(then.in, then.out, ranks, *program);
                  if (!done) Compile(*plan, work, shape, geometry, Cuts(), *program);
                  for (Program* either : {program.get(), expected.get()}) {  // a form that was begun and given up
                    const bool begun = either->is_short == kSteps && plan->code_words <= Program::kShortAt;
                    if (begun) std::memset(either->code + Program::kShortAt, 0, sizeof(ShortForm));
                  }
                  changed += done ? 1 : 0;
                  changed_short += done && program->is_short != kSteps ? 1 : 0;
                  ASSERT_EQ(std::memcmp(expected.get(), program.get(), sizeof(Program)), 0)
                      << entry.name << " " << Name(collective) << " " << ranks << " ranks, rank " << rank << ", "
                      << count << " elements, protocol " << protocol << ", out - in " << then.out - then.in;
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(changed, 10000);
  EXPECT_GT(changed_short, 1000);
}

TEST(GpuPrograms, ItemsOfASizeAreAlikeButForTheirBuffers) {
  const Geometry geometry{.ranks = 2, .channels = kChannels, .log2_units = {10, 7, 10}};
  const Result<PreparedPlan> plan =
      PreparePlan(algo::BuildAll(algo::Algorithm::kOneShot, Collective::kAllGather, 2, 0), 0);
  ASSERT_TRUE(plan.ok());
  std::vector<std::byte> memory(100);
  std::vector<Work> works;
  for (int i = 0; i < 40; ++i) {  // runs of sizes and types, some with the same count and another type
    works.push_back({.in = memory.data() + i,
                     .out = memory.data() + 2 * i,
                     .count = i < 30 ? std::size_t{70} : std::size_t{9000},
                     .type = i % 8 < 4 ? DataType::kFloat32 : DataType::kFloat64});
  }
  for (const int channels : {1, kChannels}) {
    const auto batch = std::make_unique<Batch>();
    const Shape shape{.protocol = proto::Protocol::kLl, .channels = channels};
    (void)CompileItems(*plan, works, shape, geometry, Cuts(), *batch);
    for (std::size_t i = 0; i < works.size(); ++i) {
      const BatchItem& item = batch->items[i];
      Shape own = shape;
      own.channels = static_cast<int>(item.full_parts) + (item.parts[1].count != 0 ? 1 : 0);
      ProgramItem expected{};
      (void)CompileItem(*plan, works[i], own, geometry, expected);
      EXPECT_EQ(item.in, works[i].in) << i;
      EXPECT_EQ(item.out, works[i].out) << i;
      EXPECT_EQ(item.count, works[i].count) << i;
      EXPECT_EQ(item.element, SizeOf(works[i].type)) << i;
      EXPECT_EQ(item.part_elements, expected.part_elements) << i;
      EXPECT_EQ(item.message_units, expected.message_units) << i;
      EXPECT_EQ(item.rounds, expected.rounds) << i;
    }
  }
}

}  // namespace
}  // namespace tutti::exec::gpu
