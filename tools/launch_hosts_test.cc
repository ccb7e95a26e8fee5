// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// `tutti run --hosts` with hosts that are this one: agents are scripts that forget the host's name.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/scratch_folder.h"
#include "tools/cli.h"

namespace tutti::tools {
namespace {

using tests::ChildProcess;
using tests::WaitUntil;
using Words = std::vector<std::string>;

std::vector<std::string> SortedLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

bool Has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

class LaunchOnHostsTest : public testing::Test {
 protected:
  // A program of the shell; its path.
  std::string Script(const std::string& name, const std::string& body) const {
    const std::string path = folder_.Path(name);
    std::ofstream(path) << "#!/bin/sh\n" << body << '\n';
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string Agent() const { return Script("agent", "shift\nexec \"$@\""); }
  // `tutti run` with these words.
  ChildProcess Start(const Words& words, Words environment = {}) const {
    Words all = {TUTTI_TOOL, "run"};
    all.insert(all.end(), words.begin(), words.end());
    environment.push_back("NCCL_SOCKET_IFNAME=");  // the tests under ThreadSanitizer set it
    return ChildProcess(all, environment);
  }
  // The number that a rank wrote into a file, and that of a process that has it, as soon as they are there.
  pid_t ReadPid(const std::string& name) const {
    pid_t pid = 0;
    EXPECT_TRUE(WaitUntil([&] { return static_cast<bool>(std::ifstream(folder_.Path(name)) >> pid) && pid > 0; }));
    return pid;
  }
  static bool IsGone(pid_t pid) {
    std::ifstream stat(fmt::format("/proc/{}/stat", pid));
    std::string text;
    return !std::getline(stat, text) || Has(text, ") Z");
  }
  // Ranks that write their process numbers to pid0 and so on, and wait.
  std::string Sleeper(const std::string& before = "") const {
    return fmt::format("{}echo $$ > {}.part; mv {}.part {}$RANK; exec sleep 60", before, folder_.Path("$RANK"),
                       folder_.Path("$RANK"), folder_.Path("pid"));
  }

  const tests::ScratchFolder folder_;
};

TEST_F(LaunchOnHostsTest, TellsEveryRankWhoItIs) {
  ChildProcess run =
      Start({"--hosts", "a:2,b", "--agent", Agent(), "-x", "GIVEN=1 2", "-x", "KNOWN", "sh", "-c",
             "echo $TUTTI_RANK $TUTTI_RANKS $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NCCL_HOSTID "
             "${#TUTTI_ID} $NCCL_DEBUG_SUBSYS $GIVEN $KNOWN \"$0\" \"$*\"",
             "two words", "", "*"},
            {"NCCL_DEBUG_SUBSYS=NET", "KNOWN=yes", "NCCL_HOSTID=c", "TUTTI_RANK=9"});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(SortedLines(run.output()),
            (Words{"0 3 0 3 0 2 a 256 NET 1 2 yes two words  *", "1 3 1 3 1 2 a 256 NET 1 2 yes two words  *",
                   "2 3 2 3 0 1 b 256 NET 1 2 yes two words  *"}));
}

TEST_F(LaunchOnHostsTest, TheIdIsOnNoCommandLine) {
  ChildProcess run = Start({"--hosts", "a,b", "--agent", Agent(), "sh", "-c",
                            fmt::format("echo $TUTTI_ID > {}; cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' > {}",
                                        folder_.Path("id"), folder_.Path("commands"))});
  EXPECT_EQ(run.Wait(), 0) << run.output();
  std::string id;
  std::ifstream(folder_.Path("id")) >> id;
  ASSERT_EQ(id.size(), 256u);
  std::stringstream commands;
  commands << std::ifstream(folder_.Path("commands")).rdbuf();
  EXPECT_TRUE(Has(commands.str(), " run --on-host ")) << commands.str();
  EXPECT_FALSE(Has(commands.str(), id)) << commands.str();
}

TEST_F(LaunchOnHostsTest, TagsLinesAndPassesOnWhatElseIsSaid) {
  const std::string agent = Script("talker", "echo welcome to $1\necho really >&2\nshift\nexec \"$@\"");
  ChildProcess run =
      Start({"--hosts", "a:1,b:1", "--agent", agent, "--tag-output", "sh", "-c", "echo out; echo err >&2; printf end"});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(SortedLines(run.output()), (Words{"[0] end", "[0] err", "[0] out", "[1] end", "[1] err", "[1] out",
                                              "really", "really", "welcome to a", "welcome to b"}));
}

TEST_F(LaunchOnHostsTest, StartsInTheSameFolderWithoutInput) {
  ChildProcess run = Start({"--hosts", "a", "--agent", Agent(), "sh", "-c", "cat; pwd"});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(run.output(), std::filesystem::current_path().string() + "\n");
}

// As the real one does, it joins the words to one text for a shell.
TEST_F(LaunchOnHostsTest, BySsh) {
  Script("ssh",
         "while [ \"${1#-}\" != \"$1\" ]; do [ $1 = -o ] && shift; shift; done\necho on $1\nshift\nsh -c \"$*\"");
  std::filesystem::create_symlink(TUTTI_TOOL, folder_.Path("it's tutti"));
  ChildProcess run =
      Start({"--hosts", "a:1,me@b:1", "--remote-tutti", folder_.Path("it's tutti"), "sh", "-c", "echo $RANK"},
            {"PATH=" + folder_.path() + ":" + std::getenv("PATH")});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(SortedLines(run.output()), (Words{"0", "1", "on a", "on me@b"}));
}

TEST_F(LaunchOnHostsTest, OneFailureEndsAll) {
  ChildProcess run =
      Start({"--hosts", "a:2,b:1", "--agent", Agent(), "--grace", "0.1", "sh", "-c",
             Sleeper(fmt::format("if [ $RANK = 1 ]; then while [ ! -e {} ]; do sleep 0.01; done; exit 5; fi; ",
                                 folder_.Path("pid2")))});
  EXPECT_EQ(run.Wait(), 5);
  EXPECT_TRUE(Has(run.output(), "tutti run on a: rank 1 (pid ")) << run.output();
  EXPECT_TRUE(Has(run.output(), ") ended with exit code 5\n")) << run.output();
  EXPECT_TRUE(IsGone(ReadPid("pid2")));
}

TEST_F(LaunchOnHostsTest, SignalsReachTheRanks) {
  const std::string script =
      fmt::format("trap 'exit 9' INT; echo $$ > {0}; mv {0} {1}$RANK; while :; do sleep 0.02; done",
                  folder_.Path("$RANK"), folder_.Path("pid"));
  ChildProcess run = Start({"--hosts", "a:1,b:1", "--agent", Agent(), "sh", "-c", script});
  const pid_t ranks[] = {ReadPid("pid0"), ReadPid("pid1")};
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait(), 9);
  EXPECT_TRUE(Has(run.output(), "got signal 2 (Interrupt): passed on to 2 hosts")) << run.output();
  for (const pid_t rank : ranks) EXPECT_TRUE(IsGone(rank));
}

TEST_F(LaunchOnHostsTest, RanksDieWithTheLauncher) {
  // An agent in a session of its own, which is not killed with the launcher: as sshd starts commands.
  const std::string agent = Script("far", "shift\nexec setsid --wait \"$@\"");
  ChildProcess run = Start({"--hosts", "a:1,b:1", "--agent", agent, "sh", "-c", Sleeper()});
  const pid_t ranks[] = {ReadPid("pid0"), ReadPid("pid1")};
  kill(run.pid(), SIGKILL);
  EXPECT_EQ(run.Wait(), 128 + SIGKILL);
  for (const pid_t rank : ranks) EXPECT_TRUE(WaitUntil([&] { return IsGone(rank); }));
}

TEST_F(LaunchOnHostsTest, NoRankStartsWhereAHostIsNotReached) {
  const std::string agent = Script("half", "[ $1 = b ] && { echo no way to $1 >&2; exit 3; }\nshift\nexec \"$@\"");
  ChildProcess run = Start({"--hosts", "a:1,b:1", "--agent", agent, "sh", "-c", "echo started"});
  EXPECT_EQ(run.Wait(), 3);
  EXPECT_FALSE(Has(run.output(), "started\n")) << run.output();
  EXPECT_TRUE(Has(run.output(), "no way to b\ntutti run: host b was not reached, so no rank was started: "))
      << run.output();
  EXPECT_TRUE(Has(run.output(), "ended with exit code 3 before `tutti` answered there.")) << run.output();

  ChildProcess silent = Start({"--hosts", "a:1,b:1", "--agent", "true", "true"});
  EXPECT_EQ(silent.Wait(), kExitFailed);
  ChildProcess none = Start({"--hosts", "a:1,b:1", "--agent", "/no/such/agent", "true"});
  EXPECT_EQ(none.Wait(), 127);
  EXPECT_TRUE(Has(none.output(), "cannot run '/no/such/agent'")) << none.output();
}

TEST_F(LaunchOnHostsTest, NoRankStartsWhereTheProgramIsMissing) {
  Script("only_on_a", "echo started");
  const std::string agent = Script("agent_b", "[ $1 = b ] && PATH=/usr/bin:/bin\nshift\nexec \"$@\"");
  ChildProcess run =
      Start({"--hosts", "a:1,b:1", "--agent", agent, "only_on_a"}, {"PATH=" + folder_.path() + ":/usr/bin:/bin"});
  EXPECT_EQ(run.Wait(), 127);
  EXPECT_EQ(run.output(),
            "tutti run on b: cannot run 'only_on_a': no folder of PATH holds it. The program has to be at the same "
            "path on all "
            "hosts\n");
}

TEST_F(LaunchOnHostsTest, AnotherVersionIsRefused) {
  const std::string old = Script("tutti", "echo tutti run --on-host of version 0.0.9 is here; exec cat");
  ChildProcess run = Start({"--hosts", "a:1", "--agent", Agent(), "--remote-tutti", old, "true"});
  EXPECT_EQ(run.Wait(), kExitFailed);
  EXPECT_TRUE(Has(run.output(), "host a has tutti 0.0.9 at " + old + ", and this is ")) << run.output();
}

TEST_F(LaunchOnHostsTest, AnAgentThatPassesNoInputOn) {
  const std::string agent = Script("deaf", "shift\nexec \"$@\" </dev/null");
  ChildProcess run = Start({"--hosts", "a:1", "--agent", agent, "true"});
  EXPECT_EQ(run.Wait(), kExitFailed);
  EXPECT_TRUE(Has(run.output(), "standard input ended before the job came")) << run.output();
}

TEST_F(LaunchOnHostsTest, WrongCommandLines) {
  for (const Words& words :
       {Words{"--hosts", "a:0", "true"}, Words{"--hosts", "a", "-n", "2", "true"},
        Words{"--agent", "x", "-n", "1", "true"}, Words{"--hosts", "a", "-x", "NOT_SET_HERE", "true"},
        Words{"--hosts", "a"}, Words{"true"}}) {
    ChildProcess run = Start(words);
    EXPECT_EQ(run.Wait(), kExitUsage) << run.output();
  }
}

}  // namespace
}  // namespace tutti::tools
