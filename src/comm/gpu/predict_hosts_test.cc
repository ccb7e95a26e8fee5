// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which parts predictions of operations among several hosts have. Every byte in host memory takes a thousandth of a microsecond here, and
// every operation of GPUs one microsecond.
#include "comm/gpu/predict_hosts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/gpu/work.h"
#include "comm/host/predict.h"

namespace tutti::comm {
namespace {

using Kind = Collective;

constexpr int kHosts = 2, kPlaces = 4;

Operation Make(Kind kind, std::size_t bytes, int root = 0) {
  return {.kind = kind, .count = bytes, .type = DataType::kUint8, .root = root};
}

HostsModel ModelOf(int rank, bool staged = true) {
  HostsModel model{.rank = rank, .ranks = kHosts * kPlaces};
  model.across = {.kernel_us = 10, .kernel_gb_per_s = 1, .stream_us = 20, .copy_gb_per_s = 1};
  if (staged)
    model.shape = HostShape{.hosts = kHosts, .places = kPlaces, .host = rank / kPlaces, .place = rank % kPlaces};
  model.within = [](std::span<const Operation> group) -> Result<double> { return static_cast<double>(group.size()); };
  model.in_host_memory = [](HostsPlace, std::span<const Operation> group) -> Result<double> {
    double bytes = static_cast<double>(MostTransferred(group).bytes);
    for (const Operation& o : group) bytes += IsTransfer(o.kind) ? 0 : static_cast<double>(BytesOf(o));
    return bytes / 1000;
  };
  return model;
}

HostsTime Predict(const Operation& o, int rank = 0, bool staged = true) {
  const Result<HostsTime> time = PredictAcrossHosts(ModelOf(rank, staged), {&o, 1});
  EXPECT_TRUE(time.ok()) << time.status().ToString();
  return time.ok() ? *time : HostsTime();
}

std::string PlacesOf(const HostsTime& time) {
  std::string text;
  for (const HostsPart& part : time.parts) {
    text += part.place == HostsPlace::kWithin ? "w" : part.place == HostsPlace::kRail ? "r" : "a";
  }
  return text;
}

TEST(PredictAcrossHosts, LargeCollectivesGoInStagesAndSmallOnesThroughHostMemory) {
  EXPECT_EQ(PlacesOf(Predict(Make(Kind::kAllReduce, 1 << 20))), "wrw");
  EXPECT_EQ(PlacesOf(Predict(Make(Kind::kAllReduce, 1 << 20), 0, false)), "a");
  EXPECT_EQ(PlacesOf(Predict(Make(Kind::kAllReduce, 8))), "a");
  EXPECT_EQ(PlacesOf(Predict(Make(Kind::kBroadcast, 1 << 20, 5))), "wrw")
      << "before at the root's host, after elsewhere";
  EXPECT_EQ(PlacesOf(Predict(Make(Kind::kReduceScatter, 1 << 20))), "wr");
  EXPECT_EQ(PlacesOf(Predict(Make(Kind::kAllGather, 1 << 20))), "rw");
  EXPECT_EQ(Predict(Make(Kind::kAllReduce, 0)).us, 0);
}

// 8 bytes take a kernel, both copies and the run.
TEST(PredictAcrossHosts, SmallOnesTakeAKernel) {
  const HostsTime time = Predict(Make(Kind::kAllReduce, 8));
  EXPECT_DOUBLE_EQ(time.us, 10 + 2 * 8e-3 + 8e-3);
  HostsModel without = ModelOf(0);
  without.has_kernel = false;
  const Operation o = Make(Kind::kAllReduce, 8);
  EXPECT_DOUBLE_EQ(PredictAcrossHosts(without, {&o, 1})->us, 20 + 2 * 8e-3 + 8e-3);
}

// A rail has a quarter of the data, in pieces of 4 MiB; copies are as fast as runs here, so in both directions they are what takes time.
TEST(PredictAcrossHosts, LargeOnesAreCutIntoPieces) {
  constexpr std::size_t kMib = std::size_t{1} << 20;
  const HostsTime time = Predict(Make(Kind::kAllReduce, 64 * kMib));
  ASSERT_EQ(PlacesOf(time), "wrw");
  EXPECT_EQ(time.parts[1].pieces, 4);
  const double piece_us = 4 * kMib / 1e3;
  EXPECT_NEAR(time.parts[1].us, 20 + piece_us * (1 + 1 + 2 + 2 + 1 + 1), 1);
  EXPECT_NEAR(time.parts[1].across.runs_us, 4 * piece_us, 1e-6);
  EXPECT_EQ(time.us, time.parts[0].us + time.parts[1].us + time.parts[2].us);
}

TEST(PredictAcrossHosts, ARestIsTheWorkOfOneRankMore) {
  const HostsTime even = Predict(Make(Kind::kAllReduce, 1 << 20)),
                  odd = Predict(Make(Kind::kAllReduce, (1 << 20) + 77));
  EXPECT_EQ(even.parts[0].operations.size(), 1u);
  EXPECT_EQ(odd.parts[0].operations.size(), 2u) << "a reduce of what cannot be divided";
  EXPECT_GT(odd.parts[1].us, even.parts[1].us);
}

TEST(PredictAcrossHosts, AllRanksPredictTheSame) {
  for (const Kind kind : {Kind::kAllReduce, Kind::kBroadcast, Kind::kReduce, Kind::kAllGather, Kind::kReduceScatter,
                          Kind::kGather, Kind::kScatter, Kind::kAllToAll}) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{999}, std::size_t{100'000}, std::size_t{3'000'001}}) {
      for (const int root : {0, 6}) {
        const double us = Predict(Make(kind, bytes, root)).us;
        EXPECT_GT(us, 0) << Name(kind);
        for (int rank = 1; rank < kHosts * kPlaces; ++rank) {
          EXPECT_DOUBLE_EQ(Predict(Make(kind, bytes, root), rank).us, us) << Name(kind) << ' ' << bytes << ' ' << rank;
        }
      }
    }
  }
}

// A rank's sends to its own host and those to others take place at the same time.
TEST(PredictAcrossHosts, SendsGoByWhereThePeerIs) {
  const Operation near = Make(Kind::kSend, 1 << 20, 1), far = Make(Kind::kSend, 1 << 20, 4);
  EXPECT_EQ(PlacesOf(Predict(near)), "w");
  EXPECT_EQ(PlacesOf(Predict(far)), "a");
  const std::vector<Operation> both = {near, far, Make(Kind::kRecv, 1 << 20, 4)};
  const Result<HostsTime> time = PredictAcrossHosts(ModelOf(0), both);
  ASSERT_TRUE(time.ok());
  EXPECT_EQ(PlacesOf(*time), "a");
  EXPECT_GE(time->us, Predict(far).us);
}

TEST(PredictAcrossHosts, AnErrorOfAPartIsTheErrorOfAll) {
  HostsModel model = ModelOf(0);
  model.within = [](std::span<const Operation>) -> Result<double> { return Status(Code::kInvalidUsage, "no way"); };
  const Operation large = Make(Kind::kAllReduce, 1 << 20), small = Make(Kind::kAllReduce, 8);
  EXPECT_EQ(PredictAcrossHosts(model, {&large, 1}).status().message(), "no way");
  EXPECT_TRUE(PredictAcrossHosts(model, {&small, 1}).ok());
}

}  // namespace
}  // namespace tutti::comm
