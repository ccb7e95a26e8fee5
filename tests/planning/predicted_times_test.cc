// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What ncclGroupSimulateEnd and communicators say that operations in host memory take is what `tutti plan --explain` says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "comm/host/impl.h"
#include "comm/host/planner.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/ranks.h"
#include "tests/support/scratch_folder.h"
#include "tools/perf_shape.h"
#include "tools/predictor_source.h"
#include "tune/machine.h"
#include "tutti/communicator.h"

namespace tutti::tests {
namespace {

constexpr std::size_t kCounts[] = {1, 7, 1000, 33'333, std::size_t{1} << 20, (std::size_t{1} << 20) + 12'345};

// Constants of this machine that do not change from one communicator to the next.
class PredictedTimes : public testing::Test {
 protected:
  void SetUp() override {
    tune::Machine machine;
    machine.simple.write_us_per_kib = machine.simple.read_us_per_kib = 0.03;
    machine.fold_us_per_kib = 0.01;
    const std::string file = folder_.Path("machine.txt");
    std::ofstream(file) << machine.ToText();
    setenv("TUTTI_TUNING_FILE", file.c_str(), 1);
    setenv("TUTTI_SINGLE_COPY", "off", 1);  // a system may forbid it
    setenv("TUTTI_GPU", "0", 1);
  }
  void TearDown() override {
    for (const char* name : {"TUTTI_TUNING_FILE", "TUTTI_SINGLE_COPY", "TUTTI_GPU"}) unsetenv(name);
  }
  // Whom the tools speak of: ranks of this host, or of several like it.
  static tools::OpenedPredictor Open(int hosts, int ranks) {
    Result<tools::OpenedPredictor> opened =
        tools::OpenPredictor({.topology = {.hosts = hosts}, .ranks = ranks, .host_memory = true});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return std::move(*opened);
  }

 private:
  ScratchFolder folder_;
};

// The size of the larger side for a count of bytes.
std::size_t SizeOf(Collective collective, int ranks, std::size_t count) {
  return tools::Work{.collective = collective, .type = DataType::kUint8, .ranks = ranks, .count = count}.bytes();
}

float Simulated(const std::function<void()>& calls) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  NCCL_EXPECT_OK(ncclGroupStart());
  calls();
  NCCL_EXPECT_OK(ncclGroupSimulateEnd(&info));
  return info.estimatedTime;
}

TEST_F(PredictedTimes, OfGroupsAreThoseThatAreExplained) {
  constexpr int kRanks = 3;
  const tools::OpenedPredictor opened = Open(1, kRanks);
  const auto explained = [&](Collective collective, std::size_t count) {
    const Result<tools::Prediction> p = opened.predictor->Predict(collective, SizeOf(collective, kRanks, count));
    EXPECT_TRUE(p.ok()) << p.status().message();
    return static_cast<float>(p->model_us());
  };
  WithRanks(kRanks, [&](ncclComm_t& comm, int rank) {
    if (rank != 1) return;  // no call is made, so none of the others is needed
    std::vector<std::int8_t> in(kRanks * (kCounts[5] + 1)), out(in.size());
    for (const std::size_t count : kCounts) {
      using Kind = Collective;
      const std::vector<std::pair<Kind, std::function<ncclResult_t()>>> calls = {
          {Kind::kAllReduce,
           [&] { return ncclAllReduce(in.data(), out.data(), count, ncclInt8, ncclSum, comm, nullptr); }},
          {Kind::kBroadcast, [&] { return ncclBroadcast(in.data(), out.data(), count, ncclInt8, 0, comm, nullptr); }},
          {Kind::kReduce,
           [&] { return ncclReduce(in.data(), out.data(), count, ncclInt8, ncclSum, 2, comm, nullptr); }},
          {Kind::kAllGather, [&] { return ncclAllGather(in.data(), out.data(), count, ncclInt8, comm, nullptr); }},
          {Kind::kReduceScatter,
           [&] { return ncclReduceScatter(in.data(), out.data(), count, ncclInt8, ncclSum, comm, nullptr); }},
          {Kind::kAllToAll, [&] { return ncclAlltoAll(in.data(), out.data(), count, ncclInt8, comm, nullptr); }},
          {Kind::kSendRecv,
           [&] {
             EXPECT_EQ(ncclSend(in.data(), count, ncclInt8, 2, comm, nullptr), ncclSuccess);
             return ncclRecv(out.data(), count, ncclInt8, 0, comm, nullptr);
           }},
      };
      for (const auto& [kind, call] : calls) {
        EXPECT_FLOAT_EQ(Simulated([&] { NCCL_EXPECT_OK(call()); }), explained(kind, count))
            << Name(kind) << ' ' << count;
      }
      // Collectives of a group follow each other.
      const float both = Simulated([&] {
        NCCL_EXPECT_OK(calls[0].second());
        NCCL_EXPECT_OK(calls[3].second());
      });
      EXPECT_FLOAT_EQ(both, explained(Kind::kAllReduce, count) + explained(Kind::kAllGather, count)) << count;
    }
    EXPECT_EQ(
        Simulated([&] { NCCL_EXPECT_OK(ncclAllReduce(in.data(), out.data(), 0, ncclInt8, ncclSum, comm, nullptr)); }),
        0);
    EXPECT_EQ(Simulated([] {}), 0);
    EXPECT_EQ(out[0], 0) << "nothing ran";
  });
}

TEST_F(PredictedTimes, OfOneRankCostNoMessages) {
  WithRanks(1, [](ncclComm_t& comm, int) {
    std::vector<float> data(1000);
    const float us = Simulated(
        [&] { NCCL_EXPECT_OK(ncclAllReduce(data.data(), data.data(), 1000, ncclFloat32, ncclSum, comm, nullptr)); });
    EXPECT_GE(us, 0);
    EXPECT_LT(us, 10);
  });
}

TEST_F(PredictedTimes, OfSeveralHostsAreThoseThatAreExplained) {
  const tools::OpenedPredictor opened = Open(2, 2);
  std::vector<std::vector<double>> explained;  // by collective and count
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    explained.emplace_back();
    if (collective == Collective::kBarrier || collective == Collective::kSendRecv) continue;
    for (const std::size_t count : kCounts) {
      const Result<tools::Prediction> p = opened.predictor->Predict(collective, SizeOf(collective, 4, count));
      ASSERT_TRUE(p.ok()) << p.status().message();
      explained.back().push_back(p->model_us());
    }
  }
  const std::vector<int> host_of = {0, 0, 1, 1};
  EXPECT_EQ(RunOnHosts(host_of, Settings::FromEnvironment(),
                       [&](Communicator& c) -> Status {
                         for (int kind = 0; kind < kCollectives; ++kind) {
                           for (std::size_t i = 0; i < explained[static_cast<std::size_t>(kind)].size(); ++i) {
                             const Operation o{.kind = static_cast<Collective>(kind), .count = kCounts[i]};
                             const Result<double> us = c.impl()->planner.PredictUs({&o, 1});
                             if (!us.ok()) return us.status();
                             EXPECT_DOUBLE_EQ(*us, explained[static_cast<std::size_t>(kind)][i])
                                 << Name(o.kind) << ' ' << o.count;
                           }
                         }
                         return Status::Ok();
                       }),
            "");
}

}  // namespace
}  // namespace tutti::tests
