// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// `tutti top FILE` on core files of real processes: three ranks, of which one has not called what the others wait in.
#include "tools/top_core.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sys/os/clock.h"
#include "sys/os/core_file.h"
#include "sys/os/text_file.h"
#include "tests/support/child_process.h"
#include "tests/support/rank_processes.h"
#include "tests/support/scratch_folder.h"
#include "tools/top_command.h"
#include "tutti/tutti.h"

namespace tutti::tools {
namespace {

constexpr int kRanks = 3;

// Why this machine cannot write the core file of a child into the child's folder; empty: it can.
std::string NoCoresHere() {
  const Result<std::string> pattern = sys::ReadFile("/proc/sys/kernel/core_pattern");
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  if (!pattern.ok()) return pattern.status().message();
  if (!pattern->starts_with("core") || pattern->find('/') != std::string::npos)
    return "core files go elsewhere: " + *pattern;
  return limit.rlim_max == RLIM_INFINITY ? "" : "the hard limit of core files is not unlimited";
}

// Ranks 0 and 2 wait in an all_reduce that rank 1 has not called. Each process leaves its core file in a folder of its own.
class Job {
 public:
  explicit Job(const char* filter = nullptr) : job_(kRanks) {
    const auto body = [this, filter](CommunicatorOptions options, tests::Board& board) -> Status {
      board.pid[options.rank] = getpid();
      const std::string folder = Folder(options.rank);
      std::filesystem::create_directory(folder);
      const rlimit unlimited{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
      if (chdir(folder.c_str()) != 0 || setrlimit(RLIMIT_CORE, &unlimited) != 0) _exit(2);
      if (filter != nullptr) std::ofstream("/proc/self/coredump_filter") << filter;
      options.name = "dp";
      Result<Communicator> c = Communicator::Create(options);
      if (!c.ok()) return c.status();
      std::vector<float> in(10, 1.0f), out(10);
      TUTTI_RETURN_IF_ERROR(c->Run(AllReduce(in, out)));
      ++board.ready;
      if (options.rank != 1) (void)c->Run(AllReduce(std::span(in).first(5), std::span(out).first(5), ReduceOp::kMax));
      while (true) pause();
    };
    Settings settings;
    settings.proto = "LL";
    settings.ras_enable = false;
    job_.Start(body, settings);
    job_.WaitReady(kRanks);
  }
  pid_t PidOf(int rank) { return job_.board().pid[rank]; }
  // Ends a rank as it would end by abort(), and returns its core file.
  std::string CoreOf(int rank) {
    kill(PidOf(rank), SIGABRT);
    std::string found;
    // It is whole once its process is a zombie.
    siginfo_t info{};
    EXPECT_EQ(waitid(P_PID, static_cast<id_t>(PidOf(rank)), &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(info.si_code, CLD_DUMPED);
    for (const auto& entry : std::filesystem::directory_iterator(Folder(rank))) found = entry.path();
    return found;
  }

 private:
  std::string Folder(int rank) const { return scratch_.Path("rank" + std::to_string(rank)); }
  tests::ScratchFolder scratch_;
  tests::RankProcesses job_;
};

int Top(std::vector<std::string> arguments, std::string* output, std::string* error) {
  arguments.insert(arguments.begin(), "top");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int exit = TopCommand(static_cast<int>(argv.size()), argv.data());
  *output = testing::internal::GetCapturedStdout();
  *error = testing::internal::GetCapturedStderr();
  return exit;
}

class TopCore : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = NoCoresHere(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(TopCore, TellsOfAllRanksOfTheHost) {
  Job job;
  sys::SleepNs(2 * sys::kNsPerSecond);
  const std::string path = job.CoreOf(2);
  std::string output, error;
  EXPECT_EQ(Top({path}, &output, &error), 2) << error;
  SCOPED_TRACE(output);
  EXPECT_NE(output.find("of process " + std::to_string(job.PidOf(2)) + " (top_core_test), ended by signal 6"),
            std::string::npos);
  EXPECT_NE(output.find("its peers on that host, from pages that it had mapped: 2 ranks"), std::string::npos);
  EXPECT_NE(output.find("data of rank"), std::string::npos);
  EXPECT_NE(
      output.find("rank 1 (pid " + std::to_string(job.PidOf(1)) +
                  ") has not called all_reduce(count 5, float32, max), operation 2 of communicator dp; ranks 0 and 2 "
                  "have waited for "),
      std::string::npos);

  EXPECT_EQ(Top({"--json", "-", path}, &output, &error), 2) << error;
  const nlohmann::json json = nlohmann::json::parse(output);
  EXPECT_EQ(json["core"]["signal"], 6);
  EXPECT_EQ(json["core"]["cut"], false);
  EXPECT_EQ(json["pid"], job.PidOf(2));
  ASSERT_EQ(json["ranks"].size(), 1u);
  EXPECT_EQ(json["ranks"][0]["rank"], 2);
  EXPECT_EQ(json["ranks"][0]["running"]["call"], "all_reduce(count 5, float32, max)");
  EXPECT_GT(json["ranks"][0]["wait"]["ns"].get<std::int64_t>(), 1'000'000'000);
  ASSERT_EQ(json["peers"].size(), 2u);
  EXPECT_EQ(json["peers"][1]["rank"], 1);
  EXPECT_EQ(json["peers"][1]["called"], 1);
  EXPECT_EQ(json["peers"][1]["pid"], job.PidOf(1));
  ASSERT_EQ(json["verdicts"].size(), 1u);
  EXPECT_EQ(json["verdicts"][0]["kind"], "late host");
  EXPECT_EQ(json["verdicts"][0]["confidence"], "unsure");
  EXPECT_EQ(json["verdicts"][0]["culprits"][0]["rank"], 1);
}

// Cut at any length it is read as far as it goes, or refused.
TEST_F(TopCore, ReadsOneThatIsCut) {
  Job job;
  const std::string path = job.CoreOf(0);
  const std::uint64_t bytes = std::filesystem::file_size(path);
  int read = 0, refused = 0;
  for (int sixteenth = 15; sixteenth >= 0; --sixteenth) {
    std::filesystem::resize_file(path, bytes * static_cast<std::uint64_t>(sixteenth) / 16);
    const Result<CoreLook> core = ReadCore(path);
    ++(core.ok() ? read : refused);
    EXPECT_TRUE(!core.ok() || core->is_cut);
    const std::string text = core.ok() ? FormatCore(*core, JudgeCore(*core)) : "the file is cut";
    EXPECT_NE(text.find("the file is cut"), std::string::npos) << text;
  }
  EXPECT_GE(refused, 1);
}

TEST_F(TopCore, SaysWhyThereIsNothing) {
  Job without("0x31");  // anonymous shared memory is left out
  std::string output, error;
  EXPECT_EQ(Top({without.CoreOf(0)}, &output, &error), 3);
  EXPECT_NE(error.find("lacks the shared pages of Tutti that the process had: bit 1 of /proc/PID/coredump_filter"),
            std::string::npos)
      << error;
}

TEST(TopCoreErrors, RefuseOtherFiles) {
  std::string output, error;
  EXPECT_EQ(Top({"/proc/self/exe"}, &output, &error), 3);
  EXPECT_EQ(error, "tutti top: /proc/self/exe: it is no core file: it is an ELF file of another kind\n");
  EXPECT_EQ(Top({"/dev/null"}, &output, &error), 3);
  EXPECT_EQ(error, "tutti top: /dev/null: it is no core file: it is no regular file\n");
}

}  // namespace
}  // namespace tutti::tools
