// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/close_cards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/agree/host_graph.h"
#include "topo/channels.h"
#include "topo/topology_xml.h"

namespace tutti::comm {
namespace {

std::string Device(const std::string& bus_id, const char* class_id, const std::string& inside) {
  return fmt::format("<pci busid=\"{}\" class=\"{}\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">{}</pci>\n",
                     bus_id, class_id, inside);
}
std::string Gpu(int number) {
  return Device(fmt::format("0000:{}0:00.0", number + 1), "0x030200",
                fmt::format("<gpu dev=\"{0}\" sm=\"90\" rank=\"{0}\" gdr=\"1\"/>", number));
}
std::string Nic(int number, const std::string& name, int speed = 100000) {
  return Device(fmt::format("0000:{}8:00.0", number + 1), "0x020000",
                fmt::format("<nic><net name=\"{}\" dev=\"{}\" speed=\"{}\" port=\"1\" guid=\"0x{}\" gdr=\"1\"/></nic>",
                            name, number, speed, number + 1));
}

// Two sockets of four cores. GPU 0 and mlx5_0 are below a switch of the first, mlx5_1 at its CPU; GPU 1 and mlx5_2 are at the other one.
HostGraph TwoSockets() {
  const auto cpu = [](int numa, const char* affinity, const std::string& inside) {
    return fmt::format(
        "<cpu numaid=\"{}\" affinity=\"{}\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
        "modelid=\"143\">\n{}</cpu>\n",
        numa, affinity, inside);
  };
  const std::string text =
      "<system version=\"1\">\n" +
      cpu(0, "00000000,0000000f", Device("0000:01:00.0", "0x060400", Gpu(0) + Nic(0, "mlx5_0")) + Nic(1, "mlx5_1")) +
      cpu(1, "00000000,000000f0", Gpu(1) + Nic(2, "mlx5_2")) + "</system>\n";
  Result<topo::TopologyXml> read = topo::ReadTopologyXml(text, "two.xml");
  EXPECT_TRUE(read.ok()) << read.status().message();
  return {.graph = std::move(read->graph)};
}

const std::vector<CardId> kCards = {{.name = "mlx5_2"}, {.name = "mlx5_1"}, {.name = "mlx5_0"}};
const DataPlace kGpu0 = {.gpu_bus_id = "0000:10:00.0"}, kGpu1 = {.gpu_bus_id = "0000:20:00.0"};

std::vector<std::string> Names(const std::vector<CardId>& cards, const CloseCards& close) {
  std::vector<std::string> names;
  for (const int card : close.order) names.push_back(cards[static_cast<std::size_t>(card)].name);
  return names;
}
using Lines = std::vector<std::string>;

TEST(CloseCards, OfAGpuComeByTheirPaths) {
  const HostGraph host = TwoSockets();
  const CloseCards first = OrderByCloseness({}, host, kCards, kGpu0, nullptr);
  EXPECT_EQ(Names(kCards, first), (Lines{"mlx5_0", "mlx5_1", "mlx5_2"}));
  EXPECT_EQ(first.types, (Lines{"SYS", "PHB", "PIX"}));
  EXPECT_EQ(ShareOf(first, kGpu0), 2);
  const CloseCards second = OrderByCloseness({}, host, kCards, kGpu1, nullptr);
  EXPECT_EQ(Names(kCards, second), (Lines{"mlx5_2", "mlx5_1", "mlx5_0"}));
  EXPECT_EQ(ShareOf(second, {.gpu_bus_id = kGpu1.gpu_bus_id, .index = 1}), 0) << "that of the GPU, whatever rank it is";
}

// Cards are known by their PCI devices where these are known, else by names; several names are one device.
TEST(CloseCards, AreKnownByDeviceOrName) {
  const HostGraph host = TwoSockets();
  const std::vector<CardId> by_device = {{.name = "ens2", .bus_id = "0000:38:00.1"},
                                         {.name = "ens0", .bus_id = "0000:18:00.0"}};
  EXPECT_EQ(Names(by_device, OrderByCloseness({}, host, by_device, kGpu0, nullptr)), (Lines{"ens0", "ens2"}));
  const std::vector<CardId> groups = {{.name = "mlx5_1+mlx5_2"}, {.name = "mlx5_0"}};
  EXPECT_EQ(Names(groups, OrderByCloseness({}, host, groups, kGpu0, nullptr)), (Lines{"mlx5_0", "mlx5_1+mlx5_2"}));
  EXPECT_EQ(Names(groups, OrderByCloseness({}, host, groups, kGpu1, nullptr)), (Lines{"mlx5_1+mlx5_2", "mlx5_0"}));
  const std::vector<CardId> strange = {{.name = "bond0"}, {.name = "mlx5_0"}};
  const CloseCards as_they_are = OrderByCloseness({}, host, strange, kGpu0, nullptr);
  EXPECT_EQ(Names(strange, as_they_are), (Lines{"bond0", "mlx5_0"})) << "of one nothing is known";
  EXPECT_TRUE(as_they_are.types.empty());
  EXPECT_EQ(ShareOf(as_they_are, {.index = 3}), 1);
}

TEST(CloseCards, OfHostMemoryComeByNumaNode) {
  const HostGraph host = TwoSockets();
  const auto order = [&](std::vector<int> cpus) {
    return Names(kCards, OrderByCloseness({}, host, kCards, {.cpus = std::move(cpus)}, nullptr));
  };
  EXPECT_EQ(order({0, 1}), (Lines{"mlx5_1", "mlx5_0", "mlx5_2"})) << "among equals the order stays";
  EXPECT_EQ(order({4, 5, 7}), (Lines{"mlx5_2", "mlx5_1", "mlx5_0"}));
  EXPECT_EQ(order({3, 4}), (Lines{"mlx5_2", "mlx5_1", "mlx5_0"})) << "cores of both sockets";
  EXPECT_EQ(order({}), (Lines{"mlx5_2", "mlx5_1", "mlx5_0"}));
  // Ranks of a socket share its cards.
  const CloseCards close = OrderByCloseness({}, host, kCards, {.cpus = {0}}, nullptr);
  EXPECT_EQ(ShareOf(close, {.index = 0}), 1);
  EXPECT_EQ(ShareOf(close, {.index = 1}), 2);
  EXPECT_EQ(ShareOf(close, {.index = 2}), 1);
}

// NCCL_GRAPH_FILE: by its port a GPU leaves the host.
TEST(CloseCards, AFileOfChannelsGoesFirst) {
  const HostGraph host = TwoSockets();
  const int gpu_0 = *host.graph.GpuOf(0, 0), gpu_1 = *host.graph.GpuOf(0, 1);
  topo::Channels rings;
  rings.channels.push_back(
      {.port_in = *host.graph.PortOf(0, 1), .port_out = *host.graph.PortOf(0, 0), .gpus = {gpu_0, gpu_1}});
  EXPECT_EQ(Names(kCards, OrderByCloseness({}, host, kCards, kGpu0, &rings)).front(), "mlx5_1");
  EXPECT_EQ(Names(kCards, OrderByCloseness({}, host, kCards, kGpu1, &rings)).front(), "mlx5_0");
  const std::vector<CardId> without = {{.name = "mlx5_2"}, {.name = "mlx5_0"}};
  EXPECT_EQ(Names(without, OrderByCloseness({}, host, without, kGpu0, &rings)).front(), "mlx5_0")
      << "a port that is not used";
}

TEST(CloseCards, GpuMemoryIsReachedByLevelAndDirection) {
  const HostGraph host = TwoSockets();
  const auto reach = [&](const std::vector<CardId>& cards, const std::string& level, int read) {
    Settings settings;
    settings.gdr_level = level;
    settings.gdr_read = read;
    const CloseCards close = OrderByCloseness(settings, host, cards, kGpu0, nullptr);
    return std::pair(close.reads, close.writes);
  };
  const std::vector<CardId> close = {{.name = "mlx5_0"}}, far = {{.name = "mlx5_1"}}, farthest = {{.name = "mlx5_2"}};
  EXPECT_EQ(reach(close, "", -1), std::pair(true, true));
  EXPECT_EQ(reach(close, "LOC", -1), std::pair(false, false));
  EXPECT_EQ(reach(close, "", 0), std::pair(false, true));
  EXPECT_EQ(reach(far, "", -1), std::pair(false, false));
  EXPECT_EQ(reach(far, "PHB", -1), std::pair(true, true));
  EXPECT_EQ(reach(far, "3", 0), std::pair(false, true)) << "PHB by its old number";
  EXPECT_EQ(reach(farthest, "PHB", -1), std::pair(false, false));
  EXPECT_EQ(reach(farthest, "SYS", 1), std::pair(true, true));
}

TEST(CloseCards, ListsOfCpusAreRead) {
  EXPECT_EQ(ParseCpuList("0-3,8,10-11"), (std::vector{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(ParseCpuList("\t5\n"), std::vector{5});
  EXPECT_EQ(ParseCpuList(""), std::vector<int>());
  EXPECT_EQ(ParseCpuList("x,3-,2-1,-4,7"), std::vector{7});
  EXPECT_EQ(ParseCpuList("65534-99999999").size(), 2u);
  EXPECT_FALSE(OwnCpus().empty());
}

}  // namespace
}  // namespace tutti::comm
