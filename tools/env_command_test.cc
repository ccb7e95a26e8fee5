// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/env_command.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/settings_registry.h"
#include "tools/cli.h"
#include "tools/env_tables.h"
#include "tools/tuning_store.h"

namespace tutti::tools {
namespace {

const comm::SettingsSources kSources = {
    .environment = {"NCCL_ALGO=ring", "NCCL_IBVERBS_LIB=mlx5_0", "TUTTI_ID=5ec7e7", "TUTTI_SECRET=the 5ec7e7",
                    "NCCL_MAX_CTAS=4", "HOME=/home/x"},
    .files = {{.name = "/etc/nccl.conf", .text = "TUTTI_TIMEOUT_MS=5000\nNCCL_NET_GDR_C2C=1\n"}},
    .warnings = ""};

std::string PageOnDisk() {
  std::ifstream file(TUTTI_SOURCE_DIR "/docs/environment.md");
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

TEST(EnvCommandTest, ThePageIsWhatTheRegistrySays) {
  EXPECT_EQ(PageOnDisk(), EnvironmentPage()) << "write the output of 'tutti env --markdown' to docs/environment.md";
}

TEST(EnvCommandTest, TablesOfTheTuningFileComeFirst) {
  const std::string file = testing::TempDir() + "tutti-env-tables.txt";
  tune::TuningFile tables;
  tables.Put(tune::ShippedGpuTable("generic"));
  tables.gpus[0].name = "mine";
  ASSERT_TRUE(WriteTables(file, tables).ok());
  Settings settings;
  settings.tuning_file = file;
  const Result<std::string> list = ListTables(settings), all = PrintTables(settings);
  ASSERT_TRUE(list.ok() && all.ok());
  EXPECT_TRUE(
      list->starts_with("host memory's table  from: measured at init\nGPU table mine  from: " + file +
                        "\n    GPU any, compute capability any, multiprocessors any, ranks 1 to 1000000, ranks per "
                        "GPU any, data through gpu memory\nGPU table h200_2_ranks  from: compiled in\n"))
      << *list;
  EXPECT_NE(all->find("\n[gpu]\nclass mine\n"), std::string::npos) << *all;
  EXPECT_NE(all->find("\n[gpu]\nclass generic_host_memory\n"), std::string::npos) << *all;
  std::ofstream(file) << "[gpu]\nclass x\n";
  EXPECT_NE(ListTables(settings).status().message().find("has no gpu"), std::string::npos);
  std::filesystem::remove(file);
}

TEST(EnvCommandTest, ThePageHasEveryVariable) {
  const std::string page = EnvironmentPage();
  for (const Setting& setting : AllSettings()) {
    EXPECT_NE(page.find("| `" + std::string(setting.name) + "` |"), std::string::npos) << setting.name;
  }
  EXPECT_NE(page.find("`NCCL_IB_*`"), std::string::npos);
  EXPECT_NE(page.find("`NCCL_SHM_DISABLE` `NCCL_SHM_LOCALITY`"), std::string::npos);
}

TEST(EnvCommandTest, ShowsValueOriginAndDefault) {
  const std::string text = FormatSettings(kSources, Shown::kAll);
  EXPECT_NE(text.find("NCCL_ALGO = ring  from: environment, default: unset\n    Which algorithms"), std::string::npos)
      << text;
  EXPECT_NE(text.find("TUTTI_TIMEOUT_MS = 5000 ms  from: /etc/nccl.conf:1, default: 1800000\n"), std::string::npos);
  EXPECT_NE(text.find("TUTTI_SHARED_BYTES = 6291456 bytes  from: default\n"), std::string::npos) << text;
  EXPECT_NE(text.find("NCCL_MAX_NCHANNELS = 4 channels  from: default\n"), std::string::npos) << text;
  EXPECT_NE(text.find("NCCL_MAX_CTAS = 4 channels  from: environment\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nSet and ignored:\nNCCL_IBVERBS_LIB = mlx5_0  from: environment\n    Speaks of network cards"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("NCCL_NET_GDR_C2C = 1  from: /etc/nccl.conf:2\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("5ec7e7"), std::string::npos) << "a secret";
  EXPECT_EQ(text.find("Wrong:"), std::string::npos) << text;
}

TEST(EnvCommandTest, OnlyWhatIsSet) {
  const std::string text = FormatSettings(kSources, Shown::kSet);
  EXPECT_NE(text.find("NCCL_ALGO = ring"), std::string::npos);
  EXPECT_EQ(text.find("NCCL_PROTO"), std::string::npos) << text;
  EXPECT_EQ(FormatSettings({}, Shown::kSet), "Nothing is set that Tutti reads.\n");
}

TEST(EnvCommandTest, SaysWhatIsWrong) {
  const comm::SettingsSources sources = {.environment = {"NCCL_DEBGU=INFO"}, .files = {}, .warnings = "first\n"};
  EXPECT_TRUE(FormatSettings(sources, Shown::kSet)
                  .ends_with("\nWrong:\nfirst\nNCCL_DEBGU is not a setting of Tutti or NCCL and has no effect; did you "
                             "mean NCCL_DEBUG?\n"))
      << FormatSettings(sources, Shown::kSet);
}

TEST(EnvCommandTest, Json) {
  comm::SettingsSources sources = kSources;
  sources.environment.push_back("NCCL_DEBUG_FILE=\xff");
  const nlohmann::json json = nlohmann::json::parse(SettingsAsJson(sources));
  ASSERT_EQ(json["settings"].size(), AllSettings().size());
  EXPECT_EQ(json["settings"][0]["name"], "NCCL_ALGO");
  EXPECT_EQ(json["settings"][0]["value"], "ring");
  EXPECT_EQ(json["settings"][0]["origin"], "environment");
  EXPECT_EQ(json["settings"][0]["where_ranks_differ"], "rank 0's holds; a warning");
  EXPECT_EQ(json["ignored"].size(), 2u);
  EXPECT_EQ(json["ignored"][1]["origin"], "/etc/nccl.conf:2");
  EXPECT_TRUE(json["warnings"].empty());
}

int RunEnv(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "env");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return EnvCommand(static_cast<int>(arguments.size()), argv.data());
}

TEST(EnvCommandTest, ReadsThisProcess) {
  setenv("TUTTI_SPIN_US", "77", 1);
  const std::string path = std::filesystem::temp_directory_path() / "tutti-env-command-test.json";
  EXPECT_EQ(RunEnv({"--json", path}), kExitOk);
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file);
  std::filesystem::remove(path);
  std::string value;
  for (const auto& setting : json["settings"]) {
    if (setting["name"] == "TUTTI_SPIN_US") value = setting["value"];
  }
  EXPECT_EQ(value, "77");
  setenv("TUTTI_SPIN_US", "many", 1);
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunEnv({"--set"}), kExitFailed);
  std::fflush(stdout);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("TUTTI_SPIN_US=\"many\" is not a number"), std::string::npos);
  unsetenv("TUTTI_SPIN_US");
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunEnv({"--json", "/no/such/folder/file"}), kExitFailed);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot write /no/such/folder/file"), std::string::npos);
}

}  // namespace
}  // namespace tutti::tools
