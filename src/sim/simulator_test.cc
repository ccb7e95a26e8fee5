// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "sim/message_log.h"
#include "sim/plans.h"
#include "sim/test_machines.h"

namespace tutti::sim {
namespace {

using algo::Algorithm;

constexpr double kRate = 400;       // GB/s of an NVLink
constexpr double kLatencyUs = 0.5;  // of two of them
constexpr double kHopUs = 1, kNetworkHopUs = 3, kLaunchUs = 2;

Costs SomeCosts() {
  Costs costs;
  for (WayCosts& way : costs.ways) way = {.hop_us = kHopUs, .network_hop_us = kNetworkHopUs};
  costs.launch_us = kLaunchUs;
  return costs;
}

TestMachine OneHost(int gpus) {
  return MakeTestMachine({.gpus = gpus, .nvlink_gb_per_s = kRate, .nvlink_latency_us = kLatencyUs});
}

Job JobOf(int ranks, Operation operation) {
  Job job;
  job.communicators.emplace_back().ranks.resize(static_cast<std::size_t>(ranks));
  std::iota(job.communicators[0].ranks.begin(), job.communicators[0].ranks.end(), 0);
  if (operation.name.empty()) operation.name = "operation";
  AddOperation(operation, job);
  return job;
}

std::shared_ptr<const PlanSource> Plans(Algorithm algorithm, Collective collective, const algo::Hosts& hosts) {
  return std::make_shared<RegistryPlans>(algorithm, collective, hosts);
}

std::shared_ptr<const PlanSource> Transfers(int ranks, std::vector<TransferPlans::Transfer> transfers) {
  return std::make_shared<TransferPlans>(ranks, std::move(transfers));
}

Outcome Simulated(const Job& job, const TestMachine& machine, const Options& options) {
  const Result<Outcome> outcome = Simulate(job, machine.machine(), options);
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  return outcome.ok() ? *outcome : Outcome();
}

double Us(double bytes, double gb_per_s) { return bytes / gb_per_s / 1e3; }

TEST(Simulator, OneMessage) {
  const TestMachine machine = OneHost(2);
  const Job job = JobOf(2, {.plans = Transfers(2, {{.from = 0, .to = 1, .bytes = 4000000}})});
  const Outcome outcome = Simulated(job, machine, {.costs = SomeCosts()});
  EXPECT_NEAR(ToUs(outcome.end), kLaunchUs + Us(4e6, kRate) + kLatencyUs + kHopUs, 1e-5);
  EXPECT_EQ(outcome.messages, 1u);
  EXPECT_EQ(outcome.links[0].bytes, 4000000u);  // GPU 0 to the switch
  EXPECT_EQ(outcome.links[1].bytes, 0u);
  EXPECT_EQ(outcome.links[3].bytes, 4000000u);  // the switch to GPU 1
  EXPECT_EQ(outcome.links[3].busy, FromUs(Us(4e6, kRate)));
  EXPECT_LT(outcome.rank_end[0], outcome.rank_end[1]);  // the sender is done when all is on its link
  EXPECT_NEAR(ToUs(outcome.rank_end[0]), kLaunchUs + Us(4e6, kRate), 1e-5);
}

TEST(Simulator, TwoMessagesShareALink) {
  const TestMachine machine = OneHost(3);
  const Job job = JobOf(
      3, {.plans = Transfers(3, {{.from = 0, .to = 2, .bytes = 4000000}, {.from = 1, .to = 2, .bytes = 4000000}})});
  const Outcome outcome = Simulated(job, machine, {.costs = SomeCosts()});
  EXPECT_NEAR(ToUs(outcome.end), kLaunchUs + 2 * Us(4e6, kRate) + kLatencyUs + kHopUs, 1e-5);
  const Job apart = JobOf(
      3, {.plans = Transfers(3, {{.from = 0, .to = 1, .bytes = 4000000}, {.from = 1, .to = 2, .bytes = 4000000}})});
  EXPECT_NEAR(ToUs(Simulated(apart, machine, {.costs = SomeCosts()}).end),
              kLaunchUs + Us(4e6, kRate) + kLatencyUs + kHopUs, 1e-5);
}

// The tail is as late as the slowest link makes it, wherever on the way that is.
TEST(Simulator, ASlowLinkDecides) {
  for (const int slow : {0, 1}) {
    const TestMachine machine = OneHost(2);
    const Job job = JobOf(2, {.plans = Transfers(2, {{.from = 0, .to = 1, .bytes = 4000000}})});
    const Outcome outcome = Simulated(job, machine, {.costs = SomeCosts(), .faults = {{.link = slow, .factor = 0.25}}});
    EXPECT_NEAR(ToUs(outcome.end), kLaunchUs + Us(4e6, kRate / 4) + kLatencyUs + kHopUs, 1e-5);
    EXPECT_EQ(FindBinding(outcome.links, outcome.end)->arc, slow == 0 ? 0 : 3);
  }
}

TEST(Simulator, CostsOfASender) {
  const TestMachine machine = OneHost(2);
  const Job job = JobOf(2, {.plans = Transfers(2, {{.from = 0, .to = 1, .bytes = 1000000}})});
  Options options{.costs = SomeCosts()};
  WayCosts& way = options.costs.ways[static_cast<int>(proto::Protocol::kSimple)];
  way.write_gb_per_s = 10;  // slower than the link: the last byte leaves when it is written
  EXPECT_NEAR(ToUs(Simulated(job, machine, options).end), kLaunchUs + 100 + kLatencyUs + kHopUs, 1e-5);
  way.write_gb_per_s = 0;
  way.rank_gb_per_s = 20;
  EXPECT_NEAR(ToUs(Simulated(job, machine, options).end), kLaunchUs + 50 + kLatencyUs + kHopUs, 1e-5);
  way.rank_gb_per_s = 0;
  way.step_us = 0.25;  // at both ends
  EXPECT_NEAR(ToUs(Simulated(job, machine, options).end), kLaunchUs + Us(1e6, kRate) + kLatencyUs + kHopUs + 0.5, 1e-5);
  options.costs.finish_us = 1;
  EXPECT_NEAR(ToUs(Simulated(job, machine, options).end), kLaunchUs + Us(1e6, kRate) + kLatencyUs + kHopUs + 1.5, 1e-5);
}

TEST(Simulator, ProtocolsPutMoreOnTheWire) {
  const TestMachine machine = OneHost(2);
  for (const auto& [protocol, wire_bytes] :
       {std::pair(proto::Protocol::kSimple, 480000u), std::pair(proto::Protocol::kLl128, 512000u),
        std::pair(proto::Protocol::kLl, 960000u)}) {
    const Job job = JobOf(2, {.plans = Transfers(2, {{.from = 0, .to = 1, .bytes = 480000}}), .protocol = protocol});
    EXPECT_EQ(Simulated(job, machine, {.costs = SomeCosts()}).links[0].bytes, wire_bytes);
  }
}

// 2 (n - 1) hops of a block.
TEST(Simulator, RingIsItsClosedForm) {
  for (const int ranks : {2, 3, 8, 16}) {
    const TestMachine machine = OneHost(ranks);
    const std::uint64_t block = 1 << 20;
    const Job job = JobOf(ranks, {.plans = Plans(Algorithm::kRing, Collective::kAllReduce, ranks),
                                  .bytes = block * static_cast<std::uint64_t>(ranks)});
    const double hop = Us(static_cast<double>(block), kRate) + kLatencyUs + kHopUs;
    EXPECT_NEAR(ToUs(Simulated(job, machine, {.costs = SomeCosts()}).end), kLaunchUs + 2 * (ranks - 1) * hop, 1e-3);
  }
}

// Blocks cut into many messages hide hops: what remains is the time of a rank's bytes on its link.
TEST(Simulator, ChunksOfARingOverlap) {
  const TestMachine machine = OneHost(8);
  const double bytes = 1 << 30;
  Options options{.costs = SomeCosts()};
  options.costs.link_messages = 8;
  Job job = JobOf(8, {.plans = Plans(Algorithm::kRing, Collective::kAllReduce, 8),
                      .bytes = 1 << 30,
                      .channels = 8,
                      .chunk_bytes = 512 << 10});
  const double ideal = Us(bytes * 14 / 8, kRate);
  const double time = ToUs(Simulated(job, machine, options).end);
  EXPECT_GT(time, ideal);
  EXPECT_LT(time, ideal * 1.01);
  // A link that holds one message makes every one of them wait for the answer to the one before.
  options.costs.link_messages = 1;
  job.operations[0].channels = 1;
  EXPECT_GT(ToUs(Simulated(job, machine, options).end), 1.5 * ideal);
}

// Up and down a full tree: every level waits for two messages in the same link.
TEST(Simulator, TreeIsItsClosedForm) {
  for (const int levels : {1, 2, 3, 4}) {
    const int ranks = (2 << levels) - 1;
    const TestMachine machine = OneHost(ranks);
    const Job job = JobOf(ranks, {.plans = Plans(Algorithm::kTree, Collective::kAllReduce, ranks), .bytes = 1 << 20});
    const double level = 2 * Us(1 << 20, kRate) + kLatencyUs + kHopUs;
    EXPECT_NEAR(ToUs(Simulated(job, machine, {.costs = SomeCosts()}).end), kLaunchUs + 2 * levels * level, 1e-3);
  }
}

// As many bytes as a ring in 2 log2(n) hops, where what is ready together is sent together.
TEST(Simulator, HalvingDoublingIsItsClosedForm) {
  for (const int bits : {1, 2, 3, 5}) {
    const int ranks = 1 << bits;
    const TestMachine machine = OneHost(ranks);
    const std::uint64_t block = 1 << 20;
    Job job = JobOf(ranks, {.plans = Plans(Algorithm::kHalvingDoubling, Collective::kAllReduce, ranks),
                            .bytes = block * static_cast<std::uint64_t>(ranks),
                            .merge = Merge::kTogether});
    const double closed =
        kLaunchUs + 2 * ((ranks - 1) * Us(static_cast<double>(block), kRate) + bits * (kLatencyUs + kHopUs));
    const Outcome merged = Simulated(job, machine, {.costs = SomeCosts()});
    EXPECT_NEAR(ToUs(merged.end), closed, 1e-3);
    job.operations[0].merge = Merge::kNo;
    const Outcome single = Simulated(job, machine, {.costs = SomeCosts()});
    EXPECT_NEAR(ToUs(single.end), closed, closed / 3);
    EXPECT_EQ(merged.messages, static_cast<std::uint64_t>(2 * bits * ranks));
    EXPECT_LE(merged.messages, single.messages);
    EXPECT_EQ(merged.links[0].bytes, single.links[0].bytes);
  }
}

// Whatever the number of ranks, nobody waits for ever and as many bytes come out of each.
TEST(Simulator, MergedMessagesCarryTheSame) {
  for (const Algorithm algorithm : {Algorithm::kHalvingDoubling, Algorithm::kPat, Algorithm::kPairwise}) {
    for (const Collective collective :
         {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather, Collective::kAllToAll}) {
      if (!algo::Get(algorithm).supports(collective, algo::Hosts(2))) continue;
      for (const int ranks : {2, 3, 5, 6, 7, 12, 24}) {
        const TestMachine machine = OneHost(ranks);
        Job job = JobOf(ranks, {.plans = Plans(algorithm, collective, ranks),
                                .bytes = std::uint64_t{4096} * static_cast<std::uint64_t>(ranks),
                                .merge = Merge::kTogether});
        const Outcome merged = Simulated(job, machine, {.costs = SomeCosts()});
        job.operations[0].merge = Merge::kNo;
        const Outcome single = Simulated(job, machine, {.costs = SomeCosts()});
        EXPECT_LE(merged.messages, single.messages) << ranks;
        for (std::size_t i = 0; i < single.links.size(); ++i) {
          EXPECT_EQ(merged.links[i].bytes, single.links[i].bytes) << ranks;
        }
      }
    }
  }
}

// All send to the next one, then to the one after that, and so on: no two messages want the same link at the same time.
TEST(Simulator, AllToAllOnASwitch) {
  const TestMachine machine = MakeTestMachine({.hosts = 16, .gpus = 1});
  const std::uint64_t block = 1 << 20;
  const Job job = JobOf(16, {.plans = Plans(Algorithm::kOneShot, Collective::kAllToAll, 16), .bytes = block});
  const Outcome outcome = Simulated(job, machine, {.costs = SomeCosts()});
  EXPECT_NEAR(ToUs(outcome.end), kLaunchUs + 15 * Us(static_cast<double>(block), 50) + 1 + kNetworkHopUs, 1e-3);
  EXPECT_NEAR(FindBinding(outcome.links, outcome.end)->share, 1, 0.05);
}

TEST(Simulator, ASlowCableSlowsAllOfARing) {
  const TestMachine machine = MakeTestMachine({.hosts = 4, .gpus = 1});
  const Job job = JobOf(4, {.plans = Plans(Algorithm::kRing, Collective::kAllReduce, 4), .bytes = 256 << 20});
  Options options{.costs = SomeCosts()};
  const Outcome whole = Simulated(job, machine, options);
  options.faults = {{.link = machine.cables[2], .factor = 0.1}};
  const Outcome broken = Simulated(job, machine, options);
  EXPECT_NEAR(static_cast<double>(broken.end) / static_cast<double>(whole.end), 10, 0.2);
  EXPECT_EQ(FindBinding(broken.links, broken.end)->arc / 2, machine.cables[2]);
  options.faults[0].from_us = ToUs(whole.end) / 2;  // half of the hops are done by then
  const Outcome late = Simulated(job, machine, options);
  EXPECT_NEAR(static_cast<double>(late.end) / static_cast<double>(whole.end), 5.5, 0.2);
}

TEST(Simulator, AMessageWithoutAWayIsSaid) {
  const TestMachine machine = MakeTestMachine({.hosts = 2, .gpus = 1});
  const Job job =
      JobOf(2, {.name = "all_reduce", .plans = Plans(Algorithm::kRing, Collective::kAllReduce, 2), .bytes = 1 << 20});
  const Outcome outcome = Simulated(
      job, machine, {.costs = SomeCosts(), .faults = {{.link = machine.cables[1], .factor = 0, .from_us = 3}}});
  EXPECT_FALSE(outcome.stuck.ok());
  EXPECT_NE(outcome.stuck.message().find("no link leads on from rank"), std::string::npos) << outcome.stuck.message();
  EXPECT_NE(outcome.stuck.message().find("waits in all_reduce"), std::string::npos) << outcome.stuck.message();
  EXPECT_EQ(outcome.operations[0].end, kNever);
}

TEST(Simulator, ADeadLinkIsGoneAround) {
  const TestMachine machine =
      MakeTestMachine({.hosts = 4, .gpus = 1, .nic_latency_us = 80, .hosts_per_leaf = 2, .spines = 2});
  const Job job = JobOf(
      4, {.plans = Plans(Algorithm::kRing, Collective::kAllReduce, 4), .bytes = 64 << 20, .chunk_bytes = 1 << 20});
  Options options{.costs = SomeCosts()};
  options.faults = {{.link = machine.uplinks[0], .factor = 0, .from_us = 120}};
  options.costs.resend_us = 500;
  std::uint64_t resent = 0;
  for (options.routing.seed = 1; options.routing.seed <= 8; ++options.routing.seed) {
    const Outcome outcome = Simulated(job, machine, options);
    EXPECT_TRUE(outcome.stuck.ok()) << outcome.stuck.message();
    resent += outcome.resent;
    // All that it carried was before its end.
    EXPECT_LE(ToUs(outcome.links[static_cast<std::size_t>(machine.uplinks[0]) * 2].busy), 120 + 21);
  }
  EXPECT_GT(resent, 0u);
}

// A block of the late rank's has to go all the way round.
TEST(Simulator, ALateRankMakesAllWait) {
  const TestMachine machine = OneHost(8);
  const Job job = JobOf(8, {.plans = Plans(Algorithm::kRing, Collective::kAllReduce, 8), .bytes = 8 << 20});
  Options options{.costs = SomeCosts()};
  const Outcome in_time = Simulated(job, machine, options);
  options.late = {{.rank = 3, .late_us = 1000}};
  const Outcome late = Simulated(job, machine, options);
  EXPECT_EQ(late.end, in_time.end + FromUs(1000));
  EXPECT_EQ(late.last_start[0], FromUs(1000));
  EXPECT_EQ(late.operations[0].start, 0);
}

TEST(Simulator, TheSameInputsGiveTheSameRun) {
  const TestMachine machine = MakeTestMachine({.hosts = 8, .gpus = 4, .hosts_per_leaf = 2, .spines = 4});
  const Job job = JobOf(32, {.plans = Plans(Algorithm::kHalvingDoubling, Collective::kAllReduce, 32),
                             .bytes = 10000000,
                             .channels = 3,
                             .chunk_bytes = 100000});
  for (const Routing routing : {Routing::kHash, Routing::kAdaptive}) {
    Options options{.costs = SomeCosts()};
    options.routing.routing = routing;
    options.routing.seed = 7;
    MessageLog first_log(100000), second_log(100000);
    options.log = &first_log;
    const Outcome first = Simulated(job, machine, options);
    options.log = &second_log;
    const Outcome second = Simulated(job, machine, options);
    EXPECT_TRUE(first.stuck.ok());
    EXPECT_EQ(first.end, second.end);
    EXPECT_EQ(first.events, second.events);
    ASSERT_EQ(first_log.records().size(), first.messages);
    EXPECT_TRUE(std::ranges::equal(first_log.records(), second_log.records(),
                                   [](const MessageRecord& a, const MessageRecord& b) {
                                     return a.arrived == b.arrived && a.from == b.from && a.to == b.to;
                                   }));
    if (routing == Routing::kAdaptive) continue;
    options.routing.seed = 8;
    EXPECT_NE(Simulated(job, machine, options).end, first.end);
  }
}

// Every algorithm of the registry, with blocks of equal and of unequal sizes, and some without bytes.
TEST(Simulator, EveryMessageOfEveryAlgorithmArrives) {
  const std::vector<int> sizes = {3, 2, 3};
  for (const algo::Hosts& hosts : {algo::Hosts(1), algo::Hosts(2), algo::Hosts(5), algo::Hosts(8),
                                   algo::Hosts::OfSizes(sizes), algo::Hosts::OfSizes(std::vector<int>{2, 2, 2, 2})}) {
    const TestMachine machine = OneHost(hosts.ranks());
    for (const algo::Entry& entry : algo::Registry()) {
      for (int c = 0; c < kCollectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        if (!entry.supports(collective, hosts)) continue;
        const std::vector<plan::RankPlan> plans = algo::BuildAll(entry.algorithm, collective, hosts);
        for (const std::uint64_t bytes : {std::uint64_t{96}, std::uint64_t{840 * 16}, std::uint64_t{100000}}) {
          const Job job = JobOf(hosts.ranks(), {.plans = Plans(entry.algorithm, collective, hosts),
                                                .bytes = collective == Collective::kBarrier ? 16 : bytes,
                                                .channels = 2,
                                                .chunk_bytes = 2048});
          const Outcome outcome = Simulated(job, machine, {.costs = SomeCosts()});
          EXPECT_TRUE(outcome.stuck.ok()) << entry.name << " " << Name(collective) << ": " << outcome.stuck.message();
          std::uint64_t sends = 0;
          for (const plan::RankPlan& plan : plans) {
            for (int i = 0; i < plan.step_count(); ++i) sends += plan.step(i).to.size();
          }
          const bool all_have_bytes = bytes == 840 * 16 && collective != Collective::kBarrier;
          EXPECT_GE(outcome.messages, all_have_bytes ? 2 * sends : std::min(sends, std::uint64_t{1}));
        }
      }
    }
  }
}

// One program for all ranks and one for each are the same run.
TEST(Simulator, SharedProgramsAreThoseOfTheirRanks) {
  class WithoutPeriod : public RegistryPlans {
   public:
    using RegistryPlans::RegistryPlans;
    int Period(int) const override { return 0; }
  };
  const algo::Hosts hosts = algo::Hosts::OfSizes(std::vector<int>{4, 4, 4});
  const TestMachine machine = MakeTestMachine({.hosts = 3, .gpus = 4});
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kTwoShot, Algorithm::kHalvingDoubling,
                                    Algorithm::kHierRing, Algorithm::kHierTwoShot, Algorithm::kHierHalvingDoubling}) {
    const Operation operation{.bytes = 12 * 65536, .channels = 2, .chunk_bytes = 1000};
    Operation shared = operation, own = operation;
    shared.plans = Plans(algorithm, Collective::kAllReduce, hosts);
    own.plans = std::make_shared<WithoutPeriod>(algorithm, Collective::kAllReduce, hosts);
    ASSERT_GT(shared.plans->Period(0), 0);
    const Outcome a = Simulated(JobOf(12, shared), machine, {.costs = SomeCosts()});
    const Outcome b = Simulated(JobOf(12, own), machine, {.costs = SomeCosts()});
    EXPECT_TRUE(a.stuck.ok());
    EXPECT_EQ(a.end, b.end) << algo::Get(algorithm).name;
    EXPECT_EQ(a.rank_end, b.rank_end);
    EXPECT_EQ(a.messages, b.messages);
  }
}

