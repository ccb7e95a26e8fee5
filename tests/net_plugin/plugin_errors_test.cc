// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The sentences of network plugins, and what makes them.
#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "base/log.h"
#include "tests/net_plugin/test_plugins.h"
#include "tests/support/errors_page.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {
namespace {

using plugin::Catalog;
using plugin::Network;

std::mutex g_mutex;
std::vector<std::string> g_warnings;

constexpr log::Sink kSink = {.write =
                                 [](const log::Record& record) {
                                   std::lock_guard lock(g_mutex);
                                   if (record.level == log::Level::kWarn) g_warnings.emplace_back(record.text);
                                 },
                             .now_ns = [] { return std::int64_t{1}; }};

// What is warned of while a plugin is looked for.
std::vector<std::string> WarningsOf(const plugin::Wishes& wishes) {
  log::Install(&kSink, {.lines_per_second = 0});
  g_warnings.clear();
  Catalog catalog;
  EXPECT_TRUE(catalog.Choose(wishes).ok());
  return g_warnings;
}

TEST_F(Provoke, LibrariesThatAreNoPlugin) {
  const ScratchFolder folder;
  std::filesystem::copy(ScriptedPath(6), folder.Path("libnccom-net.so"));
  for (const std::string& name :
       {std::string("not-there"), folder.Path("libnccom-net.so"), PathOf("tests-old"), std::string("libc.so.6")}) {
    const std::vector<std::string> warnings = WarningsOf({.plugins = name});
    ASSERT_EQ(warnings.size(), 1u) << name;
    Expect(warnings[0]);
  }
}

TEST_F(Provoke, PluginsThatCannotBeUsed) {
  void (*const faults[])(Script&) = {
      [](Script& s) { s.devices = 0; },   [](Script& s) { s.device_type = 1; }, [](Script& s) { s.pointers = 2; },
      [](Script& s) { s.max_bytes = 0; }, [](Script& s) { s.lacks = "isend"; }, [](Script& s) { s.fails = "devices"; },
  };
  for (const auto fault : faults) {
    Script* script = NewScript(11);
    ASSERT_NE(script, nullptr);
    fault(*script);
    const std::vector<std::string> warnings = WarningsOf({.plugins = ScriptedPath(11)});
    ASSERT_EQ(warnings.size(), 1u);
    Expect(warnings[0]);
  }
}

TEST_F(Provoke, ListsOfPluginsThatAreTooLong) {
  std::string many, long_name(255, 'x');
  for (int i = 0; i < 16; ++i) many += "none,";
  for (const std::string& list : {many, long_name}) {
    const std::vector<std::string> warnings = WarningsOf({.plugins = list});
    ASSERT_GE(warnings.size(), 1u);
    Expect(warnings[0]);
  }
}

TEST_F(Provoke, ANetworkThatIsNotThere) {
  Catalog catalog;
  Expect(catalog.Choose({.plugins = "none", .network = "IB"}).status());
}

TEST_F(Provoke, LibfabricThatCannotBeUsed) {
  if (const std::string why = WhyNoLibfabric(); !why.empty()) GTEST_SKIP() << why;
  plugin::Wishes wishes = WishesFor("libfabric tcp;ofi_rxm");
  wishes.built_in.find = [] { return fabric::Open({.rails = {.hardware_only = true}, .provider = "tcp;ofi_rxm"}); };
  log::Install(&kSink, {.lines_per_second = 0});
  Catalog catalog;
  const Result<std::shared_ptr<Network>> none = catalog.Choose(wishes);
  EXPECT_EQ(none.status().code(), Code::kInvalidUsage);
  Expect(fabric::Open({.rails = {.hardware_only = true}, .provider = "tcp;ofi_rxm"}).status());
}

TEST_F(Provoke, ConnectionsOfPluginsThatAreLate) {
  Script* script = NewScript(11);
  ASSERT_NE(script, nullptr);
  Catalog catalog;
  const Result<std::shared_ptr<Network>> network = catalog.Choose({.plugins = ScriptedPath(11)});
  ASSERT_TRUE(network.ok() && *network != nullptr);
  script->nobody_comes = true;
  Expect(Connect(*network, 0, SoonNs(20)).status());
  script->nobody_comes = false;
  script->never_ends = true;
  Result<Pair> pair = Connect(*network);
  ASSERT_TRUE(pair.ok());
  std::vector<std::byte> buffer(100);
  const Result<void*> memory = pair->sender->Register(buffer);
  ASSERT_TRUE(memory.ok());
  ASSERT_TRUE(*pair->sender->Send(buffer, 0, *memory));
  Expect(pair->sender->Drain(SoonNs(20)));
}

TEST_F(Provoke, APluginThatAnswersWithAnError) {
  Script* script = NewScript(7);
  ASSERT_NE(script, nullptr);
  script->fails = "connect";
  Catalog catalog;
  const Result<std::shared_ptr<Network>> network = catalog.Choose({.plugins = ScriptedPath(7)});
  ASSERT_TRUE(network.ok() && *network != nullptr);
  Expect(Connect(*network).status());
}

TEST_F(Provoke, HostsWithDifferentNetworks) {
  const UniqueId id = *CreateUniqueId();
  const std::vector<Status> said = OnRankThreads(2, [&](int rank) {
    CommunicatorOptions options = {.rank = rank, .ranks = 2, .id = id, .settings = Quick()};
    options.settings.host_id = rank == 0 ? "a" : "b";
    options.settings.net_plugin = rank == 0 ? "none" : PathOf("tests-tcp-v8");
    return Communicator::Create(options).status();
  });
  for (const Status& status : said) Expect(status);
}

}  // namespace
}  // namespace tutti::tests
