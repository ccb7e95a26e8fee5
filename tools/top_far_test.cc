// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What `tutti top` is told of ranks on other hosts. Ranks with different host ids (NCCL_HOSTID) count as being on different hosts.
#include "tools/top_far.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "diag/sentence.h"
#include "diag/verdict.h"
#include "ras/service.h"
#include "sys/net/tcp.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "sys/os/text_file.h"
#include "tests/support/child_process.h"
#include "tests/support/rank_processes.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/text_client.h"
#include "tools/top_command.h"
#include "tools/top_jobs.h"
#include "tools/top_look.h"

namespace tutti::tools {
namespace {

constexpr int kRanks = 4;

std::string AddressOf(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

// Ranks 0 and 1 on east, 2 and 3 on west, which run all_reduces.
class TwoHosts : public testing::Test {
 protected:
  TwoHosts() : job_(kRanks), address_(AddressOf(tests::FreePort())), far_(address_) {
    const auto body = [](CommunicatorOptions options, tests::Board& board) -> Status {
      board.pid[options.rank] = getpid();
      options.settings.host_id = options.rank < 2 ? "east" : "west";
      Result<Communicator> c = Communicator::Create(options);
      if (!c.ok()) return c.status();
      return tests::AllReduceForEver(*c, 64, board);
    };
    Settings settings;
    settings.ras_addr = address_;
    job_.Start(body, settings);
    job_.WaitReady(kRanks);
  }
  pid_t PidOf(int rank) { return job_.board().pid[rank]; }
  // Returns once all of it stands: a thread that still runs could let a client in, which would wait for ever.
  void Stop(int rank) {
    kill(PidOf(rank), SIGSTOP);
    int status = 0;
    ASSERT_EQ(waitpid(PidOf(rank), &status, WUNTRACED), PidOf(rank));
    ASSERT_TRUE(WIFSTOPPED(status));
  }

  // As `tutti top` of east looks, which sees no process of west.
  diag::Look LookOfEast() {
    std::optional<watch::JointLook> told;
    EXPECT_TRUE(tests::WaitUntil([&] {
      told = far_.Ask();
      return told.has_value();
    }));
    diag::Look look = TakeLook({PidOf(0), PidOf(1)});
    EXPECT_EQ(look.processes.size(), 2u);
    if (told) watch::AddJointLook(look, *told);
    return look;
  }

  tests::RankProcesses job_;
  const std::string address_;
  FarLooks far_;
};

TEST_F(TwoHosts, AreOneJob) {
  diag::Look now;
  EXPECT_TRUE(tests::WaitUntil([&] {
    now = LookOfEast();
    return now.communicators.size() == 1 && now.communicators[0].seen.size() == kRanks;
  }));
  const std::vector<TopJob> jobs = FindJobs(now, now, {});
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].hosts, 2);
  const std::string text = FormatJobs(jobs);
  EXPECT_NE(text.find("job of 4 ranks on 2 hosts, pids "), std::string::npos) << text;
  EXPECT_EQ(text.find(std::to_string(PidOf(3))), std::string::npos) << text;
  const diag::CommunicatorLook& c = now.communicators[0];
  EXPECT_EQ(c.seen[0].island, c.seen[1].island);
  EXPECT_EQ(c.seen[2].island, c.seen[3].island);
  EXPECT_NE(c.seen[1].island, c.seen[2].island);
}

TEST_F(TwoHosts, ARankOfTheOtherThatIsStoppedIsNamed) {
  Stop(3);
  const std::string wanted = "rank 3 (host west, pid " + std::to_string(PidOf(3)) + ") is stopped; ";
  std::string said;
  EXPECT_TRUE(tests::WaitUntil([&] {
    const diag::Look before = LookOfEast();
    sys::SleepNs(ApartNs(before, 200 * sys::kNsPerMs));
    const std::vector<diag::Verdict> verdicts = diag::Judge(before, LookOfEast());
    for (const diag::Verdict& v : verdicts) said = diag::Sentence(v);
    return verdicts.size() == 1 && said.starts_with(wanted) && StatusOf(verdicts[0]) == JobStatus::kCritical;
  })) << wanted
      << "\n"
      << said;
}

// The program itself, in a process that sees none of the job's: what it shows is all told.
TEST_F(TwoHosts, AreShownByTheProgram) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root, to become a user who sees less";
  Stop(3);
  const tests::ScratchFolder folder;
  std::string text;
  const auto shown = [&] {
    const pid_t child = fork();
    if (child == 0) {
      setenv("NCCL_RAS_ADDR", address_.c_str(), 1);
      if (freopen(folder.Path("shown").c_str(), "w", stdout) == nullptr || setuid(65534) != 0) _exit(100);
      std::string name = "top", once = "--once";
      char* argv[] = {name.data(), once.data()};
      _exit(TopCommand(2, argv));
    }
    int status = 0;
    waitpid(child, &status, 0);
    text = *sys::ReadFile(folder.Path("shown"));
    const std::string wanted = "WARN rank 3 (host west, pid " + std::to_string(PidOf(3)) + ") is stopped; ";
    return WIFEXITED(status) && WEXITSTATUS(status) == 2 &&
           text.starts_with("CRITICAL  job of 4 ranks on 2 hosts, pids ") && text.find(wanted) != std::string::npos;
  };
  EXPECT_TRUE(tests::WaitUntil(shown)) << text;
}

// A service in a thread.
class Serving {
 public:
  Serving(std::uint16_t port, std::function<std::vector<std::byte>(const diag::Look&)> encode)
      : thread_([this, port, encode = std::move(encode)] {
          ras::Serve({.address = AddressOf(port),
                      .observe = [] { return ras::Observation{}; },
                      .encode = encode,
                      .goes_on = [this] { return !stop_; }});
        }) {}
  ~Serving() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

std::string Answer(std::uint16_t port) { return tests::TextClient(port).Ask("TUTTI LOOK\n"); }

TEST(FarLooks, AreTakenFromThisMachineOnly) {
  for (const std::uint64_t other : {0, 1}) {
    const std::uint16_t port = tests::FreePort();
    Serving serving(port, [&](const diag::Look& look) {
      return Encode(watch::JointLook{.machine = sys::HostHash() + other, .look = look});
    });
    EXPECT_TRUE(Answer(port).starts_with("LOOK "));
    EXPECT_EQ(FarLooks(AddressOf(port)).Ask().has_value(), other == 0);
  }
}

TEST(FarLooks, AreDoneWithoutWhereNobodyTells) {
  EXPECT_FALSE(FarLooks("").Ask());
  EXPECT_FALSE(FarLooks("no address").Ask());
  EXPECT_FALSE(FarLooks(AddressOf(tests::FreePort())).Ask());
  const std::uint16_t large = tests::FreePort();
  {
    Serving serving(large, [](const diag::Look&) { return std::vector<std::byte>{}; });
    EXPECT_EQ(Answer(large), "ERROR: The look is too large\n");
    EXPECT_FALSE(FarLooks(AddressOf(large)).Ask());
  }
  // One that takes connections and never says a word is asked once.
  Result<sys::TcpListener> mute =
      sys::TcpListener::Open({.addresses = {sys::IpAddress::V4(127, 0, 0, 1)}, .ports = {}});
  ASSERT_TRUE(mute.ok());
  FarLooks far(AddressOf(mute->port()));
  EXPECT_FALSE(far.Ask());
  EXPECT_FALSE(far.Ask());
  EXPECT_TRUE(mute->Accept().ok());
  EXPECT_FALSE(mute->Accept().ok());
}

}  // namespace
}  // namespace tutti::tools
