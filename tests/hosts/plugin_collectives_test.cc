// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Communicators of several hosts whose data go over network plugins (tests/net_plugin): every operation against a reference. Each
// test is a process of its own, since a process uses one plugin.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "tests/net_plugin/test_plugins.h"
#include "tests/support/errors_page.h"
#include "tests/support/rank_processes.h"
#include "tests/support/ranks.h"
#include "tests/support/reference.h"
#include "tests/support/sanitizers.h"

namespace tutti::tests {
namespace {

constexpr Collective kAll[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                               Collective::kBroadcast, Collective::kReduce,    Collective::kGather,
                               Collective::kScatter,   Collective::kAllToAll};

Settings Over(const std::string& plugin) {
  Settings settings;
  settings.net_plugin = PathOf(plugin);
  settings.debug = "INFO";
  settings.debug_subsys = "INIT,NET";
  return settings;
}

Status RunAll(Communicator& c, const std::vector<std::size_t>& counts) {
  for (const Collective kind : kAll) {
    std::vector<Case> cases;
    for (const std::size_t count : counts) {
      cases.push_back({.kind = kind,
                       .count = count,
                       .type = count % 2 == 0 ? DataType::kInt32 : DataType::kFloat32,
                       .op = ReduceOp::kSum,
                       .root = static_cast<int>(count) % c.ranks(),
                       .misalign = count == 17 ? 3u : 0u});
    }
    if (Status s = RunCase(c, cases); !s.ok()) return s;
  }
  return Status::Ok();
}

// A version of the TCP plugin, or a provider of libfabric over lo.
bool IsProvider(const std::string& param) { return !param.starts_with("v"); }

Settings OverTcp(const std::string& param) {
  if (!IsProvider(param)) return Over("tests-tcp-" + param);
  Settings settings = Over("");
  settings.net_plugin.clear();
  settings.net = "Libfabric";
  settings.socket_ifname = "=lo";
  return settings;
}

class OverPlugins : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!IsProvider(GetParam())) return;
    if (const std::string why = WhyNoLibfabric(); !why.empty()) GTEST_SKIP() << why;
    setenv("FI_PROVIDER", GetParam(), 1);
  }
  void TearDown() override { unsetenv("FI_PROVIDER"); }
  // What the ranks said, as a process of its own; and that its log names the network.
  void Expect(std::string network, const std::vector<int>& host_of, const Settings& settings,
              const std::function<Status(Communicator&)>& body) {
    if (GetParam() == std::string("shm")) GTEST_SKIP() << "libfabric 1.17 crashes where both ends are in one process";
    if (IsProvider(GetParam())) network = "Libfabric";
    const std::string said = SaidByChild([&] {
      std::string all("SAID:");
      all += RunOnHosts(host_of, settings, body);
      return all;
    });
    const std::size_t at = said.rfind("SAID:");
    ASSERT_NE(at, std::string::npos) << said;
    EXPECT_EQ(said.substr(at), "SAID:") << said;
    EXPECT_NE(said.find("Using network " + network), std::string::npos) << said;
    EXPECT_EQ(said.find("Using network Socket"), std::string::npos) << said;
    EXPECT_NE(said.find("NET/" + network + "/"), std::string::npos) << said;
    EXPECT_EQ(said.find("NCCL WARN"), std::string::npos) << said;
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, OverPlugins, testing::Values("v6", "v11", "tcp;ofi_rxm", "shm"),
                         [](const auto& info) { return NameOfTest(info.param); });

TEST_P(OverPlugins, AllOperations) {
  for (const std::vector<int>& host_of : {std::vector<int>{0, 1}, {0, 1, 0, 2}}) {
    Expect("Tests TCP", host_of, OverTcp(GetParam()), [](Communicator& c) {
      return RunAll(c, {0, 1, 17, 1000, 20011, Scaled(300007)});
    });
  }
}

