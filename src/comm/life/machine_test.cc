// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What communicators of host memory do with the host's graph: NCCL's files of it, and the network card that is close.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/agree/host_graph.h"
#include "sys/log/log_output.h"
#include "sys/net/interfaces.h"
#include "sys/os/text_file.h"
#include "tests/support/ranks.h"
#include "tests/support/scratch_folder.h"
#include "topo/topology_xml.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

// A NUMA node with these cores, and a card that is no PCI device with a port of this name.
std::string NodeXml(int numa, const std::string& affinity, const std::string& name) {
  return fmt::format(
      "<cpu numaid=\"{}\" affinity=\"{}\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\">\n"
      "<nic><net name=\"{}\" dev=\"{}\" speed=\"10000\" port=\"1\" guid=\"0x{}\"/></nic>\n</cpu>\n",
      numa, affinity, name, numa, numa + 1);
}

// Two NUMA nodes; all cores are of the first.
std::string HostXml(const std::string& near, const std::string& far) {
  std::string all = "ffffffff";
  for (int word = 1; word < 32; ++word) all += ",ffffffff";
  return "<system version=\"1\">\n" + NodeXml(0, all, near) + NodeXml(1, "0", far) + "</system>\n";
}

class Machine : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.Path(name)) << text;
    return folder_.Path(name);
  }
  std::string Said(log::Subsystems subsystems, const std::function<void()>& body) const {
    sys::ReopenLog({.level = log::Level::kInfo, .subsystems = subsystems, .file = folder_.Path("log")});
    body();
    sys::ReopenLog({.level = log::Level::kWarn});
    return *sys::ReadFile(folder_.Path("log"));
  }
  // An interface with an address, other than lo.
  static std::optional<std::string> OtherInterface() {
    const Result<std::vector<sys::Interface>> interfaces = sys::ReadInterfaces();
    if (!interfaces.ok()) return std::nullopt;
    for (const sys::Interface& one : *interfaces) {
      const bool v4 = std::ranges::any_of(one.addresses, [](auto& a) { return a.family() == sys::IpFamily::kV4; });
      if (one.running && v4 && one.name != "lo") return one.name;
    }
    return std::nullopt;
  }
  static Status SayHello(Communicator& c) {
    std::vector<float> in(100, 1), out(100);
    TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
    return out[99] == static_cast<float>(c.ranks()) ? Status::Ok() : Status(Code::kInternal, "wrong");
  }

  tests::ScratchFolder folder_;
  Settings settings_;
};

TEST_F(Machine, TheGraphIsWrittenByTheRankThatIsAsked) {
  settings_.topo_dump_file = folder_.Path("topo.xml");
  for (const int asked : {0, 1, 2}) {
    settings_.topo_dump_rank = asked;
    EXPECT_EQ(tests::RunRanks(2, settings_, SayHello), "");
    const Result<std::string> written = sys::ReadFile(settings_.topo_dump_file);
    ASSERT_EQ(written.ok(), asked < 2) << asked;
    if (!written.ok()) continue;
    const std::shared_ptr<const HostGraph> host = *FindHostGraph(settings_, GraphOf::kHostWithGpus);
    EXPECT_EQ(*written, topo::WriteTopologyXml(host->graph, 0));
    std::remove(settings_.topo_dump_file.c_str());
  }
  settings_.topo_dump_rank = 0;
  EXPECT_EQ(tests::RunRanks(1, settings_, SayHello), "") << "a rank alone";
  EXPECT_TRUE(sys::ReadFile(settings_.topo_dump_file).ok());
}

TEST_F(Machine, ABadFileEndsTheMakingOnAllRanks) {
  settings_.topo_file = Write("bad.xml", "<system version=\"1\">\n<cpu numaid=\"x\"/>\n</system>\n");
  for (const int ranks : {1, 2}) {
    const std::string failure = tests::RunRanks(ranks, settings_, SayHello);
    EXPECT_NE(failure.find(fmt::format("NCCL_TOPO_FILE={0}: {0}:2:", settings_.topo_file)), std::string::npos)
        << failure;
  }
}

TEST_F(Machine, NothingIsLookedAtWhereNobodyAsks) {
  const std::string said =
      Said(log::kAllSubsystems & ~log::kGraph, [&] { EXPECT_EQ(tests::RunRanks(2, settings_, SayHello), ""); });
  EXPECT_EQ(said.find("=== System"), std::string::npos) << said;
  const std::string asked = Said(log::kGraph, [&] { EXPECT_EQ(tests::RunRanks(2, settings_, SayHello), ""); });
  EXPECT_NE(asked.find("=== System : "), std::string::npos) << asked;
}

// Two ranks on hosts of their own, as NCCL_HOSTID makes them, with two network interfaces each.
TEST_F(Machine, RanksOfSeveralHostsCallByTheCardThatIsClose) {
  const std::optional<std::string> other = OtherInterface();
  if (!other) GTEST_SKIP() << "there is no network interface but lo";
  settings_.socket_ifname = "=lo," + *other;
  settings_.socket_family = "AF_INET";
  for (const bool lo_is_near : {true, false}) {
    settings_.topo_file =
        Write(lo_is_near ? "lo.xml" : "other.xml", lo_is_near ? HostXml("lo", *other) : HostXml(*other, "lo"));
    const std::string said = Said(log::kNet, [&] {
      EXPECT_EQ(tests::RunOnHosts(std::vector{0, 1}, settings_, SayHello), "");
    });
    const std::string near = lo_is_near ? "lo" : *other, far = lo_is_near ? *other : "lo";
    EXPECT_NE(said.find(fmt::format("network cards by closeness to its cores: {} (PHB), {} (SYS)", near, far)),
              std::string::npos)
        << said;
    // The flow that is made first leaves by it, from one of its own addresses.
    const std::size_t flow = said.find("connected to rank");
    ASSERT_NE(flow, std::string::npos) << said;
    const std::string line = said.substr(flow, said.find('\n', flow) - flow);
    EXPECT_NE(line.find("flow 0"), std::string::npos) << line;
    EXPECT_EQ(line.find("127.0.0.1") != std::string::npos, lo_is_near) << line;
    std::remove(folder_.Path("log").c_str());
  }
}

}  // namespace
}  // namespace tutti::comm
