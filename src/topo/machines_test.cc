// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/named_machines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "topo/findings.h"
#include "topo/policy.h"

namespace tutti::topo {
namespace {

using enum PathType;

using Types = std::function<PathType(int gpu, int other)>;
using Choice = std::function<int(int gpu, int channel)>;

struct Flaw {
  FindingKind kind;
  double expected_gb_per_s, gb_per_s;
};

// What is known of a machine without this program: what `nvidia-smi topo -m` and its makers say, with NODE and PHB being PHB, in terms
// of the numbers of GPUs and ports.
struct Known {
  const char* name;
  int gpus, ports;
  Types between;  // GPUs
  Types to_port;
  Choice port;              // that a GPU uses for a channel
  double nearest_gb_per_s;  // from GPU 0 to the fastest other GPU, 0: there is none
  std::vector<Flaw> flaws;
};

const Types kAllNvLink = [](int, int) { return kNvl; };
const Types kNoPort = [](int, int) { return kDis; };
const Choice kNone = [](int, int) { return -1; };

// One card beside each GPU, four GPUs at a socket.
const Types kOwnCard = [](int gpu, int port) { return gpu == port ? kPix : gpu / 4 == port / 4 ? kPhb : kSys; };
const Choice kOwn = [](int gpu, int) { return gpu; };

// The cube of NVLinks of eight V100: GPUs without a link reach each other through one other GPU.
const Types kCube = [](int a, int b) {
  const std::set<std::pair<int, int>> joined = {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}, {1, 3}, {1, 5}, {2, 3},
                                                {2, 6}, {3, 7}, {4, 5}, {4, 6}, {4, 7}, {5, 6}, {5, 7}, {6, 7}};
  return joined.contains(std::minmax(a, b)) ? kNvl : kNvb;
};
// One card at the first of two sockets with four GPUs each, which hang on the CPU.
const Types kOneCard = [](int gpu, int) { return gpu < 4 ? kPhb : kSys; };
const Choice kFirst = [](int, int) { return 0; };
// Four GPUs at a socket, without NVLinks and switches.
const Types kFourAtASocket = [](int a, int b) { return a / 4 == b / 4 ? kPhb : kSys; };

// Two GPUs and a card below each switch, two switches at a socket.
const Types kCardOfTwo = [](int gpu, int port) { return gpu / 2 == port ? kPix : gpu / 4 == port / 2 ? kPhb : kSys; };
const Choice kOfTwo = [](int gpu, int) { return gpu / 2; };

// GPUs with the cards 2n and 2n + 1, and with 4n to 4n + 3: channels take turns.
const Types kTwoCards = [](int gpu, int port) { return gpu == port / 2 ? kPix : gpu / 4 == port / 8 ? kPhb : kSys; };
const Choice kTwoEach = [](int gpu, int channel) { return 2 * gpu + channel % 2; };

// Long because it is a table.
const std::vector<Known>& Machines() {
  using enum FindingKind;
  static const std::vector<Known> kMachines = {
      {"hgx-h100", 8, 8, kAllNvLink, kOwnCard, kOwn, 370.8, {}},
      {"hgx-h200", 8, 8, kAllNvLink, kOwnCard, kOwn, 370.8, {}},
      {"hgx-b200", 8, 8, kAllNvLink, kOwnCard, kOwn, 721.8, {}},
      // GPUs 2n and 2n + 1 share the cards 2n and 2n + 1 of their tree; all trees are at NUMA nodes of their own.
      {"dgx-a100",
       8,
       8,
       kAllNvLink,
       [](int gpu, int port) { return gpu / 2 == port / 2 ? kPxb : kSys; },
       kOwn,
       240,
       {}},
      {"dgx-1", 8, 4, kCube, kCardOfTwo, kOfTwo, 40, {}},
      {"dgx-2",
       16,
       8,
       kAllNvLink,
       [](int gpu, int port) {
         if (gpu / 2 == port) return kPix;
         if (gpu / 4 == port / 2) return kPxb;
         return gpu / 8 == port / 4 ? kPhb : kSys;
       },
       kOfTwo,
       120,
       {}},
      // Both cards of a socket are equally far from both of its GPUs, by C2C: they share them.
      {"gb200-nvl72",
       4,
       4,
       kAllNvLink,
       [](int gpu, int port) { return gpu / 2 == port / 2 ? kP2c : kSys; },
       kOwn,
       721.8,
       {}},
      {"gb300-nvl72",
       4,
       4,
       kAllNvLink,
       [](int gpu, int port) { return gpu == port           ? kPix
                                      : gpu / 2 == port / 2 ? kPhb
                                                            : kSys; },
       kOwn,
       721.8,
       {}},
      {"gh200-quad", 4, 4, kAllNvLink, [](int gpu, int port) { return gpu == port ? kP2c : kSys; }, kOwn, 123.6, {}},
      // 3 GB/s: PCI of the first generation with 16 lanes. 12: of the fifth with 4, for a port of 25.
      {"dgx-spark",
       1,
       2,
       kAllNvLink,
       [](int, int) { return kP2c; },
       [](int, int channel) { return channel % 2; },
       0,
       {{kPciSlowNow, 48, 3}, {kNicStarved, 25, 12}, {kNoGpuDirect, 25, 12}}},
      {"p3dn", 8, 1, kCube, kOneCard, kFirst, 40, {{kFewNics, 100, 12.5}, {kNoGpuDirect, 12.5, 12}}},
      {"p4d", 8, 4, kAllNvLink, kCardOfTwo, kOfTwo, 240, {{kPciSlowAtBest, 24, 12}}},
      {"p5",
       8,
       32,
       kAllNvLink,
       [](int gpu, int port) { return gpu == port / 4        ? kPix
                                      : gpu / 4 == port / 16 ? kPhb
                                                             : kSys; },
       [](int gpu, int channel) { return 4 * gpu + channel % 4; },
       370.8,
       {}},
      {"p5en", 8, 16, kAllNvLink, kTwoCards, kTwoEach, 370.8, {}},
      {"p6-b200", 8, 8, kAllNvLink, kOwnCard, kOwn, 721.8, {}},
      {"p6-b300", 8, 16, kAllNvLink, kTwoCards, kTwoEach, 721.8, {}},
      {"g5",
       8,
       1,
       kFourAtASocket,
       kOneCard,
       kFirst,
       12,
       {{kPciSlowAtBest, 24, 12}, {kFewNics, 100, 12.5}, {kNoGpuDirect, 12.5, 12}, {kNoPeerToPeer, 12, 12}}},
      {"ndv2", 8, 1, kCube, kOneCard, kFirst, 40, {{kFewNics, 100, 12.5}, {kNoGpuDirect, 12.5, 12.5}}},
      {"ndv4", 8, 8, kAllNvLink, [](int gpu, int port) { return gpu / 2 == port / 2 ? kPix : kSys; }, kOwn, 240, {}},
      {"ndv5", 8, 8, kAllNvLink, kOwnCard, kOwn, 370.8, {}},
      {"ncv4",
       4,
       1,
       [](int a, int b) { return a / 2 == b / 2 ? kNvl : kSys; },
       [](int gpu, int) { return gpu == 0 ? kPhb : kSys; },
       kFirst,
       240,
       {{kPciSlowAtBest, 24, 12}, {kFewNics, 50, 12.5}, {kNoGpuDirect, 12.5, 12}, {kNoPeerToPeer, 12, 12}}},
      // GPUs 1 and 2 have the cards 0 and 1. The others send through either of them, in turns.
      {"a100-quad",
       4,
       2,
       kAllNvLink,
       [](int gpu, int port) { return gpu == port + 1 ? kPix : kSys; },
       [](int gpu, int channel) { return gpu == 1   ? 0
                                         : gpu == 2 ? 1
                                                    : channel % 2; },
       80,
       {}},
      {"a100-pex88096",
       8,
       4,
       kAllNvLink,
       [](int gpu, int port) { return gpu / 2 == port       ? kPxb
                                      : gpu / 4 == port / 2 ? kPhb
                                                            : kSys; },
       kOfTwo,
       240,
       {}},
      {"nv12-pairs",
       4,
       1,
       [](int a, int b) { return a / 2 == b / 2 ? kNvl : kSys; },
       [](int gpu, int) { return gpu < 2 ? kPhb : kSys; },
       kFirst,
       240,
       {{kFewNics, 100, 25}, {kNoGpuDirect, 25, 24}, {kNoPeerToPeer, 10, 10}}},
      // Every second GPU has a card. The others send by NVLink through those that have, with all four cards in turns.
      {"hgx-h100-4-nics",
       8,
       4,
       kAllNvLink,
       [](int gpu, int port) { return gpu == 2 * port       ? kPix
                                      : gpu / 4 == port / 2 ? kPhb
                                                            : kSys; },
       [](int gpu, int channel) { return gpu % 2 == 0 ? gpu / 2 : channel % 4; },
       370.8,
       {}},
      {"one-gpu-four-nics",
       1,
       4,
       kAllNvLink,
       [](int, int port) { return port == 0   ? kPix
                                  : port == 1 ? kPhb
                                              : kSys; },
       kFirst,
       0,
       {{kNicRemote, 50, 22}, {kNoGpuDirect, 50, 48}, {kNoGpuDirect, 50, 22}}},
      {"l40s-x8",
       8,
       2,
       [](int a, int b) { return a / 4 == b / 4 ? kPix : kSys; },
       [](int gpu, int port) { return gpu / 4 == port ? kPix : kSys; },
       [](int gpu, int) { return gpu / 4; },
       24,
       {{kFewNics, 400, 100}, {kNoPeerToPeer, 22, 22}}},
      {"rtx-4090-x8",
       8,
       1,
       kFourAtASocket,
       kOneCard,
       kFirst,
       24,
       {{kFewNics, 100, 12.5}, {kNoGpuDirect, 12.5, 12.5}, {kNoPeerToPeer, 24, 24}}},
      {"rtx-pro-6000-x8",
       8,
       0,
       [](int a, int b) { return a / 2 == b / 2   ? kPix
                                 : a / 4 == b / 4 ? kPhb
                                                  : kSys; },
       kNoPort,
       kNone,
       48,
       {{kNoPeerToPeer, 48, 48}}},
      // All GPUs and cards look alike: the cards are spread over the GPUs, with the bits of their numbers reversed.
      {"hgx-h200-vm",
       8,
       8,
       kAllNvLink,
       [](int, int) { return kPhb; },
       [](int gpu, int) { return std::array{0, 4, 2, 6, 1, 5, 3, 7}[static_cast<std::size_t>(gpu)]; },
       370.8,
       {{kPciSlowAtBest, 48, 24}, {kNicStarved, 50, 24}, {kNoGpuDirect, 50, 24}}},
      {"ibm-h100-vm", 8, 8, kAllNvLink, kOwnCard, kOwn, 370.8, {{kPciSlowAtBest, 48, 0.1875}}},
      // Through host memory all cards of a socket are equally far: four GPUs share four cards.
      {"hgx-h100-no-gdr",
       8,
       8,
       kAllNvLink,
       kOwnCard,
       [](int gpu, int) { return std::array{0, 2, 1, 3, 4, 6, 5, 7}[static_cast<std::size_t>(gpu)]; },
       370.8,
       {{kNoGpuDirect, 50, 48}}},
      // GPU 2, whose PCI has 3 GB/s, and GPU 5, whose card has 12.5, send through others' cards.
      {"hgx-h100-bad-links",
       8,
       8,
       kAllNvLink,
       kOwnCard,
       [](int gpu, int channel) {
         return gpu == 2 || gpu == 5 ? std::array{0, 1, 3, 4, 6, 7}[static_cast<std::size_t>(channel) % 6] : gpu;
       },
       370.8,
       {{kNvLinksMissing, 370.8, 103}, {kPciSlowNow, 48, 3}, {kNicsUnequal, 50, 12.5}}},
      // Without its NVLinks GPU 1 has C2C to the neighbour at its CPU, and the socket's 6 GB/s to the others.
      {"gb300-dead-nvlink",
       4,
       1,
       [](int a, int b) { return a != 1 && b != 1 ? kNvl
                                 : a + b == 1     ? kC2c
                                                  : kSys; },
       [](int gpu, int) { return gpu < 2 ? kSys : kP2c; },
       kFirst,
       721.8,
       {{kNvLinksMissing, 721.8, 0}, {kFewNics, 50, 12.5}, {kNoPeerToPeer, 6, 6}}},
  };
  return kMachines;
}

class KnownMachines : public testing::TestWithParam<Known> {};

INSTANTIATE_TEST_SUITE_P(All, KnownMachines, testing::ValuesIn(Machines()), [](const auto& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(KnownMachines, IsAsItIsKnown) {
  const Known& known = GetParam();
  const Result<Machine> machine = FindMachine(known.name);
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  const Result<Graph> graph = BuildGraph(*machine, 1);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const HostPaths paths(*graph, std::array{0});
  ASSERT_EQ(paths.gpus().size(), static_cast<std::size_t>(known.gpus));
  ASSERT_EQ(paths.ports().size(), static_cast<std::size_t>(known.ports));
  double fastest = 0;
  for (const int a : paths.gpus()) {
    const int dev = graph->node(a).gpu()->dev;
    for (const int b : paths.gpus()) {
      const int other = graph->node(b).gpu()->dev;
      const PathType type = a == b ? kLoc : known.between(dev, other);
      EXPECT_EQ(ToString(paths.Direct(a, b).type), ToString(type)) << "GPUs " << dev << " and " << other;
      EXPECT_EQ(paths.PeerToPeer(a, b), type <= kPxb) << "GPUs " << dev << " and " << other;
      if (dev == 0 && a != b) fastest = std::max(fastest, paths.Direct(a, b).gb_per_s);
    }
    for (const int port : paths.ports()) {
      const int number = graph->node(port).port()->dev;
      EXPECT_EQ(ToString(paths.Direct(a, port).type), ToString(known.to_port(dev, number)))
          << "GPU " << dev << ", port " << number;
    }
    for (int channel = 0; channel < 16; ++channel) {
      const std::optional<int> port = paths.PortOf(a, channel);
      EXPECT_EQ(port ? graph->node(*port).port()->dev : -1, known.port(dev, channel))
          << "GPU " << dev << ", channel " << channel;
    }
  }
  EXPECT_NEAR(fastest, known.nearest_gb_per_s, 1e-9);
  const std::vector<Finding> findings = FindingsOf(*graph, 0, paths);
  std::string texts;
  for (const Finding& finding : findings) texts += finding.text + "\n";
  ASSERT_EQ(findings.size(), known.flaws.size()) << texts;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    EXPECT_EQ(ToString(findings[i].kind), ToString(known.flaws[i].kind)) << texts;
    EXPECT_NEAR(findings[i].expected_gb_per_s, known.flaws[i].expected_gb_per_s, 1e-9) << findings[i].text;
    EXPECT_NEAR(findings[i].gb_per_s, known.flaws[i].gb_per_s, 1e-9) << findings[i].text;
  }
}

TEST_P(KnownMachines, CanBeMany) {
  const Known& known = GetParam();
  const Result<Machine> machine = FindMachine(known.name);
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  EXPECT_GT(machine->memory_gb, 0);
  for (const int hosts : {2, 36, 300}) {
    const Result<Graph> graph = BuildGraph(*machine, hosts);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const std::vector<int> ports = graph->All(NodeKind::kPort);
    ASSERT_EQ(ports.size(), static_cast<std::size_t>(known.ports * hosts));
    if (machine->fabric.levels == 0 || ports.empty()) continue;
    // Ports with one number reach each other, from the first host to the last.
    const Paths paths(*graph, ports.front());
    EXPECT_EQ(ToString(paths.type(ports[static_cast<std::size_t>(known.ports * (hosts - 1))])), "NET") << hosts;
  }
}

TEST(NamedMachines, AreAllKnownHere) {
  std::set<std::string_view> known;
  for (const Known& machine : Machines()) known.insert(machine.name);
  for (const NamedMachine& machine : NamedMachines()) {
    EXPECT_TRUE(known.contains(machine.name)) << machine.name;
    EXPECT_LE(std::ranges::count(machine.text, '\n'), 30) << machine.name;
  }
  EXPECT_EQ(NamedMachines().size(), Machines().size());
}

TEST(NamedMachines, AnUnknownNameGetsAllThatThereAre) {
  EXPECT_TRUE(FindMachine("HGX-H100").ok());
  const std::string sentence = FindMachine("hgx-h10").status().message();
  EXPECT_TRUE(
      sentence.starts_with("no machine is called \"hgx-h10\", did you mean hgx-h100?; there are hgx-h100, hgx-h200, "))
      << sentence;
  EXPECT_TRUE(sentence.ends_with(", gb300-dead-nvlink, or write a file of your own")) << sentence;
  EXPECT_FALSE(FindMachine("").ok());
  EXPECT_LT(FindMachine(std::string(5000, 'x')).status().message().size(), 1000u);
}

}  // namespace
}  // namespace tutti::topo
