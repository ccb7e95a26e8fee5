// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Errors of docs/errors.md that it takes a fault outside to see: ranks that die, stop or speak otherwise, limits of the
// system, files that were changed. As errors_test.cc.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/agree/rank_profile.h"
#include "comm/host/queue.h"
#include "comm/identity/unique_id.h"
#include "comm/identity/user_secret.h"
#include "comm/life/subset.h"
#include "comm/meet/bootstrap.h"
#include "nccl.h"
#include "sys/net/unix_socket.h"
#include "sys/os/clock.h"
#include "sys/os/memory.h"
#include "sys/os/private_file.h"
#include "sys/os/process.h"
#include "tests/support/errors_page.h"
#include "tests/support/meeting.h"
#include "transport/shm/segment.h"
#include "tutti/communicator.h"

// Sanitizers end a program that asks for more memory than there is, unless told otherwise.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace tutti {
namespace {

using namespace tests;

constexpr std::int64_t kLongMs = 20000;

void Sleep(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// A forked process, killed in the end.
class Process {
 public:
  explicit Process(const std::function<void()>& body) : pid_(fork()) {
    if (pid_ != 0) return;
    body();
    _exit(0);
  }
  ~Process() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  void Signal(int signal) const { kill(pid_, signal); }

 private:
  pid_t pid_;
};

Status Meets(const UniqueId& id, int rank, int ranks, std::int64_t timeout_ms) {
  return comm::Meet({.id = id, .rank = rank, .ranks = ranks, .timeout_ms = timeout_ms}).status();
}

Status Makes(const UniqueId& id, std::int64_t timeout_ms, const std::atomic<bool>* cancel = nullptr) {
  CommunicatorOptions options = {.rank = 0, .ranks = 2, .id = id, .settings = Quick(), .cancel = cancel};
  options.settings.init_timeout_ms = timeout_ms;
  return Communicator::Create(options).status();
}

// Meets rank 0 as rank 1 would, with these shared pages, and goes no further.
Status PlayRankOne(const UniqueId& id, std::span<const std::byte> payload, const sys::Fd& shared) {
  return comm::Meet({.id = id, .rank = 1, .ranks = 2, .timeout_ms = kLongMs, .payload = payload, .shared = &shared})
      .status();
}
Status PlayRankOneWell(const UniqueId& id) {
  const transport::shm::Geometry geometry = transport::shm::MakeGeometry(2, Quick().max_channels, Quick().shared_bytes);
  const Result<transport::shm::Segment> segment = transport::shm::Segment::Create(geometry, 1);
  TUTTI_RETURN_IF_ERROR(segment.status());
  return PlayRankOne(id, comm::Encode(*comm::MakeProfile(Quick(), {}, sys::UsableCpus())), segment->fd());
}

TEST_F(Provoke, RanksThatDifferInBuild) {
  UniqueId id = *CreateUniqueId();
  const std::size_t bytes = std::size_t{64} << 20;
  const sys::Fd zeros = std::move(*sys::CreateSharedMemory("tutti-test", bytes));
  const sys::Fd page = std::move(*sys::CreateSharedMemory("tutti-test", 4096));
  const std::vector<std::byte> good = comm::Encode(*comm::MakeProfile(Quick(), {}, sys::UsableCpus()));
  const std::vector<std::byte> other(100);
  const auto with = [&](std::span<const std::byte> payload, const sys::Fd& shared) {
    id = *CreateUniqueId();
    for (const Status& s : OnRankThreads(
             2, [&](int rank) { return rank == 0 ? Makes(id, kLongMs) : PlayRankOne(id, payload, shared); })) {
      Expect(s);
    }
  };
  with(other, page);  // it says that it is another build
  with(good, zeros);  // it shares something else
  with(good, page);   // or too little
}

TEST_F(Provoke, AnotherVersionOfTheBootstrap) {
  const UniqueId id = *CreateUniqueId();
  for (const Status& s : OnRankThreads(2, [&](int rank) {
         if (rank == 0) return Meets(id, 0, 2, kLongMs);
         const sys::Fd socket = Approach(id);
         Status heard;
         const auto answer = SayHello(socket, id, {.version = 7, .rank = 1, .ranks = 2});
         EXPECT_TRUE(answer && comm::ParseFailure(*answer, heard).ok());
         return heard;
       })) {
    Expect(s);
  }
}

TEST_F(Provoke, AnotherBuildInASplitOfABrokenCommunicator) {
  const UniqueId id = *CreateUniqueId();
  std::atomic<bool> made{false};
  const std::vector<Status> outcomes = OnRankThreads(2, [&](int rank) {
    Result<Communicator> c = Communicator::Create({.rank = rank, .ranks = 2, .id = id, .settings = Quick()});
    if (!c.ok()) return c.status();
    const auto queue = std::make_shared<comm::Queue>(std::move(*c));
    queue->Break(Status(Code::kRemote, "broken by the test"));
    if (rank == 0) return comm::Split(*queue, 0, 0, comm::WhereBroken::kMeet).status();
    const std::string_view what = "choices 0";
    const UniqueId own = comm::WithoutPlace(id);
    const UniqueId child = comm::DeriveId({std::as_bytes(std::span(own.bytes)), std::as_bytes(std::span(what))});
    const std::vector<std::byte> payload(3);
    return comm::Meet({.id = child, .rank = 1, .ranks = 2, .timeout_ms = kLongMs, .payload = payload}).status();
  });
  for (const Status& s : outcomes) Expect(s);
}

TEST_F(Provoke, ADeathWhileRanksConnect) {
  const UniqueId id = *CreateUniqueId();
  const Process peer([&] { (void)PlayRankOneWell(id); });
  Expect(Makes(id, kLongMs));
}

TEST_F(Provoke, ARankThatStopsWhileRanksConnect) {
  const UniqueId id = *CreateUniqueId();
  const Process peer([&] {
    (void)PlayRankOneWell(id);
    pause();
  });
  Expect(Makes(id, 1500));
}

TEST_F(Provoke, GivingUpWhileRanksConnect) {
  const UniqueId id = *CreateUniqueId();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Process peer([&] {
    const bool met = PlayRankOneWell(id).ok();
    (void)!write(ends[1], &met, 1);
    pause();
  });
  std::atomic<bool> cancel{false};
  std::thread canceller([&] {
    bool met = false;
    EXPECT_EQ(read(ends[0], &met, 1), 1);
    EXPECT_TRUE(met);
    Sleep(300);
    cancel = true;
  });
  Expect(Makes(id, kLongMs, &cancel));
  canceller.join();
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Provoke, ARankThatDiesBeforeAllHaveMet) {
  const UniqueId id = *CreateUniqueId();
  const Process visitor([&] {
    { const sys::Fd gathers = Approach(id); }
    (void)Meets(id, 1, 3, kLongMs);
  });
  std::thread killer([&] {
    Sleep(800);
    visitor.Signal(SIGKILL);
  });
  Expect(Meets(id, 0, 3, kLongMs));
  killer.join();
}

TEST_F(Provoke, ADeathBetweenTwoCommunicators) {
  const UniqueId id = *CreateUniqueId();
  const auto make = [&](int rank) {
    return Communicator::Create({.rank = rank, .ranks = 3, .id = id, .settings = Quick()});
  };
  const pid_t left_out = fork();
  if (left_out == 0) _exit(make(0).ok() ? 0 : 1);
  const Process victim([&] { (void)make(1); });
  Result<Communicator> parent = make(2);
  ASSERT_TRUE(parent.ok()) << parent.status().message();
  comm::Queue queue(std::move(*parent));
  Result<CommunicatorOptions> child = comm::Shrink(queue, std::vector{0});
  ASSERT_TRUE(child.ok()) << child.status().message();
  child->settings.init_timeout_ms = kLongMs;
  Expect(Communicator::Create(*child).status());
  waitpid(left_out, nullptr, 0);
}

TEST_F(Provoke, TheRankThatGathersDies) {
  const UniqueId id = *CreateUniqueId();
  const Process gatherer([&] { (void)Meets(id, 1, 3, kLongMs); });
  { const sys::Fd gathers = Approach(id); }
  std::thread killer([&] {
    Sleep(500);
    gatherer.Signal(SIGKILL);
  });
  Expect(Meets(id, 0, 3, kLongMs));
  killer.join();
}

TEST_F(Provoke, TheRankThatGathersFallsSilent) {
  const UniqueId id = *CreateUniqueId();
  const Process gatherer([&] { (void)Meets(id, 1, 3, kLongMs); });
  { const sys::Fd gathers = Approach(id); }
  std::thread stopper([&] {
    Sleep(700);
    gatherer.Signal(SIGSTOP);
  });
  Expect(Meets(id, 0, 3, 2000));
  stopper.join();
}

TEST_F(Provoke, SomebodyElseHoldsTheNameOfTheJob) {
  const UniqueId id = *CreateUniqueId();
  const std::string name = comm::internal::SocketName(*comm::ReadId(id));
  Result<sys::Fd> listener = sys::Listen(sys::SocketKind::kPacket, name);
  ASSERT_TRUE(listener.ok());
  Expect(Meets(id, 0, 2, 500));  // it says nothing
  std::atomic<bool> stop{false};
  std::thread stranger([&] {
    while (!stop) {
      if (sys::WaitReadable(*listener, sys::NowNs() + 10 * sys::kNsPerMs).ok()) (void)sys::Accept(*listener);
    }
  });
  Expect(Meets(id, 0, 2, 500));  // it hangs up
  stop = true;
  stranger.join();
}

TEST_F(Provoke, FilesThatWereChanged) {
  std::string folder = testing::TempDir() + "tutti-faults-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/secret";
  std::ofstream(path) << "short";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  Expect(comm::internal::UserSecretIn(path).status());
  std::ofstream(path) << std::string(1000, 'x');
  Expect(comm::internal::UserSecretIn(path).status());
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  Expect(comm::internal::UserSecretIn(path).status());
  std::filesystem::remove_all(folder);
  setenv("TUTTI_SECRET", "short", 1);
  Expect(comm::UserSecret().status());
  unsetenv("TUTTI_SECRET");
}

TEST_F(Provoke, SharedMemoryThatCannotBe) {
  const sys::Fd page = std::move(*sys::CreateSharedMemory("tutti-test", 4096));
  Expect(sys::Map(page, 8192, sys::Access::kRead).status());
  Expect(sys::Map(*sys::ReopenReadOnly(page), 4096, sys::Access::kReadWrite).status());
  Expect(SaidByChild([] {
    const rlimit limit = {.rlim_cur = 3, .rlim_max = 3};
    setrlimit(RLIMIT_NOFILE, &limit);
    return sys::CreateSharedMemory("tutti-test", 4096).status().message();
  }));
  Expect(SaidByChild([] {
    const rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    return sys::CreateSharedMemory("tutti-test", 4096).status().message();
  }));
}

// From now on this process can start no thread: each would need more addresses than there are.
void RefuseThreads() {
  pthread_attr_t huge;
  pthread_attr_init(&huge);
  pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
  pthread_setattr_default_np(&huge);
}

TEST_F(Provoke, NoThread) {
  Expect(SaidByChild([] {
    RefuseThreads();
    ncclUniqueId id;
    ncclComm_t one, two;
    (void)ncclGroupStart();
    (void)ncclGetUniqueId(&id);
    (void)ncclCommInitRank(&one, 1, id, 0);
    (void)ncclCommInitRank(&two, 1, id, 0);
    return std::string(ncclGroupEnd() == ncclSuccess ? "it could" : ncclGetLastError(nullptr));
  }));
}

TEST(WithoutThreads, NoCommunicatorIsLeftHalfMade) {
  const auto end = [](int blocking) {
    const std::string said = SaidByChild([blocking] {
      RefuseThreads();
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = blocking;
      ncclUniqueId id;
      ncclComm_t one = nullptr, two = nullptr;
      (void)ncclGroupStart();
      (void)ncclGetUniqueId(&id);
      (void)ncclCommInitRankConfig(&one, 1, id, 0, &config);
      (void)ncclCommInitRankConfig(&two, 1, id, 0, &config);
      const ncclResult_t result = ncclGroupEnd();
      return fmt::format("result {}, {} and {}", static_cast<int>(result), fmt::ptr(one), fmt::ptr(two));
    });
    return said.substr(said.rfind('\n') + 1);  // behind the log's lines
  };
  const std::string nothing = fmt::format("result {}, 0x0 and 0x0", static_cast<int>(ncclSystemError));
  EXPECT_EQ(end(1), nothing);
  EXPECT_EQ(end(0), nothing);
}

TEST_F(Provoke, NoMemory) {
  void* memory = nullptr;
  ExpectLast(ncclMemAlloc(&memory, std::size_t{1} << 62));
}

TEST_F(Provoke, AbortOfACommunicatorThatAGroupMakes) {
  const std::string said = SaidByChild([] {
    ncclUniqueId id;
    ncclComm_t comm;
    (void)ncclGetUniqueId(&id);
    (void)ncclGroupStart();
    (void)ncclCommInitRank(&comm, 1, id, 0);
    (void)ncclCommAbort(comm);
    return std::string(ncclGroupEnd() == ncclSuccess ? "it was made" : ncclGetLastError(nullptr));
  });
  for (const std::string& line : SplitText(said, "\n")) {
    if (line.find("abort") != std::string::npos) Expect(line);
  }
}

// The window is as long as it takes to unmap the communicator's memory, so it is tried until a call falls into it.
TEST_F(Provoke, ACallWhileAnotherThreadDestroys) {
  constexpr int kMostTries = 500;
  std::string said;
  for (int tries = 0; tries < kMostTries && said.find("being destroyed") == std::string::npos; ++tries) {
    ncclComm_t comms[2];
    ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess);
    std::thread destroyer([&] { EXPECT_EQ(ncclCommDestroy(comms[0]), ncclSuccess); });
    int count;
    while (ncclCommCount(comms[0], &count) == ncclSuccess) {
    }
    said = ncclGetLastError(nullptr);
    destroyer.join();
    EXPECT_EQ(ncclCommDestroy(comms[1]), ncclSuccess);
  }
  Expect(said);
}

TEST_F(Provoke, ABufferThatCannotBeRead) {
  const UniqueId id = *CreateUniqueId();
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  Settings settings = Quick();
  settings.single_copy = SingleCopy::kForce;
  const Process sender([&] {
    Result<Communicator> c = Communicator::Create({.rank = 1, .ranks = 2, .id = id, .settings = settings});
    auto* buffer = static_cast<float*>(mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (c.ok()) (void)c->Run(Send(std::span<const float>(buffer, kBytes / sizeof(float)), 0));
    pause();
  });
  Result<Communicator> c = Communicator::Create({.rank = 0, .ranks = 2, .id = id, .settings = settings});
  ASSERT_TRUE(c.ok()) << c.status().message();
  std::vector<float> out(kBytes / sizeof(float));
  Expect(c->Run(Recv(std::span(out), 1)));
}

// Without marks in the messages nothing else tells that they do not belong together.
TEST_F(Provoke, ASendLongerThanItsReceive) {
  const std::vector<Status> outcomes = OnCommunicators(
      2,
      [](Communicator& c) {
        std::vector<float> data(std::size_t{1} << (18 - c.rank()));
        return c.rank() == 0 ? c.Run(Send(data, 1)) : c.Run(Recv(data, 0));
      },
      [](int, CommunicatorOptions& options) {
        options.settings.black_box = false;
        options.settings.single_copy = SingleCopy::kForce;
      });
  for (const Status& s : outcomes) {
    Expect(s);
    EXPECT_NE(s.message().find("rank 0 sent 1048576 bytes"), std::string::npos) << s.message();
    EXPECT_NE(s.message().find("rank 1 has 524288 to receive"), std::string::npos) << s.message();
  }
}

}  // namespace
}  // namespace tutti
