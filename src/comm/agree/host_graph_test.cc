// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The host's graph as communicators find it: on rendered machines, with a library that stands in for NVML.
#include "comm/agree/host_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/agree/graph_files.h"
#include "comm/agree/log_graph.h"
#include "sys/log/log_output.h"
#include "sys/os/text_file.h"
#include "tests/support/rendered_machines.h"
#include "tests/support/scratch_folder.h"
#include "topo/measured.h"
#include "topo/policy.h"
#include "topo/topology_xml.h"

namespace tutti::comm {
namespace {

using Found = std::shared_ptr<const HostGraph>;

class HostGraphTest : public testing::Test {
 protected:
  HostPlaces Places(const std::string& file = "none") const {
    return {.root = host_.root(), .nvml_library = TUTTI_FAKE_NVML, .file = folder_.Path(file)};
  }
  Result<Found> Find(const Settings& settings, GraphOf what = GraphOf::kHostWithGpus) const {
    return FindHostGraph(settings, what, Places());
  }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.Path(name)) << text;
    return folder_.Path(name);
  }
  // The lines of the log of what `body` does, at INFO under GRAPH.
  std::string Said(const std::function<void()>& body) const {
    sys::ReopenLog({.level = log::Level::kInfo, .subsystems = log::kGraph, .file = folder_.Path("log")});
    body();
    sys::ReopenLog({.level = log::Level::kWarn});
    return *sys::ReadFile(folder_.Path("log"));
  }

  tests::RenderedHost host_;
  tests::ScratchFolder folder_;
};

TEST_F(HostGraphTest, IsFoundOnce) {
  tests::AddHgx(host_);
  const Result<Found> first = Find({});
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ((*first)->source, "sysfs and NVML");
  EXPECT_EQ((*first)->graph.All(topo::NodeKind::kGpu, 0).size(), 8u);
  EXPECT_GT((*first)->found_in_ms, 0);
  host_.SetNvml("");  // what has been found stays
  EXPECT_EQ(Find({})->get(), first->get());
  EXPECT_EQ(Find({}, GraphOf::kHost)->get(), first->get());
}

// Graphs that others hold stay as they are; the system is not read again.
TEST_F(HostGraphTest, WhatIsMeasuredCountsFromThenOn) {
  tests::AddVirtualHgx(host_);
  const Found first = *Find({});
  ASSERT_EQ(first->unsaid_gpus.size(), 8u);
  host_.SetNvml("");
  const topo::MeasuredGpu gpu_0[] = {{.bus_id = "0000:00:05.0", .numa = 1, .gb_per_s = 50}};
  RememberMeasured({}, gpu_0, Places());
  const topo::MeasuredGpu gpu_7[] = {{.bus_id = "0000:00:0c.0", .numa = 0, .gb_per_s = 50}};
  RememberMeasured({}, gpu_7, Places());
  const Found then = *Find({});
  EXPECT_EQ(first->unsaid_gpus.size(), 8u);
  EXPECT_EQ(then->unsaid_gpus.size(), 6u);
  EXPECT_EQ(then->source, "sysfs and NVML");
  EXPECT_EQ(then->graph.node(*then->graph.GpuOf(0, 0)).numa, 1);
  EXPECT_EQ(then->graph.node(*then->graph.GpuOf(0, 7)).numa, 0);
  EXPECT_EQ(Find({})->get(), then.get());
}

