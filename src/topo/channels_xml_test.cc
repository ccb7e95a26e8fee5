// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/channels_xml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "topo/topology_xml.h"
#include "topo/topology_xml_examples.h"

namespace tutti::topo {
namespace {

Graph GraphOf(const std::string& text) {
  Result<TopologyXml> read = ReadTopologyXml(text, "topo.xml");
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? std::move(read->graph) : Graph();
}

std::vector<Channels> Read(const std::string& text, const Graph& graph) {
  Result<std::vector<Channels>> read = ReadChannelsXml(text, "graph.xml", graph);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? std::move(*read) : std::vector<Channels>();
}

std::string FileOf(std::string_view channels, int count = 1,
                   std::string_view types = R"(typeintra="NVL" typeinter="PIX")") {
  return fmt::format(
      "<graphs version=\"1\">\n<graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"{}\" speedintra=\"45\" "
      "speedinter=\"22.5\" {} samechannels=\"1\">\n{}</graph>\n</graphs>\n",
      count, types, channels);
}

TEST(ChannelsXml, ReadsARingWithPorts) {
  const Graph graph = GraphOf(HgxH100());
  const std::vector<Channels> all = Read(FileOf("<channel><net dev=\"0\"/><gpu dev=\"0\"/><gpu dev=\"0x3\"/><gpu "
                                                "dev=\"2\" rank=\"2\"/><net dev=\"0x7\"/></channel>"
                                                "<channel><net dev=\"0\"/><net dev=\"1\"/><gpu dev=\"0\"/></channel>"
                                                "<channel><gpu dev=\"0\"/><net dev=\"1\"/></channel>",
                                                3),
                                         graph);
  ASSERT_EQ(all.size(), 1u);
  const Channels& ring = all[0];
  EXPECT_EQ(ring.id, GraphId::kRing);
  EXPECT_EQ(ring.pattern, Pattern::kRing);
  EXPECT_FALSE(ring.cross_nic);
  EXPECT_EQ(ring.gb_per_s_inside, 45);
  EXPECT_EQ(ring.gb_per_s_between, 22.5);
  EXPECT_EQ(ring.latency_between_us, 0);
  EXPECT_EQ(ring.type_inside, PathType::kNvl);
  EXPECT_EQ(ring.type_between, PathType::kPix);
  EXPECT_TRUE(ring.same);
  ASSERT_EQ(ring.channels.size(), 3u);
  EXPECT_EQ(ring.channels[0].port_in, graph.PortOf(0, 0));
  EXPECT_EQ(ring.channels[0].port_out, graph.PortOf(0, 7));
  EXPECT_EQ(ring.channels[0].gpus, (std::vector<int>{*graph.GpuOf(0, 0), *graph.GpuOf(0, 3), *graph.GpuOf(0, 2)}));
  EXPECT_EQ(ring.channels[1].port_out, graph.PortOf(0, 1));
  EXPECT_EQ(ring.channels[2].port_in, std::nullopt);
  EXPECT_EQ(ring.channels[2].port_out, graph.PortOf(0, 1));
}

// The upper bits of a number are the host's, and a rank goes before the number.
TEST(ChannelsXml, GpusOfSeveralHosts) {
  const Graph graph = GraphOf(SystemOf(Tray("0xa", 0, "") + Tray("0xb", 4, "")));
  const std::vector<Channels> all =
      Read(FileOf("<channel><net dev=\"0x100000000000002\"/><gpu dev=\"0x1\"/><gpu dev=\"0x100000000000003\"/>"
                  "<gpu dev=\"0x1\" rank=\"6\"/><gpu dev=\"0x2\" rank=\"77\"/></channel>"),
           graph);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].channels[0].port_in, graph.PortOf(1, 2));
  EXPECT_EQ(all[0].channels[0].gpus,
            (std::vector<int>{*graph.GpuOf(0, 1), *graph.GpuOf(1, 3), *graph.GpuOf(1, 2), *graph.GpuOf(0, 2)}));
}

