// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_HOSTS_STEADY_JOB_H_
#define TUTTI_TESTS_HOSTS_STEADY_JOB_H_

// A job on hosts that are network name spaces (hosts.h): its ranks add up one array after the other, and check every sum, until a
// test lets them end.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/hosts/hosts.h"
#include "tests/support/child_process.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {

enum Host { kEast, kWest, kNorth };

inline void Pause(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

inline bool Has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

class SteadyJob : public testing::Test {
 protected:
  // program: the file that each rank runs: host_rank.cc, built.
  explicit SteadyJob(std::string program) : program_(std::move(program)) {}
  void SetUp() override {
    if (const std::string why_not = Hosts::WhyNot(); !why_not.empty()) GTEST_SKIP() << why_not;
  }

  // Starts a rank on each of these hosts, and waits until all are at work. `of_rank`: what comes to the environment of one.
  void Start(Hosts& hosts, const std::vector<int>& host_of, const std::vector<std::string>& environment = {},
             const std::map<std::size_t, std::string>& of_rank = {}) {
    for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
      std::vector<std::string> all = {"TUTTI_RANK=" + std::to_string(rank),
                                      "TUTTI_RANKS=" + std::to_string(host_of.size()), "TUTTI_TIMEOUT_MS=20000",
                                      "NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=NET"};
      all.insert(all.end(), environment.begin(), environment.end());
      if (const auto own = of_rank.find(rank); own != of_rank.end()) all.push_back(own->second);
      ranks_.push_back(hosts.Start(host_of[rank], {program_, folder_.Path("id"), folder_.Path("stop")}, all));
    }
    for (ChildProcess& rank : ranks_) ASSERT_TRUE(rank.WaitForOutput("going")) << rank.output();
  }
  // Lets them end, with all sums right.
  void Finish() {
    std::ofstream(folder_.Path("stop")) << "stop\n";
    for (ChildProcess& rank : ranks_) {
      EXPECT_EQ(rank.Wait(), 0) << rank.output();
      EXPECT_TRUE(Has(rank.output(), "the sums are right")) << rank.output();
    }
  }
  // Bytes that a host's card has sent.
  static std::uint64_t Sent(Hosts& hosts, int host, int card) {
    const std::string path = "/sys/class/net/" + Hosts::Card(card) + "/statistics/tx_bytes";
    return std::stoull(hosts.Run(host, {"cat", path}));
  }
  // Waits until a card carries data.
  static bool Carries(Hosts& hosts, int host, int card) {
    constexpr std::uint64_t kMuch = 1'000'000;
    const std::uint64_t before = Sent(hosts, host, card);
    return WaitUntil([&] {
      Pause(20);
      return Sent(hosts, host, card) > before + kMuch;
    });
  }
  // Ends all connections of a host with another, as its kernel can.
  static void Reset(Hosts& hosts, int host, int other, int card) {
    hosts.Run(host, {"ss", "-K", "dst", Hosts::Address(other, card)});
  }

  const std::string program_;
  const ScratchFolder folder_;
  std::vector<ChildProcess> ranks_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_HOSTS_STEADY_JOB_H_
