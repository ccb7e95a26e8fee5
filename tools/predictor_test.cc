// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/make_predictor.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tools/gpu_choices.h"
#include "tools/predictor_kinds.h"
#include "tools/tutti_points.h"
#include "topo/machine_text.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kMib = std::size_t{1} << 20;

// A host without GPUs.
constexpr const char* kPlainHost = "name plain\nnic 100 Gbit/s\nhost\n  2 sockets\n    1 nic\n";

struct Case {
  SourcedTopology topology;
  std::unique_ptr<Predictor> predictor;
};

SourcedTopology Named(const std::string& machine, int hosts = 1) {
  Result<SourcedTopology> read = ReadSource({.machine = machine, .hosts = hosts});
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? *read : SourcedTopology();
}

SourcedTopology Plain(int hosts) {
  const Result<topo::Machine> machine = topo::ReadMachineText(kPlainHost, "plain");
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  return {.graph = *topo::BuildGraph(*machine, hosts), .machine = *machine};
}

std::unique_ptr<Case> Make(SourcedTopology topology, const PredictorOptions& options = {}) {
  auto made = std::make_unique<Case>();
  made->topology = std::move(topology);
  Result<std::unique_ptr<Predictor>> predictor = MakePredictor(made->topology, options);
  EXPECT_TRUE(predictor.ok()) << predictor.status().message();
  if (predictor.ok()) made->predictor = std::move(*predictor);
  return made;
}

Prediction Predict(Case& made, Collective collective, std::size_t size) {
  Result<Prediction> prediction = made.predictor->Predict(collective, size);
  EXPECT_TRUE(prediction.ok()) << prediction.status().message();
  return prediction.ok() ? *prediction : Prediction{.ways = {{}}};
}

std::string NotesOf(const Case& made) {
  std::string text;
  for (const std::string& note : made.predictor->about().notes) text += note + "\n";
  return text;
}

std::vector<Collective> WithSizes() {
  std::vector<Collective> all;
  for (int c = 0; c < kCollectives; ++c) {
    if (static_cast<Collective>(c) != Collective::kBarrier) all.push_back(static_cast<Collective>(c));
  }
  return all;
}

TEST(Predictor, SizesAreWholeBytesOfEachRanksPiece) {
  EXPECT_EQ(PredictionOf(Collective::kAllReduce, 8, 1001).bytes, 1001u);
  EXPECT_EQ(PredictionOf(Collective::kAllReduce, 8, 1001).size, 1001u);
  EXPECT_EQ(PredictionOf(Collective::kAllGather, 8, 20).bytes, 2u);
  EXPECT_EQ(PredictionOf(Collective::kAllGather, 8, 20).size, 16u);
  EXPECT_EQ(PredictionOf(Collective::kReduceScatter, 8, 3).bytes, 1u);
  EXPECT_EQ(PredictionOf(Collective::kReduceScatter, 8, 3).size, 8u);
  EXPECT_EQ(PredictionOf(Collective::kSendRecv, 8, 7).bytes, 7u);
}

// What a chooser with the shipped table says.
TEST(Predictor, GpusOfAHostTakeWhatTheModelOfGpusSays) {
  const auto four = Make(Named("hgx-h200"), {.ranks = 4});
  EXPECT_NE(NotesOf(*four).find("the table h200_4_ranks"), std::string::npos) << NotesOf(*four);
  const GpuFacts facts = *GpuFactsOf(four->topology, 4, Settings());
  EXPECT_EQ(facts.situation.multiprocessors, 132);
  GpuChoices choices = std::move(*GpuChoices::Create(facts, Settings()));
  for (const std::size_t size : {std::size_t{8}, 64 * std::size_t{1024}, 64 * kMib}) {
    const Prediction p = Predict(*four, Collective::kAllReduce, size);
    EXPECT_NEAR(p.us, choices.chooser().Candidates(Collective::kAllReduce, size).front().predicted_us, 1e-6);
    EXPECT_EQ(p.us, p.model_us());
    EXPECT_EQ(p.wire_gb_per_s, 0);
    ASSERT_TRUE(p.error);
    EXPECT_GT(p.error->error, 0);
    EXPECT_LT(p.error->error, 1);
  }
  EXPECT_EQ(Predict(*four, Collective::kAllReduce, 8).bound, "latency");
  EXPECT_EQ(Predict(*four, Collective::kAllReduce, 256 * kMib).bound, "NVLink");
}

