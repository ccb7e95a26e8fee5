// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Operations that go on while their caller does something else, on one communicator and on several.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/host/impl.h"
#include "exec/cpu/engine.h"
#include "tests/support/ranks.h"
#include "tests/support/sanitizers.h"
#include "transport/shm/fabric.h"
#include "tutti/communicator.h"

namespace tutti {
namespace {

using tests::RunRanks;
using tests::Scaled;

// A rank gives its core away for whoever of that core owes it something, also where that is taken by a later step.
TEST(NonBlocking, PeersOnTheSameCoreAreKnown) {
  Settings settings;
  settings.algo = "one_shot";
  std::barrier all(4);
  ASSERT_EQ(RunRanks(4, settings,
                     [&all](Communicator& c) -> Status {
                       Communicator::Impl& impl = *c.impl();
                       const auto waits_for_cores = [&] {
                         impl.engine->Advance();
                         std::string cores;
                         for (int cpu = 100; cpu < 105; ++cpu) {
                           if (impl.engine->WaitsForPeerOn(cpu)) cores += std::to_string(cpu) + " ";
                         }
                         return cores;
                       };
                       impl.fabric->PublishCpu(100 + c.rank());
                       all.arrive_and_wait();
                       std::vector<std::int32_t> in(2, c.rank()), out(8);
                       Request request;
                       std::string before, after;
                       if (c.rank() == 0) {
                         request = c.Start(AllGather(in, out));
                         before = waits_for_cores();
                       }
                       all.arrive_and_wait();
                       if (c.rank() == 2) request = c.Start(AllGather(in, out));
                       all.arrive_and_wait();
                       if (c.rank() == 0) after = waits_for_cores();
                       all.arrive_and_wait();
                       if (c.rank() % 2 == 1) request = c.Start(AllGather(in, out));
                       TUTTI_RETURN_IF_ERROR(request.Wait());
                       if (c.rank() == 0 && (before != "101 102 103 " || after != "101 103 "))
                         return Status(Code::kInternal, before + "then " + after);
                       const std::vector<std::int32_t> expected = {0, 0, 1, 1, 2, 2, 3, 3};
                       return out == expected ? Status::Ok() : Status(Code::kInternal, "wrong pieces");
                     }),
            "");
}

TEST(NonBlocking, ManyInFlight) {
  ASSERT_EQ(RunRanks(3, {},
                     [](Communicator& c) -> Status {
                       constexpr int kInFlight = 40;
                       std::vector<std::vector<std::int64_t>> in(kInFlight), out(kInFlight);
                       std::vector<Request> requests;
                       for (int i = 0; i < kInFlight; ++i) {
                         in[i].assign(10 + 997 * i, c.rank() + i);
                         out[i].resize(in[i].size());
                         requests.push_back(c.Start(AllReduce(in[i], out[i])));
                       }
                       while (requests.back().Test().code() == Code::kInProgress) {
                       }
                       for (int i = 0; i < kInFlight; ++i) {
                         TUTTI_RETURN_IF_ERROR(requests[i].Wait());
                         TUTTI_RETURN_IF_ERROR(requests[i].Test());
                         if (out[i] != std::vector<std::int64_t>(in[i].size(), 3 + 3 * i))
                           return Status(Code::kInternal, "wrong sum");
                       }
                       return Status::Ok();
                     }),
            "");
}

TEST(NonBlocking, DroppedRequestCompletes) {
  ASSERT_EQ(RunRanks(2, {},
                     [](Communicator& c) -> Status {
                       std::vector<float> in(100000, 1.0f), out(100000);
                       { Request r = c.Start(AllReduce(in, out)); }
                       return out.back() == 2.0f ? Status::Ok() : Status(Code::kInternal, "not complete");
                     }),
            "");
}

// Rank 0 waits in one communicator for an operation that rank 1 reaches only after the other one has ended there.
TEST(SeveralCommunicators, CrosswiseOrderMakesProgress) {
  const Result<UniqueId> a = CreateUniqueId(), b = CreateUniqueId();
  ASSERT_TRUE(a.ok() && b.ok());
  const auto body = [&](int rank) {
    Settings settings;
    settings.algo = "ring";
    Result<Communicator> first = Communicator::Create({.rank = rank, .ranks = 3, .id = *a, .settings = settings});
    Result<Communicator> second = Communicator::Create({.rank = rank, .ranks = 3, .id = *b, .settings = settings});
    ASSERT_TRUE(first.ok() && second.ok());
    std::vector<float> in(300000, 1.0f), x(300000), y(300000);
    if (rank == 0) {
      Request request = first->Start(AllReduce(in, x));
      ASSERT_TRUE(second->Run(AllReduce(in, y)).ok());
      ASSERT_TRUE(request.Wait().ok());
    } else {
      ASSERT_TRUE(first->Run(AllReduce(in, x)).ok());
      ASSERT_TRUE(second->Run(AllReduce(in, y)).ok());
    }
    EXPECT_EQ(x.back(), 3.0f);
    EXPECT_EQ(y.back(), 3.0f);
  };
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r) threads.emplace_back(body, r);
  for (std::thread& t : threads) t.join();
}

// One thread drives all ranks of a communicator in one group.
TEST(SeveralCommunicators, OneThreadDrivesAllRanks) {
  constexpr int kRanks = 4;
  const Result<UniqueId> id = CreateUniqueId();
  ASSERT_TRUE(id.ok());
  std::vector<std::optional<Communicator>> communicators(kRanks);
  std::vector<std::thread> threads;
  for (int r = 0; r < kRanks; ++r) {
    threads.emplace_back([&, r] {
      Result<Communicator> c = Communicator::Create({.rank = r, .ranks = kRanks, .id = *id});
      ASSERT_TRUE(c.ok()) << c.status().ToString();
      communicators[r] = std::move(*c);
    });
  }
  for (std::thread& t : threads) t.join();
  std::vector<std::vector<std::int32_t>> in(kRanks), out(kRanks);
  std::vector<GroupItem> items;
  for (int r = 0; r < kRanks; ++r) {
    in[r].assign(200000, r);
    out[r].resize(200000);
    items.push_back({&*communicators[r], AllReduce(in[r], out[r])});
  }
  ASSERT_TRUE(RunGroup(items).ok());
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(out[r], std::vector<std::int32_t>(200000, 6));
}

}  // namespace
}  // namespace tutti
