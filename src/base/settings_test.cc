// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tutti/settings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/settings_reader.h"
#include "base/settings_registry.h"

namespace tutti {
namespace {

using Variables = std::initializer_list<std::pair<const char*, const char*>>;

// The settings of an environment that holds these variables.
Settings With(Variables variables, std::vector<ConfigFile> files = {}) {
  std::vector<std::string> environment = {"PATH=/bin", "NO_EQUALS_SIGN"};
  for (const auto& [name, value] : variables) environment.push_back(fmt::format("{}={}", name, value));
  return ReadSettings(environment, files);
}

int Lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

TEST(SettingsTest, AnEmptyEnvironmentGivesTheDefaults) {
  const Settings settings = With({{"TUTTI_TIMEOUT_MS", ""}});
  const Settings standard;
  EXPECT_EQ(settings.warnings, "");
  EXPECT_EQ(settings.algo, "");
  EXPECT_EQ(settings.timeout_ms, standard.timeout_ms);
  EXPECT_EQ(settings.shared_bytes, standard.shared_bytes);
  EXPECT_EQ(settings.max_channels, standard.max_channels);
  EXPECT_EQ(settings.single_copy, SingleCopy::kAuto);
}

TEST(SettingsTest, EveryVariableIsRead) {
  const Settings settings = With({{"NCCL_ALGO", "^pat"},
                                  {"NCCL_PROTO", "LL,Simple"},
                                  {"TUTTI_TIMEOUT_MS", "5000"},
                                  {"TUTTI_INIT_TIMEOUT_MS", "70"},
                                  {"TUTTI_SINGLE_COPY", "Force"},
                                  {"TUTTI_SHARED_BYTES", "3M"},
                                  {"NCCL_MAX_NCHANNELS", "8"},
                                  {"NCCL_MIN_NCHANNELS", "4"},
                                  {"TUTTI_TUNING_FILE", "/etc/tutti.tune"},
                                  {"TUTTI_SPIN_US", "0"}});
  EXPECT_EQ(settings.warnings, "");
  EXPECT_EQ(settings.algo, "^pat");
  EXPECT_EQ(settings.proto, "LL,Simple");
  EXPECT_EQ(settings.timeout_ms, 5000);
  EXPECT_EQ(settings.init_timeout_ms, 70);
  EXPECT_EQ(settings.single_copy, SingleCopy::kForce);
  EXPECT_EQ(settings.shared_bytes, 3 << 20);
  EXPECT_EQ(settings.max_channels, 8);
  EXPECT_EQ(settings.min_channels, 4);
  EXPECT_EQ(settings.tuning_file, "/etc/tutti.tune");
  EXPECT_EQ(settings.spin_us, 0);
  EXPECT_EQ(With({{"TUTTI_SINGLE_COPY", "off"}}).single_copy, SingleCopy::kOff);
}

TEST(SettingsTest, PeerAccessMayBeForbidden) {
  EXPECT_FALSE(With({}).p2p_disable);
  EXPECT_TRUE(With({{"NCCL_P2P_DISABLE", "1"}}).p2p_disable);
  EXPECT_EQ(With({}).cta_policy, -1);
  EXPECT_EQ(With({{"NCCL_CTA_POLICY", "ZERO"}}).cta_policy, 2);
  EXPECT_EQ(With({{"NCCL_CTA_POLICY", "efficiency|zero"}}).cta_policy, 3);
  EXPECT_EQ(With({{"NCCL_CTA_POLICY", "default"}}).cta_policy, 0);
  EXPECT_EQ(With({{"NCCL_CTA_POLICY", "1"}}).cta_policy, 1);
  for (const char* wrong : {"", "4", "-2", "none", "zero|", "zero|x", "99999999999"}) {
    const Settings settings = With({{"NCCL_CTA_POLICY", wrong}});
    EXPECT_EQ(settings.cta_policy, -1) << wrong;
    EXPECT_EQ(settings.warnings.empty(), *wrong == '\0') << wrong;
  }
  EXPECT_EQ(With({}).p2p_level, "");
  EXPECT_EQ(With({{"NCCL_P2P_LEVEL", "loc"}}).p2p_level, "LOC");
  EXPECT_EQ(With({{"NCCL_P2P_LEVEL", "0"}}).p2p_level, "0");
  EXPECT_EQ(With({{"NCCL_P2P_LEVEL", "SYS"}}).p2p_level, "SYS");
  EXPECT_EQ(With({{"NCCL_P2P_LEVEL", "7"}}).warnings, "");  // NCCL takes it for the last level
  for (const char* wrong : {"-1", "NEAR"}) {
    const Settings settings = With({{"NCCL_P2P_LEVEL", wrong}});
    EXPECT_EQ(settings.p2p_level, "") << wrong;
    EXPECT_NE(settings.warnings.find("one of LOC, NVL, PIX, PXB, PHB, SYS"), std::string::npos) << settings.warnings;
  }
}

TEST(SettingsTest, TheMachineAsAGraph) {
  const Settings settings = With({{"NCCL_TOPO_FILE", "/a/topo.xml"},
                                  {"NCCL_TOPO_DUMP_FILE", "/b.xml"},
                                  {"NCCL_TOPO_DUMP_FILE_RANK", "3"},
                                  {"NCCL_GRAPH_FILE", "/a/graph.xml"},
                                  {"NCCL_GRAPH_DUMP_FILE", "/c.xml"},
                                  {"NCCL_GRAPH_DUMP_FILE_RANK", "-1"},
                                  {"NCCL_CROSS_NIC", "0"},
                                  {"NCCL_NET_GDR_LEVEL", "phb"},
                                  {"NCCL_NET_GDR_READ", "0"}});
  EXPECT_EQ(settings.warnings, "");
  EXPECT_TRUE(settings.ignored.empty());
  EXPECT_EQ(settings.topo_file, "/a/topo.xml");
  EXPECT_EQ(settings.topo_dump_file, "/b.xml");
  EXPECT_EQ(settings.topo_dump_rank, 3);
  EXPECT_EQ(settings.graph_file, "/a/graph.xml");
  EXPECT_EQ(settings.graph_dump_file, "/c.xml");
  EXPECT_EQ(settings.graph_dump_rank, -1);
  EXPECT_EQ(settings.cross_nic, 0);
  EXPECT_EQ(settings.gdr_level, "PHB");
  EXPECT_EQ(settings.gdr_read, 0);
  EXPECT_EQ(With({{"NCCL_NET_GDR_READ", "-2"}}).gdr_read, -2) << "NCCL's own default";
  EXPECT_EQ(With({{"NCCL_CROSS_NIC", "3"}}).warnings, "NCCL_CROSS_NIC=\"3\" is not a number, 0 to 2; using 2\n");
  EXPECT_EQ(With({{"NCCL_NET_GDR_LEVEL", "FAR"}}).gdr_level, "");
}

TEST(SettingsTest, LevelsAreThoseOfNccl) {
  for (const char* level : {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"}) {
    EXPECT_EQ(With({{"NCCL_P2P_LEVEL", level}}).p2p_level, level);
  }
  EXPECT_EQ(With({{"NCCL_P2P_LEVEL", "99999999999"}}).p2p_level, "5") << "above the last one";
  for (const char* wrong : {"NET", "DIS"}) EXPECT_EQ(With({{"NCCL_P2P_LEVEL", wrong}}).p2p_level, "") << wrong;
}

TEST(SettingsTest, TheNetworkBetweenHosts) {
  const Settings settings = With({{"NCCL_SOCKET_IFNAME", "^=eth0,ib"},
                                  {"NCCL_SOCKET_FAMILY", "AF_INET6"},
                                  {"NCCL_OOB_NET_ENABLE", "1"},
                                  {"NCCL_OOB_NET_IFNAME", "mgmt"},
                                  {"NCCL_NET_PLUGIN", "ofi,/opt/x.so"},
                                  {"NCCL_NET", "AWS Libfabric"}});
  EXPECT_EQ(settings.warnings, "");
  EXPECT_TRUE(settings.ignored.empty());
  EXPECT_EQ(settings.socket_ifname, "^=eth0,ib");
  EXPECT_EQ(settings.socket_family, "AF_INET6");
  EXPECT_TRUE(settings.oob_net_enable);
  EXPECT_EQ(settings.oob_net_ifname, "mgmt");
  EXPECT_EQ(settings.net_plugin, "ofi,/opt/x.so");
  EXPECT_EQ(settings.net, "AWS Libfabric");
  const Settings standard = With({{"NCCL_SOCKET_FAMILY", "ipv6"}});
  EXPECT_EQ(standard.warnings, "NCCL_SOCKET_FAMILY=\"ipv6\" is not one of AF_INET, AF_INET6; using none\n");
  EXPECT_EQ(standard.socket_family, "");
  EXPECT_FALSE(standard.oob_net_enable);
}

TEST(SettingsTest, PortsAreOneOrARange) {
  for (const char* good : {"4000", "4000-4000", "1-65535"}) {
    const Settings settings = With({{"TUTTI_PORTS", good}});
    EXPECT_EQ(settings.ports, good);
    EXPECT_EQ(settings.warnings, "");
  }
  for (const char* bad : {"0", "4100-4000", "4000-", "-4000", "65536", "4000-4100-4200", "http"}) {
    const Settings settings = With({{"TUTTI_PORTS", bad}});
    EXPECT_EQ(settings.ports, "") << bad;
    EXPECT_NE(settings.warnings.find("a port, or two with a - between them"), std::string::npos) << settings.warnings;
  }
}

TEST(SettingsTest, SizesMayHaveASuffix) {
  const auto bytes = [](const char* text) { return With({{"TUTTI_SHARED_BYTES", text}}).shared_bytes; };
  EXPECT_EQ(bytes("4096"), 4096);
  EXPECT_EQ(bytes("64k"), 64 << 10);
  EXPECT_EQ(bytes("64K"), 64 << 10);
  EXPECT_EQ(bytes("6M"), 6 << 20);
  EXPECT_EQ(bytes("2g"), std::int64_t{2} << 30);
}

TEST(SettingsTest, BadNumbersKeepTheDefaultAndAreNamed) {
  const Settings standard;
  for (const char* text :
       {"x", "5s", " 5", "5 ", "1.5", "0x", "0x-1", "0xg", "-1", "0", "99999999999999999999", "1K"}) {
    const Settings settings = With({{"TUTTI_TIMEOUT_MS", text}});
    EXPECT_EQ(settings.timeout_ms, standard.timeout_ms) << text;
    EXPECT_NE(settings.warnings.find("TUTTI_TIMEOUT_MS"), std::string::npos) << text;
    EXPECT_NE(settings.warnings.find(text), std::string::npos) << text;
  }
  for (const char* text : {"K", "6MB", "6 M", "4095", "-4K", "9999999999G", "1T"}) {
    const Settings settings = With({{"TUTTI_SHARED_BYTES", text}});
    EXPECT_EQ(settings.shared_bytes, standard.shared_bytes) << text;
    EXPECT_NE(settings.warnings.find(text), std::string::npos) << text;
  }
  const Settings copy = With({{"TUTTI_SINGLE_COPY", "yes"}});
  EXPECT_EQ(copy.single_copy, SingleCopy::kAuto);
  EXPECT_NE(copy.warnings.find("auto, off, force"), std::string::npos);
}

TEST(SettingsTest, WhatAVerdictDoes) {
  EXPECT_EQ(Settings().abort_after_ms, -1);
  EXPECT_EQ(With({{"TUTTI_ON_VERDICT", "report"}}).abort_after_ms, -1);
  EXPECT_EQ(With({{"TUTTI_ON_VERDICT", "abort:0"}}).abort_after_ms, 0);
  EXPECT_EQ(With({{"TUTTI_ON_VERDICT", "abort:90"}}).abort_after_ms, 90'000);
  EXPECT_EQ(FindSetting("TUTTI_ON_VERDICT")->print(With({{"TUTTI_ON_VERDICT", "abort:90"}})), "abort:90");
  for (const char* bad : {"abort", "abort:", "abort:-1", "abort:1000001", "abort:1s", "never"}) {
    const Settings settings = With({{"TUTTI_ON_VERDICT", bad}});
    EXPECT_EQ(settings.abort_after_ms, -1) << bad;
    EXPECT_NE(settings.warnings.find("one of report, abort:SECONDS"), std::string::npos) << settings.warnings;
  }
}

TEST(SettingsTest, OneLineForEachBadValue) {
  const Settings settings = With({{"TUTTI_TIMEOUT_MS", "x"}, {"NCCL_MAX_NCHANNELS", "65"}, {"TUTTI_SPIN_US", "-2"}});
  EXPECT_EQ(Lines(settings.warnings), 3) << settings.warnings;
  EXPECT_EQ(settings.max_channels, Settings().max_channels);
  EXPECT_EQ(settings.spin_us, -1);
}

TEST(SettingsTest, AMinimumOfChannelsRaisesADefaultMaximum) {
  const Settings settings = With({{"NCCL_MIN_NCHANNELS", "16"}});
  EXPECT_EQ(settings.min_channels, 16);
  EXPECT_EQ(settings.max_channels, 16);
  EXPECT_EQ(settings.warnings, "");
}

TEST(SettingsTest, ContradictoryChannelsAreNamed) {
  const Settings settings = With({{"NCCL_MIN_NCHANNELS", "16"}, {"NCCL_MAX_NCHANNELS", "8"}});
  EXPECT_EQ(settings.min_channels, Settings().min_channels);
  EXPECT_EQ(settings.max_channels, Settings().max_channels);
  EXPECT_NE(settings.warnings.find("NCCL_MIN_NCHANNELS=16"), std::string::npos) << settings.warnings;
}

TEST(SettingsTest, TheNamesOfChannelsBoundThemTogether) {
  EXPECT_EQ(With({{"NCCL_MAX_CTAS", "8"}}).max_channels, 8);
  EXPECT_EQ(With({{"NCCL_MAX_CTAS", "8"}, {"NCCL_MAX_NCHANNELS", "4"}}).max_channels, 4);
  EXPECT_EQ(With({{"NCCL_MAX_CTAS", "3"}, {"NCCL_MAX_NRINGS", "5"}}).max_channels, 3);
  EXPECT_EQ(With({{"NCCL_MIN_CTAS", "8"}}).min_channels, 8);
  EXPECT_EQ(With({{"NCCL_MIN_CTAS", "8"}}).max_channels, 8);
  EXPECT_EQ(With({{"NCCL_MIN_NRINGS", "4"}, {"NCCL_MIN_CTAS", "8"}}).min_channels, 8);
  const Settings contradiction = With({{"NCCL_MIN_CTAS", "16"}, {"NCCL_MAX_CTAS", "8"}});
  EXPECT_EQ(contradiction.warnings, "NCCL_MIN_CTAS=16 exceeds NCCL_MAX_CTAS=8; using 1 to 2\n");
}

TEST(SettingsTest, TheLogAndTheCInterface) {
  const Settings settings = With({{"NCCL_DEBUG", "info"},
                                  {"NCCL_DEBUG_SUBSYS", "^COLL"},
                                  {"NCCL_DEBUG_FILE", "/tmp/%h.%p"},
                                  {"NCCL_DEBUG_TIMESTAMP_FORMAT", "%T "},
                                  {"NCCL_DEBUG_TIMESTAMP_LEVELS", "ALL"},
                                  {"NCCL_WARN_ENABLE_DEBUG_INFO", "1"},
                                  {"TUTTI_LOG_FORMAT", "JSON"},
                                  {"TUTTI_LOG_RATE", "5"},
                                  {"NCCL_COMM_BLOCKING", "0"}});
  EXPECT_EQ(settings.warnings, "");
  EXPECT_EQ(settings.comm_blocking, 0);
  const log::Config config = LogConfig(settings);
  EXPECT_EQ(config.level, log::Level::kInfo);
  EXPECT_TRUE(config.banner);
  EXPECT_EQ(config.subsystems, log::kAllSubsystems & ~log::kColl);
  EXPECT_EQ(config.file, "/tmp/%h.%p");
  EXPECT_EQ(config.timestamp_format, "%T ");
  EXPECT_EQ(config.timestamp_levels, 0x3fu);
  EXPECT_TRUE(config.info_after_warn);
  EXPECT_EQ(config.lines_per_second, 5);
  EXPECT_EQ(config.format, log::Format::kJson);
}

TEST(SettingsTest, TheDefaultsOfTheLogAgree) {
  const log::Config from_settings = LogConfig(Settings()), standard;
  EXPECT_EQ(Bits(from_settings), Bits(standard));
  EXPECT_EQ(from_settings.file, standard.file);
  EXPECT_EQ(from_settings.timestamp_format, standard.timestamp_format);
  EXPECT_EQ(from_settings.timestamp_levels, standard.timestamp_levels);
  EXPECT_EQ(from_settings.lines_per_second, standard.lines_per_second);
}

TEST(SettingsTest, BadWordsAreNamedWithWhatWouldDo) {
  EXPECT_EQ(With({{"NCCL_DEBUG", "LOUD"}}).warnings,
            "NCCL_DEBUG=\"LOUD\" is not one of NONE, VERSION, WARN, INFO, ABORT, TRACE; using WARN\n");
  EXPECT_NE(With({{"NCCL_DEBUG_SUBSYS", "INIT,COL"}}).warnings.find("\"COL\" is none of ALL, INIT, COLL"),
            std::string::npos);
  EXPECT_NE(With({{"NCCL_DEBUG_TIMESTAMP_LEVELS", "X"}}).warnings.find("\"X\" is none of"), std::string::npos);
  EXPECT_NE(With({{"TUTTI_LOG_FORMAT", "xml"}}).warnings.find("one of text, json"), std::string::npos);
  // Whatever a value holds, its warning stays one line of bearable length.
  const std::string huge = "a\nb" + std::string(100000, 'x');
  const Settings settings = With({{"NCCL_DEBUG", huge.c_str()}});
  EXPECT_EQ(Lines(settings.warnings), 1);
  EXPECT_LT(settings.warnings.size(), 300u);
}

TEST(SettingsTest, EveryVariableOfTheRegistryKnowsItsDefault) {
  for (const Setting& setting : AllSettings()) {
    EXPECT_FALSE(setting.meaning.empty()) << setting.name;
    EXPECT_FALSE(setting.values.empty()) << setting.name;
    EXPECT_EQ(setting.read == nullptr, setting.scope == Scope::kEnvironment) << setting.name;
    EXPECT_EQ(FindSetting(setting.name), &setting) << "a second row for " << setting.name;
    EXPECT_EQ(WhyIgnored(setting.name), std::nullopt) << setting.name;
    if (setting.read == nullptr) continue;
    // What is printed can be read again and stays what it is.
    Settings settings;
    const std::string standard = setting.print(settings);
    if (!standard.empty()) {
      EXPECT_EQ(setting.read(standard, settings), "") << setting.name;
    }
    EXPECT_EQ(setting.print(settings), standard) << setting.name;
    if (!setting.bounds.empty()) {
      EXPECT_NE(FindSetting(setting.bounds), nullptr) << setting.name;
    }
  }
}

TEST(SettingsTest, OriginsAreRemembered) {
  const Settings settings = With({{"NCCL_ALGO", "ring"}, {"TUTTI_TIMEOUT_MS", "x"}},
                                 {{.name = "/etc/nccl.conf", .text = "# c\nTUTTI_SPIN_US=5\n"}});
  EXPECT_EQ(settings.OriginOf("NCCL_ALGO"), "environment");
  EXPECT_EQ(settings.OriginOf("TUTTI_TIMEOUT_MS"), "default");
  EXPECT_EQ(settings.OriginOf("TUTTI_SPIN_US"), "/etc/nccl.conf:2");
  EXPECT_EQ(settings.OriginOf("NCCL_PROTO"), "default");
}

TEST(SettingsTest, UnknownNamesGetTheNearest) {
  EXPECT_EQ(With({{"NCCL_DEBGU", "INFO"}}).warnings,
            "NCCL_DEBGU is not a setting of Tutti or NCCL and has no effect; did you mean NCCL_DEBUG?\n");
  EXPECT_NE(With({{"TUTTI_TIMEOUT", "5"}}).warnings.find("did you mean TUTTI_TIMEOUT_MS?"), std::string::npos);
  EXPECT_NE(With({{"TUTTI_ALGO", "ring"}}).warnings.find("did you mean NCCL_ALGO?"), std::string::npos);
  EXPECT_NE(With({{"NCCL_SHM_DISABEL", "1"}}).warnings.find("did you mean NCCL_SHM_DISABLE?"), std::string::npos);
  EXPECT_NE(With({{"NCCL_QQQQQQQQQQQQQQ", "1"}}).warnings.find("`tutti env` lists all"), std::string::npos);
  EXPECT_EQ(With({{"SOME_NCCL_DEBGU", "1"}, {"nccl_debug", "1"}}).warnings, "");
}

TEST(SettingsTest, IgnoredOnesAreKnown) {
  const Settings settings = With({{"NCCL_IBVERBS_LIB", "mlx5"}, {"NCCL_SHM_DISABLE", "1"}, {"NCCL_VERSION", "2.28"}});
  EXPECT_EQ(settings.warnings, "");
  EXPECT_EQ(settings.ignored, (std::vector<std::string>{"NCCL_IBVERBS_LIB", "NCCL_SHM_DISABLE", "NCCL_VERSION"}));
  EXPECT_EQ(WhyIgnored("NCCL_IB"), std::nullopt);
  EXPECT_TRUE(WhyIgnored("NCCL_NET_GDR_C2C")->find("network") != std::string_view::npos);
}

TEST(SettingsTest, EnvironmentBeatsTheFirstFileBeatsTheSecond) {
  const Settings settings = With({{"TUTTI_TIMEOUT_MS", "1"}, {"TUTTI_SPIN_US", ""}},
                                 {{"user", "TUTTI_TIMEOUT_MS=2\nTUTTI_INIT_TIMEOUT_MS=2\nTUTTI_SPIN_US=2\n"},
                                  {"system", "TUTTI_TIMEOUT_MS=3\nTUTTI_INIT_TIMEOUT_MS=3\nNCCL_ALGO = ring \r\n"}});
  EXPECT_EQ(settings.timeout_ms, 1);
  EXPECT_EQ(settings.init_timeout_ms, 2);
  EXPECT_EQ(settings.spin_us, 2);
  EXPECT_EQ(settings.algo, "ring");
  EXPECT_EQ(settings.OriginOf("NCCL_ALGO"), "system:3");
  EXPECT_EQ(settings.warnings, "");
}

TEST(SettingsTest, BadLinesOfFilesAreNamedByFileAndLine) {
  using namespace std::string_literals;
  std::string warnings;
  const ConfigFile file = {"c.conf",
                           "\n# comment\n  NCCL_ALGO=a=b \nno equals\nNCCL ALGO=x\n=x\nNCCL_ALGO=again\nA=\0\n"
                           "NCCL_PROTO="s};
  const std::vector<ConfigLine> lines = ParseConfigFile(file, warnings);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].name, "NCCL_ALGO");
  EXPECT_EQ(lines[0].value, "a=b");
  EXPECT_EQ(lines[0].number, 3);
  EXPECT_EQ(lines[1].value, "");
  EXPECT_EQ(warnings,
            "c.conf:4: \"no equals\" is left out: a line reads NAME=value\n"
            "c.conf:5: \"NCCL ALGO=x\" is left out: \"NCCL ALGO\" is not a variable's name\n"
            "c.conf:6: \"=x\" is left out: \"\" is not a variable's name\n"
            "c.conf:7: NCCL_ALGO is left out: line 3 has set it, and the first holds\n"
            "c.conf:8: A is left out: its value has a zero byte\n");
}

TEST(SettingsTest, WarningsOfAFileAreBounded) {
  std::string text, warnings;
  for (int i = 0; i < 1000; ++i) text += "rubbish\n";
  EXPECT_TRUE(ParseConfigFile({"f", text}, warnings).empty());
  EXPECT_EQ(Lines(warnings), 21);
  EXPECT_TRUE(warnings.ends_with("f: 980 more lines are left out\n")) << warnings;
}

TEST(SettingsTest, HugeFilesAndNamesCostLittle) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += fmt::format("NCCL_NAME{}=1\n", i);
  text += "NCCL_ALGO=ring\n";
  const Settings settings = With({}, {{"f", text}, {"g", "NCCL_" + std::string(1000000, 'A') + "=1\n"}});
  EXPECT_EQ(settings.algo, "");
  EXPECT_NE(settings.warnings.find("f:1001: the rest of the file is left out: it sets more than 1000 variables\n"),
            std::string::npos);
  EXPECT_TRUE(settings.warnings.ends_with("981 more names are not settings of Tutti or NCCL and have no effect\n"));
  EXPECT_EQ(Lines(settings.warnings), 22);
  EXPECT_LT(settings.warnings.size(), 5000u);
}

TEST(SettingsTest, BadValuesInFilesAreNamedByFileAndLine) {
  const Settings settings = With({}, {{"c.conf", "TUTTI_TIMEOUT_MS=soon\nNCCL_DEBGU=1\nLD_PRELOAD=x\nTUTTI_RANK=1\n"}});
  EXPECT_EQ(settings.warnings,
            "c.conf:1: TUTTI_TIMEOUT_MS=\"soon\" is not a number of milliseconds, 1 to 1000000000000; using 1800000\n"
            "c.conf:4: TUTTI_RANK counts in the environment only; export it there\n"
            "c.conf:2: NCCL_DEBGU is not a setting of Tutti or NCCL and has no effect; did you mean NCCL_DEBUG?\n"
            "c.conf:3: LD_PRELOAD is not a setting of Tutti or NCCL and has no effect; `tutti env` lists all\n");
}

}  // namespace
}  // namespace tutti