// Rings that enter and leave hosts at all of their GPUs use all NICs; those in the order of ranks use one.
TEST(Simulator, TurnedRingsUseAllNics) {
  const TestMachine machine = MakeTestMachine({.hosts = 2, .gpus = 4, .nvlink_gb_per_s = 4000, .nic_latency_us = 0});
  const algo::Hosts hosts = algo::Hosts::OfSizes(std::vector<int>{4, 4});
  Options options;
  options.costs.link_messages = 8;
  const auto busbw = [&](Order order) {
    const auto plans = std::make_shared<RegistryPlans>(Algorithm::kRing, Collective::kAllReduce, hosts, 0, order);
    const Job job = JobOf(8, {.plans = plans, .bytes = 256 << 20, .channels = 8, .chunk_bytes = 256 << 10});
    return (256 << 20) * 2.0 * 7 / 8 / ToUs(Simulated(job, machine, options).end) / 1e3;
  };
  // Both directions of a NIC of 50 GB/s work for both directions of rings.
  EXPECT_NEAR(busbw(Order::kByRank), 2 * 50, 10);
  EXPECT_NEAR(busbw(Order::kTurnedInHosts), 4 * 50, 20);
}

TEST(Simulator, StreamsOverlapAndTasksWait) {
  const TestMachine machine = OneHost(2);
  Job job;
  job.communicators = {{.ranks = {0, 1}}};
  const Operation operation{
      .name = "all_reduce", .plans = Plans(Algorithm::kRing, Collective::kAllReduce, 2), .bytes = 1 << 20};
  job.operations = {operation, operation};
  for (const int rank : {0, 1}) {
    const int first = static_cast<int>(job.tasks.size());
    job.tasks.push_back({.rank = rank, .stream = 0, .compute_us = 10});
    job.tasks.push_back({.rank = rank, .stream = 1, .operation = 0, .after = {first}});
    job.tasks.push_back({.rank = rank, .stream = 0, .compute_us = 100});
    job.tasks.push_back({.rank = rank, .stream = 1, .operation = 1});
    job.tasks.push_back({.rank = rank, .stream = 0, .compute_us = 1, .after = {first + 3}});
  }
  const Outcome outcome = Simulated(job, machine, {.costs = SomeCosts()});
  const double alone = ToUs(Simulated(JobOf(2, operation), machine, {.costs = SomeCosts()}).end);
  EXPECT_EQ(outcome.tasks[2].start, FromUs(10));
  EXPECT_EQ(outcome.operations[0].start, FromUs(10));
  EXPECT_NEAR(ToUs(outcome.operations[0].end), 10 + alone, 1e-3);
  EXPECT_EQ(outcome.operations[1].start, outcome.operations[0].end);
  EXPECT_EQ(outcome.tasks[4].start, FromUs(110));  // both are over by then
  EXPECT_EQ(outcome.end, FromUs(111));
}

