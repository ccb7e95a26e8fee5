// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Communicators as their users see them, with ranks as threads of this process: every operation, algorithm, protocol,
// type and operator against a reference.
#include "tutti/communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "algo/algorithm.h"
#include "comm/host/impl.h"
#include "tests/support/ranks.h"
#include "tests/support/reference.h"
#include "tests/support/sanitizers.h"
#include "trace/view.h"

namespace tutti {
namespace {

using tests::Case;
using tests::RunCase;
using tests::RunRanks;
using tests::Scaled;

constexpr Collective kMovingAndReducing[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                             Collective::kBroadcast, Collective::kReduce,    Collective::kGather,
                                             Collective::kScatter,   Collective::kAllToAll};

// Operations that an algorithm can do, forced through the setting; all for "", the automatic choice.
std::vector<Collective> KindsOf(const std::string& algorithm, int ranks) {
  std::vector<Collective> kinds(std::begin(kMovingAndReducing), std::end(kMovingAndReducing));
  std::erase_if(kinds, [&](Collective kind) {
    return std::ranges::none_of(algo::Registry(), [&](const algo::Entry& entry) {
      return (algorithm.empty() || entry.name == algorithm) && entry.supports(kind, ranks);
    });
  });
  return kinds;
}

struct Way {
  const char* proto;
  SingleCopy single_copy;
  int channels;
};
constexpr Way kWays[] = {{"LL", SingleCopy::kOff, 1},     {"LL128", SingleCopy::kOff, 1},
                         {"Simple", SingleCopy::kOff, 1}, {"Simple", SingleCopy::kForce, 1},
                         {"LL128", SingleCopy::kOff, 2},  {"Simple", SingleCopy::kOff, 2}};

class EveryAlgorithm : public testing::TestWithParam<int> {};

// And "".
std::vector<std::string> AlgorithmsOf(int ranks) {
  std::vector<std::string> names = {""};
  for (const algo::Entry& entry : algo::Registry()) names.emplace_back(entry.name);
  std::erase_if(names, [&](const std::string& name) { return KindsOf(name, ranks).empty(); });
  return names;
}

constexpr std::size_t kSeveralChunks = tests::kSlowdown > 1 ? 6007 : 20011;

// Counts around the interesting borders: none, one, fewer than ranks, odd, several chunks.
TEST_P(EveryAlgorithm, EveryProtocolAndPlacement) {
  const int ranks = GetParam();
  for (const std::string& algorithm : AlgorithmsOf(ranks)) {
    std::vector<Case> cases;
    for (const Collective kind : KindsOf(algorithm, ranks)) {
      for (const std::size_t count :
           {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{17}, std::size_t{1000}, kSeveralChunks}) {
        for (const bool in_place : {false, true}) {
          if (in_place && kind == Collective::kAllToAll) continue;
          cases.push_back({.kind = kind,
                           .count = count,
                           .type = count % 2 == 0 ? DataType::kInt32 : DataType::kFloat32,
                           .op = ReduceOp::kSum,
                           .root = static_cast<int>(count) % ranks,
                           .in_place = in_place,
                           .misalign = count == 17 ? 3u : 0u});
        }
      }
    }
    for (const Way& way : kWays) {
      Settings settings;
      settings.algo = algorithm;
      settings.proto = way.proto;
      settings.single_copy = way.single_copy;
      settings.min_channels = way.channels;
      SCOPED_TRACE(testing::Message() << "algorithm " << algorithm << " proto " << way.proto << " single copy "
                                      << static_cast<int>(way.single_copy) << " channels " << way.channels);
      ASSERT_EQ(RunRanks(ranks, settings, [&](Communicator& c) { return RunCase(c, cases); }), "");
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Ranks, EveryAlgorithm, testing::Values(1, 2, 3, 4, 5, 8));

// A few hundred kilobytes to some megabytes: many chunks, several rounds in flight.
TEST(LargeMessages, ManyRounds) {
  for (const int ranks : {2, 3}) {
    for (const std::string& algorithm : AlgorithmsOf(ranks)) {
      std::vector<Case> cases;
      for (const Collective kind : KindsOf(algorithm, ranks)) {
        cases.push_back({.kind = kind, .count = Scaled(400007), .type = DataType::kFloat32, .root = ranks - 1});
        cases.push_back({.kind = kind,
                         .count = Scaled(150001),
                         .type = DataType::kInt64,
                         .in_place = kind != Collective::kAllToAll});
      }
      for (const auto& [copy, channels] :
           {std::pair(SingleCopy::kOff, 1), std::pair(SingleCopy::kOff, 2), std::pair(SingleCopy::kForce, 1)}) {
        if (channels > 1 && ranks < 3) continue;
        Settings settings;
        settings.algo = algorithm;
        settings.proto = "Simple";
        settings.single_copy = copy;
        settings.min_channels = settings.max_channels = channels;
        SCOPED_TRACE(testing::Message() << "algorithm " << algorithm << " single copy " << static_cast<int>(copy)
                                        << " channels " << channels);
        ASSERT_EQ(RunRanks(ranks, settings, [&](Communicator& c) { return RunCase(c, cases); }), "");
      }
    }
  }
}

// The bounds that users may set go further than host memory has channels.
TEST(ManyChannels, AreAllowed) {
  for (const int least : {1, 64}) {
    Settings settings;
    settings.min_channels = least;
    settings.max_channels = 64;
    const std::vector<Case> cases = {{.kind = Collective::kAllReduce, .count = 70001, .type = DataType::kFloat32},
                                     {.kind = Collective::kAllGather, .count = 5, .type = DataType::kInt8}};
    EXPECT_EQ(RunRanks(3, settings, [&](Communicator& c) { return RunCase(c, cases); }), "") << least;
  }
}

class EveryType : public testing::TestWithParam<int> {};

TEST_P(EveryType, EveryOperator) {
  const int ranks = GetParam();
  for (const char* algorithm : {"", "ring", "tree,pat", "halving_doubling"}) {
    std::vector<Case> cases;
    Settings settings;
    settings.algo = algorithm;
    for (const Collective kind : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce}) {
      const bool any = *algorithm == '\0' || std::ranges::any_of(algo::Registry(), [&](const algo::Entry& entry) {
        return settings.algo.find(entry.name) != std::string::npos && entry.supports(kind, ranks);
      });
      if (!any) continue;
      for (int type = 0; type < kNcclDataTypes; ++type) {
        for (int op = 0; op < kNcclReduceOps; ++op) {
          for (const std::size_t count : {std::size_t{1}, std::size_t{33}, std::size_t{1027}}) {
            cases.push_back({.kind = kind,
                             .count = count,
                             .type = static_cast<DataType>(type),
                             .op = static_cast<ReduceOp>(op),
                             .root = ranks / 2,
                             .in_place = count == 33});
          }
        }
      }
    }
    SCOPED_TRACE(algorithm);
    ASSERT_EQ(RunRanks(ranks, settings, [&](Communicator& c) { return RunCase(c, cases); }), "");
  }
}
INSTANTIATE_TEST_SUITE_P(Ranks, EveryType, testing::Values(1, 2, 3, 4, 7));

TEST(Transfers, GroupsOfAnyOrderAndSize) {
  ASSERT_EQ(
      RunRanks(
          4, {},
          [](Communicator& c) -> Status {
            const int n = c.ranks(), r = c.rank();
            for (const std::size_t unit : {std::size_t{1}, std::size_t{100}, std::size_t{30000}, std::size_t{400000}}) {
              // Rank s sends (s + d + 1) * unit bytes to rank d, itself included; receives are listed first or last.
              std::vector<std::vector<std::uint8_t>> to(n), from(n);
              std::vector<Operation> group;
              for (int p = 0; p < n; ++p) {
                to[p].assign((r + p + 1) * unit, static_cast<std::uint8_t>(16 * r + p));
                from[p].assign((r + p + 1) * unit, 0);
              }
              for (int p = 0; p < n; ++p) group.push_back(r % 2 == 0 ? Send(to[p], p) : Recv(from[p], p));
              for (int p = 0; p < n; ++p) group.push_back(r % 2 == 0 ? Recv(from[p], p) : Send(to[p], p));
              TUTTI_RETURN_IF_ERROR(c.RunGroup(group));
              for (int p = 0; p < n; ++p) {
                const std::vector<std::uint8_t> expected((r + p + 1) * unit, static_cast<std::uint8_t>(16 * p + r));
                if (from[p] != expected) return Status(Code::kInternal, "wrong bytes from rank " + std::to_string(p));
              }
            }
            return Status::Ok();
          }),
      "");
}

// Two sends of a group meet receives that are made one by one, in order, whatever the sizes.
TEST(Transfers, SeveralToOnePeerStayInOrder) {
  ASSERT_EQ(RunRanks(2, {},
                     [](Communicator& c) -> Status {
                       std::vector<std::int32_t> big(500000, 1), small(3, 2), empty;
                       if (c.rank() == 0) {
                         const Operation group[] = {Send(big, 1), Send(small, 1), Send(empty, 1), Send(big, 1)};
                         return c.RunGroup(group);
                       }
                       std::vector<std::int32_t> a(500000), b(3), d(500000);
                       TUTTI_RETURN_IF_ERROR(c.Run(Recv(a, 0)));
                       TUTTI_RETURN_IF_ERROR(c.Run(Recv(b, 0)));
                       TUTTI_RETURN_IF_ERROR(c.Run(Recv(empty, 0)));
                       TUTTI_RETURN_IF_ERROR(c.Run(Recv(d, 0)));
                       return a == big && b == small && d == big ? Status::Ok()
                                                                 : Status(Code::kInternal, "order broken");
                     }),
            "");
}

TEST(Transfers, OneWayStreamRunsAhead) {
  ASSERT_EQ(RunRanks(2, {},
                     [](Communicator& c) -> Status {
                       for (int i = 0; i < 5000; ++i) {
                         std::vector<std::int32_t> data(1 + i % 700, i);
                         if (c.rank() == 0) {
                           TUTTI_RETURN_IF_ERROR(c.Run(Send(data, 1)));
                         } else {
                           std::vector<std::int32_t> got(data.size());
                           TUTTI_RETURN_IF_ERROR(c.Run(Recv(got, 0)));
                           if (got != data)
                             return Status(Code::kInternal, "message " + std::to_string(i) + " is wrong");
                         }
                       }
                       return Status::Ok();
                     }),
            "");
}

// Rank 1 takes what rank 0 sends it only after rank 2 has got its own from rank 0.
TEST(Transfers, APeerThatReadsLateHoldsUpNobodyElse) {
  Settings settings;
  settings.single_copy = SingleCopy::kOff;
  ASSERT_EQ(RunRanks(3, settings,
                     [](Communicator& c) -> Status {
                       std::vector<std::int64_t> large(1 << 20, 7), got(large.size());
                       std::vector<std::int32_t> word(1, 5);
                       if (c.rank() == 0) {
                         const Operation both[] = {Send(large, 1), Send(large, 2)};
                         return c.RunGroup(both);
                       }
                       if (c.rank() == 1) TUTTI_RETURN_IF_ERROR(c.Run(Recv(word, 2)));
                       TUTTI_RETURN_IF_ERROR(c.Run(Recv(got, 0)));
                       if (c.rank() == 2) TUTTI_RETURN_IF_ERROR(c.Run(Send(word, 1)));
                       return got == large ? Status::Ok() : Status(Code::kInternal, "wrong data");
                     }),
            "");
}

// Inputs are read where they lie by one_shot, unless the result comes there: some ranks are in place, others not, in turn.
TEST(SingleCopyTest, RanksInPlaceAndOthersGoTogether) {
  Settings settings;
  settings.algo = "one_shot";
  settings.proto = "Simple";
  settings.single_copy = SingleCopy::kForce;
  for (const std::size_t count : {std::size_t{5000}, Scaled(300'001)}) {
    ASSERT_EQ(RunRanks(3, settings,
                       [count](Communicator& c) -> Status {
                         std::vector<std::int64_t> in(count), out(count);
                         for (int i = 0; i < 24; ++i) {
                           for (std::size_t k = 0; k < count; ++k)
                             in[k] = (i + 1) * (c.rank() + 1) + static_cast<int>(k % 89);
                           std::vector<std::int64_t>& to = (i >> c.rank() & 1) != 0 ? in : out;
                           TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, to, ReduceOp::kSum)));
                           for (std::size_t k = 0; k < count; ++k) {
                             if (to[k] != 6 * (i + 1) + 3 * static_cast<int>(k % 89))
                               return Status(Code::kInternal, "wrong sum");
                           }
                         }
                         return Status::Ok();
                       }),
              "")
        << count;
  }
}

// The shortcut for a call that is like the last one, with other buffers and without.
TEST(Repeated, CallsOfOneShapeOnChangingBuffers) {
  ASSERT_EQ(RunRanks(2, {},
                     [](Communicator& c) -> Status {
                       std::vector<std::vector<float>> in(3, std::vector<float>(100)), out = in;
                       for (int i = 0; i < 60; ++i) {
                         std::vector<float>& from = in[i % 3];
                         std::vector<float>& to = i % 4 == 0 ? from : out[i % 2];
                         std::ranges::fill(from, static_cast<float>(i + c.rank()));
                         const ReduceOp op = i / 20 == 1 ? ReduceOp::kAvg : ReduceOp::kSum;
                         TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(from, to, op)));
                         const float want = op == ReduceOp::kSum ? 2.0f * i + 1 : i + 0.5f;
                         if (std::ranges::count(to, want) != 100) return Status(Code::kInternal, "wrong sum");
                         if (i % 5 == 0) TUTTI_RETURN_IF_ERROR(c.Run(Barrier()));
                         std::vector<float> moved(100);
                         TUTTI_RETURN_IF_ERROR(c.rank() == 0 ? c.Run(Send(to, 1)) : c.Run(Recv(moved, 0)));
                         if (c.rank() == 1 && moved != to) return Status(Code::kInternal, "wrong data");
                       }
                       // One that repeats the last shape with a bad buffer is still found.
                       Operation bad = c.rank() == 0 ? Send(in[0], 1) : Recv(in[0], 0);
                       bad.in = nullptr;
                       bad.out = nullptr;
                       const Status s = c.Run(bad);
                       return s.code() == Code::kInvalidArgument ? Status::Ok() : Status(Code::kInternal, "accepted");
                     }),
            "");
}

