// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tutti::log {
namespace {

std::mutex g_mutex;
std::vector<std::string> g_lines;  // "LEVEL text"
std::int64_t g_now_ns = 1;

constexpr Sink kSink = {.write =
                            [](const Record& record) {
                              std::lock_guard lock(g_mutex);
                              g_lines.push_back(std::string(Name(record.level)) + " " + std::string(record.text));
                            },
                        .now_ns = [] { return g_now_ns; }};

void Open(const Config& config) {
  g_lines.clear();
  Install(&kSink, config);
}

// What each level writes.
std::string Written(Level level) {
  Open({.level = level, .banner = true});
  TUTTI_LOG(Level::kVersion, kInit, "v");
  TUTTI_WARN("w{}", 1);
  TUTTI_INFO(kInit, "i");
  TUTTI_INFO(kColl, "c");
  TUTTI_TRACE(kInit, "t");
  std::string all;
  for (const std::string& line : g_lines) all += line + ";";
  return all;
}

TEST(LogTest, EachLevelShowsThoseBefore) {
  EXPECT_EQ(Written(Level::kNone), "");
  EXPECT_EQ(Written(Level::kVersion), "VERSION v;");
  EXPECT_EQ(Written(Level::kWarn), "VERSION v;WARN w1;");
  EXPECT_EQ(Written(Level::kInfo), "VERSION v;WARN w1;INFO i;");
  EXPECT_EQ(Written(Level::kAbort), "VERSION v;WARN w1;INFO i;");
  EXPECT_EQ(Written(Level::kTrace), "VERSION v;WARN w1;INFO i;TRACE t;");
}

TEST(LogTest, SubsystemsSelect) {
  Open({.level = Level::kInfo, .subsystems = kColl | kNet});
  TUTTI_INFO(kInit, "init");
  TUTTI_INFO(kColl, "coll");
  TUTTI_INFO(kInit | kNet, "both");
  EXPECT_EQ(g_lines, (std::vector<std::string>{"INFO coll", "INFO both"}));
}

TEST(LogTest, ADisabledCallEvaluatesNothing) {
  Open({.level = Level::kWarn});
  int evaluated = 0;
  TUTTI_INFO(kInit, "{}", ++evaluated);
  TUTTI_TRACE(kAllSubsystems, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  TUTTI_WARN("{}", ++evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST(LogTest, AWarningMayTurnOnInfo) {
  Open({.level = Level::kWarn, .info_after_warn = true});
  TUTTI_INFO(kInit, "before");
  TUTTI_WARN("now");
  TUTTI_INFO(kInit, "after");
  EXPECT_EQ(g_lines, (std::vector<std::string>{"WARN now", "INFO after"}));
}

TEST(LogTest, OnePlaceIsLimitedAndSaysWhatItLeftOut) {
  Open({.level = Level::kInfo, .subsystems = kInit | kColl, .lines_per_second = 2});
  for (int i = 0; i < 5; ++i) {
    if (i == 4) g_now_ns += 1'000'000'000;
    TUTTI_WARN("line {}", i);
    TUTTI_INFO(kColl, "call {}", i);  // asked for by name: all of them
  }
  std::vector<std::string> warnings;
  int calls = 0;
  for (const std::string& line : g_lines) {
    if (line.starts_with("WARN")) {
      warnings.push_back(line);
    } else {
      ++calls;
    }
  }
  EXPECT_EQ(calls, 5);
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(warnings[1], "WARN line 1");
  EXPECT_EQ(warnings[2], "WARN line 4 (2 lines from this place were left out: TUTTI_LOG_RATE=2 lines per second)");
}

TEST(LogTest, ThreadsMayLogAtOnce) {
  Open({.level = Level::kInfo, .lines_per_second = 0});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 100; ++j) TUTTI_INFO(kInit, "line");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(g_lines.size(), 400u);
}

const Record kRecord = {.level = Level::kInfo,
                        .subsystems = kInit,
                        .file = "comm/life/create.cc",
                        .line = 12,
                        .rank = 3,
                        .text = "hello",
                        .host = "node1",
                        .thread = "main",
                        .timestamp = "[now] ",
                        .pid = 100,
                        .tid = 101,
                        .elapsed_ms = 1.5};

TEST(LogTest, TextIsAsNcclWritesIt) {
  Record record = kRecord;
  EXPECT_EQ(FormatText(record), "[now] node1:100:101 [3] NCCL INFO hello\n");
  record.timestamp = "";
  record.rank = -1;
  record.level = Level::kWarn;
  EXPECT_EQ(FormatText(record), "node1:100:101 [-1] comm/life/create.cc:12 NCCL WARN hello\n");
  record.level = Level::kTrace;
  EXPECT_EQ(FormatText(record), "node1:100:101 [-1] 1.500000 comm/life/create.cc:12 NCCL TRACE hello\n");
  record.level = Level::kVersion;
  EXPECT_EQ(FormatText(record), "hello\n");
}

TEST(LogTest, ALineStaysOneLineAndBounded) {
  Record record = kRecord;
  record.text = "a\nb\tc\x1b[31m";
  EXPECT_EQ(FormatText(record), "[now] node1:100:101 [3] NCCL INFO a b c [31m\n");
  const std::string huge(10000, '"');
  record.text = huge;
  EXPECT_EQ(FormatText(record).size(), kMaxLine);
  EXPECT_TRUE(FormatText(record).ends_with(" ...\n"));
  const std::string json = FormatJson(record);
  EXPECT_LE(json.size(), kMaxLine);
  EXPECT_TRUE(json.ends_with("\\\"\"}\n")) << json.substr(json.size() - 8);
}

TEST(LogTest, JsonIsEscaped) {
  Record record = kRecord;
  record.timestamp = "2026-11-21T10:00:00.000000Z";
  record.text = "say \"x\\y\"\n\xff\xc3\xa9\xed\xa0\x80";
  EXPECT_EQ(FormatJson(record),
            "{\"time\":\"2026-11-21T10:00:00.000000Z\",\"level\":\"INFO\",\"subsystem\":\"INIT\",\"host\":\"node1\","
            "\"pid\":100,\"tid\":101,\"thread\":\"main\",\"rank\":3,\"file\":\"comm/life/create.cc\",\"line\":12,"
            "\"message\":\"say \\\"x\\\\y\\\"\\u000a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}\n");
}

TEST(LogTest, FileNames) {
  EXPECT_EQ(ExpandFile("/tmp/%h.%p.%d%%d.%x%", "n", 7, 3), "/tmp/n.7.3%d.%x%");
  EXPECT_EQ(ExpandFile("%d", "n", 7, -1), std::nullopt);
  EXPECT_EQ(ExpandFile("%%d", "n", 7, -1), "%d");
}

TEST(LogTest, Levels) {
  EXPECT_EQ(ParseLevel("info"), Level::kInfo);
  EXPECT_EQ(ParseLevel(" Trace "), Level::kTrace);
  EXPECT_EQ(ParseLevel("loud"), std::nullopt);
  std::string unknown;
  EXPECT_EQ(ParseLevels("WARN,info", unknown), 0b1100u);
  EXPECT_EQ(ParseLevels("^WARN", unknown), 0b111011u);
  EXPECT_EQ(ParseLevels("WARN,now", unknown), std::nullopt);
  EXPECT_EQ(unknown, "now");
}

TEST(LogTest, SubsystemLists) {
  std::string unknown;
  EXPECT_EQ(ParseSubsystems("init, Coll", unknown), kInit | kColl);
  EXPECT_EQ(ParseSubsystems("^ALLOC,call", unknown), kAllSubsystems & ~(kAlloc | kCall));
  EXPECT_EQ(ParseSubsystems("ALL", unknown), kAllSubsystems);
  EXPECT_EQ(ParseSubsystems("", unknown), 0u);
  EXPECT_EQ(ParseSubsystems("COL", unknown), std::nullopt);
  EXPECT_EQ(unknown, "COL");
  EXPECT_EQ(SubsystemNames(kInit | kNet), "INIT,NET");
  EXPECT_EQ(SubsystemNames(kAllSubsystems), "ALL");
}

TEST(LogTest, FirstTime) {
  EXPECT_TRUE(FirstTime("LogTest.FirstTime a"));
  EXPECT_FALSE(FirstTime("LogTest.FirstTime a"));
  EXPECT_TRUE(FirstTime("LogTest.FirstTime b"));
}

}  // namespace
}  // namespace tutti::log
