// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/host_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::tools {
namespace {

using Words = std::vector<std::string>;

std::string Shown(std::string_view text) {
  const Result<std::vector<HostShare>> hosts = ParseHosts(text);
  if (!hosts.ok()) return "";
  std::string shown;
  for (const HostShare& host : *hosts) shown += fmt::format("{} {};", host.name, host.ranks);
  return shown;
}

TEST(ParseHosts, NamesAndNumbers) {
  EXPECT_EQ(Shown("a:4,b:4"), "a 4;b 4;");
  EXPECT_EQ(Shown("a"), "a 1;");
  EXPECT_EQ(Shown(" a:2 , b "), "a 2;b 1;");
  EXPECT_EQ(Shown("user@node-1.example:8,10.0.0.2:4096"), "user@node-1.example 8;10.0.0.2 4096;");
  EXPECT_EQ(Shown("[fd00::7]:2,[::1],b"), "fd00::7 2;::1 1;b 1;");
}

TEST(ParseHosts, RefusesAllElse) {
  for (const char* text :
       {"",    ",",    "a,",  ",a",      "a:",        ":4",   "a:0", "a:-1",      "a:4097",           "a:4x",
        "a:b", "a: 4", "a b", "fd00::7", "fd00::7:x", "[]:2", "a,a", "a:1,b,a:2", "-oProxyCommand=x", "[-x]:2"}) {
    const Result<std::vector<HostShare>> hosts = ParseHosts(text);
    EXPECT_FALSE(hosts.ok()) << text;
    EXPECT_EQ(hosts.status().code(), Code::kInvalidArgument);
    EXPECT_NE(hosts.status().message().find("is no host"), std::string::npos) << hosts.status().message();
  }
}

TEST(HostCommand, BySsh) {
  const Words command = HostCommand({.words = {}, .tutti = "/opt/tutti-1.0/bin/tutti"}, "user@b");
  EXPECT_EQ(command.front(), "ssh");
  EXPECT_EQ(command.at(command.size() - 2), "user@b");
  EXPECT_EQ(command.back(), "/opt/tutti-1.0/bin/tutti run --on-host");
  EXPECT_EQ(HostCommand({.words = {}, .tutti = "/a b/it's"}, "b").back(), "'/a b/it'\\''s' run --on-host");
}

TEST(HostCommand, ByAnAgent) {
  EXPECT_EQ(SplitAgent("  ip netns\texec "), (Words{"ip", "netns", "exec"}));
  EXPECT_EQ(SplitAgent(" "), Words{});
  EXPECT_EQ(HostCommand({.words = {"ip", "netns", "exec"}, .tutti = "/a b/tutti"}, "east"),
            (Words{"ip", "netns", "exec", "east", "/a b/tutti", "run", "--on-host"}));
}

TEST(HostJob, ArrivesAsItWas) {
  HostJob job{.host = "b", .id_hex = "00ff", .first_rank = 4, .local_ranks = 3, .ranks = 7, .folder = "/a=b\n"};
  job.grace_ms = 1234;
  job.tag_output = true;
  job.words = {"program", "", "two words", "x=\n\xff"};
  job.environment = {"A=", "B=1=2"};
  std::string text = Encode(job);
  const std::size_t end = text.find('\n');
  const Result<std::size_t> bytes = ParseJobLine(text.substr(0, end));
  ASSERT_TRUE(bytes.ok());
  text.erase(0, end + 1);
  EXPECT_EQ(*bytes, text.size());
  const Result<HostJob> read = ParseHostJob(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(Encode(*read), Encode(job));
  EXPECT_EQ(read->folder, job.folder);
  EXPECT_EQ(read->words, job.words);
  EXPECT_EQ(read->environment, job.environment);

  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const Result<HostJob> part = ParseHostJob(text.substr(0, cut));
    EXPECT_TRUE(!part.ok() || part->words.size() <= job.words.size());
    if (cut > 0 && text[cut - 1] != '\0') {
      EXPECT_FALSE(part.ok()) << cut;
    }
  }
}

TEST(HostJob, RefusesWhatIsNone) {
  HostJob job{.host = "b", .first_rank = 4, .local_ranks = 3, .ranks = 7};
  job.words = {"program"};
  const auto refused = [](const HostJob& made) {
    const std::string text = Encode(made);
    return !ParseHostJob(text.substr(text.find('\n') + 1)).ok();
  };
  EXPECT_FALSE(refused(job));
  for (const auto& [first, local, all] : {std::tuple{5, 3, 7}, {-1, 3, 7}, {0, 0, 7}, {0, -1, 7}, {0, 8, 7}}) {
    HostJob bad = job;
    bad.first_rank = first;
    bad.local_ranks = local;
    bad.ranks = all;
    EXPECT_TRUE(refused(bad)) << first << " " << local << " " << all;
  }
  HostJob bad = job;
  bad.words.clear();
  EXPECT_TRUE(refused(bad));
  bad = job;
  bad.environment = {"NO_VALUE"};
  EXPECT_TRUE(refused(bad));
  using std::string_literals::operator""s;
  for (const std::string& text : {"host\0"s, "colour=red\0"s, "ranks=x\0word=a\0"s})
    EXPECT_FALSE(ParseHostJob(text).ok());
  for (const char* line : {"", "job", "job ", "job x", "job -1", "job 99999999999", "Job 3"}) {
    EXPECT_FALSE(ParseJobLine(line).ok()) << line;
  }
}

TEST(HostJob, SaysThatItIsThere) {
  EXPECT_EQ(VersionOfHere(HereLine("0.1.0")), "0.1.0");
  EXPECT_EQ(VersionOfHere("Last login: Monday"), "");
  EXPECT_EQ(VersionOfHere(""), "");
  EXPECT_EQ(VersionOfHere(HereLine("0.1.0") + " "), "");
}

TEST(SettingsAmong, ThoseOfNcclAndTuttiOnly) {
  EXPECT_EQ(SettingsAmong({"PATH=/bin", "NCCL_DEBUG=INFO", "TUTTI_ID=00", "TUTTI_RANK=1", "TUTTI_RANKS=2",
                           "NCCL_HOSTID=a", "TUTTI_SPIN_US=3", "XNCCL_A=1", "NCCL_COMM_ID=a:1", "TUTTI_IDLE=1"}),
            (Words{"NCCL_DEBUG=INFO", "TUTTI_SPIN_US=3", "TUTTI_IDLE=1"}));
}

}  // namespace
}  // namespace tutti::tools
