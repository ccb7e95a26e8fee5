// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Ranks as processes: what survivors see when one of them dies, leaves, aborts or is late, and what is left behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "comm/host/queue.h"
#include "tests/support/rank_processes.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

using namespace tests;

class Death : public testing::TestWithParam<std::size_t> {};

TEST_P(Death, InACollectiveIsReportedByAllSurvivors) {
  RankProcesses job(4);
  job.Start([](const CommunicatorOptions& options, Board& board) -> Status {
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    return AllReduceForEver(*c, GetParam(), board);
  });
  job.WaitReady(4);
  job.Kill(2);
  ASSERT_TRUE(job.Join());
  for (const int rank : {0, 1, 3}) {
    EXPECT_NE(job.said(rank).find("REMOTE"), std::string::npos) << job.said(rank);
    EXPECT_NE(job.said(rank).find("rank 2"), std::string::npos) << job.said(rank);
  }
}
INSTANTIATE_TEST_SUITE_P(Counts, Death, testing::Values(1, 5000, 300000));

TEST(Death, BeforeInitNamesTheMissingRank) {
  RankProcesses job(3);
  Settings settings;
  settings.init_timeout_ms = 1500;
  job.Start(
      [](const CommunicatorOptions& options, Board&) -> Status {
        if (options.rank == 1) return Status::Ok();
        return Communicator::Create(options).status();
      },
      settings);
  ASSERT_TRUE(job.Join());
  for (const int rank : {0, 2}) {
    EXPECT_NE(job.said(rank).find("rank 1"), std::string::npos) << job.said(rank);
    EXPECT_NE(job.said(rank).find("TIMEOUT"), std::string::npos) << job.said(rank);
  }
}

// As under `ulimit -f 1`: the system would end the rank with SIGXFSZ, without a word.
TEST(Death, OfTooShortFilesIsASentenceInstead) {
  RankProcesses job(3);
  Settings settings;
  settings.init_timeout_ms = 1500;
  job.Start(
      [](const CommunicatorOptions& options, Board&) -> Status {
        const rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};
        if (options.rank == 1 && setrlimit(RLIMIT_FSIZE, &limit) != 0) return Status(Code::kInternal, "no limit");
        return Communicator::Create(options).status();
      },
      settings);
  ASSERT_TRUE(job.Join());
  EXPECT_NE(job.said(1).find("SYSTEM"), std::string::npos) << job.said(1);
  EXPECT_NE(job.said(1).find("raise it with `ulimit -f`"), std::string::npos) << job.said(1);
  for (const int rank : {0, 2}) EXPECT_NE(job.said(rank).find("rank 1"), std::string::npos) << job.said(rank);
}

// Killed somewhere between fork and the end of init: survivors must end, and either way say something sensible.
TEST(Death, AtAnyMomentOfInitEndsTheOthers) {
  for (int delay_us = 0; delay_us < 12000; delay_us += 1500) {
    RankProcesses job(3);
    Settings settings;
    settings.init_timeout_ms = 2000;
    job.Start(
        [](const CommunicatorOptions& options, Board& board) -> Status {
          Result<Communicator> c = Communicator::Create(options);
          if (!c.ok()) return c.status();
          return AllReduceForEver(*c, 100, board);
        },
        settings);
    std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
    job.Kill(1);
    ASSERT_TRUE(job.Join()) << "delay " << delay_us;
    // A survivor that itself came too late names the other one too: "ranks 0 and 1".
    for (const int rank : {0, 2}) {
      const std::string said = job.said(rank);
      EXPECT_TRUE(said.find("rank 1") != std::string::npos || said.find("ranks 0 and 1") != std::string::npos ||
                  said.find("ranks 1 and 2") != std::string::npos)
          << said;
    }
  }
}

TEST(Death, WhileOthersDestroyDoesNotHoldThem) {
  RankProcesses job(3);
  job.Start([](const CommunicatorOptions& options, Board& board) -> Status {
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    std::vector<float> in(1000, 1.0f), out(1000);
    TUTTI_RETURN_IF_ERROR(c->Run(AllReduce(in, out)));
    ++board.ready;
    if (options.rank == 1) pause();
    while (board.go == 0) std::this_thread::yield();
    return Status::Ok();  // destroys the communicator
  });
  job.WaitReady(3);
  job.Kill(1);
  job.board().go = 1;
  ASSERT_TRUE(job.Join());
  for (const int rank : {0, 2}) EXPECT_EQ(job.said(rank), "OK");
}

