// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpu_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "sys/cuda/cuda.h"
#include "tools/tune_gpu.h"
#include "tune/tuning_file.h"

namespace tutti::tools {
namespace {

const tune::GpuTable& Shipped() { return tune::ShippedGpuTable("h200_2_ranks"); }

tune::GpuChooserOptions OptionsFor(int ranks, const tune::GpuMachine& machine) {
  return {.ranks = ranks, .max_channels = 128, .max_simple_channels = 24, .direct = true, .machine = machine};
}

// A machine whose times and rates all differ from the shipped ones.
tune::GpuMachine OtherMachine() {
  tune::GpuMachine m = Shipped().machine;
  m.start_us = 3.0;
  m.short_us = 0.7;
  m.fold_gb_per_s = 900;
  m.chain_hop_us = 1.1;
  m.short_later_hop_us = 0.4;
  m.end_us = 0.3;
  m.blocks_us = 0.3;
  m.one_way_share = 0.6;
  m.both_ways_share = 0.85;
  m.lines_hop_us = 1.3;
  m.lines_link_gb_per_s = 220;
  m.passed_on_gb_per_s = 210;
  m.relay_us = 6;
  m.relay_fold_us = 18;
  m.relay_root_us = 40;
  m.copies_us = 35;
  m.copies_gb_per_s = 300;
  m.ways[0] = {1.6, 70, 4.5, m.ways[0].channel_bytes, m.ways[0].threads};
  m.ways[1] = {2.2, 250, 6, m.ways[1].channel_bytes, m.ways[1].threads};
  m.ways[2] = {3.5, 220, 6, m.ways[2].channel_bytes, m.ways[2].threads};
  m.direct = {1.4, 280, 22, m.direct.channel_bytes, m.direct.threads};
  m.relay = {2.1, 270, 14, m.relay.channel_bytes, m.relay.threads};
  m.chain = {5.5, 260, 22, m.chain.channel_bytes, m.chain.threads};
  return m;
}

// What `tutti tune --gpu` would measure on that machine, each time off by up to `noise` of it.
std::vector<GpuMeasurement> MeasurementsOf(int ranks, const tune::GpuMachine& machine, double noise) {
  Result<tune::GpuChooser> chooser = tune::GpuChooser::Create(OptionsFor(ranks, machine));
  std::mt19937 random(20);
  std::uniform_real_distribution<double> off(1 - noise, 1 + noise);
  std::vector<GpuMeasurement> list;
  for (const std::size_t size : MeasuredSizes()) {
    for (int c = 0; c <= static_cast<int>(Collective::kAllToAll); ++c) {
      const auto collective = static_cast<Collective>(c);
      const std::size_t bytes = MeasuredCount(collective, size, ranks) * sizeof(float);
      for (const tune::GpuChoice& way : chooser->Candidates(collective, bytes)) {
        if (!IsMeasured(way, size)) continue;
        list.push_back({.collective = collective,
                        .bytes = bytes,
                        .algorithm = way.algorithm,
                        .protocol = way.protocol,
                        .us = way.predicted_us * off(random)});
      }
    }
    list.push_back({.bytes = size, .copies = true, .us = tune::PredictCopiesUs(machine, size) * off(random)});
  }
  return list;
}

// How far the predictions by one machine are from the other's, as a part of these.
double WorstDifference(int ranks, const tune::GpuMachine& a, const tune::GpuMachine& b) {
  const std::vector<GpuMeasurement> x = MeasurementsOf(ranks, a, 0), y = MeasurementsOf(ranks, b, 0);
  double worst = 0;
  for (const GpuMeasurement& one : x) {
    for (const GpuMeasurement& other : y) {
      const bool same = one.collective == other.collective && one.bytes == other.bytes && one.copies == other.copies &&
                        one.algorithm == other.algorithm && one.protocol == other.protocol;
      if (same) worst = std::max(worst, std::abs(one.us / other.us - 1));
    }
  }
  return worst;
}

TEST(GpuFit, FindsTheMachineThatWasMeasured) {
  const tune::GpuMachine known = OtherMachine();
  for (const int ranks : {2, 4}) {
    const std::vector<GpuMeasurement> measurements = MeasurementsOf(ranks, known, 0);
    EXPECT_GT(WorstDifference(ranks, Shipped().machine, known), 0.3) << ranks;
    const tune::GpuMachine fit = FitGpuMachine(OptionsFor(ranks, Shipped().machine), measurements);
    EXPECT_LT(WorstDifference(ranks, fit, known), 0.01) << ranks;
    const auto near = [&](double found, double wanted, const char* what) {
      EXPECT_NEAR(found / wanted, 1, 0.03) << what << ", " << ranks << " ranks: " << found << " for " << wanted;
    };
    near(fit.start_us, known.start_us, "start_us");
    near(fit.short_us, known.short_us, "short_us");
    near(fit.copies_us, known.copies_us, "copies_us");
    near(fit.copies_gb_per_s, known.copies_gb_per_s, "copies_gb_per_s");
    near(fit.ways[0].hop_us, known.ways[0].hop_us, "ll hop_us");
    near(fit.ways[1].hop_us, known.ways[1].hop_us, "ll128 hop_us");
    near(fit.ways[1].link_gb_per_s, known.ways[1].link_gb_per_s, "ll128 link");
    near(fit.direct.link_gb_per_s, known.direct.link_gb_per_s, "direct link");
    near(fit.relay.link_gb_per_s, known.relay.link_gb_per_s, "relay link");
    near(fit.fold_gb_per_s, known.fold_gb_per_s, "fold");
    // Two ranks make no chain, so nothing was measured of one.
    const double chain = (ranks == 4 ? known : Shipped().machine).chain.link_gb_per_s;
    near(fit.chain.link_gb_per_s, chain, "chain link");
  }
}

TEST(GpuFit, NoiseAndOutliersDoLittleHarm) {
  const tune::GpuMachine known = OtherMachine();
  for (const int ranks : {2, 4}) {
    std::vector<GpuMeasurement> measurements = MeasurementsOf(ranks, known, 0.05);
    for (std::size_t i = 7; i < measurements.size(); i += 50) measurements[i].us *= 5;  // something else ran
    const tune::GpuMachine fit = FitGpuMachine(OptionsFor(ranks, Shipped().machine), measurements);
    EXPECT_LT(WorstDifference(ranks, fit, known), 0.1) << ranks;
    const FitQuality before = QualityOf(OptionsFor(ranks, Shipped().machine), measurements);
    const FitQuality after = QualityOf(OptionsFor(ranks, fit), measurements);
    EXPECT_GT(before.median_error, 0.15) << ranks;
    EXPECT_LT(after.median_error, 0.05) << ranks;
    // What its choices cost in truth.
    EXPECT_LT(QualityOf(OptionsFor(ranks, fit), MeasurementsOf(ranks, known, 0)).mean_regret, 0.01) << ranks;
  }
}

TEST(GpuFit, WhatWasNotMeasuredStays) {
  std::vector<GpuMeasurement> none;
  tune::GpuTable fit = Shipped();
  fit.machine = FitGpuMachine(OptionsFor(2, fit.machine), none);
  EXPECT_EQ(DescribeChanges(Shipped(), fit), "");
  // Copy engines alone.
  const std::vector<GpuMeasurement> copies = {{.bytes = 8, .copies = true, .us = 40},
                                              {.bytes = std::size_t{1} << 30, .copies = true, .us = 4000}};
  fit.machine = FitGpuMachine(OptionsFor(2, fit.machine), copies);
  EXPECT_EQ(DescribeChanges(Shipped(), fit), "copy_engines_us 26 -> 40\ncopy_engines_gb_per_s 390 -> 271.147\n");
}

TEST(GpuFit, RegretIsWhatAChoiceCostsAgainstTheBestWay) {
  const tune::GpuChooserOptions options = OptionsFor(2, Shipped().machine);
  std::vector<GpuMeasurement> measurements = MeasurementsOf(2, Shipped().machine, 0);
  EXPECT_EQ(QualityOf(options, measurements).worst_regret, 0);
  EXPECT_LT(QualityOf(options, measurements).median_error, 1e-9);
  // A way that is not chosen turns out to take half as long as the chosen one.
  const std::size_t bytes = 8;
  const tune::GpuChoice chosen = tune::GpuChooser::Create(options)->Candidates(Collective::kAllReduce, bytes).front();
  for (GpuMeasurement& m : measurements) {
    const bool here = !m.copies && m.collective == Collective::kAllReduce && m.bytes == bytes;
    if (here && (m.algorithm != chosen.algorithm || m.protocol != chosen.protocol)) m.us = chosen.predicted_us / 2;
  }
  const FitQuality quality = QualityOf(options, measurements);
  EXPECT_NEAR(quality.worst_regret, 1, 1e-9);
  EXPECT_EQ(quality.worst_collective, Collective::kAllReduce);
  EXPECT_EQ(quality.worst_bytes, bytes);
}

TEST(GpuFit, AStoredTableCoversWhatWasMeasured) {
  const tune::GpuSituation situation{.gpu = "NVIDIA H200",
                                     .compute_capability = 90,
                                     .multiprocessors = 132,
                                     .ranks = 2,
                                     .ranks_per_gpu = 2,
                                     .staged = false};
  const tune::GpuTable table = TableOf(situation, OtherMachine());
  EXPECT_EQ(table.name, "nvidia_h200_132_multiprocessors_2_ranks_2_per_gpu");
  EXPECT_TRUE(table.Covers(situation));
  tune::GpuSituation other = situation;
  other.ranks_per_gpu = 1;
  EXPECT_FALSE(table.Covers(other));
  tune::TuningFile file;
  file.Put(table);
  EXPECT_TRUE(tune::TuningFile::Parse(file.ToText()).ok());
}

// Without a GPU the command ends with what to do. (With one it would take a minute: tests/gpu.)
TEST(TuneGpu, SaysWhatToDoWhereThereIsNoGpu) {
  if (sys::cuda::OpenDriver().ok()) GTEST_SKIP() << "there is a GPU";
  const Result<std::string> said = TuneGpu("/no/such/file", 2);
  ASSERT_FALSE(said.ok());
  EXPECT_NE(said.status().message().find("Run `tutti tune --gpu` on the machine that has the GPUs"), std::string::npos)
      << said.status().message();
}

}  // namespace
}  // namespace tutti::tools
