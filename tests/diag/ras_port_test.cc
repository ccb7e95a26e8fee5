// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What RAS clients read of real processes that go on, are stopped, and end.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/rank_processes.h"
#include "tests/support/text_client.h"

namespace tutti::tests {
namespace {

using nlohmann::json;

constexpr int kRanks = 4;

// All_reduces until one fails; then the rank stays, so that there is something to look at.
Status Loop(const CommunicatorOptions& options, Board& board) {
  board.pid[options.rank] = getpid();
  Result<Communicator> c = Communicator::Create(options);
  if (!c.ok()) return c.status();
  std::vector<float> in(64, 1.0f), out(64);
  ++board.ready;
  while (c->Run(AllReduce(in, out)).ok()) {
  }
  while (true) pause();
}

bool HasThread(pid_t pid, const std::string& wanted) {
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    if (std::getline(file, name) && name == wanted) return true;
  }
  return false;
}

// Stops a process, and waits until all of it stands: a thread that still runs could let a client in, which would wait for ever.
void Stop(pid_t pid) {
  kill(pid, SIGSTOP);
  const auto stands = [&] {
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
      std::ifstream file(task.path() / "status");
      std::string all{std::istreambuf_iterator<char>(file), {}};
      if (all.find("State:\tT") == std::string::npos) return false;
    }
    return true;
  };
  EXPECT_TRUE(WaitUntil(stands));
}

class RasPort : public testing::Test {
 protected:
  void Start(Settings settings = {}) {
    settings.ras_addr = fmt::format("127.0.0.1:{}", port_);
    job_.Start(Loop, settings);
    job_.WaitReady(kRanks);
  }
  pid_t PidOf(int rank) { return job_.board().pid[rank]; }
  json Ask() const {
    const std::string answer = TextClient(port_).Ask("SET FORMAT json\nSTATUS\n");
    const std::size_t begin = answer.find('{');
    if (begin == std::string::npos) return {};  // the service has just ended
    return json::parse(answer.substr(begin));
  }
  // Asks until the one communicator is so; what it is at last.
  json AskUntil(const std::function<bool(const json&)>& wanted) const {
    json c;
    EXPECT_TRUE(WaitUntil([&] {
      const json all = Ask();
      if (all.is_null() || all["communicators"].empty()) return false;
      c = all["communicators"][0];
      return wanted(c);
    })) << c.dump(2);
    return c;
  }
  static std::set<std::uint64_t> CountsOf(const json& c) {
    std::set<std::uint64_t> counts;
    for (const json& rank : c["ranks"]) counts.insert(rank["collective_counts"]["AllReduce"].get<std::uint64_t>());
    return counts;
  }

  const std::uint16_t port_ = FreePort();
  RankProcesses job_{kRanks};
};

TEST_F(RasPort, RanksThatGoOnHaveEqualCounts) {
  Start();
  EXPECT_TRUE(WaitUntil([&] { return HasThread(PidOf(0), "tutti-ras"); }));
  const json c = AskUntil([](const json& c) { return c["ranks_count"] == kRanks && CountsOf(c).size() == 1; });
  EXPECT_EQ(c["missing_ranks_count"], 0);
  EXPECT_EQ(c["tutti"]["errors"], "OK");
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(c["ranks"][static_cast<std::size_t>(rank)]["pid"], PidOf(rank));
  const std::uint64_t before = *CountsOf(c).begin();
  (void)AskUntil([&](const json& c) { return *CountsOf(c).begin() > before; });
}

// Whichever it is: it may be the one that answered before.
TEST_F(RasPort, AStoppedRankStandsOutAndIsNamed) {
  Start();
  for (int victim = 0; victim < kRanks; ++victim) {
    (void)AskUntil([](const json& c) { return CountsOf(c).size() == 1; });
    Stop(PidOf(victim));
    // A process may still tell of the rank before.
    const json c = AskUntil([&](const json& c) {
      const json& verdicts = c["tutti"]["verdicts"];
      return !verdicts.empty() && verdicts[0]["exclude"] == json::array({victim});
    });
    EXPECT_EQ(c["ranks_count"], kRanks);
    EXPECT_EQ(c["tutti"]["verdicts"][0]["kind"], "stopped");
    EXPECT_EQ(c["ranks"][static_cast<std::size_t>(victim)]["tutti"]["process_state"], "stopped");
    // Another process may answer, which has not found out yet.
    const std::string sentence = fmt::format("pid {}) is stopped; ranks ", PidOf(victim));
    EXPECT_TRUE(WaitUntil([&] { return TextClient(port_).Ask("STATUS\n").find(sentence) != std::string::npos; }));
    kill(PidOf(victim), SIGCONT);
    (void)AskUntil([](const json& c) { return c["tutti"]["verdicts"].empty(); });
  }
}

TEST_F(RasPort, ARankThatHasEndedIsDead) {
  Start();
  (void)AskUntil([](const json& c) { return c["ranks_count"] == kRanks; });
  job_.Kill(1);
  const json c =
      AskUntil([](const json& c) { return c["missing_ranks_count"] == 1 && c["tutti"]["status"] == "ABORT"; });
  EXPECT_EQ(c["missing_ranks"][0]["rank"], 1);
  EXPECT_EQ(c["missing_ranks"][0]["status"]["considered_dead"], true);
}

TEST_F(RasPort, IsNotThereWhereItIsOff) {
  Settings settings;
  settings.ras_enable = false;
  Start(settings);
  EXPECT_TRUE(WaitUntil([&] { return HasThread(PidOf(0), "tutti-monitor"); }));
  std::this_thread::sleep_for(std::chrono::seconds(1));  // in which the monitor would have started it
  EXPECT_FALSE(HasThread(PidOf(0), "tutti-ras"));
  const auto listener = sys::TcpListener::Open(
      {.addresses = {sys::IpAddress::V4(127, 0, 0, 1)}, .ports = {.first = port_, .last = port_}});
  EXPECT_TRUE(listener.ok()) << listener.status().message();
}

}  // namespace
}  // namespace tutti::tests
