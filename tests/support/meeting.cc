// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/meeting.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "comm/identity/unique_id.h"
#include "sys/net/unix_socket.h"
#include "sys/os/clock.h"
#include "sys/os/memory.h"
#include "sys/os/process.h"
#include "tests/support/start_gate.h"

namespace tutti::tests {
namespace {
constexpr std::int64_t kSoonMs = 10'000;
}

using comm::Member;
using comm::Message;

std::vector<std::byte> PayloadOf(int rank, std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = static_cast<std::byte>(rank * 31 + i);
  return payload;
}

std::size_t SizeOfFile(const sys::Fd& fd) {
  struct stat info;
  return fstat(fd.get(), &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
}

Status MeetAs(const UniqueId& id, int rank, int ranks, std::int64_t timeout_ms, const comm::OnMember& on_member,
              comm::MeetReport* report) {
  const std::vector<std::byte> payload = PayloadOf(rank, 10 + rank);
  Result<sys::Fd> memory = sys::CreateSharedMemory("tutti-test", kPage + rank);
  TUTTI_RETURN_IF_ERROR(memory.status());
  return Meet({.id = id,
               .rank = rank,
               .ranks = ranks,
               .timeout_ms = timeout_ms,
               .payload = payload,
               .shared = &*memory,
               .report = report},
              on_member);
}

Status MeetAndCheck(const UniqueId& id, int rank, int ranks, std::int64_t timeout_ms, comm::MeetReport* report) {
  int next = 0;
  const auto check = [&next](int r, Member&& member) {
    const bool good = r == next++ && member.payload == PayloadOf(r, 10 + r) && SizeOfFile(member.shared) == kPage + r &&
                      member.uid == geteuid() && sys::ProbeProcess(member.process) == sys::Liveness::kAlive;
    return good ? Status::Ok() : Status(Code::kInternal, "a member is not as it should be");
  };
  const Status met = MeetAs(id, rank, ranks, timeout_ms, check, report);
  if (met.ok() && next != ranks) return Status(Code::kInternal, "not all members came");
  return met;
}

std::vector<Status> OnThreads(const std::vector<int>& ranks, const std::function<Status(int)>& body) {
  std::vector<Status> outcomes(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] { outcomes[i] = body(ranks[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

namespace {

struct Child {
  pid_t pid;
  int pipe_end;  // what it returned can be read here
};

Child Fork(int rank, const std::function<Status(int)>& body, StartGate& gate) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    gate.Await();
    const Status outcome = body(rank);
    const Message message = comm::Encode(outcome);
    const bool sent = outcome.ok() || write(ends[1], message.data(), message.size()) > 0;
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  return {.pid = pid, .pipe_end = ends[0]};
}

Status OutcomeOf(const Child& child) {
  Message message(8192);
  const ssize_t n = read(child.pipe_end, message.data(), message.size());
  close(child.pipe_end);
  int status = -1;
  waitpid(child.pid, &status, 0);
  if (status != 0) return Status(Code::kInternal, "the process did not end well");
  if (n == 0) return Status::Ok();
  Status outcome;
  message.resize(static_cast<std::size_t>(n));
  const Status parsed = comm::ParseFailure(message, outcome);
  return parsed.ok() ? outcome : parsed;
}

}  // namespace

std::vector<Status> OnProcesses(const std::vector<int>& ranks, const std::function<Status(int)>& body) {
  StartGate gate;
  std::vector<Child> children;
  for (const int rank : ranks) children.push_back(Fork(rank, body, gate));
  gate.Open();
  std::vector<Status> outcomes;
  for (const Child& child : children) outcomes.push_back(OutcomeOf(child));
  return outcomes;
}

std::vector<Status> OnRanks(Kind kind, const std::vector<int>& ranks, const std::function<Status(int)>& body) {
  return kind == Kind::kThreads ? OnThreads(ranks, body) : OnProcesses(ranks, body);
}

std::vector<int> UpTo(int ranks) {
  std::vector<int> list(ranks);
  for (int i = 0; i < ranks; ++i) list[i] = i;
  return list;
}

void ExpectAllOk(const std::vector<Status>& outcomes) {
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
}

void ExpectAllSay(const std::vector<Status>& outcomes, Code code, const std::vector<std::string>& words) {
  for (const Status& outcome : outcomes) {
    EXPECT_EQ(outcome.code(), code) << outcome.ToString();
    EXPECT_EQ(outcome.message(), outcomes[0].message());
    for (const std::string& word : words) {
      EXPECT_NE(outcome.message().find(word), std::string::npos) << word << " is not in: " << outcome.message();
    }
  }
}

std::int64_t In(std::int64_t ms) { return sys::NowNs() + ms * sys::kNsPerMs; }

sys::Fd Approach(const UniqueId& id) {
  Result<sys::Fd> socket =
      sys::Connect(sys::SocketKind::kPacket, comm::internal::SocketName(*comm::ReadId(id)), In(kPatientMs));
  return socket.ok() ? std::move(*socket) : sys::Fd();
}

std::optional<Message> NextMessage(const sys::Fd& socket) {
  Message buffer(comm::kMostMessageBytes);
  if (!sys::WaitReadable(socket, In(kPatientMs)).ok()) return std::nullopt;
  const Result<sys::Received> got = sys::ReceiveMessage(socket, buffer);
  if (!got.ok()) return std::nullopt;
  buffer.resize(got->bytes);
  return buffer;
}

std::optional<Message> SayHello(const sys::Fd& socket, const UniqueId& id, const comm::Hello& hello,
                                std::vector<Message>* said) {
  const sys::Key secret = comm::ReadId(id)->secret;
  const comm::Greeting greeting{.nonce = *sys::FreshNonce()};
  if (!sys::SendMessage(socket, comm::Encode(greeting)).ok()) return std::nullopt;
  const std::optional<Message> answer = NextMessage(socket);
  if (!answer) return std::nullopt;
  const Result<comm::Challenge> challenge = comm::ParseChallenge(*answer);
  EXPECT_TRUE(challenge.ok());
  EXPECT_EQ(challenge->mac, comm::ChallengeMac(secret, greeting.nonce, challenge->nonce));
  const Message message = comm::Encode(hello, secret, greeting.nonce, challenge->nonce);
  if (said != nullptr) *said = {comm::Encode(greeting), message};
  if (!sys::SendMessage(socket, message).ok()) return std::nullopt;
  return NextMessage(socket);
}

// What looks for other hosts closes its sockets a little after a meeting.
void MeetingTest::TearDown() {
  const std::int64_t until_ns = In(kSoonMs);
  while (sys::CountOpenFds() != before_ && sys::NowNs() < until_ns) sys::SleepNs(sys::kNsPerMs);
  EXPECT_EQ(sys::CountOpenFds(), before_);
}

}  // namespace tutti::tests