TEST(Death, WithUnfinishedRequestsDestroyEnds) {
  RankProcesses job(2);
  job.Start([](const CommunicatorOptions& options, Board& board) -> Status {
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    std::vector<float> data(1000000, 1.0f);
    if (options.rank == 1) {
      ++board.ready;
      pause();
    }
    Request request = c->Start(Recv(data, 1));
    ++board.ready;
    while (board.go == 0) std::this_thread::yield();
    c = Status(Code::kInternal, "destroyed");  // the communicator goes, its request stays
    return request.Wait();
  });
  job.WaitReady(2);
  job.Kill(1);
  job.board().go = 1;
  ASSERT_TRUE(job.Join());
  EXPECT_NE(job.said(0).find("rank 1"), std::string::npos) << job.said(0);
}

TEST(Leaving, IsReportedToWhoeverStillWaits) {
  RankProcesses job(2);
  job.Start([](const CommunicatorOptions& options, Board&) -> Status {
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    std::vector<float> in(10, 1.0f), out(10);
    TUTTI_RETURN_IF_ERROR(c->Run(AllReduce(in, out)));
    return options.rank == 0 ? Status::Ok() : c->Run(AllReduce(in, out));
  });
  ASSERT_TRUE(job.Join());
  EXPECT_EQ(job.said(0), "OK");
  EXPECT_NE(job.said(1).find("rank 0 destroyed its communicator"), std::string::npos) << job.said(1);
}

TEST(Leaving, ExitWithoutDestroyIsADeath) {
  RankProcesses job(2);
  job.Start([](const CommunicatorOptions& options, Board&) -> Status {
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    if (options.rank == 0) _exit(3);
    return c->Run(Barrier());
  });
  ASSERT_TRUE(job.Join());
  EXPECT_NE(job.said(1).find("rank 0"), std::string::npos) << job.said(1);
  EXPECT_NE(job.said(1).find("died"), std::string::npos) << job.said(1);
}

TEST(Abort, ReachesEveryPeerWithItsReason) {
  RankProcesses job(4);
  job.Start([](const CommunicatorOptions& options, Board& board) -> Status {
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    std::thread other;
    if (options.rank == 3) {
      other = std::thread([&] {
        while (board.ready < 4) std::this_thread::yield();
        c->Abort("the loss is not a number");
      });
    }
    Status s = AllReduceForEver(*c, 1000, board);
    if (other.joinable()) other.join();
    return s;
  });
  ASSERT_TRUE(job.Join());
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_NE(job.said(rank).find("the loss is not a number"), std::string::npos) << job.said(rank);
    EXPECT_NE(job.said(rank).find("rank 3"), std::string::npos) << job.said(rank);
  }
}

