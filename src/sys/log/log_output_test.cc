// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/log/log_output.h"
#include "sys/log/thread_name.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <utility>
#include <vector>

#include "sys/os/process.h"
#include "sys/os/text_file.h"
#include "tests/support/scratch_folder.h"

namespace tutti::sys {
namespace {

using log::Level;

class LogOutputTest : public testing::Test {
 protected:
  ~LogOutputTest() override { ReopenLog({.level = Level::kNone}); }
  std::string Path(const char* name) const { return folder_.Path(name); }
  std::string Content(const std::string& name) const {
    const Result<std::string> text = ReadFile(folder_.Path(name));
    return text.ok() ? *text : text.status().message();
  }
  // Runs `body` with stderr and stdout going to files of these names.
  template <typename Body>
  void Redirected(const Body& body) {
    const int saved_out = dup(1), saved_err = dup(2);
    for (const auto& [fd, name] : {std::pair(1, "stdout"), std::pair(2, "stderr")}) {
      const int file = open(Path(name).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      dup2(file, fd);
      close(file);
    }
    body();
    dup2(saved_out, 1);
    dup2(saved_err, 2);
    close(saved_out);
    close(saved_err);
  }
  tests::ScratchFolder folder_;
};

TEST_F(LogOutputTest, GoesToStderrWithTimeWhereAskedFor) {
  Redirected([] {
    ReopenLog({.level = Level::kInfo});
    log::SetRank(5);
    TUTTI_WARN("careful");
    TUTTI_INFO(log::kInit, "ready");
    log::SetRank(-1);
  });
  EXPECT_EQ(Content("stdout"), "");
  const std::string text = Content("stderr");
  const std::regex format(
      R"(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] [^:. ]+:\d+:\d+ \[5\] sys/log/log_output_test.cc:\d+ NCCL WARN careful\n)"
      R"([^:. ]+:\d+:\d+ \[5\] NCCL INFO ready\n)");
  EXPECT_TRUE(std::regex_match(text, format)) << text;
}

TEST_F(LogOutputTest, FileNamesHostProcessAndRank) {
  Redirected([&] {
    ReopenLog({.level = Level::kInfo, .file = Path("%h.%p.%d.log")});
    TUTTI_INFO(log::kInit, "too early");
    OpenLog({.level = Level::kNone}, 3);  // only its rank counts
    TUTTI_INFO(log::kInit, "in the file");
  });
  std::string host = HostName();
  host = host.substr(0, host.find('.'));
  const std::string text = Content(fmt::format("{}.{}.3.log", host, getpid()));
  EXPECT_TRUE(text.ends_with("NCCL INFO in the file\n")) << text;
  EXPECT_TRUE(Content("stderr").ends_with("NCCL INFO too early\n"));
}

TEST_F(LogOutputTest, AFileThatCannotBeOpenedIsNamed) {
  Redirected([&] { ReopenLog({.level = Level::kWarn, .file = Path("no/such/folder")}); });
  EXPECT_NE(Content("stderr").find("no/such/folder cannot be opened"), std::string::npos) << Content("stderr");
}

TEST_F(LogOutputTest, TheFirstOpeningHolds) {
  Redirected([&] {
    ReopenLog({.level = Level::kWarn});
    OpenLog({.level = Level::kTrace});
    TUTTI_INFO(log::kInit, "not on");
  });
  EXPECT_EQ(Content("stderr"), "");
}

TEST_F(LogOutputTest, LinesOfProcessesDoNotMix) {
  constexpr int kProcesses = 4, kLines = 200;
  ReopenLog({.level = Level::kInfo, .file = Path("shared"), .lines_per_second = 0});
  std::vector<pid_t> children;
  const std::string filler(1000, 'x');
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int line = 0; line < kLines; ++line) TUTTI_INFO(log::kInit, "{} end", filler);
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  const std::string text = Content("shared");
  int lines = 0;
  for (std::size_t begin = 0; begin < text.size(); ++lines) {
    const std::size_t end = text.find('\n', begin);
    ASSERT_NE(end, std::string::npos);
    const std::string line = text.substr(begin, end - begin);
    ASSERT_TRUE(line.ends_with("NCCL INFO " + filler + " end")) << line;
    ASSERT_LT(line.size(), 1100u);
    begin = end + 1;
  }
  EXPECT_EQ(lines, kProcesses * kLines);
}

TEST_F(LogOutputTest, Json) {
  ReopenLog({.level = Level::kInfo, .file = Path("json"), .format = log::Format::kJson});
  SetThreadName("a-thread-with-a-long-name");
  TUTTI_INFO(log::kInit, "x");
  const std::regex format(
      R"(\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z","level":"INFO","subsystem":"INIT","host":"[^"]+",)"
      R"("pid":\d+,"tid":\d+,"thread":"a-thread-with-a","rank":-1,"file":"[^"]+","line":\d+,"message":"x"\}\n)");
  EXPECT_TRUE(std::regex_match(Content("json"), format)) << Content("json");
}

// A log that nobody reads costs its waits, and no more.
TEST_F(LogOutputTest, AReaderThatDoesNotReadHoldsNobodyUp) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const int saved = dup(2);
  dup2(ends[1], 2);
  ReopenLog({.level = Level::kInfo, .lines_per_second = 0});
  const std::string filler(4000, 'x');
  for (int i = 0; i < 20; ++i) TUTTI_INFO(log::kInit, "{}", filler);  // 64 KiB fit
  dup2(saved, 2);
  close(saved);
  close(ends[0]);
  close(ends[1]);
}

// Where the file may not grow (ulimit -f) lines are lost, and the process lives.
TEST_F(LogOutputTest, AFileThatMayNotGrowEndsNobody) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    ReopenLog({.level = Level::kWarn, .file = Path("short"), .lines_per_second = 0});
    for (int i = 0; i < 100; ++i) TUTTI_WARN("line {}", i);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_NE(Content("short").find("line 3"), std::string::npos);
  EXPECT_LE(Content("short").size(), 1024u);
}

TEST(LogTimeTest, Formats) {
  setenv("TZ", "UTC0", 1);
  tzset();
  constexpr std::int64_t kNs = 1'700'000'000'123'456'789;
  EXPECT_EQ(FormatTime("[%F %T] ", kNs), "[2023-11-14 22:13:20] ");
  EXPECT_EQ(FormatTime("%T.%3f", kNs), "22:13:20.123");
  EXPECT_EQ(FormatTime("%f %9f", kNs), "123456 123456789");
  EXPECT_EQ(FormatTime("%%f %0f", kNs).substr(0, 3), "%f ");
  EXPECT_EQ(FormatTime("", kNs), "");
  EXPECT_EQ(FormatTime(std::string(1000, 'x'), kNs), "");  // longer than any timestamp
}

}  // namespace
}  // namespace tutti::sys