TEST(Simulator, CommunicatorsShareLinks) {
  const TestMachine machine = OneHost(4);
  Job job;
  job.communicators = {{.ranks = {0, 1}}, {.ranks = {0, 1}}, {.ranks = {2, 3}}};
  for (const int communicator : {0, 1, 2}) {
    AddOperation(
        {.name = "send", .communicator = communicator, .plans = Transfers(2, {{.from = 0, .to = 1, .bytes = 4000000}})},
        job, communicator);
  }
  const Outcome outcome = Simulated(job, machine, {.costs = SomeCosts()});
  EXPECT_NEAR(ToUs(outcome.operations[2].end), kLaunchUs + Us(4e6, kRate) + kLatencyUs + kHopUs, 1e-5);
  EXPECT_NEAR(ToUs(outcome.operations[1].end), kLaunchUs + Us(8e6, kRate) + kLatencyUs + kHopUs, 1e-5);
}

// Channels of a rank in host memory share its core.
TEST(Simulator, OneCoreDoesOneThingAtATime) {
  TestMachine machine;
  machine.graph.AddHost("host");
  machine.gpus.assign(2, machine.graph.AddNode({.kind = topo::NodeKind::kNumaNode}));
  Job job = JobOf(2, {.plans = Plans(Algorithm::kRing, Collective::kAllReduce, 2), .bytes = 2000000});
  Options options;
  options.costs.ways[2] = {.write_gb_per_s = 10, .read_gb_per_s = 10};
  options.costs.shares_core = true;
  // A block of 1 MB is written and read twice by each rank.
  EXPECT_NEAR(ToUs(Simulated(job, machine, options).end), 400, 1e-3);
  job.operations[0].channels = 2;
  EXPECT_NEAR(ToUs(Simulated(job, machine, options).end), 400, 1e-3);
  options.costs.shares_core = false;
  EXPECT_NEAR(ToUs(Simulated(job, machine, options).end), 200, 1e-3);
}