TEST(Timeout, NamesTheLateRankAndTheStep) {
  RankProcesses job(3);
  Settings settings;
  settings.timeout_ms = 300;
  job.Start(
      [](const CommunicatorOptions& options, Board&) -> Status {
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        std::vector<float> in(10, 1.0f), out(10);
        if (options.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
        return c->Run(AllReduce(in, out));
      },
      settings);
  ASSERT_TRUE(job.Join());
  EXPECT_NE(job.said(0).find("rank 1"), std::string::npos) << job.said(0);
  EXPECT_NE((job.said(0) + job.said(2)).find("for data from rank 1 in all_reduce"), std::string::npos)
      << job.said(0) << job.said(2);
}

// As when a container is frozen or a virtual machine moves: the rank that waits has slept through its deadline, and the
// one that it waits for was stopped just as long. `wait`: how ranks wait for a barrier.
void ExpectStopsAreLeftOut(const std::function<Status(Communicator)>& wait) {
  RankProcesses job(2);
  Settings settings;
  settings.timeout_ms = 2000;
  job.Start(
      [&](const CommunicatorOptions& options, Board& board) -> Status {
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        ++board.ready;
        while (options.rank == 1 && board.go == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return wait(std::move(*c));
      },
      settings);
  job.WaitReady(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  job.SignalAll(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(3000));
  job.SignalAll(SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  job.board().go = 1;
  ASSERT_TRUE(job.Join());
  for (const int rank : {0, 1}) EXPECT_EQ(job.said(rank), "OK");
}

TEST(Timeout, LeavesOutTimeInWhichAllWereStopped) {
  ExpectStopsAreLeftOut([](Communicator c) { return c.Run(Barrier()); });
}

// The same where the progress thread waits.
TEST(Timeout, LeavesOutStopsOfOperationsThatWereLeftAlone) {
  ExpectStopsAreLeftOut([](Communicator c) {
    const auto queue = std::make_shared<comm::Queue>(std::move(c));
    Status s = queue->Post(Barrier());
    while (s.ok() && !queue->idle()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (s.ok()) s = queue->Poll();
    queue->Close();
    return s;
  });
}

int CountEntries(const char* folder) {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

int CountTuttiMappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:tutti") != std::string::npos ? 1 : 0;
  return count;
}

TEST(Leaks, HundredCommunicatorsLeaveNothing) {
  RankProcesses job(2);
  job.Start([](const CommunicatorOptions& options, Board&) -> Status {
    const int descriptors = CountEntries("/proc/self/fd");
    for (int i = 0; i < 100; ++i) {
      Result<Communicator> c = Communicator::Create(options);
      if (!c.ok()) return c.status();
      std::vector<float> in(5000, 1.0f), out(5000);
      TUTTI_RETURN_IF_ERROR(c->Run(AllReduce(in, out)));
      if (i % 10 == 0) {
        if (Result<void*> shared = c->AllocateShared(10000); !shared.ok()) return shared.status();
      }
    }
    const int left = CountEntries("/proc/self/fd") - descriptors;
    const int mapped = CountTuttiMappings();
    if (left == 0 && mapped == 0) return Status::Ok();
    return Status(Code::kInternal,
                  std::to_string(left) + " descriptors and " + std::to_string(mapped) + " mappings left");
  });
  ASSERT_TRUE(job.Join(std::chrono::milliseconds(30000)));
  for (const int rank : {0, 1}) EXPECT_EQ(job.said(rank), "OK");
}

TEST(Processes, EveryOperationOnEightRanks) {
  RankProcesses job(8);
  job.Start([](const CommunicatorOptions& options, Board&) -> Status {
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    const int r = options.rank;
    for (const std::size_t count : {1u, 100u, 60000u}) {
      std::vector<std::int32_t> in(count, r), out(count), wide(8 * count), piece(count);
      TUTTI_RETURN_IF_ERROR(c->Run(AllReduce(in, out)));
      if (out.back() != 28) return Status(Code::kInternal, "all_reduce is wrong");
      TUTTI_RETURN_IF_ERROR(c->Run(AllGather(in, wide)));
      for (int p = 0; p < 8; ++p) {
        if (wide[p * count] != p || wide[(p + 1) * count - 1] != p)
          return Status(Code::kInternal, "all_gather is wrong");
      }
      TUTTI_RETURN_IF_ERROR(c->Run(ReduceScatter(wide, piece)));
      if (piece.front() != 8 * r || piece.back() != 8 * r) return Status(Code::kInternal, "reduce_scatter is wrong");
      TUTTI_RETURN_IF_ERROR(c->Run(Broadcast(piece, 5)));
      if (piece.back() != 40) return Status(Code::kInternal, "broadcast is wrong");
    }
    return Status::Ok();
  });
  ASSERT_TRUE(job.Join(std::chrono::milliseconds(30000)));
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(job.said(rank), "OK");
}

// Through the shared pages, around the lengths at which the mapping changes through which they are read.
TEST(Processes, MessagesByPoolOfAnyLength) {
  constexpr int kRanks = 3;
  Settings settings;
  settings.proto = "Simple";
  settings.single_copy = SingleCopy::kOff;
  RankProcesses job(kRanks);
  job.Start(
      [](const CommunicatorOptions& options, Board&) -> Status {
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        const int r = options.rank;
        for (const std::size_t bytes :
             {1u, 2047u, 2048u, 2049u, 2112u, 4096u, 6144u, 6150u, 8191u, 8192u, 8193u, 24576u, 24579u, 300001u}) {
          for (int turn = 0; turn < 3; ++turn) {  // the same pages again, with other values
            std::vector<std::uint8_t> in(bytes), out(bytes), sum(bytes), from(bytes);
            const auto value = [&](int rank, std::size_t i) {
              return static_cast<std::uint8_t>((i * 7 + i / 251 + rank * 13 + turn * 5) % 80);
            };
            for (std::size_t i = 0; i < bytes; ++i) in[i] = value(r, i);
            if (r == 1) out = in;
            TUTTI_RETURN_IF_ERROR(c->Run(Broadcast(out, 1)));
            TUTTI_RETURN_IF_ERROR(c->Run(Reduce(in, sum, turn)));
            std::vector<std::uint8_t> all(bytes);
            TUTTI_RETURN_IF_ERROR(c->Run(AllReduce(in, all)));
            const Operation exchange[] = {Send(in, (r + 1) % kRanks), Recv(from, (r + kRanks - 1) % kRanks)};
            TUTTI_RETURN_IF_ERROR(c->RunGroup(exchange));
            for (std::size_t i = 0; i < bytes; ++i) {
              const int expected = value(0, i) + value(1, i) + value(2, i);
              if (out[i] != value(1, i)) return Status(Code::kInternal, "broadcast is wrong");
              if (r == turn && sum[i] != expected) return Status(Code::kInternal, "reduce is wrong");
              if (all[i] != expected) return Status(Code::kInternal, "all_reduce is wrong");
              if (from[i] != value((r + kRanks - 1) % kRanks, i)) return Status(Code::kInternal, "send_recv is wrong");
            }
          }
        }
        return Status::Ok();
      },
      settings);
  ASSERT_TRUE(job.Join(std::chrono::milliseconds(30000)));
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(job.said(rank), "OK");
}

}  // namespace
}  // namespace tutti
