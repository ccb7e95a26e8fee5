// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/nccl_points.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "tools/nccl_score.h"

namespace tutti::tools {
namespace {

const std::string kSeries =
    "# a comment\n"
    "series,group,cluster,operation,gpu,hosts,gpus_per_host,nics_per_host,nic_gbit_per_s,network,nccl,settings,launch,"
    "source\n";
const std::string kPoints = "series,bytes,us,bus_gb_per_s\n";
const std::string kOne = "a,reach,c,all_reduce,H100,2,8,8,400,ib,2.26.2,,stream,someone, somewhere\n";

std::string Message(const std::string& series, const std::string& points) {
  return ParseNcclPoints(kSeries + series, kPoints + points).status().message();
}

TEST(NcclPoints, ReadsMachinesAndTimes) {
  const auto all = ParseNcclPoints(kSeries + kOne, kPoints + "a,1024,29.8,\na,1073741824,,449\n");
  ASSERT_TRUE(all.ok()) << all.status().message();
  ASSERT_EQ(all->size(), 1u);
  const NcclSeries& series = all->front();
  EXPECT_EQ(series.cluster, "c");
  EXPECT_EQ(series.source, "someone, somewhere");
  ASSERT_EQ(series.points.size(), 2u);
  EXPECT_EQ(series.points[0].us, 29.8);
  EXPECT_NEAR(series.points[1].us, 4484, 1);  // from the bus bandwidth
  const tune::NcclMachine& machine = series.points[0].machine;
  EXPECT_EQ(machine.version, 22602);
  EXPECT_EQ(machine.ranks(), 16);
  EXPECT_EQ(machine.nic_gb_per_s, 50);
  EXPECT_TRUE(machine.multicast);
}

TEST(NcclPoints, ReadsSettings) {
  const auto all = ParseNcclPoints(
      kSeries +
          "a,reach,c,all_reduce,H100,8,8,8,400,ib,2.26,NCCL_ALGO=Ring NCCL_MIN_CTAS=24 "
          "NCCL_IB_QPS_PER_CONNECTION=2 NCCL_NVLS_ENABLE=0 GDR=0 SHARP=1 CALL_US=7.5 NCCL_GRAPH_REGISTER=0,graph,s\n",
      kPoints + "a,8,1,\n");
  ASSERT_TRUE(all.ok()) << all.status().message();
  const tune::NcclMachine& machine = all->front().points[0].machine;
  EXPECT_EQ(machine.algorithm, tune::NcclAlgorithm::kRing);
  EXPECT_EQ(machine.min_ctas, 24);
  EXPECT_EQ(machine.qps, 2);
  EXPECT_FALSE(machine.multicast);
  EXPECT_FALSE(machine.gpu_direct);
  EXPECT_TRUE(machine.switches_reduce);
  EXPECT_EQ(machine.call_us, 7.5);
  EXPECT_FALSE(machine.registers_in_graphs);
  EXPECT_EQ(machine.launch, tune::NcclLaunch::kGraph);
}

TEST(NcclPoints, EfasCardsAreSeenTogether) {
  const auto all =
      ParseNcclPoints(kSeries + "a,reach,c,all_reduce,H100,2,8,32,100,efa,2.19,,stream,s\n", kPoints + "a,8,69,\n");
  ASSERT_TRUE(all.ok()) << all.status().message();
  const tune::NcclMachine& machine = all->front().points[0].machine;
  EXPECT_EQ(machine.nics_per_host, 8);
  EXPECT_EQ(machine.nic_gb_per_s, 50);
  EXPECT_EQ(machine.reported_latency_us, 75);
  EXPECT_EQ(machine.cpu, tune::CpuKind::kAmd);
}

TEST(NcclPoints, RefusesWhatItCannotRead) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string line = kOne;
    return line.replace(line.find(from), from.size(), to);
  };
  EXPECT_NE(Message(with("H100", "H101"), "").find("\"H101\" is not known there"), std::string::npos);
  EXPECT_NE(Message(with("all_reduce", "all_seduce"), "").find("no such operation: all_seduce"), std::string::npos);
  EXPECT_NE(Message(with(",2,8,8,", ",0,8,8,"), "").find("\"0\" is not known there"), std::string::npos);
  EXPECT_NE(Message(with(",2,8,8,", ",2,8,0,"), "").find("\"0\" is not known there"), std::string::npos);
  EXPECT_NE(Message(with("2.26.2", "two"), "").find("\"two\" is not known there"), std::string::npos);
  EXPECT_NE(Message(with(",,stream", ",NCCL_ALGO=Rung,stream"), "").find("NCCL_ALGO=Rung"), std::string::npos);
  EXPECT_NE(Message(with(",,stream", ",=,stream"), "").find("\"=\" is not known there"), std::string::npos);
  EXPECT_NE(Message(kOne + kOne, "").find("it is there twice"), std::string::npos);
  EXPECT_NE(Message(kOne, "b,8,1,\n").find("there is no such series"), std::string::npos);
  EXPECT_NE(Message(kOne, "a,,1,\n").find("bytes are missing"), std::string::npos);
  EXPECT_NE(Message(kOne, "a,8,,\n").find("neither a time nor a bandwidth"), std::string::npos);
  EXPECT_NE(Message(kOne, "a,8\n").find("too few fields"), std::string::npos);
  EXPECT_FALSE(ParseNcclPoints("series\n", kPoints).ok());
}