TEST(ChannelsXml, RoundTripWithAllTypesOfPaths) {
  const Graph graph = GraphOf(SystemOf(Tray("0xa", 0, "") + Tray("0xb", 4, "")));
  std::vector<Channels> all;
  for (int id = 0; id <= 4; ++id) {
    Channels each = {.id = static_cast<GraphId>(id),
                     .pattern = static_cast<Pattern>(id + 1),
                     .cross_nic = id % 2 == 1,
                     .gb_per_s_inside = 45.1,
                     .gb_per_s_between = 0.24,
                     .latency_between_us = 2.5,
                     .same = id % 2 == 0};
    for (int c = 0; c < id; ++c) {
      each.channels.push_back(
          {.port_in = graph.PortOf(1, c % 4), .port_out = graph.PortOf(0, 3), .gpus = graph.All(NodeKind::kGpu)});
      each.channels.push_back({.port_in = {}, .port_out = {}, .gpus = {*graph.GpuOf(1, 2)}});
    }
    all.push_back(std::move(each));
  }
  for (int t = 0; t < kPathTypes; ++t) {
    all[1].type_inside = all[2].type_between = static_cast<PathType>(t);
    const std::string written = WriteChannelsXml(all, graph);
    const std::vector<Channels> read = Read(written, graph);
    ASSERT_EQ(read.size(), all.size());
    EXPECT_EQ(read[1].type_inside, static_cast<PathType>(t));
    EXPECT_EQ(read[2].type_between, static_cast<PathType>(t));
    EXPECT_EQ(WriteChannelsXml(read, graph), written);
  }
  const std::vector<Channels> read = Read(WriteChannelsXml(all, graph), graph);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(read[i].id, all[i].id);
    EXPECT_EQ(read[i].pattern, all[i].pattern);
    EXPECT_EQ(read[i].cross_nic, all[i].cross_nic);
    EXPECT_EQ(read[i].gb_per_s_inside, 45.1);
    EXPECT_EQ(read[i].gb_per_s_between, 0.24);
    EXPECT_EQ(read[i].latency_between_us, 2.5);
    EXPECT_EQ(read[i].same, all[i].same);
    ASSERT_EQ(read[i].channels.size(), all[i].channels.size());
    for (std::size_t c = 0; c < all[i].channels.size(); ++c) {
      EXPECT_EQ(read[i].channels[c].port_in, all[i].channels[c].port_in);
      EXPECT_EQ(read[i].channels[c].port_out, all[i].channels[c].port_out);
      EXPECT_EQ(read[i].channels[c].gpus, all[i].channels[c].gpus);
    }
  }
}

TEST(ChannelsXml, WritesAsNcclDoes) {
  const Graph graph = GraphOf(HgxH100());
  const Channels ring = {
      .cross_nic = true,
      .gb_per_s_inside = 45,
      .gb_per_s_between = 17.5,
      .type_inside = PathType::kNvl,
      .type_between = PathType::kC2c,
      .channels = {{.port_in = graph.PortOf(0, 0), .port_out = graph.PortOf(0, 1), .gpus = {*graph.GpuOf(0, 7)}}}};
  EXPECT_EQ(WriteChannelsXml(std::span(&ring, 1), graph), R"(<graphs version="1">
  <graph id="0" pattern="4" crossnic="1" nchannels="1" speedintra="45" speedinter="17.5" latencyinter="0" typeintra="NVL" typeinter="C2C" samechannels="1">
    <channel>
      <net dev="0x0"/>
      <gpu dev="0x7" rank="7"/>
      <net dev="0x1"/>
    </channel>
  </graph>
</graphs>
)");
}

TEST(ChannelsXml, AFastChannelIsSharedOutAmongBlocks) {
  Channels one{.gb_per_s_inside = 370.8, .gb_per_s_between = 48};
  one.channels = {{.port_in = {}, .port_out = {}, .gpus = {1, 2}}};
  const Channels many = ForBlocks(one);
  EXPECT_EQ(many.channels.size(), 18U);
  EXPECT_NEAR(many.gb_per_s_inside * 18, 370.8, 1e-9);
  EXPECT_NEAR(many.gb_per_s_between * 18, 48, 1e-9);
  EXPECT_EQ(many.channels.back().gpus, one.channels.front().gpus);
  one.channels.resize(20, one.channels.front());
  EXPECT_EQ(ForBlocks(one).channels.size(), 20U) << "more than 32 are too many";
  one.gb_per_s_inside = 12;
  EXPECT_EQ(ForBlocks(one).gb_per_s_inside, 12);
  EXPECT_TRUE(ForBlocks({}).channels.empty());
}

