// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/run_command.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "sys/os/process.h"
#include "tools/launch.h"
#include "tools/line_tagger.h"

namespace tutti::tools {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

int RunTool(std::vector<std::string> words) {
  words.insert(words.begin(), "run");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return RunCommand(static_cast<int>(words.size()), argv.data());
}

struct Outcome {
  int code;
  std::string out, err;
};
Outcome Captured(const std::vector<std::string>& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = RunTool(words);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

std::vector<std::string> SortedLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

// Gone, or a zombie that its new parent has not collected.
bool IsDead(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(stat, text)) return true;
  const std::size_t name_end = text.rfind(')');
  return name_end == text.npos || text.substr(name_end + 2, 1) == "Z";
}

bool WaitUntil(const std::function<bool()>& done, milliseconds limit = milliseconds(5000)) {
  for (const auto end = Clock::now() + limit; Clock::now() < end;) {
    if (done()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return done();
}

class RunCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tutti_run_test_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child, or its zombie, is left";
    EXPECT_EQ(errno, ECHILD);
    [[maybe_unused]] const int status = std::system(fmt::format("rm -rf {}", folder_).c_str());
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  // The number that some rank wrote into a file, as soon as it is there.
  int ReadNumber(const std::string& name) const {
    int number = -1;
    WaitUntil([&] {
      std::ifstream file(Path(name));
      std::string text;
      if (!std::getline(file, text) || file.eof()) return false;  // eof: the newline is not there yet
      number = std::atoi(text.c_str());
      return true;
    });
    return number;
  }
  // RunCommand in a process of its own.
  pid_t Launch(const std::vector<std::string>& words) {
    const pid_t pid = fork();
    if (pid == 0) _exit(RunTool(words));
    return pid;
  }

  std::string folder_;
};

TEST_F(RunCommandTest, TellsEveryRankWhoItIs) {
  const Outcome outcome = Captured({"-n", "3", "sh", "-c",
                                    "echo $TUTTI_RANK $TUTTI_RANKS $RANK $WORLD_SIZE $LOCAL_RANK "
                                    "$LOCAL_WORLD_SIZE ${#TUTTI_ID} $TUTTI_ID"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  const std::vector<std::string> lines = SortedLines(outcome.out);
  ASSERT_EQ(lines.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    const std::string& line = lines[static_cast<std::size_t>(rank)];
    EXPECT_TRUE(line.starts_with(fmt::format("{0} 3 {0} 3 {0} 3 256 ", rank))) << line;
    EXPECT_EQ(line.substr(line.size() - 256), lines[0].substr(lines[0].size() - 256));
  }
}

TEST_F(RunCommandTest, PassesTheProgramsArgumentsOn) {
  EXPECT_EQ(Captured({"-n", "1", "--tag-output", "echo", "-x", "--grace", "1", "-n"}).out, "[0] -x --grace 1 -n\n");
  EXPECT_EQ(Captured({"-n", "1", "--", "echo", "--", "y"}).out, "-- y\n");
}

TEST_F(RunCommandTest, TagsLines) {
  const Outcome outcome =
      Captured({"-n", "2", "--tag-output", "sh", "-c", "echo out; echo err >&2; printf 'no newline'"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(SortedLines(outcome.out),
            (std::vector<std::string>{"[0] no newline", "[0] out", "[1] no newline", "[1] out"}));
  EXPECT_EQ(SortedLines(outcome.err), (std::vector<std::string>{"[0] err", "[1] err"}));
}

TEST_F(RunCommandTest, ReturnsTheFirstFailure) {
  const Outcome outcome = Captured({"-n", "3", "sh", "-c", "[ $RANK = 1 ] && exit 5; sleep 0.3; exit 6"});
  EXPECT_EQ(outcome.code, 5);
  const std::vector<std::string> lines = SortedLines(outcome.err);
  ASSERT_EQ(lines.size(), 3u) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("tutti run: rank 1 (pid ")) << outcome.err;
  EXPECT_NE(outcome.err.find(") ended with exit code 5\n"), std::string::npos);
}

TEST_F(RunCommandTest, NamesTheSignal) {
  const Outcome outcome =
      Captured({"-n", "2", "--grace", "0.1", "sh", "-c", "[ $RANK = 1 ] && kill -9 $$; exec sleep 60"});
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  EXPECT_NE(outcome.err.find(") was killed by signal 9 (Killed)\n"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("did not end within 0.1 s: ended now\n"), std::string::npos) << outcome.err;
}

TEST_F(RunCommandTest, GivesTheOthersTimeThenEndsEvenTheStubborn) {
  const auto begin = Clock::now();
  const std::string script = fmt::format(
      "if [ $RANK = 0 ]; then trap '' TERM; echo $$ > {0}.part; mv {0}.part {0}; while :; do sleep 1; done; "
      "fi\n"
      "while [ ! -e {0} ]; do sleep 0.01; done; exit 3",
      Path("pid"));
  const Outcome outcome = Captured({"-n", "2", "--grace", "0.2", "sh", "-c", script});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_GE(Clock::now() - begin, milliseconds(2200));  // grace, then from SIGTERM to SIGKILL
  EXPECT_LT(Clock::now() - begin, milliseconds(20000));
  EXPECT_TRUE(IsDead(ReadNumber("pid")));
}

TEST_F(RunCommandTest, ForwardsSignals) {
  const std::string script =
      fmt::format("trap 'exit 9' TERM; echo $$ > {}$RANK; while :; do sleep 0.02; done", Path("pid"));
  const pid_t launcher = Launch({"-n", "2", "sh", "-c", script});
  const pid_t ranks[] = {ReadNumber("pid0"), ReadNumber("pid1")};
  ASSERT_GT(ranks[0], 0);
  ASSERT_GT(ranks[1], 0);
  kill(launcher, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(launcher, &status, 0), launcher);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 9);
  for (pid_t rank : ranks) EXPECT_TRUE(IsDead(rank));
}

// The system shares a core out among sessions first, so a rank that has one gets as much as another program. Ranks that share cores are in
// one session: across sessions they could not give the core to each other.
TEST_F(RunCommandTest, RanksWithACoreOfTheirOwnHaveSessions) {
  const auto leaders = [](int ranks) {
    // Of /proc/PID/stat: the process group and the session.
    const Outcome outcome = Captured({"-n", std::to_string(ranks), "sh", "-c",
                                      "set -- $(cut -d ' ' -f 5,6 /proc/$$/stat); test $1 = $$ && echo group; "
                                      "test $2 = $$ && echo session; true"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::vector<std::string> lines = SortedLines(outcome.out);
    return std::pair(std::ranges::count(lines, "group"), std::ranges::count(lines, "session"));
  };
  const int cpus = sys::UsableCpus();
  EXPECT_EQ(leaders(cpus), std::pair(std::ptrdiff_t{cpus}, std::ptrdiff_t{cpus}));
  EXPECT_EQ(leaders(cpus + 1), std::pair(std::ptrdiff_t{cpus} + 1, std::ptrdiff_t{0}));
}

TEST_F(RunCommandTest, RanksDieWithTheLauncher) {
  const pid_t launcher = Launch({"-n", "2", "sh", "-c", fmt::format("echo $$ > {}$RANK; exec sleep 60", Path("pid"))});
  const pid_t ranks[] = {ReadNumber("pid0"), ReadNumber("pid1")};
  ASSERT_GT(ranks[0], 0);
  ASSERT_GT(ranks[1], 0);
  kill(launcher, SIGKILL);
  ASSERT_EQ(waitpid(launcher, nullptr, 0), launcher);
  for (pid_t rank : ranks) EXPECT_TRUE(WaitUntil([&] { return IsDead(rank); }));
}

TEST_F(RunCommandTest, LeavesNothingRunning) {
  const Outcome outcome =
      Captured({"-n", "1", "--tag-output", "sh", "-c", fmt::format("sleep 60 & echo $! > {}; exit 0", Path("pid"))});
  EXPECT_EQ(outcome.code, 0);
  const pid_t left = ReadNumber("pid");
  ASSERT_GT(left, 0);
  EXPECT_TRUE(WaitUntil([&] { return IsDead(left); }));
}

TEST_F(RunCommandTest, SaysWhatIsWrong) {
  EXPECT_EQ(Captured({"-n", "2", "no_such_program"}).code, 127);
  EXPECT_NE(Captured({"-n", "2", "no_such_program"}).err.find("cannot run 'no_such_program'"), std::string::npos);
  EXPECT_EQ(Captured({"-n", "2", "/tmp"}).code, 126);
  EXPECT_EQ(Captured({"-n", "2"}).code, 2);
  EXPECT_EQ(Captured({"-n", "0", "true"}).code, 2);
  EXPECT_EQ(Captured({"true"}).code, 2);
  EXPECT_EQ(Captured({"-n", "2", "--no-such-option", "true"}).code, 2);
}

TEST(LaunchRanks, RunsAFunctionInEachChild) {
  EXPECT_EQ(LaunchRanks(3, {}, [](int) { return 0; }), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(LaunchRanks(3, {.quiet_codes = {7}}, [](int rank) { return rank == 2 ? 7 : 0; }), 7);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(LineTagger, TagsWholeLines) {
  LineTagger tagger("[1] ");
  EXPECT_EQ(tagger.Add("a\nb"), "[1] a\n");
  EXPECT_EQ(tagger.Add("c"), "");
  EXPECT_EQ(tagger.Add("\n\n"), "[1] bc\n[1] \n");
  EXPECT_EQ(tagger.Add("end"), "");
  EXPECT_EQ(tagger.Finish(), "[1] end\n");
  EXPECT_EQ(tagger.Finish(), "");
}

}  // namespace
}  // namespace tutti::tools
