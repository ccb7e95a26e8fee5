// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Communicators of the ranks that stay (Communicator::Shrink).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/rank_processes.h"
#include "tests/support/ranks.h"

namespace tutti::tests {
namespace {

// The sum of what these ranks of the parent bring, which is their number there and 1.
Status AddUp(Communicator& c, int mine, float expected) {
  const std::vector<float> in(1000, static_cast<float>(mine + 1));
  std::vector<float> out(in.size());
  TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
  if (out.front() == expected && out.back() == expected) return Status::Ok();
  return Status(Code::kInternal, "the sum is " + std::to_string(out.front()));
}

TEST(Shrink, RanksThatStayKeepTheirOrder) {
  EXPECT_EQ(RunRanks(5, {},
                     [](Communicator& c) -> Status {
                       if (c.rank() == 1 || c.rank() == 3) return Status::Ok();
                       // In any order.
                       const std::vector<int> out = c.rank() == 0 ? std::vector{1, 3} : std::vector{3, 1};
                       Result<Communicator> rest = c.Shrink(out);
                       if (!rest.ok()) return rest.status();
                       if (rest->ranks() != 3 || rest->rank() != c.rank() / 2)
                         return Status(Code::kInternal, "another rank");
                       return AddUp(*rest, c.rank(), 1 + 3 + 5);
                     }),
            "");
}

TEST(Shrink, AgainWithoutTheSame) {
  EXPECT_EQ(RunRanks(3, {},
                     [](Communicator& c) -> Status {
                       if (c.rank() == 0) return Status::Ok();
                       Result<Communicator> one = c.Shrink(std::vector{0}), other = c.Shrink(std::vector{0});
                       if (!one.ok() || !other.ok()) return one.ok() ? other.status() : one.status();
                       TUTTI_RETURN_IF_ERROR(AddUp(*other, c.rank(), 2 + 3));
                       return AddUp(*one, c.rank(), 2 + 3);
                     }),
            "");
}

TEST(Shrink, ToOneRankAndToAll) {
  EXPECT_EQ(RunRanks(2, {},
                     [](Communicator& c) -> Status {
                       Result<Communicator> all = c.Shrink({});
                       if (!all.ok()) return all.status();
                       TUTTI_RETURN_IF_ERROR(AddUp(*all, c.rank(), 1 + 2));
                       Result<Communicator> alone = c.Shrink(std::vector{1 - c.rank()});
                       if (!alone.ok()) return alone.status();
                       return AddUp(*alone, c.rank(), static_cast<float>(c.rank() + 1));
                     }),
            "");
}

TEST(Shrink, OfABrokenCommunicator) {
  EXPECT_EQ(RunRanks(3, {},
                     [](Communicator& c) -> Status {
                       if (c.rank() == 1) {
                         c.Abort("had enough");
                         return Status::Ok();
                       }
                       std::vector<float> in(10), out(10);
                       Status s;
                       while (s.ok()) s = c.Run(AllReduce(in, out));
                       if (s.peer() != 1) return Status(Code::kInternal, "it names somebody else: " + s.ToString());
                       Result<Communicator> rest = c.Shrink(std::vector{s.peer()});
                       if (!rest.ok()) return rest.status();
                       return AddUp(*rest, c.rank(), 1 + 3);
                     }),
            "");
}

TEST(Shrink, RefusesWhatCannotBeLeftOut) {
  EXPECT_EQ(
      RunRanks(2, {},
               [](Communicator& c) -> Status {
                 for (const std::vector<int>& out : {std::vector{2}, {-1}, {1 - c.rank(), 1 - c.rank()}, {c.rank()}}) {
                   const Result<Communicator> rest = c.Shrink(out);
                   if (rest.ok() || rest.status().code() != Code::kInvalidArgument)
                     return Status(Code::kInternal, "it was taken");
                 }
                 return AddUp(c, c.rank(), 1 + 2);
               }),
      "");
}

// Whom to leave out comes from the monitor or the error, and the one that is left out may only be stopped.
TEST(Shrink, WithoutARankThatIsStopped) {
  RankProcesses job(3);
  Settings settings;
  settings.abort_after_ms = 0;
  job.Start(
      [](const CommunicatorOptions& options, Board& board) -> Status {
        board.pid[options.rank] = getpid();
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        const Status s = AllReduceForEver(*c, 1024, board);
        // Who is told by the other rank first has not looked itself.
        std::vector<int> out = c->WhoHoldsItUp().exclude;
        if (out.empty()) out.push_back(s.peer());
        if (out != std::vector{1}) return Status(Code::kInternal, "it excludes others");
        Result<Communicator> rest = c->Shrink(out);
        if (!rest.ok()) return rest.status();
        return AddUp(*rest, options.rank, 1 + 3);
      },
      settings);
  job.WaitReady(3);
  kill(job.board().pid[1], SIGSTOP);
  for (const int rank : {0, 2}) {
    EXPECT_TRUE(WaitUntil([&] { return job.board().ended_ms[rank] != 0; }));
    EXPECT_EQ(job.said(rank), Status::Ok().ToString()) << rank;
  }
}

}  // namespace
}  // namespace tutti::tests
