// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/settings_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/scratch_folder.h"

namespace tutti::comm {
namespace {

class SettingsSourceTest : public testing::Test {
 protected:
  std::string Write(const char* name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    return Path(name);
  }
  std::string Path(const char* name) const { return folder_.Path(name); }
  tests::ScratchFolder folder_;
};

TEST_F(SettingsSourceTest, HomeFileThenSystemFile) {
  const std::string user = Write(".nccl.conf", "NCCL_ALGO=ring\n");
  const std::string system = Write("system", "NCCL_PROTO=LL\n");
  const SettingsSources sources = internal::FindSettings({"A=b", "HOME=" + folder_.path()}, system);
  ASSERT_EQ(sources.files.size(), 2u);
  EXPECT_EQ(sources.files[0].name, user);
  EXPECT_EQ(sources.files[0].text, "NCCL_ALGO=ring\n");
  EXPECT_EQ(sources.files[1].name, system);
  EXPECT_EQ(sources.environment.size(), 2u);
  EXPECT_EQ(sources.warnings, "");
}

TEST_F(SettingsSourceTest, TheNamedFileReplacesTheHomeFile) {
  Write(".nccl.conf", "NCCL_ALGO=ring\n");
  const std::string named = Write("named", "NCCL_ALGO=tree\n");
  const SettingsSources sources =
      internal::FindSettings({"HOME=" + folder_.path(), "NCCL_CONF_FILE=" + named}, Path("no-system-file"));
  ASSERT_EQ(sources.files.size(), 1u);
  EXPECT_EQ(sources.files[0].name, named);
}

TEST_F(SettingsSourceTest, FilesThatAreMissingOrUnreadable) {
  EXPECT_EQ(internal::FindSettings({"HOME=" + folder_.path()}, Path("none")).warnings, "");
  EXPECT_EQ(internal::FindSettings({}, Path("none")).warnings, "");
  const SettingsSources missing = internal::FindSettings({"NCCL_CONF_FILE=" + Path("none")}, Path("none"));
  EXPECT_EQ(missing.files.size(), 0u);
  EXPECT_NE(missing.warnings.find("No such file"), std::string::npos) << missing.warnings;
  EXPECT_NE(missing.warnings.find("NCCL_CONF_FILE names it"), std::string::npos) << missing.warnings;
  const SettingsSources folder = internal::FindSettings({}, folder_.path());
  EXPECT_NE(folder.warnings.find("Is a directory"), std::string::npos) << folder.warnings;
  const SettingsSources huge = internal::FindSettings({}, Write("huge", std::string(3 << 20, 'x')));
  EXPECT_NE(huge.warnings.find("holds more than"), std::string::npos) << huge.warnings;
}

TEST_F(SettingsSourceTest, TheProcessesOwnEnvironmentIsReadAndNotChanged) {
  const std::string named = Write("named", "TUTTI_SPIN_US=7\nTUTTI_TIMEOUT_MS=8\n");
  setenv("NCCL_CONF_FILE", named.c_str(), 1);
  setenv("TUTTI_TIMEOUT_MS", "9", 1);
  const Settings settings = Settings::FromEnvironment();
  EXPECT_EQ(settings.spin_us, 7);
  EXPECT_EQ(settings.timeout_ms, 9);
  EXPECT_EQ(settings.OriginOf("TUTTI_SPIN_US"), named + ":1");
  EXPECT_EQ(std::getenv("TUTTI_SPIN_US"), nullptr);
  setenv("NCCL_CONF_FILE", Path("none").c_str(), 1);
  EXPECT_NE(Settings::FromEnvironment().warnings.find("do not count"), std::string::npos);
  unsetenv("NCCL_CONF_FILE");
  unsetenv("TUTTI_TIMEOUT_MS");
}

}  // namespace
}  // namespace tutti::comm
