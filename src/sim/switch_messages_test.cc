// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Values that switches copy and fold: what links carry, how long it takes, and what is said where no switch can do it.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "sim/goal.h"
#include "sim/message_log.h"
#include "sim/plans.h"
#include "sim/routes.h"
#include "sim/simulator.h"
#include "sim/switch_groups.h"
#include "sim/test_machines.h"

namespace tutti::sim {
namespace {

using algo::Algorithm;

constexpr double kRate = 400;       // GB/s of an NVLink
constexpr double kLatencyUs = 0.5;  // of two of them
constexpr double kHopUs = 1, kNetworkHopUs = 3, kLaunchUs = 2, kReadUs = 0.75;
constexpr double kCardRate = 50, kCardLatencyUs = 1;

Options SomeOptions() {
  Options options;
  for (WayCosts& way : options.costs.ways) way = {.hop_us = kHopUs, .network_hop_us = kNetworkHopUs};
  options.costs.launch_us = kLaunchUs;
  options.costs.switches = {.nvlink_share = 1, .network_share = 1, .read_us = kReadUs};
  return options;
}

TestMachine OneHost(int gpus) {
  return MakeTestMachine({.gpus = gpus, .nvlink_gb_per_s = kRate, .nvlink_latency_us = kLatencyUs});
}

// Hosts whose network reduces.
TestMachine ManyHosts(TestShape shape) {
  shape.nvlink_gb_per_s = kRate;
  shape.nvlink_latency_us = kLatencyUs;
  TestMachine machine = MakeTestMachine(shape);
  for (const int port : machine.graph.All(topo::NodeKind::kPort)) {
    std::get_if<topo::Port>(&machine.graph.node(port).is)->collectives = true;
  }
  return machine;
}

Job JobOf(int ranks, Operation operation) {
  Job job;
  job.communicators.emplace_back().ranks.resize(static_cast<std::size_t>(ranks));
  std::iota(job.communicators[0].ranks.begin(), job.communicators[0].ranks.end(), 0);
  operation.name = "operation";
  AddOperation(operation, job);
  return job;
}

Job JobOf(Algorithm algorithm, Collective collective, const algo::Hosts& hosts, std::uint64_t bytes, int channels = 1,
          std::uint64_t chunk_bytes = 0) {
  return JobOf(hosts.ranks(), {.plans = std::make_shared<RegistryPlans>(algorithm, collective, hosts),
                               .bytes = bytes,
                               .channels = channels,
                               .chunk_bytes = chunk_bytes});
}

Outcome Simulated(const Job& job, const TestMachine& machine, const Options& options = SomeOptions()) {
  const Result<Outcome> outcome = Simulate(job, machine.machine(), options);
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  return outcome.ok() ? *outcome : Outcome();
}

double Us(double bytes, double gb_per_s) { return bytes / gb_per_s / 1e3; }

// Of the i-th GPU's NVLink in a machine of one host.
const LinkUse& Up(const Outcome& outcome, int gpu) { return outcome.links[static_cast<std::size_t>(2 * gpu)]; }
const LinkUse& Down(const Outcome& outcome, int gpu) { return outcome.links[static_cast<std::size_t>(2 * gpu + 1)]; }

TEST(SwitchGroups, AreThoseOfPlans) {
  const SwitchGroups nvls(algo::BuildAll(Algorithm::kNvls, Collective::kAllReduce, 3));
  const std::vector<std::int32_t> all = {0, 1, 2};
  // Steps of rank 1: offers to ranks 2, 0 and 1, the reading and its multicast, two arrivals.
  EXPECT_TRUE(nvls.Of(1, 4).empty());
  ASSERT_EQ(nvls.Of(1, 3).size(), 1u);
  const SwitchGroup& multicast = nvls.group(nvls.Of(1, 3)[0]);
  EXPECT_FALSE(multicast.folds);
  EXPECT_TRUE(multicast.comes_back);
  EXPECT_EQ(multicast.from, std::vector<std::int32_t>{1});
  EXPECT_EQ(multicast.to, all);
  const SwitchGroup& offer = nvls.group(nvls.Of(1, 1)[0]);
  EXPECT_TRUE(offer.folds);
  EXPECT_EQ(offer.from, all);
  EXPECT_EQ(offer.to, std::vector<std::int32_t>{0});
  EXPECT_EQ(nvls.Of(0, 2)[0], nvls.Of(1, 1)[0]);  // rank 0's own offer to itself
  EXPECT_NE(nvls.Of(1, 2)[0], nvls.Of(1, 1)[0]);

  const SwitchGroups sharp(algo::BuildAll(Algorithm::kSharp, Collective::kAllReduce, 3));
  for (const int rank : {0, 1, 2}) EXPECT_EQ(sharp.Of(rank, 0)[0], sharp.Of(0, 0)[0]);
  EXPECT_EQ(sharp.group(sharp.Of(0, 0)[0]).from, all);
  EXPECT_EQ(sharp.group(sharp.Of(0, 0)[0]).to, all);
}

TEST(Switches, AMulticastIsOnTheSendersLinkOnce) {
  const TestMachine machine = OneHost(4);
  const Job job = JobOf(Algorithm::kNvls, Collective::kBroadcast, 4, 4000000);
  const Outcome outcome = Simulated(job, machine);
  EXPECT_TRUE(outcome.stuck.ok()) << outcome.stuck.message();
  EXPECT_NEAR(ToUs(outcome.end), kLaunchUs + Us(4e6, kRate) + kLatencyUs + kHopUs, 1e-5);
  EXPECT_EQ(outcome.messages, 1u);
  for (const int gpu : {0, 1, 2, 3}) {
    EXPECT_EQ(Down(outcome, gpu).bytes, 4000000u) << gpu;  // the sender's own copy, too
    EXPECT_EQ(Up(outcome, gpu).bytes, gpu == 0 ? 4000000u : 0u) << gpu;
  }
  EXPECT_NEAR(ToUs(outcome.rank_end[0]), kLaunchUs + Us(4e6, kRate),
              1e-5);  // the sender is done when all is on its link
}

TEST(Switches, AReadingIsOnTheReadersLinkOnce) {
  const TestMachine machine = OneHost(4);
  const Outcome outcome = Simulated(JobOf(Algorithm::kNvls, Collective::kReduce, 4, 4000000), machine);
  EXPECT_TRUE(outcome.stuck.ok()) << outcome.stuck.message();
  EXPECT_NEAR(ToUs(outcome.end), kLaunchUs + Us(4e6, kRate) + kLatencyUs + kHopUs + kReadUs, 1e-5);
  EXPECT_EQ(outcome.messages, 4u);
  for (const int gpu : {0, 1, 2, 3}) {
    EXPECT_EQ(Up(outcome, gpu).bytes, 4000000u) << gpu;
    EXPECT_EQ(Down(outcome, gpu).bytes, gpu == 0 ? 4000000u : 0u) << gpu;
  }
}

// The switch waits for who is late, and a slow link for all.
TEST(Switches, AReadingWaitsForAllOffers) {
  const TestMachine machine = OneHost(4);
  const Job job = JobOf(Algorithm::kNvls, Collective::kReduce, 4, 4000000);
  Options options = SomeOptions();
  options.late = {{.rank = 2, .late_us = 100}};
  const double alone = kLaunchUs + Us(4e6, kRate) + kLatencyUs + kHopUs + kReadUs;
  EXPECT_NEAR(ToUs(Simulated(job, machine, options).end), 100 + alone, 1e-5);
  options.late.clear();
  options.faults = {{.link = 3, .factor = 0.25}};
  EXPECT_NEAR(ToUs(Simulated(job, machine, options).end), alone + Us(4e6, kRate / 4) - Us(4e6, kRate), 1e-5);
}

TEST(Switches, LinksCarryWhatPlansSay) {
  for (int ranks = 2; ranks <= 17; ++ranks) {
    const TestMachine machine = OneHost(ranks);
    for (const auto& [bytes, channels, chunk] :
         {std::tuple(std::uint64_t{1} << 20, 1, std::uint64_t{0}), {1 << 20, 3, 4096}, {16 * 37, 2, 16}, {16, 1, 0}}) {
      const Outcome outcome =
          Simulated(JobOf(Algorithm::kNvls, Collective::kAllReduce, ranks, bytes, channels, chunk), machine);
      EXPECT_TRUE(outcome.stuck.ok()) << outcome.stuck.message();
      std::uint64_t up = 0, down = 0;
      for (int gpu = 0; gpu < ranks; ++gpu) {
        EXPECT_EQ(Up(outcome, gpu).bytes, Down(outcome, gpu).bytes);  // all, and its own part
        EXPECT_GE(Up(outcome, gpu).bytes, bytes);
        up += Up(outcome, gpu).bytes;
        down += Down(outcome, gpu).bytes;
      }
      const std::uint64_t all = (static_cast<std::uint64_t>(ranks) + 1) * bytes;
      EXPECT_EQ(up, all) << ranks << " ranks, " << bytes << " bytes";
      EXPECT_EQ(down, all);
    }
    const std::uint64_t share = 65536;
    const Outcome gather = Simulated(JobOf(Algorithm::kNvls, Collective::kAllGather, ranks, share, 2, 4096), machine);
    const Outcome scatter =
        Simulated(JobOf(Algorithm::kNvls, Collective::kReduceScatter, ranks, share, 2, 4096), machine);
    for (int gpu = 0; gpu < ranks; ++gpu) {
      EXPECT_EQ(Up(gather, gpu).bytes, share);
      EXPECT_EQ(Down(gather, gpu).bytes, share * static_cast<std::uint64_t>(ranks));
      EXPECT_EQ(Up(scatter, gpu).bytes, share * static_cast<std::uint64_t>(ranks));
      EXPECT_EQ(Down(scatter, gpu).bytes, share);
    }
  }
}

// S (1 + 1/n) on each link, where there are enough messages to hide latencies.
TEST(Switches, LargeAllReducesAreBoundByLinks) {
  for (const int ranks : {4, 8, 16}) {
    const TestMachine machine = OneHost(ranks);
    const double bytes = 1 << 30;
    Options options = SomeOptions();
    options.costs.link_messages = 8;
    const Job job = JobOf(Algorithm::kNvls, Collective::kAllReduce, ranks, 1 << 30, 8, 256 << 10);
    const double ideal = Us(bytes * (1 + 1.0 / ranks), kRate);
    const double time = ToUs(Simulated(job, machine, options).end);
    EXPECT_GT(time, ideal);
    EXPECT_LT(time, ideal * 1.08) << ranks;
    options.costs.switches.nvlink_share = 0.5;
    EXPECT_NEAR(ToUs(Simulated(job, machine, options).end) / time, 2, 0.05);
  }
}

// One trip: up a tree in which every link carries the vector once, and down.
TEST(Switches, NetworkSwitchesFoldOnTheWay) {
  const TestMachine machine = ManyHosts({.hosts = 8, .gpus = 1, .hosts_per_leaf = 2, .spines = 2});
  const std::vector<int> sizes(8, 1);
  const std::uint64_t bytes = 1 << 20;
  for (const std::uint64_t seed : {1, 2, 3}) {
    Options options = SomeOptions();
    options.routing.seed = seed;
    const Outcome outcome = Simulated(
        JobOf(Algorithm::kSharp, Collective::kAllReduce, algo::Hosts::OfSizes(sizes), bytes), machine, options);
    EXPECT_TRUE(outcome.stuck.ok()) << outcome.stuck.message();
    EXPECT_NEAR(ToUs(outcome.end),
                kLaunchUs + Us(static_cast<double>(bytes), kCardRate) + kCardLatencyUs + kNetworkHopUs, 0.01);
    EXPECT_EQ(outcome.messages, 8u);
    const auto use = [&](int link, int direction) {
      return outcome.links[static_cast<std::size_t>(2 * link + direction)].bytes;
    };
    for (const int cable : machine.cables) {
      EXPECT_EQ(use(cable, 0), bytes);
      EXPECT_EQ(use(cable, 1), bytes);
    }
    // Four leaves with a link each to the spine that is the root; the other spine has none.
    std::vector<std::uint64_t> up, down;
    for (const int uplink : machine.uplinks) {
      up.push_back(use(uplink, 0));
      down.push_back(use(uplink, 1));
    }
    EXPECT_EQ(std::ranges::count(up, bytes), 4);
    EXPECT_EQ(std::ranges::count(up, 0u), 4);
    EXPECT_EQ(up, down);
  }
}

TEST(Switches, MulticastsAndReadingsOfTheNetworkToo) {
  const TestMachine machine = ManyHosts({.hosts = 6, .gpus = 1, .hosts_per_leaf = 2, .spines = 1});
  const std::vector<int> sizes(6, 1);
  const algo::Hosts hosts = algo::Hosts::OfSizes(sizes);
  const std::uint64_t bytes = 1 << 20;
  const Outcome broadcast = Simulated(JobOf(Algorithm::kSharp, Collective::kBroadcast, hosts, bytes), machine);
  const Outcome reduce = Simulated(JobOf(Algorithm::kSharp, Collective::kReduce, hosts, bytes), machine);
  const auto use = [](const Outcome& outcome, int link, int direction) {
    return outcome.links[static_cast<std::size_t>(2 * link + direction)].bytes;
  };
  for (std::size_t i = 0; i < machine.cables.size(); ++i) {
    EXPECT_EQ(use(broadcast, machine.cables[i], 0), i == 0 ? bytes : 0);
    EXPECT_EQ(use(broadcast, machine.cables[i], 1), bytes);
    EXPECT_EQ(use(reduce, machine.cables[i], 0), bytes);
    EXPECT_EQ(use(reduce, machine.cables[i], 1), i == 0 ? bytes : 0);
  }
  for (std::size_t leaf = 0; leaf < machine.uplinks.size(); ++leaf) {
    EXPECT_EQ(use(broadcast, machine.uplinks[leaf], 0), leaf == 0 ? bytes : 0);
    EXPECT_EQ(use(broadcast, machine.uplinks[leaf], 1), bytes);
    EXPECT_EQ(use(reduce, machine.uplinks[leaf], 0), bytes);
    EXPECT_EQ(use(reduce, machine.uplinks[leaf], 1), leaf == 0 ? bytes : 0);
  }
}

TEST(Switches, CardsOfSeveralHostsCarryTheirShare) {
  const std::uint64_t bytes = 1 << 20;
  for (const int count : {2, 4}) {
    const TestMachine machine = ManyHosts({.hosts = count, .gpus = 4, .rails = true});
    const std::vector<int> sizes(static_cast<std::size_t>(count), 4);
    const algo::Hosts hosts = algo::Hosts::OfSizes(sizes);
    for (const Algorithm algorithm : {Algorithm::kNvlsTree, Algorithm::kNvlsSharp, Algorithm::kCollnetDirect}) {
      const Outcome outcome = Simulated(JobOf(algorithm, Collective::kAllReduce, hosts, bytes, 1, 32768), machine);
      EXPECT_TRUE(outcome.stuck.ok()) << outcome.stuck.message();
      for (const int cable : machine.cables) {
        const std::uint64_t sent = outcome.links[static_cast<std::size_t>(2 * cable)].bytes;
        const bool once = algorithm != Algorithm::kNvlsTree || count == 2;
        EXPECT_GE(sent, bytes / (once ? 4 : 8)) << algo::Get(algorithm).name;
        EXPECT_LE(sent, bytes / (once ? 4 : 2)) << algo::Get(algorithm).name;
      }
    }
  }
}

// Every algorithm, with blocks of equal and of unequal sizes, and some without bytes; with ranks that come late in any order, so that
// values of a wire overtake each other.
TEST(Switches, EveryValueOfEveryAlgorithmArrives) {
  int runs = 0;
  for (const std::vector<int>& sizes : {std::vector{1}, {2}, {5}, {8}, {1, 1, 1}, {2, 2}, {4, 4, 4}, {3, 1, 2}}) {
    const algo::Hosts hosts = algo::Hosts::OfSizes(sizes);
    const TestMachine machine =
        ManyHosts({.hosts = static_cast<int>(sizes.size()), .gpus = *std::ranges::max_element(sizes)});
    TestMachine fewer = machine;  // GPUs beyond a host's ranks have none
    fewer.gpus.clear();
    for (std::size_t host = 0; host < sizes.size(); ++host) {
      const auto first = machine.gpus.begin() + static_cast<std::ptrdiff_t>(host) * *std::ranges::max_element(sizes);
      fewer.gpus.insert(fewer.gpus.end(), first, first + sizes[host]);
    }
    for (const algo::Entry& entry : algo::WholeRegistry().subspan(algo::kAlgorithms)) {
      if (entry.algorithm == Algorithm::kNvls && hosts.count() > 1 && hosts.most() > 1)
        continue;  // no NVSwitch joins hosts
      if (entry.algorithm == Algorithm::kSharp && hosts.count() == 1) continue;
      for (int c = 0; c < kCollectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        if (!entry.supports(collective, hosts)) continue;
        for (const std::uint64_t bytes : {std::uint64_t{840} * 16, std::uint64_t{1000}, std::uint64_t{48}}) {
          Options options = SomeOptions();
          for (int rank = 0; rank < hosts.ranks(); ++rank) {
            options.late.push_back(
                {.rank = rank, .late_us = static_cast<double>(Mix(static_cast<std::uint64_t>(rank)) % 30)});
          }
          const Job job =
              JobOf(entry.algorithm, collective, hosts, collective == Collective::kBarrier ? 16 : bytes, 2, 512);
          const Outcome outcome = Simulated(job, fewer, options);
          EXPECT_TRUE(outcome.stuck.ok()) << entry.name << " " << Name(collective) << ": " << outcome.stuck.message();
          EXPECT_EQ(Simulated(job, fewer, options).end, outcome.end);
          ++runs;
        }
      }
    }
  }
  EXPECT_GT(runs, 150);
}

TEST(Switches, ALogHasEachReceiver) {
  const TestMachine machine = OneHost(4);
  MessageLog log(100);
  Options options = SomeOptions();
  options.log = &log;
  Simulated(JobOf(Algorithm::kNvls, Collective::kAllReduce, 4, 4096), machine, options);
  EXPECT_EQ(log.records().size(), 4u + 4 * 3);  // readings and multicasts
}

TEST(Switches, WhatIsNotThereIsSaid) {
  constexpr std::string_view kSentence = "operation: no switch that all ranks of a group reach copies and folds";
  const auto stuck = [](const Job& job, const TestMachine& machine, const Options& options) {
    return std::string(Simulated(job, machine, options).stuck.message());
  };
  const Job nvls = JobOf(Algorithm::kNvls, Collective::kAllReduce, 4, 4096);
  Options ampere = SomeOptions();
  ampere.costs.switches = SwitchCostsOf(80);
  EXPECT_TRUE(stuck(nvls, OneHost(4), ampere).starts_with(kSentence)) << stuck(nvls, OneHost(4), ampere);
  ampere.costs.switches = SwitchCostsOf(90);
  EXPECT_EQ(stuck(nvls, OneHost(4), ampere), "");
  const std::vector<int> sizes = {2, 2};
  const TestMachine plain = MakeTestMachine({.hosts = 2, .gpus = 2});  // a network that does not reduce
  EXPECT_TRUE(stuck(nvls, plain, SomeOptions()).starts_with(kSentence));
  const Job direct = JobOf(Algorithm::kCollnetDirect, Collective::kAllReduce, algo::Hosts::OfSizes(sizes), 4096);
  EXPECT_NE(stuck(direct, plain, SomeOptions()).find("write `reduces` into the fabric line"), std::string::npos);
  TestMachine shared = OneHost(4);
  shared.gpus[3] = shared.gpus[2];
  EXPECT_NE(stuck(nvls, shared, SomeOptions()).find("share a GPU"), std::string::npos);
  Options dead = SomeOptions();
  dead.faults = {{.link = 1, .factor = 0, .from_us = 0}};
  EXPECT_TRUE(stuck(nvls, OneHost(4), dead).starts_with(kSentence));
}

// A link that dies while values are on their way.
TEST(Switches, WhatMeetsADeadLinkIsLost) {
  Options options = SomeOptions();
  options.faults = {{.link = 1, .factor = 0, .from_us = kLaunchUs + 5}};
  const Outcome outcome =
      Simulated(JobOf(Algorithm::kNvls, Collective::kAllReduce, 4, 64 << 20, 1, 512 << 10), OneHost(4), options);
  EXPECT_FALSE(outcome.stuck.ok());
}

TEST(Switches, OtherModelsRefuseThem) {
  const auto plans = std::make_shared<RegistryPlans>(Algorithm::kNvls, Collective::kAllReduce, 4);
  const TestMachine machine = OneHost(4);
  const auto message = [&](const Job& job, const Options& options) {
    const Result<Outcome> outcome = Simulate(job, machine.machine(), options);
    return outcome.ok() ? std::string() : std::string(outcome.status().message());
  };
  const Job lines = JobOf(4, {.plans = plans, .bytes = 4096, .protocol = proto::Protocol::kLl128});
  EXPECT_EQ(message(lines, SomeOptions()),
            "operation operation has values that switches fold or copy, but LL128 puts flags between data, which no "
            "switch can fold; use "
            "Simple");
  Options loggops = SomeOptions();
  loggops.loggops.emplace();
  EXPECT_NE(message(JobOf(4, {.plans = plans, .bytes = 4096}), loggops).find("LogGOPS knows nothing of"),
            std::string::npos);
  const Status goal = WriteGoal({.name = "nvls", .plans = plans, .bytes = 4096}, 4, [](std::string_view) {});
  EXPECT_EQ(goal.message(),
            "nvls has values that switches copy or fold, which GOAL cannot say; choose another algorithm");
}

TEST(SwitchCosts, FollowTheGeneration) {
  EXPECT_EQ(SwitchCostsOf(80).nvlink_share, 0);
  EXPECT_EQ(SwitchCostsOf(0).nvlink_share, 0);
  EXPECT_GT(SwitchCostsOf(90).nvlink_share, SwitchCostsOf(100).nvlink_share);
  EXPECT_GT(SwitchCostsOf(100).nvlink_share, 0);
  EXPECT_GT(SwitchCostsOf(80).network_share, 0);
}

}  // namespace
}  // namespace tutti::sim