TEST(Predictor, SaysWhereNothingWasMeasured) {
  const auto made = Make(Named("hgx-h100"));
  EXPECT_FALSE(Predict(*made, Collective::kAllReduce, kMib).error);
  EXPECT_NE(NotesOf(*made).find("Tutti was not measured among 8 ranks on NVIDIA H100; nine of ten of "),
            std::string::npos)
      << NotesOf(*made);
}

// The constants are those of GPUs with 18 NVLinks of 20.6 GB/s; an A100 has 12 of 20.
TEST(Predictor, NoPredictionIsFasterThanTheLinks) {
  const auto made = Make(Named("dgx-a100"));
  const Prediction p = Predict(*made, Collective::kAllReduce, 1024 * kMib);
  const double sent = 2.0 * 7 / 8 * 1024 * kMib;
  EXPECT_GE(p.us, 0.99 * sent / 240e3);
  EXPECT_LT(p.us, 1.5 * sent / 240e3);
  EXPECT_GT(p.us, p.model_us());
  EXPECT_EQ(p.bound, "NVLink");
  EXPECT_NE(p.why_not_model.find("takes at least"), std::string::npos) << p.why_not_model;
  EXPECT_NE(p.binding.find("NVLink"), std::string::npos);
}

TEST(Predictor, GpusWithoutNvlinks) {
  const auto made = Make(Named("rtx-4090-x8"));
  EXPECT_NE(NotesOf(*made).find("through host memory"), std::string::npos) << NotesOf(*made);
  const Prediction p = Predict(*made, Collective::kAllReduce, 64 * kMib);
  // Eight GPUs share four PCI links of 24 GB/s at most.
  EXPECT_GT(p.us, 64 * kMib / 24e3);
}

TEST(Predictor, WindowsLetCopyEnginesTakePart) {
  const auto kernels = Make(Named("hgx-h200"), {.ranks = 4}),
             windows = Make(Named("hgx-h200"), {.ranks = 4, .outputs = tune::Outputs::kInWindows});
  const Prediction plain = Predict(*kernels, Collective::kAllGather, 1024 * kMib),
                   copied = Predict(*windows, Collective::kAllGather, 1024 * kMib);
  EXPECT_EQ(plain.ways.front().name.find("copy engines"), std::string::npos);
  EXPECT_NE(copied.ways.front().name.find("copy engines"), std::string::npos) << copied.ways.front().name;
  EXPECT_LE(copied.model_us(), plain.model_us());
}

TEST(Predictor, GpusOfSeveralHostsGoInStages) {
  const auto made = Make(Named("hgx-h100", 2));
  const Prediction large = Predict(*made, Collective::kAllReduce, 256 * kMib);
  ASSERT_EQ(large.parts.size(), 3u);
  EXPECT_NE(large.parts[0].what.find("GPUs of each host: reduce_scatter"), std::string::npos) << large.parts[0].what;
  EXPECT_NE(large.parts[1].what.find("each rail"), std::string::npos) << large.parts[1].what;
  EXPECT_NE(large.parts[2].what.find("all_gather"), std::string::npos) << large.parts[2].what;
  EXPECT_NEAR(large.us, large.parts[0].us + large.parts[1].us + large.parts[2].us, 1e-6 * large.us);
  EXPECT_GT(large.wire_gb_per_s, 0);
  EXPECT_LT(large.wire_gb_per_s, 50) << "of a card";
  EXPECT_FALSE(large.error);
  EXPECT_FALSE(large.rule.empty());
  EXPECT_GE(large.ways.size(), 2u);
  const Prediction small = Predict(*made, Collective::kAllReduce, 8);
  ASSERT_EQ(small.parts.size(), 1u);
  EXPECT_NE(small.parts[0].what.find("all ranks"), std::string::npos);
  EXPECT_LT(small.us, large.us / 10);
}

TEST(Predictor, HostMemoryOfOneHostAndOfSeveral) {
  const auto one = Make(Plain(1), {.ranks = 4}), two = Make(Plain(2), {.ranks = 1});
  const Prediction here = Predict(*one, Collective::kAllReduce, kMib);
  EXPECT_EQ(here.us, here.model_us());
  EXPECT_TRUE(here.error);
  EXPECT_EQ(here.wire_gb_per_s, 0);
  const Prediction between = Predict(*two, Collective::kAllReduce, 16 * kMib);
  EXPECT_GT(between.us, 0);
  EXPECT_FALSE(between.why_not_model.empty());
  EXPECT_GT(between.wire_gb_per_s, 0);
  EXPECT_FALSE(between.error) << "nothing was measured over such cards";
  EXPECT_NE(NotesOf(*two).find("Tutti was not measured between such hosts"), std::string::npos) << NotesOf(*two);
  // By the same constants, so of the same order.
  EXPECT_GT(between.us, between.model_us() / 3);
  EXPECT_LT(between.us, between.model_us() * 3);
}