TEST(RingEfficiency, ReadsAndPredicts) {
  const auto all = ParseRingEfficiency("hosts,bytes,share\n2,17179869184,0.96\n128,16777216,0.0087\n");
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_NEAR(PredictRingEfficiency({}, (*all)[0]), 0.96, 0.02);
  EXPECT_NEAR(PredictRingEfficiency({}, (*all)[1]), 0.0087, 0.004);
  EXPECT_FALSE(ParseRingEfficiency("hosts,bytes,share\n1,8,0.5\n").ok());
}

TEST(NcclScore, LeavesInputsOut) {
  const auto all = ParseNcclPoints(kSeries + kOne, kPoints + "a,1024,30,\na,1048576,70,\na,1073741824,4485,\n");
  ASSERT_TRUE(all.ok());
  const Clusters clusters = ClustersOf(*all, "reach");
  const std::vector<Judged> judged = JudgeCluster({}, clusters.at("c"));
  ASSERT_EQ(judged.size(), 3u);
  EXPECT_TRUE(judged[0].input);
  EXPECT_FALSE(judged[1].input);
  EXPECT_TRUE(judged[2].input);
  EXPECT_EQ(Errors(judged, Predictor::kModel).size(), 1u);
  Judged unknown = judged.front();
  unknown.input = false;
  unknown.formula_us = 0;
  EXPECT_TRUE(Errors(std::span(&unknown, 1), Predictor::kFormula).empty());
  EXPECT_EQ(Errors(std::span(&unknown, 1), Predictor::kClosedForm).size(), 1u);
  EXPECT_TRUE(ClustersOf(*all, "others").empty());
  const Score score = ScoreOf(std::vector<double>{0.1, 0.2, 0.6});
  EXPECT_NEAR(score.mean, 0.3, 1e-12);
  EXPECT_NEAR(score.within_20, 2.0 / 3, 1e-12);
  EXPECT_EQ(score.worst, 0.6);
}

TEST(LeftOut, SaysWhatItReads) {
  tune::NcclConstants other;
  other.wire_share = 0.5;
  const std::string text = LeftOutText({{"a", {}}, {"b", other}});
  const auto back = ParseLeftOut(text);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->size(), 2u);
  EXPECT_EQ(back->at("b").wire_share, 0.5);
  EXPECT_EQ(LeftOutText(*back), text);
  EXPECT_NE(ParseLeftOut("# without a\n[nccl]\n").status().message().find("the table without a"), std::string::npos);
  EXPECT_TRUE(ParseLeftOut("")->empty());
}

}  // namespace
}  // namespace tutti::tools
