// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// `tutti doctor` and `tutti health` over hosts that are network name spaces, healthy and with a fault of their network.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/hosts/hosts.h"

namespace tutti::tests {
namespace {

class HostsDoctorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why_not = Hosts::WhyNot(); !why_not.empty()) GTEST_SKIP() << why_not;
  }

  struct Said {
    int exit = 0;
    std::string out;
  };
  // A command of `tutti` by a rank on each host.
  Said Run(const std::vector<std::string>& words) {
    std::string list;
    for (int host = 0; host < 3; ++host) list += fmt::format("{}{}", host == 0 ? "" : ",", hosts_.NameSpace(host));
    std::vector<std::string> all = {TUTTI_TOOL, "run", "--hosts", list, "--agent", "ip netns exec", TUTTI_TOOL};
    all.insert(all.end(), words.begin(), words.end());
    ChildProcess run = hosts_.Start(0, all);
    Said said;
    said.exit = run.Wait();
    said.out = run.output();
    // Hosts are called by what they were named to `tutti run`: "tutti-4711-east".
    const std::string prefix = hosts_.NameSpace(0).substr(0, hosts_.NameSpace(0).rfind('-') + 1);
    for (std::size_t at = 0; (at = said.out.find(prefix, at)) != std::string::npos;) said.out.erase(at, prefix.size());
    return said;
  }

  Hosts hosts_{{"east", "west", "north"}};
};

bool Has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

TEST_F(HostsDoctorTest, FullPacketsArrive) {
  const Said said = Run({"doctor", "--all"});
  EXPECT_TRUE(Has(said.out, "OK        east, north: path: to west: full packets arrive (1500 bytes)")) << said.out;
  EXPECT_TRUE(Has(said.out, "OK        west, north: path: to east: full packets arrive (1500 bytes)")) << said.out;
  // Hosts whose clocks differ by as much share a line.
  EXPECT_TRUE(Has(said.out, "west: clock: ") || Has(said.out, "west, north: clock: ")) << said.out;
  EXPECT_TRUE(Has(said.out, " findings on 3 hosts: ")) << said.out;
  EXPECT_FALSE(Has(said.out, "CRITICAL")) << said.out;
}

// What is too large for one host's cable is lost on its way there and back.
TEST_F(HostsDoctorTest, LargePacketsAreLost) {
  hosts_.LoseLarger(1, 1400);
  const Said said = Run({"doctor", "--all"});
  EXPECT_EQ(said.exit, 2) << said.out;
  EXPECT_TRUE(Has(said.out, "CRITICAL  west: path: to north: full packets are lost and nobody says so")) << said.out;
  EXPECT_TRUE(Has(said.out, "CRITICAL  west: path: to east: full packets are lost and nobody says so")) << said.out;
  EXPECT_TRUE(Has(said.out, "CRITICAL  east, north: path: to west: full packets are lost and nobody says so"))
      << said.out;
  EXPECT_TRUE(Has(said.out, "(1500 bytes are lost, 1400 arrive)")) << said.out;
  EXPECT_TRUE(Has(said.out, "OK        east: path: to north: full packets arrive")) << said.out;
}

TEST_F(HostsDoctorTest, EchoesOfAPeer) {
  ChildProcess healthy = hosts_.Start(0, {TUTTI_TOOL, "doctor", "--all", "--peer", Hosts::Address(1)});
  healthy.Wait();
  EXPECT_TRUE(Has(healthy.output(), fmt::format("path: to {}: full packets arrive (1500 bytes)", Hosts::Address(1))))
      << healthy.output();
  hosts_.LoseLarger(0, 1300);
  ChildProcess lossy = hosts_.Start(0, {TUTTI_TOOL, "doctor", "--peer", Hosts::Address(1)});
  EXPECT_EQ(lossy.Wait(), 2) << lossy.output();
  EXPECT_TRUE(Has(lossy.output(), "full packets are lost and nobody says so")) << lossy.output();
  hosts_.BlockAll(1);
  ChildProcess nobody = hosts_.Start(0, {TUTTI_TOOL, "doctor", "--peer", Hosts::Address(1)});
  EXPECT_EQ(nobody.Wait(), 3) << nobody.output();
  EXPECT_TRUE(Has(nobody.output(), "no packet is answered")) << nobody.output();
}

// Held against a fiftieth of the others' speed, which a busy machine keeps.
TEST_F(HostsDoctorTest, HealthNamesTheHostWhoseCardIsSlow) {
  const std::vector<std::string> health = {"health", "--bytes", "256K",       "--host-memory",
                                           "--warn", "0.04",    "--critical", "0.02"};
  const Said healthy = Run(health);
  EXPECT_EQ(healthy.exit, 0) << healthy.out;
  EXPECT_TRUE(Has(healthy.out, "# 3 ranks on 3 hosts")) << healthy.out;
  hosts_.Slow(2, "10mbit");
  const Said slow = Run(health);
  EXPECT_EQ(slow.exit, 2) << slow.out;
  EXPECT_TRUE(Has(slow.out, "CRITICAL  slow: rank 2 (host north, pid ")) << slow.out;
  EXPECT_TRUE(Has(slow.out, ") sends host memory slowly")) << slow.out;
  EXPECT_TRUE(Has(slow.out, " findings: 1 CRITICAL")) << slow.out;
}

}  // namespace
}  // namespace tutti::tests
