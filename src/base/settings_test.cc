// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tutti/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

namespace tutti {
namespace {

using Variables = std::initializer_list<std::pair<const char*, const char*>>;

// The settings of an environment that holds these variables and none of our others.
Settings With(Variables variables) {
  for (const char* name :
       {"NCCL_ALGO", "NCCL_PROTO", "TUTTI_TIMEOUT_MS", "TUTTI_INIT_TIMEOUT_MS", "TUTTI_SINGLE_COPY",
        "TUTTI_SHARED_BYTES", "NCCL_MAX_NCHANNELS", "NCCL_MIN_NCHANNELS", "TUTTI_TUNING_FILE", "TUTTI_SPIN_US"}) {
    unsetenv(name);
  }
  for (const auto& [name, value] : variables) setenv(name, value, 1);
  return Settings::FromEnvironment();
}

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
  for (const char* text : {"x", "5s", " 5", "5 ", "1.5", "0x10", "-1", "0", "99999999999999999999", "1K"}) {
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

TEST(SettingsTest, OneLineForEachBadValue) {
  const Settings settings = With({{"TUTTI_TIMEOUT_MS", "x"}, {"NCCL_MAX_NCHANNELS", "65"}, {"TUTTI_SPIN_US", "-2"}});
  EXPECT_EQ(std::count(settings.warnings.begin(), settings.warnings.end(), '\n'), 3) << settings.warnings;
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

}  // namespace
}  // namespace tutti
