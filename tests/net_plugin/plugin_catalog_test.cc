// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Which network plugin is used, and why another is not.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/net_plugin/test_plugins.h"
#include "tests/support/scratch_folder.h"
#include "transport/net/plugin/plugin_log.h"

namespace tutti::tests {
namespace {

using plugin::Catalog;
using plugin::Network;
using plugin::Wishes;

std::mutex g_mutex;
std::vector<std::string> g_lines;  // "WARN text"

constexpr log::Sink kSink = {
    .write =
        [](const log::Record& record) {
          std::lock_guard lock(g_mutex);
          g_lines.push_back(std::string(log::Name(record.level)) + " " + std::string(record.text));
        },
    .now_ns = [] { return std::int64_t{1}; }};

class PluginCatalogTest : public testing::Test {
 protected:
  void SetUp() override {
    g_lines.clear();
    log::Install(&kSink, {.level = log::Level::kInfo, .subsystems = log::kAllSubsystems, .lines_per_second = 0});
  }
  // The name of the plugin that is chosen; "" of none; else the error.
  std::string Chosen(const Wishes& wishes) {
    Result<std::shared_ptr<Network>> network = catalog_.Choose(wishes);
    if (!network.ok()) return "error: " + network.status().message();
    if (*network == nullptr) return "";
    networks_.push_back(*network);
    return (*network)->plugin().name();
  }
  static bool Said(const std::string& level, const std::string& text) {
    std::lock_guard lock(g_mutex);
    for (const std::string& line : g_lines) {
      if (line.starts_with(level + " ") && line.find(text) != std::string::npos) return true;
    }
    return false;
  }
  static std::string AllLines() {
    std::string all;
    for (const std::string& line : g_lines) all += line + "\n";
    return all;
  }

  Catalog catalog_;
  std::vector<std::shared_ptr<Network>> networks_;
};

TEST_F(PluginCatalogTest, ListsAreCutAsNcclCutsThem) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(plugin::PluginNames("a"), Names({"a"}));
  EXPECT_EQ(plugin::PluginNames("a,,b/c.so,"), Names({"a", "b/c.so"}));
  EXPECT_EQ(plugin::PluginNames("None"), Names());
  EXPECT_EQ(plugin::PluginNames("none,a"), Names({"none", "a"}));
  EXPECT_EQ(plugin::PluginNames(std::string(254, 'x') + ",a").size(), 2u);
  EXPECT_EQ(plugin::PluginNames(std::string(255, 'x') + ",a"), Names({"a"}));
  EXPECT_TRUE(Said("WARN", "255 characters")) << AllLines();
  EXPECT_EQ(plugin::PluginNames("1,2,3,4,5,6,7,8,9,10,11,12,13,14").size(), 14u);
  EXPECT_FALSE(Said("WARN", "more than"));
  EXPECT_EQ(plugin::PluginNames("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15").size(), 14u);
  EXPECT_TRUE(Said("WARN", "more than 14"));
}

TEST_F(PluginCatalogTest, WithoutAPluginTcpCarriesTheDataAndNobodyIsWarned) {
  EXPECT_EQ(Chosen({}), "");
  EXPECT_FALSE(Said("INFO", "libnccl-net.so")) << AllLines();
  EXPECT_FALSE(Said("WARN", ""));
  EXPECT_EQ(Chosen({.plugins = "none"}), "");
}

TEST_F(PluginCatalogTest, APluginThatWasAskedForAndIsNotThereIsAWarning) {
  EXPECT_EQ(Chosen({.plugins = "not-there"}), "");
  EXPECT_TRUE(Said("WARN", "not-there")) << AllLines();
  EXPECT_TRUE(Said("WARN", "libnccl-net-not-there.so")) << AllLines();
  g_lines.clear();
  EXPECT_EQ(Chosen({.plugins = "not-there"}), "");
  EXPECT_FALSE(Said("WARN", "")) << "said a second time";
}

TEST_F(PluginCatalogTest, FilesAndShortNamesAreFound) {
  EXPECT_EQ(Chosen({.plugins = PathOf("tests-tcp-v8")}), "Tests TCP");
  EXPECT_TRUE(Said("INFO", "Loaded net plugin Tests TCP (v8)")) << AllLines();
  EXPECT_TRUE(Said("INFO", "a TCP of tests begins")) << AllLines();
  // By a short name only where the loader looks, so here it is not.
  Catalog other;
  const Result<std::shared_ptr<Network>> none = other.Choose({.plugins = "tests-tcp-v8"});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, nullptr);
}

