// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The RAS service and clients of all kinds: those that keep to the protocol, and those that say nothing, read nothing or send anything.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ras/door.h"
#include "ras/look_lines.h"
#include "ras/service.h"
#include "ras/session.h"
#include "sys/net/tcp.h"
#include "sys/os/clock.h"
#include "tests/support/child_process.h"
#include "tests/support/text_client.h"

namespace tutti::ras {
namespace {

using nlohmann::json;
using tests::FreePort;
using tests::TextClient;

std::string AddressOf(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

Observation JobOf(int ranks) {
  Observation job;
  diag::CommunicatorLook c{.id = 7, .ranks = ranks};
  for (int rank = 0; rank < ranks; ++rank) {
    job.look.processes.push_back({.host = "node7", .pid = 100 + rank, .state = diag::ProcessState::kRunning});
    c.seen.push_back({.rank = rank, .process = rank, .state = diag::RankState::kReady});
  }
  job.look.communicators.push_back(c);
  return job;
}

// A service in a thread, and the job that it tells about.
class Serving {
 public:
  explicit Serving(std::uint16_t port, int ranks, std::int64_t silence_ns = 60 * sys::kNsPerSecond)
      : job_(JobOf(ranks)), thread_([this, port, silence_ns] {
          Serve({.address = AddressOf(port),
                 .observe =
                     [this] {
                       std::lock_guard lock(mutex_);
                       return job_;
                     },
                 .goes_on = [this] { return !stop_; },
                 .silence_ns = silence_ns});
        }) {}
  ~Serving() {
    stop_ = true;
    thread_.join();
  }
  void Change(const std::function<void(Observation&)>& change) {
    std::lock_guard lock(mutex_);
    change(job_);
  }

 private:
  std::mutex mutex_;
  Observation job_;  // guarded by mutex_
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

bool IsReport(const std::string& text) {
  return text.starts_with("NCCL version ") && text.find("\nWarnings\n") != std::string::npos;
}

int RanksIn(const std::string& answer) {
  const std::size_t begin = answer.find('{');
  if (begin == std::string::npos) return -1;
  return json::parse(answer.substr(begin))["communicators"][0]["ranks_count"].get<int>();
}

TEST(RasLookLines, AreTakenBackAsTheyWere) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kLineBytes, kLineBytes + 1, 3 * kLineBytes}) {
    std::vector<std::byte> message(size);
    for (std::size_t i = 0; i < size; ++i) message[i] = static_cast<std::byte>(i * 7);
    const std::string text = ToLines(message);
    const Result<std::vector<std::byte>> back = FromLines(text);
    ASSERT_TRUE(back.ok()) << size;
    EXPECT_EQ(*back, message);
    EXPECT_FALSE(FromLines(text + "0").ok());
    EXPECT_FALSE(FromLines(text.substr(0, text.size() - 1)).ok());
  }
  for (const char* wrong : {"", "LOOK", "LOOK 1", "LOOK 1\n", "LOOK 1\n0g\n", "LOOK 1\n00", "LOOK 2\n00\n", "LOOK -1\n",
                            "LOOK 99999999999999999999\n", "ERROR: Unknown command\n"})
    EXPECT_FALSE(FromLines(wrong).ok()) << wrong;
}

constexpr const char* kAskForJson = "SET FORMAT json\nSTATUS\n";

TEST(RasService, SpeaksProtocolTwoAsNcclrasDoes) {
  const std::uint16_t port = FreePort();
  Serving serving(port, 3);
  TextClient client(port);
  EXPECT_EQ(client.Send("CLIENT PROTOCOL 2\n").ReadLine(), "SERVER PROTOCOL 2\n");
  EXPECT_EQ(client.Send("TIMEOUT 8\n").ReadLine(), "OK\n");
  EXPECT_EQ(client.Send("set format JSON\r\n").ReadLine(), "OK\n");
  EXPECT_EQ(RanksIn(client.Ask("STATUS\n")), 3);
  EXPECT_TRUE(IsReport(TextClient(port).Ask("VERBOSE STATUS\n")));
  EXPECT_TRUE(IsReport(TextClient(port).Ask("status\n")));
}

TEST(RasService, AnswersLinesThatComeTogetherOrInPieces) {
  const std::uint16_t port = FreePort();
  Serving serving(port, 3);
  const std::string together = TextClient(port).Ask(kAskForJson);
  EXPECT_TRUE(together.starts_with("OK\n{")) << together;
  EXPECT_EQ(RanksIn(together), 3);
  TextClient client(port);
  for (const char c : std::string(kAskForJson)) client.Send({&c, 1});
  EXPECT_EQ(RanksIn(client.ReadToEnd()), 3);
  TextClient hurried(port);
  hurried.Send("verbose status\nand more that nobody reads\n").EndSending();
  EXPECT_TRUE(IsReport(hurried.ReadToEnd()));
}

TEST(RasService, SaysWhatItDoesNotUnderstandAndGoesOn) {
  const std::uint16_t port = FreePort();
  Serving serving(port, 2);
  TextClient client(port);
  EXPECT_EQ(client.Send("DIAGNOSTICS\n").ReadLine(), "ERROR: Unknown command DIAGNOSTICS\n");
  EXPECT_EQ(client.Send("\n").ReadLine(), "ERROR: Unknown command \n");
  EXPECT_EQ(client.Send("TIMEOUT -1\n").ReadLine(), "ERROR: Invalid timeout value -1\n");
  EXPECT_EQ(client.Send("TIMEOUT 99999999999999999999\n").ReadLine().substr(0, 6), "ERROR:");
  EXPECT_EQ(client.Send("SET FORMAT xml\n").ReadLine(), "ERROR: Invalid format xml\n");
  EXPECT_EQ(client.Send("MONITOR trace,weather\n").ReadLine(), "ERROR: Invalid event group 'weather'\n");
  EXPECT_TRUE(IsReport(client.Ask("STATUS\n")));
}

TEST(RasService, ClientsThatSayNothingHarmNobody) {
  const std::uint16_t port = FreePort();
  Serving serving(port, 2);
  std::vector<std::unique_ptr<TextClient>> silent;
  for (std::size_t i = 0; i < 2 * kMostClients; ++i) silent.push_back(std::make_unique<TextClient>(port));
  EXPECT_TRUE(IsReport(TextClient(port).Ask("STATUS\n")));
  // The first of them had to go.
  EXPECT_EQ(silent.front()->ReadToEnd(), "");
  EXPECT_EQ(silent.back()->Send("CLIENT PROTOCOL 2\n").ReadLine(), "SERVER PROTOCOL 2\n");
}

TEST(RasService, CutsOffWhoIsSilentForTooLong) {
  const std::uint16_t port = FreePort();
  Serving serving(port, 2, 2 * sys::kNsPerSecond);
  EXPECT_EQ(TextClient(port).Ask("STAT"), "");
  TextClient monitor(port);
  EXPECT_EQ(monitor.Send("MONITOR\n").ReadLine(), "OK\n");
  EXPECT_EQ(TextClient(port).Ask("STAT"), "");
  serving.Change([](Observation& job) { job = JobOf(3); });
  EXPECT_NE(monitor.ReadLine().find("PEER_NEW: Process 102 on node node7"), std::string::npos) << "it may be silent";
}

TEST(RasService, ClientsThatDoNotReadHarmNobody) {
  const std::uint16_t port = FreePort();
  Serving serving(port, 20'000);  // a report of megabytes
  std::vector<std::unique_ptr<TextClient>> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(std::make_unique<TextClient>(port));
    slow.back()->Send(kAskForJson);
  }
  EXPECT_TRUE(IsReport(TextClient(port).Ask("STATUS\n")));
  EXPECT_EQ(RanksIn(slow.back()->ReadToEnd()), 20'000) << "who reads late reads all";
}

TEST(RasService, CutsOffWhoSendsNoLines) {
  const std::uint16_t port = FreePort();
  Serving serving(port, 2);
  EXPECT_EQ(TextClient(port).Ask(std::string(kMostLineBytes + 1, 'x')), "");
  // Answers that nobody reads end somewhere too.
  std::string questions;
  for (int i = 0; i < 1'000'000; ++i) questions += "x\n";
  TextClient(port).Send(questions);
  EXPECT_TRUE(IsReport(TextClient(port).Ask("STATUS\n")));
}

TEST(RasService, GarbageHarmsNobody) {
  const std::uint16_t port = FreePort();
  Serving serving(port, 2);
  std::mt19937_64 random(20261126);
  for (int round = 0; round < 50; ++round) {
    std::string garbage(random() % 3000, '\0');
    for (char& c : garbage) c = static_cast<char>(random() % 4 == 0 ? '\n' : random());
    TextClient(port).Send(garbage);
  }
  EXPECT_TRUE(IsReport(TextClient(port).Ask("STATUS\n")));
}

TEST(RasService, TellsMonitorsWhatHappens) {
  const std::uint16_t port = FreePort();
  Serving serving(port, 3);
  TextClient lines(port), objects(port);
  EXPECT_EQ(lines.Send("MONITOR all\n").ReadLine(), "OK\n");
  EXPECT_EQ(objects.Send("SET FORMAT json\nMONITOR lifecycle\n").ReadLine(), "OK\n");
  EXPECT_EQ(objects.ReadLine(), "OK\n");
  serving.Change([](Observation& job) {
    job.look.processes[1].state = diag::ProcessState::kStopped;
    job.findings.push_back({.communicator = 7, .kind = "stopped", .sentence = "rank 1 is stopped"});
  });
  EXPECT_NE(lines.ReadLine().find("PEER_UNRESPONSIVE: Process 101 on node node7"), std::string::npos);
  EXPECT_NE(lines.ReadLine().find("VERDICT: rank 1 is stopped"), std::string::npos);
  std::string object;
  while (!object.ends_with("\n}\n")) object += objects.ReadLine();
  EXPECT_EQ(json::parse(object)["details"], "rank 1 is stopped") << "its groups alone";
}

TEST(RasService, HasRoomForQuestionsBesideAllMonitors) {
  const std::uint16_t port = FreePort();
  Serving serving(port, 2);
  std::vector<std::unique_ptr<TextClient>> monitors;
  for (std::size_t i = 0; i < 2 * kMostClients; ++i) {
    monitors.push_back(std::make_unique<TextClient>(port));
    const std::string answer = monitors.back()->Send("MONITOR\n").ReadLine();
    EXPECT_EQ(answer, i < kMostMonitors ? "OK\n" : "") << i;
  }
  EXPECT_TRUE(IsReport(TextClient(port).Ask("STATUS\n")));
}

TEST(RasService, AnotherProcessGoesOnWhereTheFirstEnds) {
  const std::uint16_t port = FreePort();
  auto first = std::make_unique<Serving>(port, 3);
  EXPECT_EQ(RanksIn(TextClient(port).Ask(kAskForJson)), 3);
  Serving second(port, 5);
  // The other one answers where the first is slow, as on a busy machine, and only then.
  EXPECT_TRUE(tests::WaitUntil([&] { return RanksIn(TextClient(port).Ask(kAskForJson)) == 3; }));
  first.reset();
  EXPECT_TRUE(tests::WaitUntil([&] { return RanksIn(TextClient(port).Ask(kAskForJson)) == 5; }));
  Serving third(port, 6);
  EXPECT_TRUE(tests::WaitUntil([&] { return RanksIn(TextClient(port).Ask(kAskForJson)) == 5; }));
}

// The processes of a job share the port, so a stopped one does not take it with it.
TEST(RasService, AnotherProcessAnswersWhereTheFirstIsStopped) {
  const std::uint16_t port = FreePort();
  tests::ChildProcess first([port] {
    Serve({.address = AddressOf(port), .observe = [] { return JobOf(3); }, .goes_on = [] { return true; }});
    return 0;
  });
  EXPECT_EQ(RanksIn(TextClient(port).Ask(kAskForJson)), 3);
  Serving second(port, 5);
  // The first hands the port on while it runs; so it is stopped for ever longer until the second answers.
  bool answered = false;
  for (int round = 0; round < 20 && !answered; ++round) {
    sys::SleepNs(round * sys::kNsPerSecond / 10);
    first.Signal(SIGSTOP);
    TextClient client(port);
    client.Send(kAskForJson);
    std::thread wakes([&] {
      sys::SleepNs(3 * sys::kNsPerSecond);
      first.Signal(SIGCONT);
    });
    answered = RanksIn(client.ReadToEnd()) == 5;
    wakes.join();
  }
  EXPECT_TRUE(answered);
  first.Signal(SIGKILL);
  EXPECT_TRUE(tests::WaitUntil([&] { return RanksIn(TextClient(port).Ask(kAskForJson)) == 5; }));
}

TEST(RasService, WaitsForAPortThatAnotherProgramHas) {
  const std::uint16_t port = FreePort();
  Result<sys::TcpListener> other =
      sys::TcpListener::Open({.addresses = {sys::IpAddress::V4(127, 0, 0, 1)}, .ports = {.first = port, .last = port}});
  ASSERT_TRUE(other.ok());
  Serving serving(port, 4);
  TextClient client(port);
  sys::SleepNs(sys::kNsPerSecond / 10);
  EXPECT_TRUE(other->Accept().ok()) << "nobody else has taken the client";
  *other = {};
  EXPECT_TRUE(tests::WaitUntil([&] { return RanksIn(TextClient(port).Ask(kAskForJson)) == 4; }));
}

TEST(RasService, AForkedChildKeepsNeitherThePortNorClients) {
  const std::uint16_t port = FreePort();
  tests::ChildProcess* child = nullptr;
  {
    Serving serving(port, 2);
    TextClient monitor(port);
    EXPECT_EQ(monitor.Send("MONITOR\n").ReadLine(), "OK\n");
    child = new tests::ChildProcess([] {
      sleep(600);
      return 0;
    });
    EXPECT_TRUE(IsReport(TextClient(port).Ask("STATUS\n"))) << "its end is seen although a child has the socket too";
  }
  // The child lets go when it first runs, which may be after this.
  std::string why;
  EXPECT_TRUE(tests::WaitUntil([&] {
    const auto listener = sys::TcpListener::Open(
        {.addresses = {sys::IpAddress::V4(127, 0, 0, 1)}, .ports = {.first = port, .last = port}});
    why = listener.ok() ? "" : listener.status().message();
    return listener.ok();
  })) << why;
  delete child;
}

TEST(RasDoor, ReadsAddresses) {
  const auto one = EndpointsOf("127.0.0.1:77", sys::NowNs());
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->front().ToString(), "127.0.0.1:77");
  EXPECT_EQ(EndpointsOf("[::1]:28028", sys::NowNs())->front().ToString(), "[::1]:28028");
  EXPECT_EQ(EndpointsOf("localhost:28028", sys::NowNs())->front().ToString(), "127.0.0.1:28028");
  for (const char* wrong : {"", "localhost", ":28028", "localhost:", "localhost:0", "localhost:99999", "localhost:x"})
    EXPECT_FALSE(EndpointsOf(wrong, sys::NowNs()).ok()) << wrong;
}

}  // namespace
}  // namespace tutti::ras
