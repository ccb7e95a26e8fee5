// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// `tutti record` on real processes: all its formats of a job that hangs, and of one at full speed; and what it refuses.
#include "tools/record_command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <utility>

#include "tools/cli.h"
#include "tools/record_test_pickle.h"
#include "tools/top_boxes.h"
#include "tutti/tutti.h"

namespace tutti::tools {
namespace {

using Value = nlohmann::ordered_json;

// Two processes with a rank each.
class Job {
 public:
  explicit Job(const std::function<void(Communicator&)>& body) {
    const UniqueId id = *CreateUniqueId();
    for (int r = 0; r < 2; ++r) {
      pids_[r] = fork();
      if (pids_[r] != 0) continue;
      Result<Communicator> c = Communicator::Create({.rank = r, .ranks = 2, .id = id, .settings = {.proto = "LL"}});
      if (!c.ok()) _exit(1);
      body(*c);
      _exit(0);
    }
  }
  ~Job() {
    for (const pid_t pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  pid_t pid(int rank) const { return pids_[rank]; }

  // Until the rank has called so many operations.
  void Await(int rank, std::uint64_t calls) const {
    for (int tries = 0; tries < 2000; ++tries) {
      const Result<std::vector<BoxCopy>> boxes = TakeAll(pids_[rank]);
      if (boxes.ok() && boxes->front().view().newest() >= calls) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << "rank " << rank << " has not called " << calls << " operations";
  }

 private:
  pid_t pids_[2];
};

// Rank 0 waits in a third all_reduce that rank 1 never calls; of the second the clock is read.
void WaitForEver(Communicator& c) {
  std::vector<float> in(1 << 18, 1.0f), out(1 << 18);
  (void)c.Run(AllReduce(std::span(in).first(10), std::span(out).first(10)));
  (void)c.Run(AllReduce(in, out));
  if (c.rank() == 0) (void)c.Run(AllReduce(std::span(in).first(5), std::span(out).first(5), ReduceOp::kMax));
  while (true) pause();
}

void RunForEver(Communicator& c) {
  std::vector<float> in(4, 1.0f), out(4);
  while (c.Run(AllReduce(in, out)).ok()) {
  }
}

struct Ran {
  int exit = 0;
  std::string error;
};
Ran Record(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "record");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  testing::internal::CaptureStderr();
  Ran ran;
  ran.exit = RecordCommand(static_cast<int>(argv.size()), argv.data());
  ran.error = testing::internal::GetCapturedStderr();
  return ran;
}

class RecordTest : public testing::Test {
 protected:
  RecordTest() { std::filesystem::create_directories(folder_); }
  ~RecordTest() override { std::filesystem::remove_all(folder_); }

  std::string Read(const std::string& name) const {
    std::ifstream file(folder_ + name, std::ios::binary);
    EXPECT_TRUE(file.good()) << name;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  const std::string folder_ = testing::TempDir() + "record_" + std::to_string(getpid()) + "/";
};

TEST_F(RecordTest, WritesAllFormatsOfAJobThatHangs) {
  const Job job(WaitForEver);
  job.Await(0, 3);
  job.Await(1, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(1700));  // a late host is told after 1.5 s
  const Ran ran = Record({"--flight-recorder", folder_ + "fr_", "--flight-recorder-json", folder_ + "json_", "--trace",
                          folder_ + "trace", "--prometheus", folder_ + "prometheus", std::to_string(job.pid(1))});
  ASSERT_EQ(ran.exit, kExitOk) << ran.error;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 6);

  const Value waits = PickleReader::Read(Read("fr_0")), late = PickleReader::Read(Read("fr_1"));
  EXPECT_EQ(waits, Value::parse(Read("json_0.json")));
  ASSERT_EQ(waits["entries"].size(), 3u);
  ASSERT_EQ(late["entries"].size(), 2u);
  EXPECT_EQ(waits["entries"][2]["state"], "started");
  EXPECT_EQ(waits["entries"][2]["time_created_at_most"], true);
  EXPECT_EQ(waits["entries"][1]["time_created_at_most"], false);
  EXPECT_EQ(late["entries"][1]["state"], "completed");
  EXPECT_EQ(late["pg_config"], waits["pg_config"]);

  const Value trace = Value::parse(Read("trace"));
  std::map<std::string, int> events;
  for (const Value& event : trace["traceEvents"]) ++events[event["ph"]];
  EXPECT_EQ(events["X"], 6);  // five calls and a wait
  EXPECT_GE(events["s"], 1);
  EXPECT_EQ(events["s"], events["f"]);
  EXPECT_EQ(events["i"], 1);

  const std::string text = Read("prometheus");
  EXPECT_NE(text.find("\ntutti_verdicts{kind=\"late host\",severity=\"INFO\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",rank=\"1\",host="), std::string::npos) << text;
  EXPECT_NE(text.find("rank=\"0\",op=\"collective\"} 3\n"), std::string::npos) << text;
}

// Ranks that run are not copied at one moment; still all dumps end at the same call.
TEST_F(RecordTest, WritesDumpsThatAgreeOfAJobAtFullSpeed) {
  const Job job(RunForEver);
  job.Await(0, 5000);
  job.Await(1, 5000);
  const Ran ran = Record({"--flight-recorder", folder_ + "fr_", std::to_string(job.pid(0))});
  ASSERT_EQ(ran.exit, kExitOk) << ran.error;
  const Value one = PickleReader::Read(Read("fr_0")), other = PickleReader::Read(Read("fr_1"));
  ASSERT_FALSE(one["entries"].empty());
  ASSERT_EQ(one["entries"].size(), other["entries"].size());
  for (const auto& [first, second] : {std::pair(one["entries"].front(), other["entries"].front()),
                                      std::pair(one["entries"].back(), other["entries"].back())}) {
    EXPECT_EQ(first["collective_seq_id"], second["collective_seq_id"]);
    EXPECT_EQ(first["record_id"], second["record_id"]);
    EXPECT_EQ(first["state"], "completed");
    EXPECT_EQ(second["state"], "completed");
  }
}

// Again and again, whole each time, until the job ends; the last says that there is none.
TEST_F(RecordTest, GoesOnUntilTheJobHasEnded) {
  auto job = std::make_unique<Job>(WaitForEver);
  job->Await(0, 3);
  std::jthread end([&] {
    for (int tries = 0; tries < 1000 && !std::filesystem::exists(folder_ + "p"); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    job.reset();
  });
  const Ran ran = Record({"--prometheus", folder_ + "p", "--every", "0.2", std::to_string(job->pid(0))});
  end.join();
  EXPECT_EQ(ran.exit, kExitOk) << ran.error;
  EXPECT_NE(Read("p").find("\ntutti_jobs 0\n"), std::string::npos);
}

TEST_F(RecordTest, EndsByASignal) {
  const Job job(WaitForEver);
  job.Await(0, 3);
  const pid_t child = fork();
  if (child == 0) _exit(Record({"--prometheus", folder_ + "p", "--every", "60", std::to_string(job.pid(0))}).exit);
  for (int tries = 0; tries < 1000 && !std::filesystem::exists(folder_ + "p"); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(child, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kExitOk) << status;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(RecordTest, RefusesAFlightRecordOfSeveralJobs) {
  const Job one(WaitForEver), other(WaitForEver);
  one.Await(0, 3);
  other.Await(0, 3);
  const Ran ran = Record({"--flight-recorder", folder_ + "fr_", "--trace", folder_ + "trace"});
  EXPECT_EQ(ran.exit, kExitFailed);
  EXPECT_NE(ran.error.find("a flight record is of one job, and here are"), std::string::npos) << ran.error;
  for (const Job* job : {&one, &other}) {
    const std::string name = std::to_string(std::min(job->pid(0), job->pid(1))) + " (record_command_";
    EXPECT_NE(ran.error.find(name), std::string::npos) << ran.error;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "fr_0"));
  EXPECT_FALSE(Read("trace").empty());  // that of all jobs
}

TEST_F(RecordTest, SaysWhatIsWrong) {
  Ran ran = Record({"--trace", folder_ + "t", "2147483632"});
  EXPECT_EQ(ran.exit, 3);
  EXPECT_NE(ran.error.find("there is no process 2147483632"), std::string::npos) << ran.error;
  ran = Record({"--trace", folder_ + "t", std::to_string(getpid())});
  EXPECT_EQ(ran.exit, 3);
  EXPECT_NE(ran.error.find("has no Tutti communicator"), std::string::npos) << ran.error;
  ran = Record({});
  EXPECT_EQ(ran.exit, kExitUsage);
  EXPECT_NE(ran.error.find("nothing to write"), std::string::npos) << ran.error;
  EXPECT_EQ(Record({"--trace", "-", "--prometheus", "-"}).exit, kExitUsage);
  EXPECT_EQ(Record({"--prometheus", "p", "--every", "0"}).exit, kExitUsage);
  ran = Record({"--flight-recorder", folder_ + "fr_", "--flight-recorder-json", folder_ + "below/my_fr_"});
  EXPECT_EQ(ran.exit, kExitUsage);
  EXPECT_NE(ran.error.find("its name has 'fr_' in it"), std::string::npos) << ran.error;
  const Job job(WaitForEver);
  job.Await(0, 3);
  ran = Record({"--trace", folder_ + "no such folder/t", std::to_string(job.pid(0))});
  EXPECT_EQ(ran.exit, kExitFailed);
  EXPECT_NE(ran.error.find("No such file or directory"), std::string::npos) << ran.error;
}

}  // namespace
}  // namespace tutti::tools