// What an average did to its output at the end, transfers after it must not do again.
TEST(Repeated, TransfersLeaveAnEarlierAverageAsItIs) {
  ASSERT_EQ(RunRanks(2, {},
                     [](Communicator& c) -> Status {
                       std::vector<std::int32_t> data(100, 10), got(100);
                       TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(data, data, ReduceOp::kAvg)));
                       TUTTI_RETURN_IF_ERROR(c.rank() == 0 ? c.Run(Send(data, 1)) : c.Run(Recv(got, 0)));
                       const Operation group[] = {c.rank() == 0 ? Send(data, 1) : Recv(got, 0)};
                       TUTTI_RETURN_IF_ERROR(c.RunGroup(group));
                       return std::ranges::count(data, 10) == 100 ? Status::Ok()
                                                                  : Status(Code::kInternal, "data were changed");
                     }),
            "");
}

TEST(Transfers, SendToSelfWithoutReceiveIsAnError) {
  ASSERT_EQ(RunRanks(2, {},
                     [](Communicator& c) -> Status {
                       std::vector<float> data(4);
                       const Status s = c.Run(Send(data, c.rank()));
                       EXPECT_EQ(s.code(), Code::kInvalidUsage) << s.ToString();
                       EXPECT_NE(s.message().find("same group"), std::string::npos) << s.message();
                       return c.Run(Barrier());
                     }),
            "");
}

