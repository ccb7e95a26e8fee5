// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Ranks as processes whose buffers are of Communicator::AllocateShared: data go from buffer to buffer, with no system call that
// reaches into another process.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "sys/os/process.h"
#include "tests/support/child_process.h"
#include "tests/support/rank_processes.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

using namespace tests;

// From now on the kernel refuses this process to read and write memory of others.
Status ForbidReaching() {
  constexpr auto kRefuse = static_cast<std::uint32_t>(SECCOMP_RET_ERRNO) | EPERM;
  std::array<sock_filter, 5> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kRefuse),
      BPF_STMT(BPF_RET | BPF_K, static_cast<std::uint32_t>(SECCOMP_RET_ALLOW)),
  }};
  const sock_fprog program = {.len = filter.size(), .filter = filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    return Status(Code::kSystem, std::string("no seccomp filter: ") + strerror(errno));
  }
  std::uint64_t own = 1, seen = 0;
  if (sys::ReadProcessMemory(getpid(), &own, &seen, sizeof(own)).ok()) {
    return Status(Code::kInternal, "process_vm_readv is still allowed");
  }
  return Status::Ok();
}

std::int32_t Value(int rank, std::size_t i) { return static_cast<std::int32_t>((i * 7 + i / 61) % 251) + 1000 * rank; }

using Ints = std::span<std::int32_t>;

template <typename Expected>
Status Expect(const char* what, Ints got, Expected&& expected) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected(i)) continue;
    return Status(Code::kInternal, std::string(what) + " of " + std::to_string(got.size()) + ": element " +
                                       std::to_string(i) + " is " + std::to_string(got[i]) + ", must be " +
                                       std::to_string(expected(i)));
  }
  return Status::Ok();
}

// Every operation on `count` elements a rank; all inputs and outputs lie in `in` and `out`, which hold ranks times as many.
Status RunAll(Communicator& c, Ints in, Ints out, std::size_t count) {
  const int r = c.rank(), n = c.ranks();
  const std::size_t all = count * n;
  const auto fresh = [&] {
    for (std::size_t i = 0; i < all; ++i) in[i] = Value(r, i);
    std::ranges::fill(out, -1);
  };
  const auto sum = [&](std::size_t i) {
    std::int32_t total = 0;
    for (int rank = 0; rank < n; ++rank) total += Value(rank, i);
    return total;
  };
  const Ints piece = in.first(count), result = out.first(count), wide = in.first(all), results = out.first(all);
  fresh();
  TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(piece, result)));
  TUTTI_RETURN_IF_ERROR(Expect("all_reduce", result, sum));
  fresh();
  TUTTI_RETURN_IF_ERROR(c.Run(Reduce(piece, result, n - 1)));
  if (r == n - 1) TUTTI_RETURN_IF_ERROR(Expect("reduce", result, sum));
  fresh();
  TUTTI_RETURN_IF_ERROR(c.Run(Reduce(piece, piece, 0)));
  if (r == 0) TUTTI_RETURN_IF_ERROR(Expect("reduce in place", piece, sum));
  fresh();
  TUTTI_RETURN_IF_ERROR(c.Run(Reduce(piece, result, 1, ReduceOp::kAvg)));
  if (r == 1) TUTTI_RETURN_IF_ERROR(Expect("average", result, [&](std::size_t i) { return sum(i) / n; }));
  fresh();
  TUTTI_RETURN_IF_ERROR(c.Run(ReduceScatter(wide, result)));
  TUTTI_RETURN_IF_ERROR(Expect("reduce_scatter", result, [&](std::size_t i) { return sum(r * count + i); }));
  fresh();
  TUTTI_RETURN_IF_ERROR(c.Run(AllGather(piece, results)));
  const auto gathered = [&](std::size_t i) { return Value(static_cast<int>(i / count), i % count); };
  TUTTI_RETURN_IF_ERROR(Expect("all_gather", results, gathered));
  fresh();
  TUTTI_RETURN_IF_ERROR(c.Run(Gather(piece, results, 1)));
  if (r == 1) TUTTI_RETURN_IF_ERROR(Expect("gather", results, gathered));
  fresh();
  TUTTI_RETURN_IF_ERROR(c.Run(Scatter(wide, result, 1)));
  TUTTI_RETURN_IF_ERROR(Expect("scatter", result, [&](std::size_t i) { return Value(1, r * count + i); }));
  fresh();
  TUTTI_RETURN_IF_ERROR(c.Run(Broadcast(piece, 1)));
  TUTTI_RETURN_IF_ERROR(Expect("broadcast", piece, [&](std::size_t i) { return Value(1, i); }));
  fresh();
  TUTTI_RETURN_IF_ERROR(c.Run(AllToAll(wide, results, n)));
  TUTTI_RETURN_IF_ERROR(Expect(
      "all_to_all", results, [&](std::size_t i) { return Value(static_cast<int>(i / count), r * count + i % count); }));
  fresh();
  const std::array<Operation, 2> exchange = {Send(piece, (r + 1) % n), Recv(result, (r + n - 1) % n)};
  TUTTI_RETURN_IF_ERROR(c.RunGroup(exchange));
  TUTTI_RETURN_IF_ERROR(Expect("send_recv", result, [&](std::size_t i) { return Value((r + n - 1) % n, i); }));
  fresh();
  if (r == 0) TUTTI_RETURN_IF_ERROR(c.Run(Send(piece, n - 1)));
  if (r == n - 1) TUTTI_RETURN_IF_ERROR(c.Run(Recv(result, 0)));
  if (r == n - 1) TUTTI_RETURN_IF_ERROR(Expect("recv", result, [&](std::size_t i) { return Value(0, i); }));
  return Status::Ok();
}