TEST_P(OverPlugins, EveryProtocol) {
  for (const char* proto : {"LL", "LL128", "Simple"}) {
    Settings settings = OverTcp(GetParam());
    settings.proto = proto;
    Expect("Tests TCP", {0, 0, 1}, settings, [](Communicator& c) { return RunAll(c, {3, 1000, 70001}); });
  }
}

// A network that says "not yet" wherever it may, and tells no sizes; and notices what it must not be asked.
TEST_P(OverPlugins, ANetworkThatPutsEverythingOff) {
  if (IsProvider(GetParam())) GTEST_SKIP() << "of scripted plugins only";
  setenv("TUTTI_TEST_NOT_YET", "3", 1);
  setenv("TUTTI_TEST_SIZES", "0", 1);
  const int version = std::stoi(std::string(GetParam()).substr(1));
  Settings settings = Over("tests-scripted-" + std::string(GetParam()));
  Expect("Scripted", {0, 1, 1}, settings, [&](Communicator& c) {
    TUTTI_RETURN_IF_ERROR(RunAll(c, {1, 1000, 70001}));
    const std::set<std::string> faults = ScriptOf(version, "tutti_test_script")->faults();
    return faults.empty() ? Status::Ok() : Status(Code::kInternal, *faults.begin());
  });
  unsetenv("TUTTI_TEST_NOT_YET");
  unsetenv("TUTTI_TEST_SIZES");
}

TEST_P(OverPlugins, ManySmallCallsAfterEachOther) {
  Expect("Tests TCP", {0, 1}, OverTcp(GetParam()), [](Communicator& c) {
    for (int i = 0; i < 2000; ++i) {
      std::int64_t in = c.rank() + i, out = 0;
      if (Status s =
              c.Run({.kind = Collective::kAllReduce, .in = &in, .out = &out, .count = 1, .type = DataType::kInt64});
          !s.ok()) {
        return s;
      }
      if (out != 1 + 2 * i) return Status(Code::kInternal, "wrong sum in call " + std::to_string(i));
    }
    return Status::Ok();
  });
}

TEST_P(OverPlugins, AllOperationsBetweenProcesses) {
  RankProcesses job(3);
  job.Start(
      [](const CommunicatorOptions& given, Board&) -> Status {
        CommunicatorOptions options = given;
        options.settings.host_id = options.rank == 0 ? "a" : "b";
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        return RunAll(*c, {0, 1, 17, 1000, 20011});
      },
      OverTcp(GetParam()));
  ASSERT_TRUE(job.Join());
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(job.said(rank), "OK");
}

// The plugin does not tell that a process has ended; the connection beside it does.
TEST_P(OverPlugins, ADeadRankIsNamedWithinASecond) {
  RankProcesses job(3);
  job.Start(
      [](const CommunicatorOptions& given, Board& board) -> Status {
        CommunicatorOptions options = given;
        options.settings.host_id = options.rank == 0 ? "a" : "b";
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        std::int64_t in = 1, out = 0;
        const Operation sum = {
            .kind = Collective::kAllReduce, .in = &in, .out = &out, .count = 1, .type = DataType::kInt64};
        for (int i = 0; i < 10; ++i) TUTTI_RETURN_IF_ERROR(c->Run(sum));
        ++board.ready;
        if (options.rank == 1) pause();
        return c->Run(sum);
      },
      OverTcp(GetParam()));
  job.WaitReady(3);
  const std::int64_t killed_ms = NowMs();
  job.Kill(1);
  ASSERT_TRUE(job.Join());
  for (const int rank : {0, 2}) {
    const std::string said = job.said(rank);
    EXPECT_NE(said.find("rank 1"), std::string::npos) << said;
    EXPECT_NE(said.find("died"), std::string::npos) << said;
    EXPECT_LT(job.board().ended_ms[rank] - killed_ms, 1000 * static_cast<std::int64_t>(kSlowdown)) << said;
  }
}

}  // namespace
}  // namespace tutti::tests