TEST(Shared, OperationsOnSharedMemory) {
  ASSERT_EQ(RunRanks(3, {},
                     [](Communicator& c) -> Status {
                       constexpr std::size_t kCount = 300000;
                       Result<void*> a = c.AllocateShared(kCount * 4), b = c.AllocateShared(kCount * 4);
                       if (!a.ok()) return a.status();
                       if (!b.ok()) return b.status();
                       const std::span<std::int32_t> in(static_cast<std::int32_t*>(*a), kCount),
                           out(static_cast<std::int32_t*>(*b), kCount);
                       std::ranges::fill(in, c.rank() + 1);
                       TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
                       if (!std::ranges::all_of(out, [](int v) { return v == 6; }))
                         return Status(Code::kInternal, "wrong sum");
                       TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(out, out)));
                       if (!std::ranges::all_of(out, [](int v) { return v == 18; }))
                         return Status(Code::kInternal, "wrong sum in place");
                       return Status::Ok();
                     }),
            "");
}

// A root whose output the others write to, and copies that both ends share.
Status WriteToEachOther(Communicator& c) {
  constexpr std::ptrdiff_t kCount = 100000;
  const int n = c.ranks(), root = n - 1;
  Result<void*> a = c.AllocateShared(kCount * 4), b = c.AllocateShared(kCount * 4);
  if (!a.ok() || !b.ok()) return a.ok() ? b.status() : a.status();
  const std::span<std::int32_t> in(static_cast<std::int32_t*>(*a), kCount), out(static_cast<std::int32_t*>(*b), kCount);
  for (int turn = 1; turn <= 5; ++turn) {
    std::ranges::fill(in, turn * (c.rank() + 1));
    TUTTI_RETURN_IF_ERROR(c.Run(Reduce(in, out, root)));
    if (c.rank() == root && std::ranges::count(out, turn * n * (n + 1) / 2) != kCount)
      return Status(Code::kInternal, "wrong sum");
    TUTTI_RETURN_IF_ERROR(c.Run(Broadcast(in, root)));
    if (std::ranges::count(in, turn * n) != kCount) return Status(Code::kInternal, "wrong broadcast");
  }
  return Status::Ok();
}

