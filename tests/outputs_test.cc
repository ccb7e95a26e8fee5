// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// Ranks as processes that write finished values to their places in each other's outputs (src/exec/cpu/outputs.cc).

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
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

Settings TwoShot(int channels) {
  Settings settings = ByReference();
  settings.algo = "two_shot";
  settings.min_channels = settings.max_channels = channels;
  return settings;
}

// Memory of the process, which others reach by system call.
struct Ordinary {
  static Status Prepare() { return Status::Ok(); }
  static Result<Ints> Allocate(Communicator&, std::size_t count) {
    static std::vector<std::unique_ptr<std::vector<std::int32_t>>> all;
    all.push_back(std::make_unique<std::vector<std::int32_t>>(count));
    return Ints(*all.back());
  }
};

constexpr std::size_t kCount = std::size_t{1} << 14;
constexpr auto kSum = [](std::size_t i) { return SumOf(2, i); };

// Rank 1 makes the second half of each sum.
TEST(Outputs, ASumIsWrittenToEveryRankThatStandsStill) {
  const auto make = [](Ints in, Ints out) { return AllReduce(in, out); };
  ExpectWrittenByOthers<Ordinary>(TwoShot(1), kCount, kCount / 2, make, kSum);
}

TEST(Outputs, ASumIsWrittenInPlaceToo) {
  const auto make = [](Ints in, Ints) { return AllReduce(in, in); };
  ExpectWrittenByOthers<Ordinary>(TwoShot(1), kCount, kCount / 2, make, kSum);
}

TEST(Outputs, ASumIsWrittenToARootThatStandsStill) {
  const auto make = [](Ints in, Ints out) { return Reduce(in, out, 0); };
  ExpectWrittenByOthers<Ordinary>(TwoShot(1), kCount, kCount / 2, make, kSum);
}

// Reductions of `count` elements, each to another output and in place, and averages.
Status ReduceAll(Communicator& c, Ints in, Ints out) {
  const int r = c.rank(), n = c.ranks(), root = n - 1;
  const auto sum = [&](std::size_t i) { return SumOf(n, i); };
  const auto fresh = [&] {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = Value(r, i);
    std::ranges::fill(out, -1);
  };
  const auto average = [&](std::size_t i) { return sum(i) / n; };
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAvg}) {
    for (const Ints to : {out, in}) {
      const std::string what =
          fmt::format("{}{}", op == ReduceOp::kSum ? "sum" : "average", to.data() == in.data() ? " in place" : "");
      const auto check = [&](const char* name) {
        const std::string whole = fmt::format("{} by {}", what, name);
        return op == ReduceOp::kSum ? Expect(whole.c_str(), to, sum) : Expect(whole.c_str(), to, average);
      };
      fresh();
      TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, to, op)));
      TUTTI_RETURN_IF_ERROR(check("all_reduce"));
      fresh();
      TUTTI_RETURN_IF_ERROR(c.Run(Reduce(in, to, root, op)));
      if (r == root) TUTTI_RETURN_IF_ERROR(check("reduce"));
    }
  }
  return Status::Ok();
}

Status ReduceOfAllSizes(Communicator& c) {
  // Shorter than what is worth it, odd ones, several parts.
  const std::array<std::size_t, 7> counts = {1, 1023, 8193, 16384, 50001, 262147, (1 << 20) + 1};
  std::vector<std::int32_t> in(counts.back() + 3), out(counts.back() + 3);
  for (const std::size_t count : counts) {
    TUTTI_RETURN_IF_ERROR(ReduceAll(c, Ints(in).first(count), Ints(out).first(count)));
    TUTTI_RETURN_IF_ERROR(ReduceAll(c, Ints(in).subspan(3, count), Ints(out).subspan(1, count)));
  }
  return Status::Ok();
}

// Ranks, and channels.
class Outputs : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void Expect(const RankProcesses::Body& body) {
    const auto [ranks, channels] = GetParam();
    RankProcesses job(ranks);
    job.Start(body, TwoShot(channels));
    ASSERT_TRUE(job.Join(std::chrono::minutes(3)));
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(job.said(rank), "OK");
  }
};

TEST_P(Outputs, HoldWhatIsDue) {
  Expect([](const CommunicatorOptions& options, Board&) -> Status {
    Result<Communicator> c = Communicator::Create(options);
    return c.ok() ? ReduceOfAllSizes(*c) : c.status();
  });
}

// The last rank may not write to other processes; it finds out with the first value that it has for one.
TEST_P(Outputs, HoldWhatIsDueWhereARankMayNotWrite) {
  Expect([](const CommunicatorOptions& options, Board&) -> Status {
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    if (c->rank() == c->ranks() - 1) TUTTI_RETURN_IF_ERROR(Forbid({SYS_process_vm_writev}));
    return ReduceOfAllSizes(*c);
  });
}

// As above, but that is a reduce of several parts.
TEST_P(Outputs, HoldWhatIsDueAtARootToWhichARankMayNotWrite) {
  Expect([](const CommunicatorOptions& options, Board&) -> Status {
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    if (c->rank() == 1) TUTTI_RETURN_IF_ERROR(Forbid({SYS_process_vm_writev}));
    std::vector<std::int32_t> in((1 << 20) + 1), out(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = Value(c->rank(), i);
    TUTTI_RETURN_IF_ERROR(c->Run(Reduce(Ints(in), Ints(out), 0)));
    const auto sum = [&](std::size_t i) { return SumOf(c->ranks(), i); };
    return c->rank() == 0 ? tests::Expect("reduce", Ints(out), sum) : Status::Ok();
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Outputs,
                         testing::Values(std::tuple(2, 1), std::tuple(2, 2), std::tuple(3, 1), std::tuple(5, 2)));

}  // namespace
}  // namespace tutti
