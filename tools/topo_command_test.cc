// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/topo_command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tools/cli.h"
#include "tools/topo_source.h"
#include "tools/topo_view.h"

namespace tutti::tools {
namespace {

struct Said {
  int exit = 0;
  std::string out, err;
};

Said Topo(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tutti topo");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  said.exit = TopoCommand(static_cast<int>(argv.size()), argv.data());
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

std::string LineOf(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find("\n" + begin);
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

TEST(TopoCommand, TheMatrixIsThatOfNvidiaSmi) {
  const Said said = Topo({"--machine", "hgx-h100"});
  EXPECT_EQ(said.exit, kExitOk) << said.err;
  EXPECT_EQ(LineOf(said.out, "GPU5 "),
            "GPU5    NV18    NV18    NV18    NV18    NV18     X      NV18    NV18    SYS     SYS     SYS     SYS     "
            "PHB     PIX     PHB     PHB     1");
  EXPECT_EQ(said.out.find("warning"), std::string::npos) << said.out;
}

TEST(TopoCommand, WhatIsBadIsSaidInALine) {
  const Said said = Topo({"--machine", "hgx-h100-bad-links"});
  EXPECT_EQ(said.exit, kExitOk);
  EXPECT_NE(said.out.find("warning: GPU 7: 5 of 18 NVLinks work, 103.0 instead of 370.8 GB/s"), std::string::npos)
      << said.out;
  EXPECT_EQ(Topo({"--machine", "hgx-h100-bad-links", "--no-warnings"}).out.find("warning"), std::string::npos);
}

// Each node hangs below what it is joined to, and no node is missing.
TEST(TopoCommand, TheTreeHasEveryNodeOnce) {
  for (const char* name : {"hgx-h100", "dgx-1", "gb200-nvl72", "hgx-h200-vm", "rtx-4090-x8"}) {
    const Result<SourcedTopology> topology = ReadSource({.machine = name, .hosts = 2});
    ASSERT_TRUE(topology.ok()) << topology.status().message();
    for (int host = 0; host < 2; ++host) {
      const std::vector<TreeEntry> tree = TreeOf(topology->graph, host);
      std::vector<int> times(topology->graph.nodes().size(), 0);
      for (const TreeEntry& entry : tree) {
        ++times[static_cast<std::size_t>(entry.node)];
        if (entry.parent < 0) continue;
        const topo::Link& link = topology->graph.link(entry.link);
        const int above = tree[static_cast<std::size_t>(entry.parent)].node;
        EXPECT_TRUE((link.from == above && link.to == entry.node) || (link.to == above && link.from == entry.node));
      }
      for (std::size_t i = 0; i < times.size(); ++i) {
        EXPECT_EQ(times[i], topology->graph.node(static_cast<int>(i)).host == host ? 1 : 0) << name << " " << i;
      }
    }
  }
}

// What is written as XML is read again as the same matrix.
TEST(TopoCommand, FilesOfEachKind) {
  const std::string folder = testing::TempDir();
  ASSERT_EQ(Topo({"--machine", "ndv5", "--xml", folder + "ndv5.xml", "--svg", folder + "ndv5.svg", "--json",
                  folder + "ndv5.json"})
                .out,
            "");
  const std::string from_name = Topo({"--machine", "ndv5"}).out, from_file = Topo({"--file", folder + "ndv5.xml"}).out;
  EXPECT_EQ(from_file.substr(0, from_file.find("NIC0:")), from_name.substr(0, from_name.find("NIC0:")));
  std::ifstream svg(folder + "ndv5.svg");
  const std::string drawing(std::istreambuf_iterator<char>(svg), {});
  EXPECT_EQ(drawing.rfind("<svg", 0), 0u);
  EXPECT_NE(drawing.find("GPU 7"), std::string::npos);
  EXPECT_NE(Topo({"--machine", "ndv5", "--json", "-"}).out.find("\"kind\": \"NVSwitch\""), std::string::npos);
  std::ofstream(folder + "box.txt") << "gpu h100\nhost\n  1 socket\n    2 gpus\n";
  EXPECT_NE(Topo({"--file", folder + "box.txt"}).out.find("GPU1"), std::string::npos);
}

TEST(TopoCommand, ChannelsAndWhatBindsThem) {
  const Said one = Topo({"--machine", "rtx-4090-x8", "--channels"});
  EXPECT_EQ(one.exit, kExitOk) << one.err;
  EXPECT_NE(one.out.find("rings: "), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("bound by "), std::string::npos) << one.out;
  const std::string file = testing::TempDir() + "graph.xml";
  EXPECT_EQ(Topo({"--machine", "hgx-h100", "--hosts", "2", "--graph", file}).exit, kExitOk);
  std::ifstream xml(file);
  const std::string text(std::istreambuf_iterator<char>(xml), {});
  EXPECT_NE(text.find("<graphs version=\"1\""), std::string::npos) << text;
  std::ofstream(testing::TempDir() + "none.xml") << "<system version=\"1\"><cpu numaid=\"0\"/></system>\n";
  EXPECT_NE(Topo({"--file", testing::TempDir() + "none.xml", "--channels"}).err.find("no GPU"), std::string::npos);
}

TEST(TopoCommand, SaysWhatIsWrong) {
  EXPECT_EQ(Topo({"--machine", "no-such"}).exit, kExitFailed);
  EXPECT_NE(Topo({"--machine", "no-such"}).err.find("hgx-h100"), std::string::npos);
  EXPECT_NE(Topo({"--file", "/no/such/file"}).err.find("/no/such/file"), std::string::npos);
  const std::string wrong = testing::TempDir() + "wrong.xml";
  std::ofstream(wrong) << "<system version=\"1\">\n  <gpu dev=\"x\"/>\n</system>\n";
  EXPECT_NE(Topo({"--file", wrong}).err.find("wrong.xml:2:3"), std::string::npos) << Topo({"--file", wrong}).err;
  EXPECT_EQ(Topo({"--machine", "ndv5", "--host", "3"}).exit, kExitUsage);
  EXPECT_EQ(Topo({"--machine", "ndv5", "--file", wrong}).exit, kExitUsage);
  EXPECT_EQ(Topo({"--machine", "ndv5", "--svg", "/no/such/folder/x.svg"}).exit, kExitFailed);
}

TEST(TopoCommand, ThisHostHasATree) {
  const Said said = Topo({"--tree"});
  EXPECT_EQ(said.exit, kExitOk) << said.err;
  EXPECT_NE(said.out.find("NUMA node"), std::string::npos);
}

}  // namespace
}  // namespace tutti::tools
