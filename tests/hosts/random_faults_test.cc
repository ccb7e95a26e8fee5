// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Faults at random times in the life of a job on several hosts: while its ranks meet, connect, work and end. Connections are reset,
// the cards of a host go down one after the other and come back, nothing reaches a host for a while, large packets of a host get
// lost, a host is cut off for good, and a rank is stopped for a while or killed. Then all sums are right, or every survivor ends
// with a sentence that names the rank, its host or where it listened. No rank hangs, and none says that a sum is wrong.
//
// TUTTI_TEST_SEED and TUTTI_TEST_CASES choose other cases, and more; TUTTI_TEST_HOSTS and TUTTI_TEST_RANKS the most hosts, up to 5,
// and the most ranks of each:
//
//     TUTTI_TEST_SEED=7 TUTTI_TEST_CASES=200 TUTTI_TEST_HOSTS=5 TUTTI_TEST_RANKS=4 random_faults_test
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "comm/meet/rank_list.h"
#include "tests/hosts/hosts.h"
#include "tests/hosts/steady_job.h"

namespace tutti::tests {
namespace {

constexpr const char* kNames[] = {"east", "west", "north", "south", "mid"};
constexpr int kCards = 2;
constexpr int kFirstPort = 5000;

enum class Fault : std::uint8_t { kReset, kStop, kKill, kCardsDown, kSilence, kLargeLost, kGone };
enum class Phase : std::uint8_t { kEarly, kSteady, kEnd };
constexpr const char* kFaults[] = {"reset", "stop", "kill", "cards down", "silence", "large packets lost", "host gone"};
constexpr const char* kPhases[] = {"early", "steady", "end"};
constexpr int kFaultCount = std::ssize(kFaults), kPhaseCount = std::ssize(kPhases);

// What happens to one job.
struct Plan {
  std::vector<int> host_of;
  Fault fault = Fault::kReset;
  Phase phase = Phase::kEarly;
  int victim = 0;
  int delay_ms = 0, pause_ms = 0, times = 1;

  std::string ToString() const {
    std::string ranks;
    for (const int host : host_of) ranks += fmt::format(" {}", kNames[host]);
    return fmt::format("ranks on{}; {} of rank {}, {}, after {} ms, {} times, for {} ms", ranks,
                       kFaults[static_cast<int>(fault)], victim, kPhases[static_cast<int>(phase)], delay_ms, times,
                       pause_ms);
  }
};

std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

int Number(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

struct Most {
  int hosts = Number("TUTTI_TEST_HOSTS", 3);
  int ranks = Number("TUTTI_TEST_RANKS", 2);  // of each
};

Plan MakePlan(std::mt19937& random, const Most& most, int number) {
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution(from, to)(random); };
  Plan plan;
  const int hosts = pick(2, most.hosts);
  for (int host = 0; host < hosts; ++host) {
    for (int rank = pick(1, most.ranks); rank > 0; --rank) plan.host_of.push_back(host);
  }
  // Each fault in each phase, before any comes twice.
  plan.fault = static_cast<Fault>(number % kFaultCount);
  plan.phase = static_cast<Phase>(number / kFaultCount % kPhaseCount);
  plan.victim = pick(0, static_cast<int>(plan.host_of.size()) - 1);
  plan.delay_ms = pick(0, plan.phase == Phase::kEarly ? 250 : plan.phase == Phase::kSteady ? 300 : 30);
  plan.pause_ms = pick(100, 1500);
  plan.times = plan.fault == Fault::kReset ? pick(1, 6) : plan.fault == Fault::kLargeLost ? pick(1, kCards) : 1;
  return plan;
}

class RandomFaultsTest : public SteadyJob {
 protected:
  RandomFaultsTest() : SteadyJob(TUTTI_HOST_RANK) {}

