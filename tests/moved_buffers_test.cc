// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// Buffers that come again and again move to huge pages, and nobody notices (docs/decisions/0029).

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/gap.h"
#include "tests/support/huge_memory.h"
#include "tests/support/rank_processes.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

using tests::Board;
using tests::HugeKib;
using tests::HugeMemory;
using tests::RankProcesses;

constexpr std::size_t kBytes = std::size_t{4} << 20;
constexpr int kCalls = 40;  // more than twice as many as are needed

std::span<std::uint32_t> Words(const HugeMemory& memory, std::size_t offset) {
  return {reinterpret_cast<std::uint32_t*>(memory.data() + offset), (kBytes - offset) / sizeof(std::uint32_t)};
}
std::uint32_t Word(int rank, int call, std::size_t i) {
  return static_cast<std::uint32_t>(rank) << 30 ^ static_cast<std::uint32_t>(call) << 22 ^
         static_cast<std::uint32_t>(i);
}

// Exchanges one buffer with the other rank, each call with other contents. A thread of the program writes beside it all the
// while, in the same huge page. Both lie from byte `begin` of the memory on.
Status Exchange(Communicator& c, const HugeMemory& in, const HugeMemory& out, std::size_t begin = 0) {
  constexpr std::size_t kBeside = 64;  // in front of the buffer
  const std::span send = Words(in, begin + kBeside), receive = Words(out, begin).first(send.size());
  auto* const counter = new (in.data() + begin) std::atomic<std::uint64_t>(0);
  std::atomic<bool> stop = false;
  std::uint64_t counted = 0;
  std::thread beside([&] {
    for (; !stop; ++counted) counter->store(counter->load() + 1);
  });
  Status status;
  for (int call = 0; call < kCalls && status.ok(); ++call) {
    for (std::size_t i = 0; i < send.size(); ++i) send[i] = Word(c.rank(), call, i);
    std::ranges::fill(receive, 0u);
    const std::array<Operation, 2> both = {Send(send, 1 - c.rank()), Recv(receive, 1 - c.rank())};
    status = c.RunGroup(both);
    for (std::size_t i = 0; i < send.size() && status.ok(); ++i) {
      if (receive[i] == Word(1 - c.rank(), call, i)) continue;
      status = Status(Code::kInternal, fmt::format("call {}: word {} is {:x}", call, i, receive[i]));
    }
  }
  stop = true;
  beside.join();
  if (status.ok() && *counter != counted)
    status = Status(Code::kInternal, fmt::format("{} of {} writes were kept", counter->load(), counted));
  return status;
}

// What two processes say after that: how much of both buffers lies in huge pages then, KiB. `begin`: what lies before has been unmapped.
void ExpectHuge(const Settings& settings, long kib, std::size_t begin = 0) {
  if (tests::HugePagesUnasked()) GTEST_SKIP() << "memory lies in huge pages from the start";
  RankProcesses job(2);
  job.Start(
      [kib, begin](const CommunicatorOptions& options, Board&) -> Status {
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        const HugeMemory in(kBytes), out(kBytes);
        std::ranges::fill(std::span(out.data(), kBytes), std::byte{0});
        for (const HugeMemory* memory : {&in, &out}) {
          if (begin > 0) munmap(memory->data(), begin);
        }
        TUTTI_RETURN_IF_ERROR(Exchange(*c, in, out, begin));
        for (const HugeMemory* memory : {&in, &out}) {
          if (const long found = HugeKib(memory->data() + begin); found != kib)
            return Status(Code::kInternal, fmt::format("{} KiB lie in huge pages", found));
        }
        return Status::Ok();
      },
      settings);
  ASSERT_TRUE(job.Join(std::chrono::minutes(2)));
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(job.said(rank), "OK");
}

TEST(MovedBuffers, LieInHugePagesWhereOthersReadThem) {
  ExpectHuge({}, tests::HugePagesWork() ? static_cast<long>(kBytes >> 10) : 0);
}

TEST(MovedBuffers, LieInHugePagesAlsoAtTheEndsOfMemory) {
  ExpectHuge({}, tests::HugePagesWork() ? static_cast<long>(kBytes >> 10) : 0, std::size_t{1} << 20);
}

TEST(MovedBuffers, StayWhereASettingSaysSo) {
  Settings settings;
  settings.huge_pages = false;
  ExpectHuge(settings, 0);
}

TEST(MovedBuffers, StayWhereAllGoesThroughSharedPages) {
  Settings settings;
  settings.single_copy = SingleCopy::kOff;
  ExpectHuge(settings, 0);
}

// Whether a communicator takes ends of gaps, so that buffers which the program asks for later lie in whole huge pages; and that it gives
// them back.
void ExpectEndsOfGapsTaken(const Settings& settings, bool taken) {
  RankProcesses job(2);
  job.Start(
      [taken](const CommunicatorOptions& options, Board&) -> Status {
        const tests::Gap gap;
        {
          Result<Communicator> c = Communicator::Create(options);
          if (!c.ok()) return c.status();
          if (gap.EndIsTaken() != taken) return Status(Code::kInternal, taken ? "it is free" : "it is taken");
          TUTTI_RETURN_IF_ERROR(c->Run(Barrier()));
        }
        return gap.EndIsTaken() ? Status(Code::kInternal, "it is still taken") : Status::Ok();
      },
      settings);
  ASSERT_TRUE(job.Join(std::chrono::minutes(2)));
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(job.said(rank), "OK");
}

TEST(MovedBuffers, WillLieInWholeHugePages) {
  ExpectEndsOfGapsTaken({}, tests::HugePagesWork());
  Settings settings;
  settings.huge_pages = false;
  ExpectEndsOfGapsTaken(settings, false);
}

// Threads read each other's buffers where they lie, without a system call.
TEST(MovedBuffers, StayWhereRanksAreThreads) {
  if (tests::HugePagesUnasked()) GTEST_SKIP() << "memory lies in huge pages from the start";
  const Result<UniqueId> id = CreateUniqueId();
  ASSERT_TRUE(id.ok());
  std::array<Status, 2> said;
  std::array<long, 2> kib = {-1, -1};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      Result<Communicator> c = Communicator::Create({.rank = rank, .ranks = 2, .id = *id});
      const HugeMemory in(kBytes), out(kBytes);
      said[rank] = c.ok() ? Exchange(*c, in, out) : c.status();
      kib[rank] = HugeKib(in.data());
    });
  }
  for (std::thread& thread : ranks) thread.join();
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(said[rank].ToString(), "OK");
    EXPECT_EQ(kib[rank], 0);
  }
}

}  // namespace
}  // namespace tutti