Result<Ints> AllocateInts(Communicator& c, std::size_t count) {
  const Result<void*> memory = c.AllocateShared(count * sizeof(std::int32_t));
  if (!memory.ok()) return memory.status();
  return Ints(static_cast<std::int32_t*>(*memory), count);
}

Settings ByReference() {
  Settings settings;
  settings.proto = "Simple";
  settings.single_copy = SingleCopy::kForce;
  return settings;
}

// Ranks, the algorithm, and channels.
class SharedBuffers : public testing::TestWithParam<std::tuple<int, const char*, int>> {};

TEST_P(SharedBuffers, NeedNoReachingIntoProcesses) {
  const auto [ranks, algorithm, channels] = GetParam();
  Settings settings = ByReference();
  settings.algo = algorithm;
  settings.min_channels = settings.max_channels = channels;
  RankProcesses job(ranks);
  job.Start(
      [](const CommunicatorOptions& options, Board&) -> Status {
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        // Both sides of where copies are shared, and more than one part of 8 MiB.
        const std::array<std::size_t, 5> counts = {1, 8191, 8192, 50001, (8 << 20) / sizeof(std::int32_t) + 1};
        const std::size_t most = counts.back() * c->ranks() + 3;
        Result<Ints> in = AllocateInts(*c, most), out = AllocateInts(*c, most);
        if (!in.ok() || !out.ok()) return in.ok() ? out.status() : in.status();
        TUTTI_RETURN_IF_ERROR(ForbidReaching());
        for (const std::size_t count : counts) {
          if (count != counts.back()) TUTTI_RETURN_IF_ERROR(RunAll(*c, *in, *out, count));
          TUTTI_RETURN_IF_ERROR(RunAll(*c, in->subspan(3), out->subspan(1), count));
        }
        return Status::Ok();
      },
      settings);
  ASSERT_TRUE(job.Join(std::chrono::minutes(3)));
  for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(job.said(rank), "OK");
}
INSTANTIATE_TEST_SUITE_P(Ranks, SharedBuffers,
                         testing::Values(std::tuple(2, "", 1), std::tuple(3, "", 1), std::tuple(2, "two_shot", 1),
                                         std::tuple(2, "two_shot", 2), std::tuple(3, "two_shot", 2),
                                         std::tuple(3, "one_shot", 1), std::tuple(3, "ring", 2)));

