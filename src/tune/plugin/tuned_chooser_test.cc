// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What a tuner makes of choices for host memory and for GPUs.
#include "tune/plugin/tuned_chooser.h"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tune/plugin/tuned_gpu_chooser.h"
#include "tune/plugin/tuner.h"

namespace tutti::tune::plugin {
namespace {

using algo::Algorithm;
using proto::Protocol;

// A plugin made of functions.
class Scripted final : public Interface {
 public:
  int version() const override { return 6; }
  std::string name() const override { return "Scripted"; }
  std::string Lacks() const override { return ""; }
  abi::Result Init(const Audience&, abi::Constants&, void**) const override { return abi::kSuccess; }
  abi::Result Ask(void*, const Question& question, CostTable& table, int& channels) const override {
    questions.push_back(question);
    seen = table;
    answer(table, channels);
    return abi::kSuccess;
  }
  abi::Result AskChunk(void*, const Question&, int algorithm, int, int, std::size_t& chunk_bytes) const override {
    chunk_algorithm = algorithm;
    chunk_bytes = 1024;
    return abi::kSuccess;
  }
  abi::Result End(void*) const override { return abi::kSuccess; }

  std::function<void(CostTable& table, int& channels)> answer = [](CostTable&, int&) {};
  mutable std::vector<Question> questions;
  mutable CostTable seen;
  mutable int chunk_algorithm = -1;
};

GpuMachine H200(int ranks) {
  return FindGpuTable({}, {.gpu = "NVIDIA H200", .compute_capability = 90, .multiprocessors = 132, .ranks = ranks})
      .machine;
}

constexpr int kSimple = static_cast<int>(Protocol::kSimple), kLl = static_cast<int>(Protocol::kLl);

class TunedChooserTest : public testing::Test {
 protected:
  static constexpr int kRanks = 5;

  std::shared_ptr<Tuner> Begin() {
    const Result<std::shared_ptr<Tuner>> tuner = Tuner::Begin(plugin_, {.ranks = kRanks}, turn_);
    EXPECT_TRUE(tuner.ok());
    return *tuner;
  }
  void Start(const std::string& filter = "") {
    ChooserOptions options{.ranks = kRanks, .cpus = kRanks, .algo_filter = filter, .max_channels = 2};
    options.chunk_bytes = [](const plan::Footprint&, Protocol, bool, int) { return std::size_t{1} << 16; };
    options.transfer_chunk_bytes = [](Protocol, bool) { return std::size_t{1} << 16; };
    Result<Chooser> chooser = Chooser::Create(options);
    Result<TunedChooser> tuned = TunedChooser::Create(Begin(), options);
    ASSERT_TRUE(chooser.ok() && tuned.ok());
    chooser_ = std::move(*chooser);
    tuned_ = std::make_unique<TunedChooser>(std::move(*tuned));
  }
  std::optional<Choice> Choose(Collective collective, std::size_t bytes) {
    return tuned_->Choose(chooser_, collective, bytes, bytes);
  }
  void StartGpu(const std::string& filter = "") {
    const GpuChooserOptions options{
        .ranks = kRanks, .max_channels = 8, .direct = true, .machine = H200(kRanks), .algo_filter = filter};
    Result<GpuChooser> chooser = GpuChooser::Create(options);
    Result<TunedGpuChooser> tuned = TunedGpuChooser::Create(Begin(), options);
    ASSERT_TRUE(chooser.ok() && tuned.ok());
    gpu_chooser_ = std::move(*chooser);
    tuned_gpu_ = std::make_unique<TunedGpuChooser>(std::move(*tuned));
  }
  std::vector<GpuChoice> Order(Collective collective, std::size_t bytes, int operations = 1) {
    return tuned_gpu_->Order(gpu_chooser_.Candidates(collective, bytes), collective, bytes, bytes, operations);
  }

