// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What communicators of GPUs take from the host's graph: whether GPUs write to each other's memory, in which order a ring visits them,
// how many channels an operation may have, and NCCL's files of channels. By a driver that does nothing (tests/support/fake_cuda.cc),
// and hosts that are topology files.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "comm/gpu/impl.h"
#include "sys/log/log_output.h"
#include "sys/os/text_file.h"
#include "tests/support/errors_page.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {
namespace {

const bool loaded = [] {
  setenv(kFakeGpus, "8", 1);
  return LoadFakeCuda(TUTTI_FAKE_CUDA);
}();

// The driver's GPU `number` as a file has it, with NVLinks to others.
std::string GpuXml(int number, const std::vector<int>& joined) {
  std::string links;
  for (const int other : joined) {
    links += fmt::format("<nvlink target=\"0000:{:02x}:00.0\" count=\"4\" tclass=\"0x030200\"/>", 0x10 + other);
  }
  return fmt::format(
      "<pci busid=\"0000:{:02x}:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu "
      "dev=\"{}\" sm=\"86\" "
      "rank=\"{}\" gdr=\"1\">{}</gpu></pci>\n",
      0x10 + number, number, number, links);
}

std::string CpuXml(int numa, const std::string& inside) {
  return fmt::format(
      "<cpu numaid=\"{}\" affinity=\"f\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
      "modelid=\"106\">\n{}</cpu>\n",
      numa, inside);
}

// GPUs 0 and 1 below one switch, 2 and 3 at another CPU; NVLinks join the first with the third, and the second with the fourth.
std::string Host(bool nvlinks) {
  const auto gpu = [&](int number) {
    return GpuXml(number, nvlinks ? std::vector{(number + 2) % 4} : std::vector<int>());
  };
  return "<system version=\"1\">\n" +
         CpuXml(0, "<pci busid=\"0000:01:00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">\n" +
                       gpu(0) + gpu(1) + "</pci>\n") +
         CpuXml(1, gpu(2) + gpu(3)) + "</system>\n";
}

std::string RingsXml(const std::vector<std::string>& orders) {
  std::string channels;
  for (const std::string& order : orders) {
    channels += "<channel>";
    for (const char number : order) channels += fmt::format("<gpu dev=\"{}\"/>", number);
    channels += "</channel>\n";
  }
  return fmt::format(
      "<graphs version=\"1\">\n<graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"{}\" speedintra=\"20\" "
      "speedinter=\"20\" "
      "typeintra=\"NVL\" typeinter=\"PIX\" samechannels=\"0\">\n{}</graph>\n</graphs>\n",
      orders.size(), channels);
}

class GpuGraph : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(loaded);
    settings_.topo_file = Write("topo.xml", Host(false));
  }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.Path(name)) << text;
    return folder_.Path(name);
  }
  // What each rank finds out of its communicator, one GPU each, as text.
  std::vector<std::string> OnGpus(int ranks, const std::function<std::string(GpuCommunicator&)>& find) const {
    std::vector<std::string> found(static_cast<std::size_t>(ranks));
    const std::vector<Status> outcomes = OnCommunicators(
        ranks,
        [&](Communicator& c) {
          Result<GpuCommunicator> gpu = GpuCommunicator::Create(c, {.device = c.rank()});
          found[static_cast<std::size_t>(c.rank())] = gpu.ok() ? find(*gpu) : gpu.status().message();
          return c.Run(Barrier());
        },
        [&](int, CommunicatorOptions& options) {
          const Settings quick = options.settings;
          options.settings = settings_;
          options.settings.timeout_ms = quick.timeout_ms;
          options.settings.init_timeout_ms = quick.init_timeout_ms;
        });
    for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.message();
    return found;
  }
  // Whether all ranks exchange data through host memory; they must agree.
  bool IsStaged(int ranks, const std::string& level) {
    settings_.p2p_level = level;
    const std::vector<std::string> found =
        OnGpus(ranks, [](GpuCommunicator& gpu) { return std::string(gpu.host_bytes() > 0 ? "host" : "device"); });
    for (const std::string& one : found) EXPECT_EQ(one, found[0]);
    return found[0] == "host";
  }
  std::string Said(const std::function<void()>& body) const {
    sys::ReopenLog({.level = log::Level::kInfo, .subsystems = log::kGraph | log::kP2p, .file = folder_.Path("log")});
    body();
    sys::ReopenLog({.level = log::Level::kWarn});
    return *sys::ReadFile(folder_.Path("log"));
  }

  ScratchFolder folder_;
  Settings settings_;
};

