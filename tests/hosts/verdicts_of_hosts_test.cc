// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What ranks on several hosts, which are network name spaces, say by themselves of who holds them up: each says the same, and of nobody else.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/hosts/hosts.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/soon.h"
#include "tutti/tutti.h"

namespace tutti::tests {
namespace {

enum Host { kEast, kWest, kNorth };
constexpr const char* kNames[] = {"east", "west", "north"};

[[noreturn]] void PauseForEver() {
  while (true) pause();
}

// Writes an id for all of a job to a file, or waits for it and reads it.
UniqueId ShareId(const std::string& path, bool makes) {
  if (makes) {
    std::ofstream(path + ".part") << CreateUniqueId()->ToHex();
    std::filesystem::rename(path + ".part", path);
  }
  std::string hex;
  EXPECT_TRUE(WaitUntil([&] { return static_cast<bool>(std::ifstream(path) >> hex); }));
  return *UniqueId::FromHex(hex);
}

struct Self {
  CommunicatorOptions options;
  std::string go;        // a file that the test makes once all have begun
  std::string other_id;  // for a second communicator
  bool gone() const { return std::filesystem::exists(go); }
};
using Body = std::function<Status(const Self&)>;

class VerdictsOfHosts : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why_not = Hosts::WhyNot(); !why_not.empty()) GTEST_SKIP() << why_not;
  }

  void Start(const std::vector<int>& host_of, const Body& body, int cards = 1) {
    int hosts = 0;
    for (const int host : host_of) hosts = std::max(hosts, host + 1);
    hosts_.emplace(std::vector<std::string>(kNames, kNames + hosts), cards);
    host_of_ = host_of;
    for (int rank = 0; rank < static_cast<int>(host_of.size()); ++rank) {
      ranks_.push_back(hosts_->Start(host_of[static_cast<std::size_t>(rank)], [this, rank, body] {
        Self self{.go = folder_.Path("go"), .other_id = folder_.Path("other")};
        Settings settings;
        settings.debug = "INFO";
        settings.log_format = "json";
        settings.debug_file = folder_.Path(fmt::format("log{}", rank));
        settings.init_timeout_ms = 60'000;
        settings.timeout_ms = 120'000;
        self.options = {.rank = rank,
                        .ranks = static_cast<int>(host_of_.size()),
                        .id = ShareId(folder_.Path("id"), rank == 0),
                        .settings = settings,
                        .name = "dp"};
        const Status s = body(self);
        fmt::print("{}\n", s.ToString());
        std::fflush(stdout);
        PauseForEver();
        return 0;
      }));
    }
    for (ChildProcess& rank : ranks_) ASSERT_TRUE(rank.WaitForOutput("going")) << rank.output();
  }
  void Go() { std::ofstream(folder_.Path("go")) << "go\n"; }

  // The lines of a rank's verdicts.
  std::vector<std::string> Said(int rank) const {
    std::vector<std::string> lines;
    std::ifstream file(folder_.Path(fmt::format("log{}", rank)));
    for (std::string line; std::getline(file, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (!json.is_discarded() && json["file"] == "watch/vigil.cc")
        lines.push_back(fmt::format("{} {}", json["level"].get<std::string>(), json["message"].get<std::string>()));
    }
    return lines;
  }
  std::string All(int rank) const { return fmt::format("rank {}:\n  {}", rank, fmt::join(Said(rank), "\n  ")); }
  // Each of these ranks comes to say all of `pieces` in one line, and nothing without the first of them.
  void ExpectSaid(const std::vector<int>& ranks, const std::vector<std::string>& pieces) {
    const auto has_all = [&](const std::string& line) {
      return std::ranges::all_of(pieces, [&](const auto& piece) { return line.find(piece) != std::string::npos; });
    };
    for (const int rank : ranks) {
      EXPECT_TRUE(WaitUntil([&] { return std::ranges::any_of(Said(rank), has_all); }))
          << fmt::format("{}", fmt::join(pieces, " ... ")) << " is not in\n"
          << All(rank);
      for (const std::string& line : Said(rank)) EXPECT_NE(line.find(pieces[0]), std::string::npos) << line;
    }
  }
  std::string Who(int rank) const {
    return fmt::format("rank {} (host {}, pid {})", rank, kNames[host_of_[static_cast<std::size_t>(rank)]],
                       ranks_[static_cast<std::size_t>(rank)].pid());
  }

  ScratchFolder folder_;
  std::optional<Hosts> hosts_;
  std::vector<int> host_of_;
  std::vector<ChildProcess> ranks_;
};

// Says that it has begun.
void Tell() {
  fmt::print("going\n");
  std::fflush(stdout);
}

// All_reduces for ever. `act` is the victim's deed once the test says go.
Body Loop(int victim = -1, std::function<Status(Communicator&)> act = {}, std::size_t count = 1000) {
  return [=](const Self& self) -> Status {
    Result<Communicator> c = Communicator::Create(self.options);
    if (!c.ok()) return c.status();
    std::vector<float> in(count, 1.0f), out(count);
    for (int call = 0;; ++call) {
      if (call == 20) Tell();
      if (call > 20 && self.options.rank == victim && act && self.gone()) return act(*c);
      TUTTI_RETURN_IF_ERROR(c->Run(AllReduce(in, out)));
    }
  };
}