// In a child of its own, since the loader reads the list of folders when a program begins.
TEST_F(PluginCatalogTest, AShortNameStandsForALibraryOfTheLoadersFolders) {
  constexpr const char* kIsChild = "TUTTI_TEST_PLUGIN_CHILD";
  if (std::getenv(kIsChild) != nullptr) {
    EXPECT_EQ(Chosen({.plugins = "tests-tcp-v9"}), "Tests TCP");
    EXPECT_NE(networks_.at(0)->plugin().Title().find("version " + std::to_string(9)), std::string::npos);
    return;
  }
  const pid_t child = fork();
  if (child == 0) {
    setenv("LD_LIBRARY_PATH", TUTTI_TEST_PLUGINS, 1);
    setenv(kIsChild, "1", 1);
    execl("/proc/self/exe", "plugin_catalog_test", "--gtest_filter=*AShortNameStandsForALibraryOfTheLoadersFolders",
          nullptr);
    _exit(1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(PluginCatalogTest, ALibraryThatIsNoPluginIsRefusedWithItsReason) {
  EXPECT_EQ(Chosen({.plugins = "libc.so.6"}), "");
  EXPECT_TRUE(Said("WARN", "ncclNetPlugin_v6 to _v12")) << AllLines();
  EXPECT_EQ(Chosen({.plugins = PathOf("tests-old")}), "");
  EXPECT_TRUE(Said("WARN", "ncclNetPlugin_v5")) << AllLines();
  const ScratchFolder folder;
  std::ofstream(folder.Path("libtext.so")) << "no library";
  EXPECT_EQ(Chosen({.plugins = folder.Path("libtext.so")}), "");
  EXPECT_TRUE(Said("WARN", "libtext.so")) << AllLines();
  // What is linked into this program: nothing. Any beginning of the word means that.
  EXPECT_EQ(Chosen({.plugins = "static"}), "");
  EXPECT_TRUE(Said("WARN", "linked into the program")) << AllLines();
}

TEST_F(PluginCatalogTest, APluginForNeuronIsRefusedUnderAnyName) {
  const ScratchFolder folder;
  std::filesystem::copy(ScriptedPath(6), folder.Path("libnccom-net.so"));
  EXPECT_EQ(Chosen({.plugins = folder.Path("libnccom-net.so")}), "");
  EXPECT_TRUE(Said("WARN", "Neuron")) << AllLines();
  g_lines.clear();
  std::filesystem::create_symlink(folder.Path("libnccom-net.so"), folder.Path("libnccl-net.so"));
  EXPECT_EQ(Chosen({.plugins = folder.Path("libnccl-net.so")}), "");
  EXPECT_TRUE(Said("WARN", "Neuron")) << AllLines();
}

TEST_F(PluginCatalogTest, PropertiesAreThoseOfTheNewestVersion) {
  for (const int version : {6, 7, 10, 11, 12}) {
    ASSERT_NE(NewScript(version), nullptr);
    Catalog catalog;
    const Result<std::shared_ptr<Network>> network = catalog.Choose({.plugins = ScriptedPath(version)});
    ASSERT_TRUE(network.ok() && *network != nullptr);
    EXPECT_EQ((*network)->plugin().name(), "Scripted");
    EXPECT_NE((*network)->plugin().Title().find("version " + std::to_string(version)), std::string::npos);
    EXPECT_EQ((*network)->plugin().most_requests(), version == 6 ? 8 : 32);
    ASSERT_EQ((*network)->devices().size(), 2u);
    const plugin::Device& device = (*network)->devices()[0];
    EXPECT_EQ(device.name, "scripted0");
    EXPECT_EQ(device.pci_path, "/sys/scripted");
    EXPECT_EQ((*network)->devices()[1].pci_path, "");
    EXPECT_EQ(device.guid, 42u);
    EXPECT_EQ(device.pointers, 1);
    EXPECT_EQ(device.speed_mbps, 400000);
    EXPECT_EQ(device.port, 7);
    EXPECT_EQ(device.latency_us, 1.5F);
    EXPECT_EQ(device.max_comms, 99);
    EXPECT_EQ(device.max_receives, 8);
    EXPECT_EQ(device.version, version >= 7 ? 3 : 0);
    EXPECT_EQ(device.reg_is_global, version >= 8);
    EXPECT_EQ(device.force_flush, version >= 9);
    EXPECT_EQ(device.max_bytes, version >= 9 ? std::size_t{1} << 20 : std::size_t{1} << 30);
    EXPECT_EQ(device.rail, version >= 12 ? 11 : -1);
    EXPECT_EQ(device.plane, version >= 12 ? 12 : -1);
  }
}

TEST_F(PluginCatalogTest, WhatFailsAtTheBeginningIsOutForGoodAndTheNextIsTried) {
  const struct {
    const char* fault;
    const char* said;
    void (*set)(Script&);
  } cases[] = {
      {"init", "init with ncclSystemError", [](Script& s) { s.fails = "init"; }},
      {"devices", "devices with ncclInternalError", [](Script& s) { s.fails = "devices", s.error = 3; }},
      {"no devices", "sees no network device", [](Script& s) { s.devices = 0; }},
      {"properties", "getProperties with", [](Script& s) { s.fails = "getProperties"; }},
      {"a function", "has no function isend", [](Script& s) { s.lacks = "isend"; }},
      {"a device's code", "needs code of type 1", [](Script& s) { s.device_type = 1; }},
      {"no host memory", "takes no host memory", [](Script& s) { s.pointers = 2; }},
      {"no bytes", "0 bytes", [](Script& s) { s.max_bytes = 0; }},
      {"too many bytes", "out of range", [](Script& s) { s.max_bytes = 1ull << 41; }},
  };
  for (const auto& each : cases) {
    Script* script = NewScript(11);
    ASSERT_NE(script, nullptr);
    each.set(*script);
    g_lines.clear();
    Catalog catalog;
    const Wishes wishes{.plugins = ScriptedPath(11) + "," + PathOf("tests-tcp-v6")};
    for (int i = 0; i < 2; ++i) {
      const Result<std::shared_ptr<Network>> network = catalog.Choose(wishes);
      ASSERT_TRUE(network.ok() && *network != nullptr) << each.fault;
      EXPECT_EQ((*network)->plugin().name(), "Tests TCP") << each.fault;
    }
    EXPECT_TRUE(Said("WARN", each.said)) << each.fault << "\n" << AllLines();
    EXPECT_EQ(script->inits, 1) << each.fault;
    const bool started = std::string(each.fault) != "init" && std::string(each.fault) != "a function";
    EXPECT_EQ(script->finalizes, started ? 1 : 0) << each.fault;
  }
}

TEST_F(PluginCatalogTest, OnceOneIsChosenTheOthersAreOut) {
  const std::string both = ScriptedPath(11) + "," + PathOf("tests-tcp-v12");
  ASSERT_NE(NewScript(11), nullptr);
  EXPECT_EQ(Chosen({.plugins = both, .network = "tests tcp"}), "Tests TCP");
  EXPECT_EQ(Chosen({.plugins = both}), "Tests TCP");
  EXPECT_EQ(Chosen({.plugins = ScriptedPath(11)}), "");
  networks_.clear();
}

TEST_F(PluginCatalogTest, NetworksAreAskedForByName) {
  ASSERT_NE(NewScript(12), nullptr);
  EXPECT_EQ(Chosen({.plugins = ScriptedPath(12), .network = "SOCKET"}), "");
  EXPECT_EQ(g_lines.size(), 0u) << AllLines();
  const std::string said = Chosen({.plugins = ScriptedPath(12) + ",libc.so.6", .network = "IB"});
  EXPECT_TRUE(said.starts_with("error: NCCL_NET=IB:")) << said;
  EXPECT_NE(said.find("Scripted"), std::string::npos) << said;
  EXPECT_NE(said.find("libc.so.6"), std::string::npos) << said;
  EXPECT_EQ(Chosen({.plugins = ScriptedPath(12), .network = "scripted"}), "Scripted");
  networks_.clear();
}

TEST_F(PluginCatalogTest, NewVersionsHaveAContextForEachCommunicatorAndOldOnesBeginOnce) {
  for (const int version : {7, 10, 11}) {
    Script* script = NewScript(version);
    ASSERT_NE(script, nullptr);
    Catalog catalog;
    for (int i = 0; i < 3; ++i) {
      const Result<std::shared_ptr<Network>> network = catalog.Choose({.plugins = ScriptedPath(version)});
      ASSERT_TRUE(network.ok() && *network != nullptr);
    }
    EXPECT_EQ(script->inits, version == 11 ? 3 : 1);
    EXPECT_EQ(script->finalizes, version == 11 ? 3 : 0);
    EXPECT_EQ(script->faults(), std::set<std::string>());
  }
}

TEST_F(PluginCatalogTest, WhatAPluginChangesInTheEnvironmentIsSaid) {
  Script* script = NewScript(10);
  ASSERT_NE(script, nullptr);
  script->edits_environment = true;
  unsetenv("NCCL_PROTO");
  EXPECT_EQ(Chosen({.plugins = ScriptedPath(10)}), "Scripted");
  EXPECT_TRUE(Said("INFO", "has set NCCL_PROTO=simple")) << AllLines();
  unsetenv("NCCL_PROTO");
  networks_.clear();
}

TEST_F(PluginCatalogTest, LinesOfAPluginAreLinesOfTheLog) {
  plugin::LogLine(2, log::kNet, "its.cc", 12, "%s is bad: %d%%", "this", 7);
  plugin::LogLine(3, log::kInit | log::kNet, "its.cc", 13, "begun");
  plugin::LogLine(3, log::kNet, "its.cc", 14, "%s", std::string(10'000, 'x').c_str());
  plugin::LogLine(5, log::kNet, "its.cc", 15, "a detail");
  plugin::LogLine(0, log::kNet, "its.cc", 16, "nothing");
  ASSERT_EQ(g_lines.size(), 3u) << AllLines();
  EXPECT_EQ(g_lines[0], "WARN network plugin, its.cc:12: this is bad: 7%");
  EXPECT_EQ(g_lines[1], "INFO begun");
  EXPECT_TRUE(g_lines[2].starts_with("INFO xxx"));
}

}  // namespace
}  // namespace tutti::tests