TEST(Shared, RanksWriteToEachOthersBuffers) {
  const Settings settings{.algo = "two_shot,one_shot", .proto = "Simple", .single_copy = SingleCopy::kForce};
  for (const int ranks : {2, 3}) ASSERT_EQ(RunRanks(ranks, settings, WriteToEachOther), "");
}

TEST(Misuse, EachArgumentHasItsSentence) {
  ASSERT_EQ(RunRanks(2, {},
                     [](Communicator& c) -> Status {
                       std::vector<float> in(8), out(8);
                       const auto expect = [&](Operation o, const char* words) {
                         const Status s = c.Run(o);
                         EXPECT_EQ(s.code(), Code::kInvalidArgument) << s.ToString();
                         EXPECT_NE(s.message().find(words), std::string::npos) << s.message();
                       };
                       Operation o = AllReduce(in, out);
                       o.in = nullptr;
                       expect(o, "input is null");
                       o = AllReduce(in, out);
                       o.type = static_cast<DataType>(77);
                       expect(o, "data type 77");
                       o = AllReduce(in, out);
                       o.op = static_cast<ReduceOp>(9);
                       expect(o, "operator 9");
                       expect(Broadcast(in, 2), "root 2");
                       expect(Send(in, -1), "peer -1");
                       o = AllReduce(in, std::span(in).subspan(1, 7));
                       expect(o, "overlap");
                       o = AllReduce(in, out);
                       o.count = ~std::size_t{0} / 4;
                       expect(o, "overflows");
                       return c.Run(AllReduce(in, out));  // none of it has broken the communicator
                     }),
            "");
}