  void Begin(Hosts& hosts, const Plan& plan, int number) {
    ranks_.clear();
    std::filesystem::remove(folder_.Path("stop"));
    for (std::size_t rank = 0; rank < plan.host_of.size(); ++rank) {
      ranks_.push_back(
          hosts.Start(plan.host_of[rank], {program_, "--until", folder_.Path("stop")},
                      {fmt::format("TUTTI_RANK={}", rank), fmt::format("TUTTI_RANKS={}", plan.host_of.size()),
                       fmt::format("NCCL_COMM_ID={}:{}", Hosts::Address(plan.host_of[0]), kFirstPort + number % 1000),
                       "TUTTI_SECRET=of the test of random faults", "TUTTI_INIT_TIMEOUT_MS=6000",
                       "TUTTI_TIMEOUT_MS=30000", "NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=NET"}));
    }
  }
  void Do(Hosts& hosts, const Plan& plan) {
    Pause(plan.delay_ms);
    ChildProcess& victim = ranks_[static_cast<std::size_t>(plan.victim)];
    const int own = plan.host_of[static_cast<std::size_t>(plan.victim)];
    switch (plan.fault) {
      case Fault::kKill:
        victim.Signal(SIGKILL);
        break;
      case Fault::kStop:
        victim.Signal(SIGSTOP);
        Pause(plan.pause_ms);
        victim.Signal(SIGCONT);
        break;
      case Fault::kCardsDown:
        for (const int card : {1, 0}) {
          hosts.LinkDown(own, card);
          Pause(plan.pause_ms);
          hosts.LinkUp(own, card);
          Pause(plan.pause_ms / 2);
        }
        break;
      case Fault::kSilence:
        hosts.BlockAll(own);
        Pause(plan.pause_ms);
        hosts.Unblock(own);
        break;
      case Fault::kLargeLost:
        for (int card = 0; card < plan.times; ++card) hosts.LoseLarger(own, 1300, card);
        break;
      case Fault::kGone:
        for (int card = 0; card < kCards; ++card) hosts.Unplug(own, card);
        break;
      case Fault::kReset:
        for (int i = 0; i < plan.times; ++i) {
          const int other = (own + 1 + i % plan.host_of.back()) % (plan.host_of.back() + 1);
          Reset(hosts, own, other, i % 2);
          if (i + 1 < plan.times) Pause(plan.pause_ms / 30);
        }
        break;
    }
  }
  // What lasts until the job has ended.
  void Undo(Hosts& hosts, const Plan& plan) {
    const int own = plan.host_of[static_cast<std::size_t>(plan.victim)];
    for (int card = 0; card < kCards; ++card) {
      if (plan.fault == Fault::kLargeLost) hosts.SetMtu(own, 1500, card);
      if (plan.fault == Fault::kGone) hosts.Plug(own, card);
    }
  }
  void LetEnd() { std::ofstream(folder_.Path("stop")) << "stop\n"; }
  // Waits until the job is at work, or ends.
  void AwaitWork() {
    for (ChildProcess& rank : ranks_) {
      if (!rank.WaitForOutput("going")) return;
    }
  }
  // Whether the last line names a rank or its host. The lines before are the log, which names all.
  static bool Names(const std::string& said, const Plan& plan, int rank) {
    const std::string last = LastLine(said);
    const int host = plan.host_of[static_cast<std::size_t>(rank)];
    std::vector<int> ranks;
    for (int r = 0; r < std::ssize(plan.host_of); ++r) {
      if (plan.host_of[static_cast<std::size_t>(r)] == host) ranks.push_back(r);
    }
    return Has(last, fmt::format("rank {}", rank)) || Has(last, comm::NamedRanks(ranks)) || Has(last, kNames[host]) ||
           Has(last, Hosts::Address(host));
  }
  // To those that are cut off it is the others that are gone.
  static bool NamesAnotherHost(const std::string& said, const Plan& plan, int host) {
    for (int rank = 0; rank < std::ssize(plan.host_of); ++rank) {
      if (plan.host_of[static_cast<std::size_t>(rank)] != host && Names(said, plan, rank)) return true;
    }
    return false;
  }
  // "right", "named" or "killed".
  std::string Outcome(const Plan& plan, int rank) {
    ChildProcess& process = ranks_[static_cast<std::size_t>(rank)];
    const int code = process.Wait();
    const std::string said = process.output();
    EXPECT_FALSE(Has(said, " is not ")) << said;
    if (plan.fault == Fault::kKill && rank == plan.victim && code == 128 + SIGKILL) return "killed";
    if (code == 0) {
      EXPECT_TRUE(Has(said, "the sums are right")) << said;
      return "right";
    }
    EXPECT_EQ(code, 1) << said;
    EXPECT_FALSE(plan.fault == Fault::kStop) << "a rank that was stopped is waited for: " << said;
    EXPECT_FALSE(plan.fault == Fault::kReset) << "connections that are reset are made anew: " << said;
    EXPECT_FALSE(plan.fault == Fault::kCardsDown) << "the other card is used: " << said;
    EXPECT_FALSE(plan.fault == Fault::kSilence) << "a short silence is waited out: " << said;
    EXPECT_FALSE(plan.fault == Fault::kLargeLost) << "smaller packets are sent: " << said;
    const int host = plan.host_of[static_cast<std::size_t>(plan.victim)];
    const bool cut_off = plan.fault == Fault::kGone && plan.host_of[static_cast<std::size_t>(rank)] == host;
    EXPECT_TRUE(cut_off ? NamesAnotherHost(said, plan, host) : Names(said, plan, plan.victim)) << said;
    return "named";
  }
};

TEST_F(RandomFaultsTest, AJobEndsRightOrNamesWhoIsGone) {
  const int seed = Number("TUTTI_TEST_SEED", 1), cases = Number("TUTTI_TEST_CASES", kFaultCount * kPhaseCount);
  const Most most;
  ASSERT_TRUE(most.hosts >= 2 && most.hosts <= std::ssize(kNames) && most.ranks >= 1);
  Hosts hosts({kNames, kNames + most.hosts}, kCards);
  std::map<std::string, int> outcomes;
  for (int number = 0; number < cases; ++number) {
    std::mt19937 random(static_cast<unsigned>(seed * 100'003 + number));
    const Plan plan = MakePlan(random, most, number);
    SCOPED_TRACE(fmt::format("TUTTI_TEST_SEED={}, case {}: {}", seed, number, plan.ToString()));
    fmt::print("seed {}, case {}: {}\n", seed, number, plan.ToString());
    std::fflush(stdout);
    Begin(hosts, plan, number);
    if (plan.phase == Phase::kEarly) Do(hosts, plan);
    AwaitWork();
    if (plan.phase == Phase::kSteady) Do(hosts, plan);
    LetEnd();
    if (plan.phase == Phase::kEnd) Do(hosts, plan);
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) ++outcomes[Outcome(plan, rank)];
    Undo(hosts, plan);
    if (HasFailure()) break;
  }
  for (const auto& [outcome, ranks] : outcomes) fmt::print("{}: {} ranks\n", outcome, ranks);
}

}  // namespace
}  // namespace tutti::tests
