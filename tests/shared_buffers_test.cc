// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Ranks as processes whose buffers are of Communicator::AllocateShared: data go from buffer to buffer, with no system call that
// reaches into another process.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/rank_processes.h"
#include "tests/support/written_by_others.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

using namespace tests;

// Every operation on `count` elements a rank; all inputs and outputs lie in `in` and `out`, which hold ranks times as many.
Status RunAll(Communicator& c, Ints in, Ints out, std::size_t count) {
  const int r = c.rank(), n = c.ranks();
  const std::size_t all = count * n;
  const auto fresh = [&] {
    for (std::size_t i = 0; i < all; ++i) in[i] = Value(r, i);
    std::ranges::fill(out, -1);
  };
  const auto sum = [&](std::size_t i) { return SumOf(n, i); };
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
        TUTTI_RETURN_IF_ERROR(Forbid({SYS_process_vm_readv, SYS_process_vm_writev}));
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

// Buffers that all ranks map, and no way round them.
struct SharedOnly {
  static Status Prepare() { return Forbid({SYS_process_vm_readv, SYS_process_vm_writev}); }
  static Result<Ints> Allocate(Communicator& c, std::size_t count) { return AllocateInts(c, count); }
};

TEST(SharedBuffersTest, ASenderCopiesAllForAReceiverThatStandsStill) {
  Settings settings = ByReference();
  settings.algo = "one_shot";
  ExpectWrittenByOthers<SharedOnly>(
      settings, std::size_t{1} << 20, 0, [](Ints in, Ints) { return Broadcast(in, 1); },
      [](std::size_t i) { return Value(1, i); });
}

TEST(SharedBuffersTest, ASumIsWrittenWhereARootThatStandsStillWantsIt) {
  constexpr std::size_t kCount = std::size_t{1} << 14;
  Settings settings = ByReference();
  settings.algo = "two_shot";
  ExpectWrittenByOthers<SharedOnly>(
      settings, kCount, kCount / 2, [](Ints in, Ints out) { return Reduce(in, out, 0); },
      [](std::size_t i) { return SumOf(2, i); });
}

}  // namespace
}  // namespace tutti