// Ordinary memory at one end, shared memory at the other.
TEST(SharedBuffersAndOthers, GoTogether) {
  RankProcesses job(3);
  job.Start(
      [](const CommunicatorOptions& options, Board&) -> Status {
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        const std::array<std::size_t, 3> counts = {100, 20000, (1 << 20) + 1};
        const std::size_t most = counts.back() * c->ranks();
        Result<Ints> shared = AllocateInts(*c, most);
        if (!shared.ok()) return shared.status();
        std::vector<std::int32_t> own(most);
        for (const std::size_t count : counts) {
          TUTTI_RETURN_IF_ERROR(RunAll(*c, *shared, own, count));
          TUTTI_RETURN_IF_ERROR(RunAll(*c, own, *shared, count));
          const bool swapped = c->rank() == 1;
          TUTTI_RETURN_IF_ERROR(swapped ? RunAll(*c, own, *shared, count) : RunAll(*c, *shared, own, count));
        }
        return Status::Ok();
      },
      ByReference());
  ASSERT_TRUE(job.Join(std::chrono::minutes(3)));
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(job.said(rank), "OK");
}

// What a rank that stands still tells the others.
struct Meeting {
  std::atomic<std::int32_t> pid;
  std::atomic<std::uint64_t> output;
};

// Rank 0 starts an operation on `count` elements and stops. Whether from element `begin` on its output becomes what `expected` says,
// without its help; and then, whether all is well once it goes on.
template <typename Make, typename Expected>
void ExpectWrittenByOthers(const Settings& settings, std::size_t count, std::size_t begin, Make make,
                           Expected expected) {
  auto* const meeting =
      static_cast<Meeting*>(mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(meeting), MAP_FAILED);
  RankProcesses job(2);
  job.Start(
      [&](const CommunicatorOptions& options, Board&) -> Status {
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        Result<Ints> in = AllocateInts(*c, count), out = AllocateInts(*c, count);
        if (!in.ok() || !out.ok()) return in.ok() ? out.status() : in.status();
        for (std::size_t i = 0; i < count; ++i) (*in)[i] = Value(c->rank(), i);
        TUTTI_RETURN_IF_ERROR(ForbidReaching());
        const Operation operation = make(*in, *out);
        if (c->rank() == 1) {
          const auto stands_still = [&] {
            const auto stat = sys::ReadProcessStat(meeting->pid);
            return stat && stat->state == 'T';
          };
          if (!WaitUntil(stands_still)) return Status(Code::kInternal, "rank 0 does not stand still");
          return c->Run(operation);
        }
        Request started = c->Start(operation);
        // Another thread may hold the queue at one moment or another. What has to be sent is on its way in the end.
        for (int look = 0; look < 40; ++look) {
          (void)started.Test();
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        meeting->output = reinterpret_cast<std::uint64_t>(operation.out);
        meeting->pid = getpid();
        raise(SIGSTOP);
        TUTTI_RETURN_IF_ERROR(started.Wait());
        return Expect("the output", Ints(static_cast<std::int32_t*>(operation.out), count), expected);
      },
      settings);
  std::vector<std::int32_t> there(count - begin);
  EXPECT_TRUE(WaitUntil([&] {
    if (meeting->pid == 0) return false;
    const auto* output = reinterpret_cast<const std::int32_t*>(meeting->output.load());
    return sys::ReadProcessMemory(meeting->pid, output + begin, there.data(), there.size() * sizeof(std::int32_t))
               .ok() &&
           Expect("the output", there, [&](std::size_t i) { return expected(begin + i); }).ok();
  }));
  ASSERT_NE(meeting->pid, 0);
  kill(meeting->pid, SIGCONT);
  ASSERT_TRUE(job.Join(std::chrono::minutes(1)));
  for (const int rank : {0, 1}) EXPECT_EQ(job.said(rank), "OK");
  munmap(meeting, sizeof(Meeting));
}

TEST(SharedBuffersTest, ASenderCopiesAllForAReceiverThatStandsStill) {
  Settings settings = ByReference();
  settings.algo = "one_shot";
  ExpectWrittenByOthers(
      settings, std::size_t{1} << 20, 0, [](Ints in, Ints) { return Broadcast(in, 1); },
      [](std::size_t i) { return Value(1, i); });
}

TEST(SharedBuffersTest, ASumIsWrittenWhereARootThatStandsStillWantsIt) {
  constexpr std::size_t kCount = std::size_t{1} << 14;
  Settings settings = ByReference();
  settings.algo = "two_shot";
  ExpectWrittenByOthers(
      settings, kCount, kCount / 2, [](Ints in, Ints out) { return Reduce(in, out, 0); },
      [](std::size_t i) { return Value(0, i) + Value(1, i); });
}

}  // namespace
}  // namespace tutti
