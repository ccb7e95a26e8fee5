// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Calls as the black box holds them, and the marks of messages.
#include "trace/call.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>

namespace tutti::trace {
namespace {

TEST(Call, SaysWhatRanksMustAgreeOnAndNothingElse) {
  const auto text = [](const Operation& o) { return Call{PackCall(o), o.count}.ToString(); };
  Operation o{.kind = Collective::kAllReduce, .count = 1024, .type = DataType::kFloat32, .op = ReduceOp::kSum};
  EXPECT_EQ(text(o), "all_reduce(count 1024, float32, sum)");
  o.root = 5;  // an all_reduce has none
  EXPECT_EQ(text(o), "all_reduce(count 1024, float32, sum)");
  o.kind = Collective::kBroadcast;
  o.op = ReduceOp::kMax;
  EXPECT_EQ(text(o), "broadcast(count 1024, float32, root 5)");
  o.kind = Collective::kReduce;
  EXPECT_EQ(text(o), "reduce(count 1024, float32, max, root 5)");
  o.kind = Collective::kSend;
  EXPECT_EQ(text(o), "send(count 1024, float32, to rank 5)");
  o.kind = Collective::kRecv;
  o.type = DataType::kFloat8E5M2;
  EXPECT_EQ(text(o), "recv(count 1024, float8e5m2, from rank 5)");
  EXPECT_EQ((Call{PackCall({.kind = Collective::kBarrier, .type = DataType::kInt8}), 0}.ToString()), "barrier()");
  EXPECT_EQ((Call{0xdead, 1}.ToString()), "an unknown call");
}

// Every function, type, operator and root, some counts and places in the order: no two have the same signature, nor the
// same mark in the 24 bits that the narrowest protocol has for it, for the same reason more often than chance.
TEST(Call, SignaturesAndMarksDiffer) {
  std::set<std::uint64_t> signatures, calls;
  std::set<std::uint32_t> narrow;
  std::size_t marks = 0;
  for (int kind = 0; kind < kFunctions; ++kind) {
    for (int type = 0; type < kDataTypes; ++type) {
      for (int op = 0; op < kReduceOps; ++op) {
        for (const int root : {0, 1, 2, 63, 1023}) {
          for (const std::uint64_t count : {0u, 1u, 2u, 3u, 1024u, 1u << 20}) {
            const CallWord word = PackCall({.kind = static_cast<Collective>(kind),
                                            .type = static_cast<DataType>(type),
                                            .op = static_cast<ReduceOp>(op),
                                            .root = root});
            if (!calls.insert(std::uint64_t{word} << 32 | count).second) continue;
            signatures.insert(Signature(word, count));
            narrow.insert(NextMark(7, Signature(word, count)) >> 40);
            ++marks;
          }
        }
      }
    }
  }
  EXPECT_EQ(signatures.size(), calls.size());
  // Of n marks of 24 bits, about n^2 / 2^25 pairs are equal by chance.
  const std::size_t by_chance = marks * marks >> 25;
  EXPECT_GE(narrow.size() + 4 * by_chance + 8, marks);
}

// One other call, of any kind, and all marks after it are others; so are those of sends at other places.
TEST(Call, MarksRememberWhatWasCalledBefore) {
  std::mt19937_64 random(7);
  int equal = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    std::uint64_t one = random(), other = one ^ std::uint64_t{1} << turn % 64;
    for (int call = 0; call < 100; ++call) {
      const std::uint64_t signature = Signature(call % 5, random() % 10);
      one = NextMark(one, signature);
      other = NextMark(other, signature);
      ASSERT_NE(one, other);
      equal += one >> 40 == other >> 40;
    }
    ASSERT_NE(one, other);
  }
  EXPECT_LT(equal, 5);  // of 200000 pairs of 24 bits
  std::set<std::uint32_t> narrow;
  for (std::uint64_t index = 1; index <= 1000; ++index) narrow.insert(TransferMark(64, index) >> 40);
  EXPECT_GE(narrow.size(), 998u);
}

}  // namespace
}  // namespace tutti::trace