// NVML may take long, and network cards are known without it. The devices are read once for both.
TEST_F(HostGraphTest, NvmlIsAskedWhereGpusMatter) {
  tests::AddHgx(host_);
  const Found host = *Find({}, GraphOf::kHost);
  EXPECT_EQ(host->source, "sysfs");
  EXPECT_EQ(host->graph.All(topo::NodeKind::kPort, 0).size(), 9u);
  EXPECT_TRUE(host->graph.All(topo::NodeKind::kNvSwitch, 0).empty());
  host_.Write("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  const Found with_gpus = *Find({}, GraphOf::kHostWithGpus);
  EXPECT_EQ(with_gpus->source, "sysfs and NVML");
  EXPECT_EQ(with_gpus->graph.All(topo::NodeKind::kNvSwitch, 0).size(), 1u);
  EXPECT_EQ(with_gpus->graph.All(topo::NodeKind::kPort, 0).size(), 9u) << "the devices were read again";
}

TEST_F(HostGraphTest, WhatIsDumpedIsReadAgain) {
  tests::AddHgx(host_);
  Settings settings;
  settings.topo_dump_file = folder_.Path("topo.xml");
  const Found found = *Find({});
  DumpTopology(settings, *found);
  settings.topo_file = settings.topo_dump_file;
  const Result<Found> read = Find(settings);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ((*read)->source, "NCCL_TOPO_FILE=" + settings.topo_file);
  EXPECT_TRUE((*read)->notes.empty()) << (*read)->notes.front();
  EXPECT_EQ(topo::WriteTopologyXml((*read)->graph, 0), topo::WriteTopologyXml(found->graph, 0));
  const topo::HostPaths one(found->graph, std::vector{0}), other((*read)->graph, std::vector{0});
  for (const int a : {0, 3, 7}) {
    for (const int b : {1, 6}) {
      const auto type = [&](const topo::HostPaths& paths, const topo::Graph& graph) {
        return paths.Direct(*graph.GpuOf(0, a), *graph.PortOf(0, b)).type;
      };
      EXPECT_EQ(type(one, found->graph), type(other, (*read)->graph)) << a << ' ' << b;
    }
  }
}

TEST_F(HostGraphTest, ABadFileIsRefusedWithLineAndRemedy) {
  Settings settings;
  settings.topo_file =
      Write("bad.xml", "<system version=\"1\">\n  <cpu numaid=\"0\">\n    <gpu dev=\"0\"/>\n  </cpu>\n</system>\n");
  const Status status = Find(settings).status();
  EXPECT_EQ(status.code(), Code::kInvalidUsage);
  EXPECT_TRUE(status.message().starts_with(fmt::format("NCCL_TOPO_FILE={0}: {0}:3:", settings.topo_file)))
      << status.message();
  EXPECT_TRUE(status.message().ends_with("; mend the file, or unset the variable, so that the system is asked"))
      << status.message();
  settings.topo_file = Write("empty.xml", "<system version=\"1\">\n</system>\n");
  EXPECT_NE(Find(settings).status().message().find("describes no host"), std::string::npos)
      << Find(settings).status().message();
  settings.topo_file = folder_.path();  // a folder can be opened, but not read
  EXPECT_NE(Find(settings).status().message().find("name a file that every process of this host can read"),
            std::string::npos)
      << Find(settings).status().message();
}

// As in NCCL.
TEST_F(HostGraphTest, AFileThatIsNotThereIsAWarning) {
  tests::AddHgx(host_);
  Settings settings;
  settings.topo_file = folder_.Path("nowhere.xml");
  Result<Found> found = Status(Code::kInternal, "");
  const std::string said = Said([&] { found = Find(settings); });
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ((*found)->source, "sysfs and NVML");
  EXPECT_NE(said.find("NCCL_TOPO_FILE=" + settings.topo_file + ": there is no such file; the system is asked instead"),
            std::string::npos)
      << said;
}

TEST_F(HostGraphTest, TheFileOfAVirtualMachineIsTakenWhereThereIsOne) {
  tests::AddTwoSockets(host_);
  const std::string good =
      "<system version=\"1\">\n<cpu numaid=\"7\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
      "modelid=\"143\"/>\n</system>\n";
  Write("virtual.xml", good);
  Result<Found> found = FindHostGraph({}, GraphOf::kHostWithGpus, Places("virtual.xml"));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ((*found)->source, folder_.Path("virtual.xml"));
  EXPECT_EQ((*found)->graph.node(0).numa, 7);
  // Nobody has asked for it, so it does no harm where it is bad.
  Write("broken.xml", "<system");
  const std::string said = Said([&] { found = FindHostGraph({}, GraphOf::kHostWithGpus, Places("broken.xml")); });
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE((*found)->source.starts_with("sysfs"));
  EXPECT_NE(said.find("the topology of this virtual machine is passed over: "), std::string::npos) << said;
  // A file that was asked for comes before it.
  Settings settings;
  settings.topo_file = Write("asked.xml", good);
  found = FindHostGraph(settings, GraphOf::kHostWithGpus, Places("virtual.xml"));
  EXPECT_EQ((*found)->source, "NCCL_TOPO_FILE=" + settings.topo_file);
}

TEST_F(HostGraphTest, SettingsBecomeAPolicy) {
  const HostGraph host;
  Settings settings;
  EXPECT_EQ(PolicyOf(settings, host).peer_level, topo::PathType::kSys) << "the driver decides";
  EXPECT_EQ(PolicyOf(settings, host).gdr_level, std::nullopt);
  EXPECT_EQ(PolicyOf(settings, host).gdr_read, std::nullopt);
  settings.p2p_level = "PXB";
  settings.gdr_level = "3";
  settings.gdr_read = 0;
  EXPECT_EQ(PolicyOf(settings, host).peer_level, topo::PathType::kPxb);
  EXPECT_EQ(PolicyOf(settings, host).gdr_level, topo::PathType::kPhb);
  EXPECT_EQ(PolicyOf(settings, host).gdr_read, false);
  settings.p2p_disable = true;
  EXPECT_EQ(PolicyOf(settings, host).peer_level, topo::PathType::kLoc);
}

TEST_F(HostGraphTest, TheLogHasTheMachineAndWhatIsBad) {
  tests::AddHgx(host_, "links 18\nlink 4 0 2 0000:91:00.0 1\n");
  const Found host = *Find({});
  Settings settings;
  settings.gdr_level = "PXB";
  const std::string said = Said([&] {
    LogGraph(settings, *host);
    LogGraph(settings, *host);
  });
  EXPECT_NE(said.find("=== System : 8 GPUs, 9 ports, 2 NUMA nodes; from sysfs and NVML in "), std::string::npos)
      << said;
  EXPECT_NE(
      said.find("GPU 0 0000:13:00.0 : NVL to 7 GPUs; PIX to mlx5_0 and mlx5_1 (GDR), PHB to 3 ports, SYS to 4 ports"),
      std::string::npos)
      << said;
  EXPECT_NE(said.find("NCCL WARN GPU 3: 17 of 18 NVLinks work"), std::string::npos) << said;
  EXPECT_EQ(said.find("=== System"), said.rfind("=== System")) << said;
  EXPECT_EQ(said.find("NVLinks work"), said.rfind("NVLinks work")) << said;
}

// ---------------------------------------------------------------------------------------------------------------
// NCCL_GRAPH_FILE

class GraphFileTest : public HostGraphTest {
 protected:
  static std::string Ring(const std::string& order, int cross_nic = 0) {
    std::string gpus;
    for (const char gpu : order) gpus += fmt::format("<gpu dev=\"{}\"/>", gpu);
    return fmt::format(
        "<graphs version=\"1\">\n<graph id=\"0\" pattern=\"4\" crossnic=\"{}\" nchannels=\"1\" speedintra=\"20\" "
        "speedinter=\"20\" "
        "typeintra=\"NVL\" typeinter=\"PIX\" samechannels=\"1\">\n<channel>{}</channel>\n</graph>\n</graphs>\n",
        cross_nic, gpus);
  }
};

TEST_F(GraphFileTest, ChannelsAreReadAndWrittenAgain) {
  tests::AddHgx(host_);
  const Found host = *Find({});
  Settings settings;
  settings.graph_file = Write("graph.xml", Ring("02461357"));
  const Result<std::vector<topo::Channels>> given = ReadGivenChannels(settings, *host);
  ASSERT_TRUE(given.ok()) << given.status().message();
  const topo::Channels* const rings = RingsOf(*given);
  ASSERT_NE(rings, nullptr);
  EXPECT_EQ(rings->channels[0].gpus[2], *host->graph.GpuOf(0, 4));
  settings.graph_dump_file = folder_.Path("again.xml");
  DumpChannels(settings, *host, *given);
  settings.graph_file = settings.graph_dump_file;
  EXPECT_EQ(RingsOf(*ReadGivenChannels(settings, *host))->channels[0].gpus, rings->channels[0].gpus);
}

TEST_F(GraphFileTest, WhatIsBadIsRefusedWithLineAndRemedy) {
  tests::AddHgx(host_);
  const Found host = *Find({});
  Settings settings;
  settings.graph_file = Write("graph.xml", Ring("0249"));
  const Status status = ReadGivenChannels(settings, *host).status();
  EXPECT_EQ(status.code(), Code::kInvalidUsage);
  EXPECT_TRUE(status.message().starts_with(fmt::format("NCCL_GRAPH_FILE={0}: {0}:3:", settings.graph_file)))
      << status.message();
  EXPECT_TRUE(status.message().ends_with("; mend the file, or unset the variable, so that channels are searched"))
      << status.message();
  settings.graph_file = folder_.Path("nowhere");
  EXPECT_EQ(ReadGivenChannels(settings, *host).status().code(), Code::kInvalidUsage);
}

// Nobody writes to them: whoever waited would wait for ever.
TEST_F(GraphFileTest, PipesAreRefused) {
  tests::AddHgx(host_);
  const Found host = *Find({});
  const std::string pipe = folder_.Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Settings settings;
  settings.graph_file = settings.topo_file = settings.topo_dump_file = pipe;
  EXPECT_NE(ReadGivenChannels(settings, *host).status().message().find(pipe + " is no regular file"),
            std::string::npos);
  const Result<Found> found = Find(settings);
  EXPECT_EQ(found.status().code(), Code::kInvalidUsage);
  EXPECT_NE(found.status().message().find(pipe + " is no regular file"), std::string::npos);
  EXPECT_NE(Said([&] { DumpTopology(settings, *host); }).find(pipe + " is a pipe"), std::string::npos);
}

TEST_F(GraphFileTest, CountsOnlyWhereThereAreGpusAndRailsMayBeCrossed) {
  tests::AddTwoSockets(host_);
  Settings settings;
  settings.graph_file = folder_.Path("nowhere");
  EXPECT_EQ(ReadGivenChannels(settings, **Find({}))->size(), 0u) << "no GPU";
  tests::RenderedHost hgx;
  tests::AddHgx(hgx);
  const Found host = *FindHostGraph({}, GraphOf::kHostWithGpus, {.root = hgx.root(), .nvml_library = TUTTI_FAKE_NVML});
  settings.graph_file = Write("crossing.xml", Ring("01234567", 1));
  EXPECT_NE(RingsOf(*ReadGivenChannels(settings, *host)), nullptr);
  settings.cross_nic = 0;
  EXPECT_EQ(RingsOf(*ReadGivenChannels(settings, *host)), nullptr);
  EXPECT_EQ(RingsOf({}), nullptr);
}

// A dump that cannot be written breaks nothing.
TEST_F(GraphFileTest, ADumpThatCannotBeWrittenIsAWarning) {
  tests::AddTwoSockets(host_);
  const Found host = *Find({});
  Settings settings;
  settings.topo_dump_file = folder_.Path("no/such/folder/topo.xml");
  const std::string said = Said([&] { DumpTopology(settings, *host); });
  EXPECT_NE(said.find("NCCL_TOPO_DUMP_FILE is not written: cannot open " + settings.topo_dump_file), std::string::npos)
      << said;
  EXPECT_NE(said.find("name a file in a folder where the rank may write"), std::string::npos) << said;
}

}  // namespace
}  // namespace tutti::comm
