// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// `tutti top` on real processes: one that waits, one that is stopped, one at full speed, and what is none of them.
#include "tools/top_command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "tools/cli.h"
#include "tools/top_view.h"
#include "tutti/tutti.h"

namespace tutti::tools {
namespace {

// A child process whose two ranks are threads.
class Child {
 public:
  explicit Child(const std::function<void(Communicator&)>& body, const Settings& settings = {}) {
    const UniqueId id = *CreateUniqueId();
    pid_ = fork();
    if (pid_ != 0) return;
    std::vector<std::thread> ranks;
    for (int r = 0; r < 2; ++r) {
      ranks.emplace_back([&, r] {
        Result<Communicator> c = Communicator::Create({.rank = r, .ranks = 2, .id = id, .settings = settings});
        if (!c.ok()) _exit(1);
        body(*c);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    _exit(0);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

  // Looks until both ranks have called `calls` times, and once more after a while.
  std::vector<TopRow> Rows(std::uint64_t calls, int while_ms = 300) {
    std::vector<TopRow> rows;
    for (int tries = 0; tries < 2000; ++tries) {
      const Result<std::vector<BoxCopy>> boxes = TakeAll(pid_);
      if (boxes.ok()) {
        rows = MakeRows(*boxes, {});
        if (rows.size() == 2 && std::ranges::all_of(rows, [&](const TopRow& r) { return r.called >= calls; })) break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(while_ms));
    const Result<std::vector<BoxCopy>> boxes = TakeAll(pid_);
    return boxes.ok() ? MakeRows(*boxes, {}) : rows;
  }

 private:
  pid_t pid_;
};

// Rank 0 waits in a second all_reduce that rank 1 never calls. By LL, which a busy machine might not choose.
const Settings kWaitByLl = {.proto = "LL"};
void WaitForEver(Communicator& c) {
  std::vector<float> in(10, 1.0f), out(10);
  (void)c.Run(AllReduce(in, out));
  if (c.rank() == 0) (void)c.Run(AllReduce(std::span(in).first(5), std::span(out).first(5), ReduceOp::kMax));
  while (true) pause();
}

void ExpectRankZeroWaits(const std::vector<TopRow>& rows) {
  ASSERT_EQ(rows.size(), 2u);
  const TopRow& waiting = rows[0];
  EXPECT_EQ(waiting.rank, 0);
  EXPECT_TRUE(waiting.busy);
  EXPECT_EQ(waiting.called, 2u);
  EXPECT_EQ(waiting.finished, 1u);
  EXPECT_EQ(waiting.call.call.ToString(), "all_reduce(count 5, float32, max)");
  EXPECT_EQ(waiting.call.sequence, 2u);
  EXPECT_EQ(waiting.wait.kind, trace::WaitKind::kData);
  EXPECT_EQ(waiting.wait.peer, 1);
  EXPECT_GT(waiting.waited_ns, 100'000'000);
  EXPECT_GT(waiting.age_ns, 100'000'000);
  EXPECT_NE(waiting.algorithm.find("LL"), std::string::npos) << waiting.algorithm;
  const TopRow& idle = rows[1];
  EXPECT_EQ(idle.rank, 1);
  EXPECT_FALSE(idle.busy);
  EXPECT_EQ(idle.called, 1u);
  EXPECT_EQ(DescribeWait(idle), "");
}

TEST(Top, ShowsWhoWaitsForWhom) {
  Child child(WaitForEver, kWaitByLl);
  std::vector<TopRow> rows = child.Rows(1);
  ExpectRankZeroWaits(rows);
  const std::string text = FormatRows(child.pid(), rows);
  EXPECT_NE(text.find("data of rank 1 for"), std::string::npos) << text;
  EXPECT_NE(text.find("idle; last all_reduce(count 10, float32, sum)"), std::string::npos) << text;
}

TEST(Top, ReadsAStoppedProcess) {
  Child child(WaitForEver, kWaitByLl);
  (void)child.Rows(1);
  ASSERT_EQ(kill(child.pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child.pid(), &status, WUNTRACED), child.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  ExpectRankZeroWaits(child.Rows(1));
}

// Stopped at any point of its work, again and again: what is read makes sense, and is the same when read twice.
TEST(Top, ReadsOneStoppedInTheMiddleOfItsWork) {
  Child child([](Communicator& c) {
    std::vector<float> in(2, 1.0f), out(2);
    while (c.Run(AllReduce(in, out)).ok()) {
    }
  });
  std::uint64_t last = 0;
  (void)child.Rows(100);
  for (int turn = 0; turn < 20; ++turn) {
    kill(child.pid(), SIGSTOP);
    int status = 0;
    waitpid(child.pid(), &status, WUNTRACED);
    const Result<std::vector<BoxCopy>> one = TakeAll(child.pid()), two = TakeAll(child.pid());
    ASSERT_TRUE(one.ok() && two.ok());
    const std::vector<TopRow> rows = MakeRows(*one, {}), again = MakeRows(*two, *one);
    ASSERT_EQ(rows.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(rows[i].called, again[i].called);
      EXPECT_EQ(again[i].calls_per_s, 0);
      EXPECT_LE(rows[i].called - rows[i].finished, 1u);
      EXPECT_EQ(rows[i].call.call.ToString(), "all_reduce(count 2, float32, sum)");
      EXPECT_EQ(rows[i].call.sequence, rows[i].call.number);
      EXPECT_GE(rows[i].age_ns, 0);
    }
    EXPECT_GT(rows[0].called, last);
    last = rows[0].called;
    kill(child.pid(), SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(7));
    (void)child.Rows(last + 1, 0);  // on a busy machine it may not have run yet
  }
}

TEST(Top, ShowsRatesAndTheFailure) {
  Child child([](Communicator& c) {
    std::vector<float> in(1000, 1.0f), out(1000);
    for (int i = 0; i < 200; ++i) {
      (void)c.Run(AllReduce(in, out));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (c.rank() == 1) c.Abort("had enough");
    (void)c.Run(AllReduce(in, out));
    while (true) pause();
  });
  Result<std::vector<BoxCopy>> before = Status(Code::kInternal, "");
  while (!before.ok() || before->size() != 2) before = TakeAll(child.pid());
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  const Result<std::vector<BoxCopy>> now = TakeAll(child.pid());
  ASSERT_TRUE(now.ok());
  for (const TopRow& row : MakeRows(*now, *before)) {
    EXPECT_GT(row.calls_per_s, 5);
    EXPECT_LT(row.calls_per_s, 600);
    EXPECT_NEAR(row.bytes_per_s, row.calls_per_s * 4000, row.calls_per_s);
  }
  const std::vector<TopRow> rows = child.Rows(200);
  std::string text;
  for (int tries = 0; tries < 200 && text.find("broken: rank 1 aborted: had enough") == std::string::npos; ++tries) {
    text = FormatRows(child.pid(), child.Rows(200));
  }
  EXPECT_NE(text.find("broken: rank 1 aborted: had enough"), std::string::npos) << text;
}

int Top(std::vector<std::string> arguments, std::string* error) {
  arguments.insert(arguments.begin(), "top");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  testing::internal::CaptureStderr();
  const int exit = TopCommand(static_cast<int>(argv.size()), argv.data());
  *error = testing::internal::GetCapturedStderr();
  return exit;
}

TEST(TopCommand, WritesJson) {
  Child child(WaitForEver, kWaitByLl);
  (void)child.Rows(1);
  const std::string path = testing::TempDir() + "top.json";
  std::string error;
  ASSERT_EQ(Top({"--json", path, std::to_string(child.pid())}, &error), 0) << error;  // nobody has waited for long
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file);
  EXPECT_EQ(json["pid"], child.pid());
  ASSERT_EQ(json["ranks"].size(), 2u);
  const nlohmann::json& rank = json["ranks"][0];
  EXPECT_EQ(rank["wait"]["for"], "data");
  EXPECT_EQ(rank["wait"]["peer"], 1);
  EXPECT_EQ(rank["running"]["call"], "all_reduce(count 5, float32, max)");
  ASSERT_EQ(rank["calls"].size(), 2u);
  EXPECT_EQ(rank["calls"][1]["function"], "all_reduce");
  EXPECT_EQ(rank["calls"][1]["signature"], json["ranks"][1]["calls"][0]["signature"]);
  ASSERT_GE(rank["links"].size(), 1u);
  EXPECT_GT(rank["links"][0]["data_wait_ns"].get<std::int64_t>(), 100'000'000);
  EXPECT_GT(rank["links"][0]["LL"]["sent"].get<int>(), rank["links"][0]["LL"]["received"].get<int>());
  unlink(path.c_str());
}

// All jobs of the host, this one among them; its exit code is what the job is worth.
TEST(TopCommand, JudgesJobs) {
  Child child(WaitForEver, kWaitByLl);
  (void)child.Rows(1);
  const std::string path = testing::TempDir() + "top_jobs.json";
  const auto job = [&](int exit) -> nlohmann::json {
    std::string error;
    EXPECT_EQ(Top({"--json", path, std::to_string(child.pid())}, &error), exit) << error;
    std::ifstream one(path);
    const nlohmann::json of_process = nlohmann::json::parse(one);
    const int all_exit = Top({"--json", path}, &error);
    EXPECT_GE(all_exit, exit) << error;  // of a job beside this one, perhaps
    std::ifstream file(path);
    const nlohmann::json all = nlohmann::json::parse(file);
    unlink(path.c_str());
    for (const nlohmann::json& job : all["jobs"]) {
      if (job["processes"][0]["pid"] != child.pid()) continue;
      EXPECT_EQ(job["status"], of_process["status"]);
      return job;
    }
    return {};
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  nlohmann::json late = job(0);
  EXPECT_EQ(late["status"], "OK");
  EXPECT_EQ(late["ranks"], 2);
  ASSERT_EQ(late["verdicts"].size(), 1u) << late;
  EXPECT_EQ(late["verdicts"][0]["kind"], "late host");
  EXPECT_EQ(late["verdicts"][0]["severity"], "INFO");
  EXPECT_EQ(late["verdicts"][0]["culprits"][0]["rank"], 1);
  EXPECT_EQ(late["verdicts"][0]["culprits"][0]["pid"], child.pid());
  EXPECT_EQ(late["verdicts"][0]["direct"][0]["rank"], 0);
  kill(child.pid(), SIGSTOP);
  int status = 0;
  waitpid(child.pid(), &status, WUNTRACED);
  // A process with all its ranks: none of them can be said to wait for it.
  const nlohmann::json stopped = job(2);
  ASSERT_EQ(stopped["verdicts"].size(), 1u) << stopped;
  EXPECT_EQ(stopped["verdicts"][0]["kind"], "stopped");
  EXPECT_EQ(stopped["status"], "CRITICAL");
}

TEST(TopCommand, SaysWhatIsWrong) {
  std::string error;
  EXPECT_EQ(Top({"--once", "2147483632"}, &error), 3);
  EXPECT_NE(error.find("there is no process 2147483632"), std::string::npos) << error;
  EXPECT_EQ(Top({"--once", std::to_string(getpid())}, &error), 3);
  EXPECT_NE(error.find("has no Tutti communicator"), std::string::npos) << error;
  EXPECT_EQ(Top({"--once", "abc"}, &error), kExitUsage);
  EXPECT_EQ(error,
            "tutti top: PID: takes a whole number from 1 to 2147483647 or the name of a core file, not 'abc'\nTry "
            "'tutti top --help'.\n");
  if (geteuid() == 0) return;  // to whom everything is permitted
  EXPECT_EQ(Top({"--once", "1"}, &error), 3);
  EXPECT_NE(error.find("may not be looked at"), std::string::npos) << error;
}

}  // namespace
}  // namespace tutti::tools