  std::mutex turn_;
  std::shared_ptr<Scripted> plugin_ = std::make_shared<Scripted>();
  Chooser chooser_;
  std::unique_ptr<TunedChooser> tuned_;
  GpuChooser gpu_chooser_;
  std::unique_ptr<TunedGpuChooser> tuned_gpu_;
};

TEST_F(TunedChooserTest, IsShownWhatNcclHasNamesForWhateverItsOrderOfFolding) {
  Start();
  EXPECT_FALSE(Choose(Collective::kAllReduce, 4096)) << "it changed nothing";
  ASSERT_EQ(plugin_->questions.size(), 1u);
  EXPECT_EQ(plugin_->questions[0].function, abi::kAllReduce);
  EXPECT_EQ(plugin_->questions[0].bytes, 4096u);
  for (int protocol = 0; protocol < abi::kProtocols; ++protocol) {
    EXPECT_GT(plugin_->seen.us[abi::kRing][protocol], 0);
    EXPECT_GT(plugin_->seen.us[abi::kTree][protocol], 0);
    EXPECT_EQ(plugin_->seen.us[abi::kPat][protocol], abi::kNoWay) << "PAT cannot all_reduce";
  }
  Choose(Collective::kReduceScatter, 4096);
  EXPECT_EQ(plugin_->questions[1].bytes, 4096u * kRanks);
  EXPECT_GT(plugin_->seen.us[abi::kPat][kSimple], 0);
  EXPECT_EQ(plugin_->seen.us[abi::kTree][kSimple], abi::kNoWay);
}

TEST_F(TunedChooserTest, IsNotAskedAboutOtherOperations) {
  Start();
  EXPECT_FALSE(Choose(Collective::kAllToAll, 4096));
  EXPECT_TRUE(plugin_->questions.empty());
  EXPECT_FALSE(TunedChooser::Asks(Collective::kAllToAll));
  EXPECT_TRUE(TunedChooser::Asks(Collective::kReduce));
}

TEST_F(TunedChooserTest, AnAlgorithmIsForced) {
  Start();
  plugin_->answer = [](CostTable& table, int& channels) {
    table.us[abi::kRing][kSimple] = 0;
    channels = 2;
  };
  const std::optional<Choice> choice = Choose(Collective::kAllReduce, 64);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->algorithm, Algorithm::kRing);
  EXPECT_EQ(choice->protocol, Protocol::kSimple);
  EXPECT_EQ(choice->channels, 2);
  EXPECT_GT(choice->predicted_us, 0);
}

TEST_F(TunedChooserTest, TheUsersFilterRulesOutWhatItRulesOut) {
  Start("^ring");
  plugin_->answer = [](CostTable& table, int&) { table.us[abi::kRing][kSimple] = 0; };
  EXPECT_FALSE(Choose(Collective::kAllReduce, 64));
  EXPECT_EQ(plugin_->seen.us[abi::kRing][kSimple], abi::kNoWay);
  EXPECT_GT(plugin_->seen.us[abi::kTree][kSimple], 0);
  Start("allreduce:ring");
  EXPECT_EQ(Choose(Collective::kAllReduce, 64)->algorithm, Algorithm::kRing);
  EXPECT_EQ(plugin_->seen.us[abi::kTree][kSimple], abi::kNoWay);
  Choose(Collective::kBroadcast, 64);
  EXPECT_GT(plugin_->seen.us[abi::kTree][kSimple], 0) << "the filter does not speak of it";
}

TEST_F(TunedChooserTest, ChunksAreAskedForWhereNcclHasTheAlgorithm) {
  Start();
  const Choice tree{.algorithm = Algorithm::kDoubleTree, .protocol = Protocol::kSimple};
  EXPECT_EQ(tuned_->ChunkBytes(tree, Collective::kAllReduce, 1 << 20, 65536), 1024u);
  EXPECT_EQ(plugin_->chunk_algorithm, abi::kTree);
  const Choice other{.algorithm = Algorithm::kTwoShot, .protocol = Protocol::kSimple};
  EXPECT_EQ(tuned_->ChunkBytes(other, Collective::kAllReduce, 1 << 20, 65536), 65536u);
  EXPECT_EQ(tuned_->ChunkBytes(tree, Collective::kGather, 1 << 20, 65536), 65536u);
}

TEST_F(TunedChooserTest, OnGpusTheWantedWayComesFirst) {
  StartGpu();
  const std::vector<GpuChoice> before = gpu_chooser_.Candidates(Collective::kAllReduce, 4096);
  EXPECT_EQ(Order(Collective::kAllReduce, 4096).size(), before.size());
  plugin_->answer = [](CostTable& table, int&) { table.us[abi::kRing][kLl] = 0; };
  const std::vector<GpuChoice> choices = Order(Collective::kAllReduce, 4096, 3);
  ASSERT_EQ(choices.size(), before.size() + 1);
  EXPECT_EQ(choices[0].algorithm, Algorithm::kRing);
  EXPECT_EQ(choices[0].protocol, Protocol::kLl);
  EXPECT_GT(choices[0].predicted_us, 0);
  EXPECT_EQ(choices[1].algorithm, before[0].algorithm);
  EXPECT_EQ(plugin_->questions.back().operations, 3);
}

TEST_F(TunedChooserTest, OnGpusChannelsAreKeptAndThreadsFollow) {
  StartGpu();
  const auto with_channels = [&](int channels) {
    plugin_->answer = [channels](CostTable& table, int& asked) {
      table.us[abi::kTree][kLl] = 0;
      asked = channels;
    };
    return Order(Collective::kAllReduce, 1 << 14).front();
  };
  const GpuChoice one = with_channels(1), six = with_channels(6);
  EXPECT_EQ(one.channels, 1);
  EXPECT_EQ(six.channels, 6);
  EXPECT_GT(one.threads, six.threads);
  EXPECT_GT(one.predicted_us, six.predicted_us);
  EXPECT_EQ(with_channels(1000).channels, 8) << "there are no more";
}

TEST_F(TunedChooserTest, OnGpusOtherOperationsStayAsTheyAre) {
  StartGpu();
  plugin_->answer = [](CostTable& table, int&) { table.us[abi::kRing][kLl] = 0; };
  const std::vector<GpuChoice> before = gpu_chooser_.Candidates(Collective::kAllToAll, 4096);
  EXPECT_EQ(Order(Collective::kAllToAll, 4096).size(), before.size());
  EXPECT_TRUE(plugin_->questions.empty());
}

}  // namespace
}  // namespace tutti::tune::plugin