// A card of 1 Gbit/s, which the constants of the network know nothing of.
TEST(Predictor, ASlowCardBinds) {
  const Result<topo::Machine> machine =
      topo::ReadMachineText("name slow\nnic 1 Gbit/s\nhost\n  1 socket\n    1 nic\n", "slow");
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  const auto made = Make({.graph = *topo::BuildGraph(*machine, 2), .machine = *machine}, {.ranks = 1});
  const Prediction p = Predict(*made, Collective::kAllReduce, 16 * kMib);
  EXPECT_EQ(p.bound, "network") << p.binding;
  EXPECT_GT(p.us, 16 * kMib / 0.125e3 * 0.95);
  EXPECT_NEAR(p.wire_gb_per_s, 0.125, 0.02);
}

TEST(Predictor, EveryOperationAndSizeHasAPrediction) {
  std::vector<std::unique_ptr<Case>> cases;
  cases.push_back(Make(Named("hgx-h200")));
  cases.push_back(Make(Named("hgx-h200", 2), {.ranks = 2}));
  cases.push_back(Make(Named("one-gpu-four-nics", 3)));
  cases.push_back(Make(Plain(1), {.ranks = 3}));
  cases.push_back(Make(Plain(2), {.ranks = 2}));
  for (const auto& made : cases) {
    for (const Collective collective : WithSizes()) {
      double before = 0;
      for (const std::size_t size : {std::size_t{1}, std::size_t{1001}, std::size_t{300'007}, 64 * kMib}) {
        const Prediction p = Predict(*made, collective, size);
        const std::string what =
            made->predictor->about().machine + " " + std::string(Name(collective)) + " " + p.ways[0].name;
        EXPECT_GT(p.us, 0) << what;
        EXPECT_GE(p.us, 0.5 * before) << what;
        EXPECT_FALSE(p.bound.empty()) << what;
        EXPECT_FALSE(p.binding.empty()) << what;
        EXPECT_FALSE(p.ways.empty()) << what;
        before = p.us;
      }
    }
  }
}

TEST(Predictor, MoreThan64MibFollowFromThat) {
  const auto made = Make(Plain(2), {.ranks = 1});
  const double half = Predict(*made, Collective::kAllReduce, 64 * kMib).us,
               whole = Predict(*made, Collective::kAllReduce, 128 * kMib).us;
  EXPECT_NEAR(whole, 2 * half, 0.1 * whole);
}

TEST(Predictor, SettingsDecideAsTheyDoForACommunicator) {
  PredictorOptions options{.ranks = 4};
  options.settings.algo = "ring";
  options.settings.proto = "Simple";
  const auto made = Make(Named("hgx-h200"), options);
  EXPECT_EQ(Predict(*made, Collective::kAllReduce, kMib).ways.front().name.substr(0, 11), "ring Simple");
  options.settings.algo = "nothing";
  const SourcedTopology topology = Named("hgx-h200");
  EXPECT_NE(MakePredictor(topology, options).status().message().find("nothing"), std::string::npos);
}

TEST(Predictor, SaysWhatIsWrong) {
  const SourcedTopology one = Named("one-gpu-four-nics"), plain = Plain(1), many = Named("hgx-h100", 16);
  EXPECT_NE(MakePredictor(one, {}).status().message().find("more --hosts or --ranks"), std::string::npos);
  EXPECT_FALSE(MakePredictor(plain, {.ranks = 1}).ok());
  EXPECT_NE(MakePredictor(many, {.ranks = 1000}).status().message().find("at most 4096"), std::string::npos);
  EXPECT_NE(MakePredictor(Named("hgx-h100"), {.ranks = 80}).status().message().find("at most 72"), std::string::npos);
}

TEST(Repeat, JoinsHostsByOneSwitch) {
  const SourcedTopology one = Plain(1);
  const Result<SourcedTopology> three = Repeat(one, 3);
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(three->graph.hosts().size(), 3u);
  EXPECT_EQ(three->graph.All(topo::NodeKind::kPort).size(), 3 * one.graph.All(topo::NodeKind::kPort).size());
  const auto made = Make(*three, {.ranks = 1});
  EXPECT_GT(Predict(*made, Collective::kAllReduce, kMib).wire_gb_per_s, 0);
  EXPECT_EQ(Repeat(Plain(2), 5)->graph.hosts().size(), 2u) << "it has hosts of its own";
}

}  // namespace
}  // namespace tutti::tools