TEST_F(GpuGraph, PeersAreAsCloseAsTheLevelSays) {
  EXPECT_FALSE(IsStaged(4, "")) << "the driver lets them";
  EXPECT_FALSE(IsStaged(2, "PIX"));
  EXPECT_TRUE(IsStaged(2, "NVL"));
  EXPECT_TRUE(IsStaged(2, "LOC"));
  EXPECT_FALSE(IsStaged(2, "1")) << "PIX by its old number";
  EXPECT_TRUE(IsStaged(2, "0"));
  EXPECT_TRUE(IsStaged(3, "PHB")) << "GPU 2 is at the other CPU";
  EXPECT_FALSE(IsStaged(3, "SYS"));
  settings_.p2p_disable = true;
  EXPECT_TRUE(IsStaged(2, "SYS"));
}

TEST_F(GpuGraph, WhyPeersAreTooFarIsSaid) {
  bool staged = false;
  const std::string said = Said([&] { staged = IsStaged(4, "PXB"); });
  EXPECT_TRUE(staged);
  EXPECT_NE(said.find("the path between GPU 0 of rank 0 and GPU 2 of rank 2 is SYS, and NCCL_P2P_LEVEL=PXB allows "
                      "less: operations on "
                      "device memory go through host memory"),
            std::string::npos)
      << said;
}

TEST_F(GpuGraph, NvLinksAreCloserThanSwitches) {
  settings_.topo_file = Write("linked.xml", Host(true));
  EXPECT_TRUE(IsStaged(2, "NVL"));
  EXPECT_TRUE(IsStaged(4, "NVL"));
  EXPECT_FALSE(IsStaged(4, "SYS"));
}

// What the graph does not have is left to the driver.
TEST_F(GpuGraph, GpusThatAreNotInTheGraphAreLeftToTheDriver) {
  settings_.topo_file = Write("none.xml", "<system version=\"1\">\n" + CpuXml(0, "") + "</system>\n");
  bool staged = true;
  const std::string said = Said([&] { staged = IsStaged(2, "SYS"); });
  EXPECT_FALSE(staged);
  EXPECT_TRUE(IsStaged(2, "PIX")) << "nobody can say that they are so close";
  EXPECT_NE(said.find("does not have the GPUs of all ranks, and decides nothing"), std::string::npos) << said;
}

std::string RingOf(GpuCommunicator& gpu) { return fmt::format("{}", fmt::join(gpu.impl()->ring, ",")); }

TEST_F(GpuGraph, ARingFollowsTheNvLinks) {
  for (const std::string& ring : OnGpus(4, RingOf)) EXPECT_EQ(ring, "") << "all are alike but for their sockets";
  settings_.topo_file = Write("linked.xml", Host(true));
  const std::vector<std::string> found = OnGpus(4, RingOf);
  for (const std::string& ring : found) EXPECT_EQ(ring, found[0]);
  // 0 is joined with 2, and 1 with 3.
  const std::string twice = found[0] + "," + found[0];
  EXPECT_TRUE(twice.find("0,2") != std::string::npos || twice.find("2,0") != std::string::npos) << found[0];
  EXPECT_TRUE(twice.find("1,3") != std::string::npos || twice.find("3,1") != std::string::npos) << found[0];
}