TEST(ChannelsXml, RefusesWithPlaceAndReason) {
  const Graph graph = GraphOf(HgxH100());
  const auto refusal = [&](const std::string& text) {
    const Result<std::vector<Channels>> read = ReadChannelsXml(text, "graph.xml", graph);
    return read.ok() ? "taken" : read.status().message();
  };
  const std::string good = "<channel><gpu dev=\"0\"/></channel>";
  EXPECT_EQ(refusal(FileOf(good)), "taken");
  EXPECT_EQ(refusal("<system version=\"1\"/>"),
            "graph.xml:1:1: <system>: this is no file of channels: it has no <graphs>");
  EXPECT_EQ(refusal("<graphs version=\"2\"/>"), "graph.xml:1:1: <graphs>: version 2 is not known; NCCL writes 1");
  EXPECT_EQ(refusal("<graphs version=\"1\">\n  <graph id=\"5\"/></graphs>"),
            "graph.xml:2:3: <graph>: id=\"5\" is no whole number from 0 to 4");
  EXPECT_EQ(refusal("<graphs version=\"1\">\n<graph id=\"0\" pattern=\"7\"/></graphs>"),
            "graph.xml:2:1: <graph>: pattern=\"7\" is no whole number from 1 to 6");
  EXPECT_EQ(refusal(FileOf("<channel></channel>")), "graph.xml:3:1: <channel>: it has no gpu");
  EXPECT_EQ(refusal(FileOf(good, 2)), "graph.xml:2:1: <graph>: nchannels is 2, but it has 1 channels");
  EXPECT_EQ(refusal(FileOf("<channel><gpu dev=\"8\"/></channel>")),
            "graph.xml:3:10: <gpu>: host 0 of this machine has no GPU 8");
  EXPECT_EQ(refusal(FileOf("<channel><gpu dev=\"0x100000000000000\"/></channel>")),
            "graph.xml:3:10: <gpu>: host 1 of this machine has no GPU 0");
  EXPECT_EQ(refusal(FileOf("<channel><net dev=\"9\"/></channel>")),
            "graph.xml:3:10: <net>: host 0 of this machine has no port 9");
  EXPECT_EQ(refusal(FileOf("<channel><gpu dev=\"G\"/></channel>")),
            "graph.xml:3:10: <gpu>: dev=\"G\" is no hexadecimal number of a device");
  EXPECT_EQ(refusal(FileOf("<channel><gpu/></channel>")),
            "graph.xml:3:10: <gpu>: dev=\"\" is no hexadecimal number of a device");
  EXPECT_EQ(refusal(FileOf("<channel><gpu dev=\"1\"/><gpu dev=\"1\"/></channel>")),
            "graph.xml:3:24: <gpu>: this GPU is in the channel already");
  EXPECT_EQ(refusal(FileOf("<channel><net dev=\"1\"/><net dev=\"1\"/><net dev=\"1\"/></channel>")),
            "graph.xml:3:38: <net>: a channel has two nets at most, one to come in and one to go out");
  EXPECT_EQ(
      refusal(FileOf(good, 1, "typeintra=\"NVLINK\" typeinter=\"PIX\"")),
      "graph.xml:2:1: <graph>: typeintra=\"NVLINK\" is no type of paths; types are LOC, NVL, NVB, C2C, PIX, PXB, P2C, "
      "PXN, PHB, SYS, NET, DIS");
  EXPECT_EQ(refusal("<graphs version=\"1\">\n<channel/></graphs>"),
            "graph.xml:2:1: <channel>: it stands in <graphs>; its place is in <graph>");
  const std::string twice = FileOf(good);
  const std::size_t graph_at = twice.find("<graph id"), graph_end = twice.find("</graphs>");
  EXPECT_EQ(refusal(twice.substr(0, graph_end) + twice.substr(graph_at)),
            "graph.xml:4:1: <graph>: id 0 is there twice");
}

}  // namespace
}  // namespace tutti::topo
