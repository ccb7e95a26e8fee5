// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/preload_command.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int code;
  std::string out, err;
};

class PreloadCommandTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's library must be the first that a process loads";
#endif
    char name[] = "/tmp/tutti_preload_test_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = fs::canonical(name).string();
    other_ = folder_ + "/libnccl.so.2";
    fs::copy_file(TUTTI_FAKE_NCCL, other_);
    ours_ = fs::canonical(TUTTI_NCCL_LIBRARY).string();
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  // `tutti preload` with these words, in a process of its own.
  Outcome Run(const std::string& words, const std::string& environment = "") const {
    const std::string command =
        fmt::format("{} {} preload {} >{}/out 2>{}/err </dev/null", environment, TUTTI_TOOL, words, folder_, folder_);
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Read("out"), Read("err")};
  }
  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }

  std::string folder_, other_, ours_;
};

TEST_F(PreloadCommandTest, LeadsEveryLookUpToOurLibrary) {
  const std::string link = folder_ + "/libnccl.so";
  fs::create_symlink(other_, link);
  // By name, by the path of another one, and by that of a link to it.
  const Outcome outcome = Run(fmt::format("--require {} libnccl.so.2 {} {}", TUTTI_OPENER, other_, link),
                              fmt::format("LD_LIBRARY_PATH={}", folder_));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "22809\n22809\n22809\n");
  EXPECT_TRUE(outcome.err.starts_with("tutti preload: 1 process mapped a libnccl\n")) << outcome.err;
  EXPECT_NE(outcome.err.find(fmt::format("  {} (Tutti, answers as NCCL 2.28.9)\n    preload_opener (pid ", ours_)),
            std::string::npos)
      << outcome.err;
}

TEST_F(PreloadCommandTest, LookSaysWhatIsMappedAnyway) {
  const Outcome outcome = Run(fmt::format("--look {} {}", TUTTI_OPENER, other_));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "21805\n");
  EXPECT_NE(outcome.err.find(fmt::format("  {} (NCCL 2.18.5)\n", other_)), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("NOT"), std::string::npos);
}

TEST_F(PreloadCommandTest, LdPreloadWinsByNameButNotByPath) {
  const Outcome by_name = Run(fmt::format("--ld-preload --require {} libnccl.so.2", TUTTI_OPENER),
                              fmt::format("LD_LIBRARY_PATH={}", folder_));
  EXPECT_EQ(by_name.code, 0) << by_name.err;
  EXPECT_EQ(by_name.out, "22809\n");
  const Outcome by_path = Run(fmt::format("--ld-preload --require {} {}", TUTTI_OPENER, other_));
  EXPECT_EQ(by_path.code, 1);
  EXPECT_EQ(by_path.out, "21805\n");
  EXPECT_NE(by_path.err.find(fmt::format("  {} (NCCL 2.18.5): NOT the one asked for\n", other_)), std::string::npos)
      << by_path.err;
}

TEST_F(PreloadCommandTest, LdPreloadAloneNeedsNoAudit) {
  const Outcome outcome = Run(fmt::format("--ld-preload --no-audit {} libnccl.so.2", TUTTI_OPENER));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "22809\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(PreloadCommandTest, AnotherLibraryCanBeChosen) {
  const Outcome outcome = Run(fmt::format("--library {} --require {} libnccl.so.2", other_, TUTTI_OPENER));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "21805\n");
}

TEST_F(PreloadCommandTest, TellsVllmWhereTheLibraryIs) {
  const Outcome outcome = Run("sh -c 'echo $VLLM_NCCL_SO_PATH'");
  EXPECT_EQ(outcome.out, ours_ + "\n");
}

TEST_F(PreloadCommandTest, NamesEveryRankBelowALauncher) {
  const Outcome outcome = Run(fmt::format("--require -- {} run -n 3 {}", TUTTI_TOOL, TUTTI_NCCL_PROGRAM));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("3 processes mapped a libnccl\n"), std::string::npos) << outcome.err;
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_NE(outcome.err.find(fmt::format("    rank {}: nccl_program (pid ", rank)), std::string::npos) << outcome.err;
  }
}

TEST_F(PreloadCommandTest, SaysWhereNobodyUsesNccl) {
  EXPECT_EQ(Run("--require true").code, 1);
  const Outcome outcome = Run("true");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("no process mapped a libnccl: "), std::string::npos) << outcome.err;
  EXPECT_EQ(Run(fmt::format("--require env -i {} {}", TUTTI_OPENER, other_)).code, 1);
}

TEST_F(PreloadCommandTest, ReturnsTheProgramsExitCode) {
  EXPECT_EQ(Run("sh -c 'exit 5'").code, 5);
  EXPECT_EQ(Run("sh -c 'kill -9 $$'").code, 128 + SIGKILL);
  EXPECT_EQ(Run("no_such_program").code, 127);
  EXPECT_EQ(Run("/tmp").code, 126);
}

TEST_F(PreloadCommandTest, SaysWhatIsWrong) {
  EXPECT_EQ(Run("").code, 2);
  EXPECT_EQ(Run("--no-audit true").code, 2);
  EXPECT_EQ(Run("--ld-preload --no-audit --require true").code, 2);
  const Outcome missing = Run("--library /no/such/file true");
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("cannot use '/no/such/file': No such file"), std::string::npos) << missing.err;
  const Outcome no_library = Run("--library /bin/true true");
  EXPECT_EQ(no_library.code, 1);
  EXPECT_NE(no_library.err.find("is no libnccl that can be used here: "), std::string::npos) << no_library.err;
}

TEST_F(PreloadCommandTest, PassesSignalsOnAndStillReports) {
  const pid_t pid = fork();
  if (pid == 0) {
    [[maybe_unused]] auto* const file = freopen((folder_ + "/err").c_str(), "w", stderr);
    execl(TUTTI_TOOL, "tutti", "preload", "sh", "-c",
          fmt::format("trap 'exit 9' TERM; echo > {}/ready; while :; do sleep 0.02; done", folder_).c_str(), nullptr);
    _exit(1);
  }
  for (int i = 0; i < 1000 && !fs::exists(folder_ + "/ready"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(pid, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 9 << 8);
  EXPECT_NE(Read("err").find("no process mapped a libnccl"), std::string::npos);
}

TEST(ParseLoaded, TakesWholeLinesOnly) {
  const std::vector<LoadedNccl> loaded =
      ParseLoaded("12\t-\t/bin/a\t/l/libnccl.so.2\nx\ty\n13\t2\t/b\t/c\n14\t3\t/b\t/c");
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_EQ(loaded[0].pid, 12);
  EXPECT_EQ(loaded[0].rank, "-");
  EXPECT_EQ(loaded[0].file, "/l/libnccl.so.2");
  EXPECT_EQ(loaded[1].rank, "2");
}

}  // namespace
}  // namespace tutti::tools
