// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Jobs of few bytes that run again (exec/cpu/brief.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "algo/algorithm.h"
#include "comm/host/impl.h"
#include "comm/host/jobs.h"
#include "comm/host/parts.h"
#include "exec/cpu/brief.h"
#include "tests/support/ranks.h"
#include "tests/support/reference.h"
#include "trace/recorder.h"

namespace tutti::comm {
namespace {

// Without trials, which would change ways between calls.
Settings By(std::string_view algorithm, std::string_view protocol) {
  Settings settings;
  settings.calls_before_trial = 0;
  settings.algo = algorithm;
  settings.proto = protocol;
  return settings;
}

// Whether the call that a communicator ran last was brief when it ran again.
bool WasBrief(Communicator& c) {
  Jobs& jobs = *c.impl()->parts->jobs;
  exec::cpu::Job* const first = jobs.Take();
  const bool brief = first->found.cut && first->found.brief != nullptr && !first->found.brief->parts.empty();
  jobs.GiveBack(first);
  return brief;
}

// Runs a case `times` times in the same buffers, with other values each time.
Status Repeat(Communicator& c, const tests::Case& what, int times) {
  std::vector<std::byte> first, second;
  for (int i = 0; i < times; ++i) {
    const auto run = [&](const Operation& o, std::span<std::byte> in, std::span<std::byte> out) {
      first.resize(in.size());
      second.resize(out.size());
      std::ranges::copy(in, first.begin());
      std::ranges::copy(out, second.begin());
      const auto here = [&](const void* p) -> std::byte* {
        const auto* at = static_cast<const std::byte*>(p);
        if (at == nullptr) return nullptr;
        const bool is_first = at >= in.data() && at < in.data() + in.size();
        return is_first ? first.data() + (at - in.data()) : second.data() + (at - out.data());
      };
      Operation moved = o;
      moved.in = here(o.in);
      moved.out = here(o.out);
      const Status s = c.Run(moved);
      std::ranges::copy(first, in.begin());
      std::ranges::copy(second, out.begin());
      return s;
    };
    TUTTI_RETURN_IF_ERROR(tests::RunCaseOn(c.rank(), c.ranks(), what, 10 * i, run));
  }
  return Status::Ok();
}

constexpr Collective kKinds[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                 Collective::kBroadcast, Collective::kReduce,    Collective::kGather,
                                 Collective::kScatter,   Collective::kAllToAll};

TEST(BriefJobs, GiveTheRightResultsByEveryWay) {
  for (const algo::Entry& entry : algo::Registry()) {
    for (const char* protocol : {"LL", "LL128", "Simple"}) {
      for (const int ranks : {2, 3, 5}) {
        const algo::Hosts hosts(ranks);
        const auto body = [&](Communicator& c) -> Status {
          for (const Collective kind : kKinds) {
            if (!entry.supports(kind, hosts)) continue;
            for (const std::size_t count : {1, 3, 29, 31, 1001}) {
              for (const bool in_place : {false, true}) {
                if (in_place && kind == Collective::kAllToAll) continue;
                const tests::Case what = {
                    .kind = kind, .count = count, .root = ranks - 1, .in_place = in_place, .misalign = count % 2 * 4};
                TUTTI_RETURN_IF_ERROR(Repeat(c, what, 4));
                const bool short_one =
                    count <= 31 && (ranks > 2 || HasRoot(kind) || protocol == std::string_view("Simple"));
                if (short_one && !WasBrief(c))
                  return Status(Code::kInternal, tests::Describe(what, ranks) + " is not brief");
              }
            }
          }
          return Status::Ok();
        };
        ASSERT_EQ(tests::RunRanks(ranks, By(entry.name, protocol), body), "") << entry.name << " " << protocol;
      }
    }
  }
}

// Types and reductions that need more than a fold are not brief, and right all the same.
TEST(BriefJobs, OthersAreRunAsBefore) {
  const auto body = [](Communicator& c) -> Status {
    for (const tests::Case& what : std::vector<tests::Case>{
             {.count = 3, .op = ReduceOp::kPreMulSum},
             {.count = 3, .op = ReduceOp::kAvg},
             {.count = 3, .type = DataType::kInt32, .op = ReduceOp::kAvg},
             {.kind = Collective::kAllGather, .count = 20000},
         }) {
      TUTTI_RETURN_IF_ERROR(Repeat(c, what, 5));
      if (WasBrief(c)) return Status(Code::kInternal, tests::Describe(what, c.ranks()) + " is brief");
    }
    return Status::Ok();
  };
  ASSERT_EQ(tests::RunRanks(3, By("", "LL128"), body), "");
}

// A rank that comes late finds the links full, and the others stop in the middle of a step.
TEST(BriefJobs, GoOnWhereTheyHadToWait) {
  constexpr int kCalls = 3000;
  using Values = std::vector<std::int32_t>;
  for (const char* protocol : {"LL", "LL128", "Simple"}) {
    for (const int late : {0, 1, 2}) {
      const auto body = [&](Communicator& c) -> Status {
        const auto wait = [&](int call) {
          if (call % 700 == 400 && c.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        };
        Values in(60), out(60);
        for (int call = 0; call < kCalls; ++call) {
          in.assign(in.size(), call);
          wait(call);
          TUTTI_RETURN_IF_ERROR(c.Run({.kind = Collective::kBroadcast,
                                       .in = in.data(),
                                       .out = out.data(),
                                       .count = in.size(),
                                       .type = DataType::kInt32}));
          if (out != Values(60, call)) return Status(Code::kInternal, "a broadcast is wrong");
        }
        for (int call = 0; call < kCalls; ++call) {
          in.assign(in.size(), call + c.rank());
          wait(call);
          TUTTI_RETURN_IF_ERROR(c.Run(Reduce(in, out, 0)));
          if (c.rank() == 0 && out != Values(60, 3 * call + 3)) return Status(Code::kInternal, "a reduce is wrong");
        }
        for (int call = 0; call < kCalls; ++call) {
          in.assign(in.size(), call + c.rank());
          wait(call);
          TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
          if (out != Values(60, 3 * call + 3)) return Status(Code::kInternal, "an all_reduce is wrong");
        }
        return WasBrief(c) ? Status::Ok() : Status(Code::kInternal, "not brief");
      };
      ASSERT_EQ(tests::RunRanks(3, By("one_shot", protocol), body), "") << protocol << ", late: " << late;
    }
  }
}

// Calls of other kinds lie between, and other calls are under way.
TEST(BriefJobs, KeepTheOrder) {
  using Values = std::vector<std::int32_t>;
  const auto body = [](Communicator& c) -> Status {
    Values in(10), out(10), large(30000), sum(30000), passed(10);
    for (int call = 0; call < 200; ++call) {
      in.assign(in.size(), call + c.rank());
      large.assign(large.size(), call + c.rank());
      std::optional<Request> request;
      if (call % 5 == 2) request.emplace(c.Start(AllReduce(large, sum)));
      TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
      if (out != Values(10, 3 * call + 3)) return Status(Code::kInternal, "an all_reduce is wrong");
      TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, passed)));
      if (passed != out) return Status(Code::kInternal, "an all_reduce into another buffer is wrong");
      if (request) TUTTI_RETURN_IF_ERROR(request->Wait());
      for (int i = 0; i < 3 && c.rank() < 2; ++i) {
        TUTTI_RETURN_IF_ERROR(c.Run(c.rank() == 0 ? Send(out, 1) : Recv(passed, 0)));
        if (passed != out) return Status(Code::kInternal, "a message is wrong");
        passed.assign(passed.size(), c.rank() == 0 ? out[0] : 0);
      }
      if (request && sum != Values(30000, 3 * call + 3)) return Status(Code::kInternal, "a request is wrong");
    }
    return Status::Ok();
  };
  ASSERT_EQ(tests::RunRanks(3, By("", ""), body), "");
}

// The black box counts them, begun and ended, as it counts others.
TEST(BriefJobs, AreCounted) {
  const auto body = [](Communicator& c) -> Status {
    std::vector<std::int32_t> in(10, 1), out(10);
    const std::uint64_t before = c.impl()->recorder.last();
    for (int call = 0; call < 2100; ++call) TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
    const std::uint64_t counted = c.impl()->recorder.last() - before;
    return counted == 2100 ? Status::Ok() : Status(Code::kInternal, std::to_string(counted));
  };
  ASSERT_EQ(tests::RunRanks(3, By("", "LL"), body), "");
}

}  // namespace
}  // namespace tutti::comm