TEST(Simulator, SaysWhatIsWrongWithItsInputs) {
  const TestMachine machine = OneHost(2);
  const Operation ring{.name = "ring", .plans = Plans(Algorithm::kRing, Collective::kAllReduce, 2), .bytes = 8};
  const auto message = [&](const Job& job, const Options& options) {
    const Result<Outcome> outcome = Simulate(job, machine.machine(), options);
    return outcome.ok() ? "" : outcome.status().message();
  };
  Job job = JobOf(2, ring);
  EXPECT_EQ(message(job, {}), "");
  EXPECT_NE(message(job, {.faults = {{.link = 9}}}).find("link 9"), std::string::npos);
  EXPECT_NE(message(job, {.late = {{.rank = 2}}}).find("rank 2"), std::string::npos);
  EXPECT_NE(message(job, {.routing = {.flows = 0}}).find("0 flows"), std::string::npos);
  job.tasks[1].rank = 0;
  EXPECT_EQ(message(job, {}), "rank 0 has two parts of ring");
  job.tasks[1].rank = 7;
  EXPECT_NE(message(job, {}).find("rank 7"), std::string::npos);
  job = JobOf(2, ring);
  job.communicators[0].ranks[1] = 0;
  EXPECT_NE(message(job, {}).find("rank 0 twice"), std::string::npos);
  job = JobOf(2, ring);
  job.tasks[0].after = {99};
  EXPECT_NE(message(job, {}).find("task 99"), std::string::npos);
  job = JobOf(2, {.name = "empty", .bytes = 8});
  EXPECT_EQ(message(job, {}), "operation empty has no plans");
  job = JobOf(2, ring);
  job.tasks.pop_back();  // rank 1 takes no part
  const Result<Outcome> outcome = Simulate(job, machine.machine(), {});
  ASSERT_TRUE(outcome.ok());
  EXPECT_NE(outcome->stuck.message().find("rank 1, which never begins"), std::string::npos) << outcome->stuck.message();
  EXPECT_FALSE(Simulate(job, {.graph = nullptr, .nodes = {0, 0}}, {}).ok());
  EXPECT_FALSE(Simulate(job, {.graph = &machine.graph, .nodes = {0, 0}}, {}).ok());  // on a switch
}

}  // namespace
}  // namespace tutti::sim