TEST_F(VerdictsOfHosts, ARankThatSleeps) {
  Start({kEast, kEast, kWest, kNorth}, Loop(2, [](Communicator&) -> Status { PauseForEver(); }));
  Go();
  ExpectSaid({0, 1, 3}, {Who(2) + " has not called all_reduce(count 1000, float32, sum), operation ", "INFO "});
}

TEST_F(VerdictsOfHosts, ARankThatIsStoppedBesideOthers) {
  Start({kEast, kWest, kWest, kNorth}, Loop());
  ranks_[1].Signal(SIGSTOP);
  ExpectSaid({0, 2, 3}, {Who(1) + " is stopped; ranks "});
  ranks_[1].Signal(SIGCONT);
  ExpectSaid({0, 2, 3}, {Who(1) + " is stopped", "cleared after "});
}

// Nobody on its host can say that it is stopped.
TEST_F(VerdictsOfHosts, ARankThatIsStoppedAlone) {
  Start({kEast, kWest, kNorth}, Loop());
  ranks_[1].Signal(SIGSTOP);
  ExpectSaid({0, 2}, {Who(1) + " does not answer, and its host does"});
}

TEST_F(VerdictsOfHosts, ARankThatCallsSomethingElse) {
  Start({kEast, kWest, kNorth}, Loop(1, [](Communicator& c) {
          std::vector<float> in(7), out(7);
          return c.Run(AllReduce(in, out));
        }));
  Go();
  ExpectSaid({0, 1, 2}, {"the calls of the ranks do not match: ", Who(1) + " called all_reduce(count 7, "});
}

// Makes two communicators, and enters a barrier of one of them: these ranks of dp, the others of tp.
Body TwoOrders(const std::vector<int>& dp_first) {
  return [=](const Self& self) -> Status {
    Result<Communicator> dp = Communicator::Create(self.options);
    CommunicatorOptions options = self.options;
    options.name = "tp";
    options.id = ShareId(self.other_id, options.rank == 0);
    Result<Communicator> tp = Communicator::Create(options);
    if (!dp.ok() || !tp.ok()) return Status(Code::kInternal, "no communicators");
    Tell();
    while (!self.gone()) usleep(1000);
    Communicator& first = std::ranges::find(dp_first, options.rank) != dp_first.end() ? *dp : *tp;
    return first.Run(Barrier());
  };
}

TEST_F(VerdictsOfHosts, TwoOrdersOfTwoCommunicators) {
  Start({kEast, kWest}, TwoOrders({0}));
  Go();
  ExpectSaid({0, 1}, {"deadlock: ", Who(0) + " is in barrier(), operation 1 of communicator dp",
                      Who(1) + " is in barrier(), operation 1 of communicator tp"});
}

// Rank 1 waits in dp only, and has to ask about tp too.
TEST_F(VerdictsOfHosts, TwoOrdersAmongOthers) {
  Start({kEast, kWest, kNorth}, TwoOrders({0, 1}));
  Go();
  ExpectSaid({0, 1, 2}, {"deadlock: ", Who(2) + " is in barrier(), operation 1 of communicator tp"});
}

// Nobody can tell who has come. That is said, and no rank is called missing.
TEST_F(VerdictsOfHosts, AStoppedProcessWhereHostsMeet) {
  Start({kEast, kWest, kNorth}, [](const Self& self) -> Status {
    Tell();
    if (self.options.rank == 0) raise(SIGSTOP);
    while (!self.gone()) usleep(1000);
    return Communicator::Create(self.options).status();
  });
  Go();
  ExpectSaid({1, 2}, {"where the hosts of communicator dp meet, 10.77.0.1:",
                      " of the process that made the id, nobody answers", "INFO "});
}

// Before the links have given the host up.
TEST_F(VerdictsOfHosts, AHostThatIsCutOff) {
  Start({kEast, kWest, kWest, kNorth}, Loop());
  hosts_->Unplug(kWest);
  ExpectSaid({0, 3}, {"host west with ranks 1 and 2 does not answer", "INFO "});
  ExpectSaid({0, 3}, {"host west with ranks 1 and 2 does not answer", "WARN "});
}

// What leaves the host by its card is slow; it was not before.
TEST_F(VerdictsOfHosts, ASlowLink) {
  Start({kEast, kWest, kNorth}, Loop(-1, {}, 1 << 20));
  usleep(7'000'000);
  hosts_->Slow(kWest, "100mbit");
  ExpectSaid({1}, {"data move slowly on ", "link from " + Who(1), "INFO "});
  ExpectSaid({1}, {"data move slowly on ", "link from " + Who(1), "WARN "});
}

TEST_F(VerdictsOfHosts, NothingWhereAllIsWell) {
  Start({kEast, kWest, kNorth}, Loop(1, [](Communicator& c) -> Status {
          usleep(1'200'000);
          std::vector<float> in(1000), out(1000);
          while (true) TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
        }));
  Go();
  usleep(4'000'000);
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(Said(rank).empty()) << All(rank);
}

}  // namespace
}  // namespace tutti::tests