TEST(Misuse, BadFilterIsExplained) {
  for (const auto& [algo, words] :
       {std::pair{"rung", "\"rung\" is not known"}, {"foo:ring", "\"foo\" is not a collective"}}) {
    Settings settings;
    settings.algo = algo;
    const Result<Communicator> c = Communicator::Create({.rank = 0, .ranks = 1, .settings = settings});
    ASSERT_FALSE(c.ok());
    EXPECT_EQ(c.status().code(), Code::kInvalidUsage);
    EXPECT_NE(c.status().message().find(words), std::string::npos) << c.status().message();
  }
}

// The result is the fold in rank order, whatever the size, unless another algorithm is asked for: sums that round tell.
TEST(Reproducible, FoldInRankOrderAtEverySize) {
  ASSERT_EQ(RunRanks(5, {},
                     [](Communicator& c) -> Status {
                       const float parts[5] = {1e8f, 3.14159f, -1e8f, 2.71828f, 1e-3f};
                       float expected = parts[0];
                       for (int r = 1; r < 5; ++r) expected += parts[r];
                       for (std::size_t count : {1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u}) {
                         std::vector<float> in(count, parts[c.rank()]), out(count);
                         TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
                         for (const float v : out) {
                           if (std::memcmp(&v, &expected, 4) != 0)
                             return Status(Code::kInternal, "not the fold in rank order");
                         }
                       }
                       return Status::Ok();
                     }),
            "");
}

TEST(Create, ItsNameIsCutToOneLineAndShownInTheBlackBox) {
  const UniqueId id = *CreateUniqueId();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const std::string name = rank == 0 ? "data\tparallel" : std::string(100, 'x');
      const Result<Communicator> c = Communicator::Create({.rank = rank, .ranks = 2, .id = id, .name = name});
      ASSERT_TRUE(c.ok()) << c.status().message();
      EXPECT_EQ(c->impl()->boxes[0].name(), "data?parallel");
      EXPECT_EQ(c->impl()->boxes[1].name(), std::string(63, 'x'));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A rank that shall give up while the others still wait for more: all are told, long before their deadline.
TEST(Create, CanBeCancelled) {
  const UniqueId id = *CreateUniqueId();
  for (const int canceller : {0, 1, 2}) {
    std::atomic<bool> cancel{false};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&, rank] {
        const Result<Communicator> c =
            Communicator::Create({.rank = rank, .ranks = 4, .id = id, .cancel = rank == canceller ? &cancel : nullptr});
        ASSERT_FALSE(c.ok());
        EXPECT_EQ(c.status().code(), Code::kRemote) << c.status().message();
        EXPECT_EQ(c.status().peer(), canceller);
        EXPECT_NE(c.status().message().find("gave up before the ranks had met"), std::string::npos)
            << c.status().message();
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(tests::HeadStartMs(400)));
    const auto begin = std::chrono::steady_clock::now();
    cancel = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  }
}

}  // namespace
}  // namespace tutti