TEST_F(GpuGraph, ChannelsOfAFileAreTakenAsTheyAre) {
  settings_.graph_file = Write("graph.xml", RingsXml({"0213", "0132"}));
  const auto find = [](GpuCommunicator& gpu) {
    return fmt::format("{} {}", RingOf(gpu), gpu.impl()->limits.most_blocks);
  };
  EXPECT_EQ(OnGpus(4, find), std::vector<std::string>(4, "0,2,1,3 2"));
  settings_.min_channels = 6;  // NCCL's limits come after the file
  settings_.max_channels = 6;
  settings_.origins = {{"NCCL_MIN_NCHANNELS", "a test"}};
  EXPECT_EQ(OnGpus(4, find), std::vector<std::string>(4, "0,2,1,3 6"));
  settings_.origins.clear();
  // The channels of a file are for the GPUs that it names.
  std::vector<std::string> found;
  const std::string said = Said([&] { found = OnGpus(3, RingOf); });
  EXPECT_EQ(found, std::vector<std::string>(3, ""));
  EXPECT_NE(said.find("is not used: its rings have other GPUs than the ranks"), std::string::npos) << said;
}

TEST_F(GpuGraph, ABadFileEndsTheMakingOnAllRanks) {
  settings_.graph_file = Write("graph.xml", RingsXml({"0219"}));
  const std::vector<Status> outcomes = OnCommunicators(
      2, [](Communicator&) { return Status::Ok(); },
      [&](int rank, CommunicatorOptions& options) {
        options.settings.topo_file = settings_.topo_file;
        if (rank == 0) options.settings.graph_file = settings_.graph_file;
      });
  EXPECT_TRUE(outcomes[0].message().starts_with(fmt::format("NCCL_GRAPH_FILE={0}: {0}:3:", settings_.graph_file)))
      << outcomes[0].message();
  EXPECT_EQ(outcomes[1].peer(), 0) << outcomes[1].message();
  EXPECT_NE(outcomes[1].message().find("mend the file"), std::string::npos) << outcomes[1].message();
}

// Bounds of channels hold for what is searched, and the rank that is asked writes it.
TEST_F(GpuGraph, FoundChannelsAreWritten) {
  settings_.topo_file = Write("linked.xml", Host(true));
  settings_.graph_dump_file = folder_.Path("found.xml");
  settings_.graph_dump_rank = 1;
  settings_.min_channels = settings_.max_channels = 3;
  settings_.origins = {{"NCCL_MIN_NCHANNELS", "a test"}, {"NCCL_MAX_NCHANNELS", "a test"}};
  const std::vector<std::string> ring = OnGpus(4, RingOf);
  const std::string written = *sys::ReadFile(settings_.graph_dump_file);
  EXPECT_NE(written.find("id=\"0\""), std::string::npos) << written;
  EXPECT_NE(written.find("id=\"1\""), std::string::npos) << written;
  EXPECT_NE(written.find("nchannels=\"3\""), std::string::npos) << written;
  // And can be given again.
  settings_.graph_file = settings_.graph_dump_file;
  settings_.graph_dump_file.clear();
  settings_.origins.clear();
  for (const std::string& again : OnGpus(4, RingOf)) EXPECT_EQ(again.size(), 7u) << again;
  EXPECT_EQ(OnGpus(4, [](GpuCommunicator& gpu) { return fmt::format("{}", gpu.impl()->limits.most_blocks); })[0], "3");
  std::remove(settings_.graph_file.c_str());
  settings_.graph_dump_file = settings_.graph_file;
  settings_.graph_file.clear();
  settings_.graph_dump_rank = -1;
  OnGpus(2, RingOf);
  EXPECT_FALSE(sys::ReadFile(settings_.graph_dump_file).ok()) << "nobody was asked";
}

TEST_F(GpuGraph, TheLogNamesChannels) {
  settings_.graph_file = Write("graph.xml", RingsXml({"0213"}));
  const std::string said = Said([&] { OnGpus(4, RingOf); });
  EXPECT_NE(
      said.find("Pattern 4, crossNic 0, nChannels 1, bw 20/20, type NVL/PIX, sameChannels 0, from NCCL_GRAPH_FILE"),
      std::string::npos)
      << said;
  EXPECT_NE(said.find(" 0 : GPU/0 GPU/2 GPU/1 GPU/3"), std::string::npos) << said;
}

}  // namespace
}  // namespace tutti::tests
