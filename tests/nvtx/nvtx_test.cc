// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What a tool that reads NVTX is told of calls through nccl.h (nvtx_tool.cc). The tool is loaded at the first call of a process, so each
// test is a process of its own.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capi/nvtx.h"
#include "nccl.h"
#include "tests/nvtx/marks.h"
#include "tests/support/nccl_ranks.h"

namespace tutti::tests {
namespace {

namespace nvtx = capi::nvtx;

constexpr std::uint64_t kFirstId = 1 << 24;  // of static schemas, NVTX_PAYLOAD_SCHEMA_ID_STATIC_START

void InProcess(const std::function<void()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("NVTX_INJECTION64_PATH", TUTTI_TEST_NVTX_TOOL, 1);
    body();
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

std::vector<Mark> Marks() {
  void* library = dlopen(TUTTI_TEST_NVTX_TOOL, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  int count = 0;
  const Mark* first = reinterpret_cast<const Mark* (*)(int*)>(dlsym(library, "tutti_test_marks"))(&count);
  return {first, first + count};
}

// A range that has ended, with the payload of its beginning or its end.
struct Ended {
  std::string domain, name;
  std::uint64_t schema;
  std::size_t size;
  unsigned char payload[48];

  template <typename Payload>
  Payload As() const {
    Payload value;
    EXPECT_EQ(size, sizeof(value)) << name;
    memcpy(&value, payload, sizeof(value));
    return value;
  }
};

// All ranges. Each thread must end what it begins, the last first.
std::vector<Ended> Ranges(const std::vector<Mark>& marks) {
  std::vector<Ended> ranges;
  std::map<std::pair<std::string, std::int64_t>, std::vector<Mark>> open;
  for (const Mark& mark : marks) {
    std::vector<Mark>& stack = open[{mark.domain, mark.thread}];
    if (mark.what == Mark::kPush) stack.push_back(mark);
    if (mark.what != Mark::kPop) continue;
    if (stack.empty()) {
      ADD_FAILURE() << "a range of domain " << mark.domain << " ends that has not begun";
      continue;
    }
    const Mark& from = mark.schema != 0 ? mark : stack.back();
    Ended range{.domain = mark.domain, .name = stack.back().name, .schema = from.schema, .size = from.size};
    memcpy(range.payload, from.payload, sizeof(range.payload));
    ranges.push_back(range);
    stack.pop_back();
  }
  for (const auto& [where, stack] : open) EXPECT_TRUE(stack.empty()) << where.first;
  return ranges;
}

Ended RangeOf(const std::vector<Ended>& ranges, const std::string& name) {
  for (const Ended& range : ranges) {
    if (range.name == name) return range;
  }
  ADD_FAILURE() << name << " is not marked";
  return {};
}

// Every operation on one rank.
void CallOperations(ncclComm_t comm) {
  float in[16] = {}, out[16] = {};
  NCCL_EXPECT_OK(ncclAllReduce(in, out, 16, ncclFloat32, ncclMax, comm, nullptr));
  NCCL_EXPECT_OK(ncclReduce(in, out, 15, ncclFloat32, ncclMin, 0, comm, nullptr));
  NCCL_EXPECT_OK(ncclReduceScatter(in, out, 14, ncclFloat32, ncclProd, comm, nullptr));
  NCCL_EXPECT_OK(ncclBroadcast(in, out, 13, ncclFloat32, 0, comm, nullptr));
  NCCL_EXPECT_OK(ncclAllGather(in, out, 12, ncclFloat32, comm, nullptr));
  NCCL_EXPECT_OK(ncclAlltoAll(in, out, 11, ncclFloat32, comm, nullptr));
  NCCL_EXPECT_OK(ncclGather(in, out, 10, ncclFloat32, 0, comm, nullptr));
  NCCL_EXPECT_OK(ncclScatter(in, out, 9, ncclFloat32, 0, comm, nullptr));
  NCCL_EXPECT_OK(ncclGroupStart());
  NCCL_EXPECT_OK(ncclSend(in, 8, ncclFloat32, 0, comm, nullptr));
  NCCL_EXPECT_OK(ncclRecv(out, 8, ncclFloat32, 0, comm, nullptr));
  NCCL_EXPECT_OK(ncclGroupEnd());
  NCCL_EXPECT_OK(ncclTuttiSynchronize(comm));
}

TEST(Nvtx, OperationsAreMarkedAsNcclMarksThem) {
  InProcess([] {
    WithRanks(1, [](ncclComm_t& comm, int) { CallOperations(comm); });
    const std::vector<Ended> ranges = Ranges(Marks());
    const auto init = RangeOf(ranges, "ncclCommInitRankConfig").As<nvtx::OfComm>();
    EXPECT_NE(init.comm, 0u);
    EXPECT_EQ(init.ranks, 1);
    EXPECT_EQ(init.rank, 0);
    struct Expected {
      const char* name;
      int schema;
      std::size_t count;
      int third;  // operator, root or peer; below 0: there is none
    };
    for (const Expected& e :
         {Expected{"ncclAllReduce", 5, 16, ncclMax}, Expected{"ncclReduceScatter", 7, 14, ncclProd},
          Expected{"ncclBroadcast", 6, 13, 0}, Expected{"ncclAllGather", 4, 12, -1},
          Expected{"ncclAlltoAll", 16, 11, -1}, Expected{"ncclGather", 17, 10, 0}, Expected{"ncclScatter", 18, 9, 0},
          Expected{"ncclSend", 9, 8, 0}, Expected{"ncclRecv", 10, 8, 0}}) {
      const Ended range = RangeOf(ranges, e.name);
      EXPECT_EQ(range.domain, "NCCL");
      EXPECT_EQ(range.schema, kFirstId + static_cast<std::uint64_t>(e.schema)) << e.name;
      EXPECT_EQ(range.size, e.third < 0 ? sizeof(nvtx::OfMove) : sizeof(nvtx::OfMoveWith)) << e.name;
      nvtx::OfMoveWith payload;
      memcpy(&payload, range.payload, sizeof(payload));
      EXPECT_EQ(payload.comm, init.comm) << e.name;
      EXPECT_EQ(payload.bytes, e.count * sizeof(float)) << e.name;
      if (e.third >= 0) {
        EXPECT_EQ(payload.third, e.third) << e.name;
      }
    }
    const Ended reduce = RangeOf(ranges, "ncclReduce");
    EXPECT_EQ(reduce.schema, kFirstId + 8);
    EXPECT_EQ(reduce.As<nvtx::OfReduce>().op, ncclMin);
    EXPECT_EQ(RangeOf(ranges, "ncclCommDestroy").As<nvtx::OfComm>().comm, init.comm);
    EXPECT_EQ(RangeOf(ranges, "ncclGroupStart").schema, 0u);
    EXPECT_EQ(RangeOf(ranges, "ncclGroupEnd").schema, 0u);
  });
}

TEST(Nvtx, SchemasAreThoseOfNccl) {
  InProcess([] {
    int version = 0;
    NCCL_OK(ncclGetVersion(&version));
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclGroupEnd());
    std::map<std::uint64_t, Mark> schemas;
    std::set<std::string> domains;
    int enums = 0;
    for (const Mark& mark : Marks()) {
      if (mark.what == Mark::kDomain) domains.insert(mark.name);
      if (mark.what == Mark::kSchema) {
        EXPECT_STREQ(mark.domain, "NCCL");
        schemas[mark.schema - kFirstId] = mark;
      }
      if (mark.what != Mark::kEnum) continue;
      ++enums;
      EXPECT_EQ(mark.schema, kFirstId + 20);
      EXPECT_EQ(mark.entries, 5u);
      EXPECT_EQ(mark.size, sizeof(ncclRedOp_t));
    }
    EXPECT_EQ(domains, (std::set<std::string>{"NCCL", "Tutti"}));
    EXPECT_EQ(enums, 1);
    // Sizes of NCCL 2.28.9's structs, by number.
    const std::size_t kSizes[] = {24, 16, 24, 24, 16, 24, 24, 24, 24, 24, 24, 24, 24, 40, 8, 24, 16, 24, 24, 24};
    const std::size_t kEntries[] = {4, 2, 4, 4, 2, 3, 3, 3, 4, 3, 3, 4, 4, 7, 1, 5, 2, 3, 3, 4};
    ASSERT_EQ(schemas.size(), std::size(kSizes));
    for (std::size_t i = 0; i < std::size(kSizes); ++i) {
      EXPECT_EQ(schemas[i].size, kSizes[i]) << i;
      EXPECT_EQ(schemas[i].entries, kEntries[i]) << i;
      EXPECT_TRUE(std::string(schemas[i].name).starts_with("NCCL communicator ID")) << i;
    }
  });
}

TEST(Nvtx, TheLifeOfCommunicatorsIsMarked) {
  InProcess([] {
    WithRanks(2, [](ncclComm_t& comm, int rank) {
      ncclComm_t half = nullptr, alone = nullptr;
      NCCL_OK(ncclCommSplit(comm, 3, -rank, &half, nullptr));
      NCCL_EXPECT_OK(ncclCommFinalize(half));
      NCCL_EXPECT_OK(ncclCommDestroy(half));
      int other = 1;
      if (rank == 0) {
        NCCL_OK(ncclCommShrink(comm, &other, 1, &alone, nullptr, NCCL_SHRINK_DEFAULT));
        NCCL_EXPECT_OK(ncclCommAbort(alone));
        NCCL_EXPECT_OK(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT));
      }
    });
    const std::vector<Ended> ranges = Ranges(Marks());
    const Ended split = RangeOf(ranges, "ncclCommSplit");
    EXPECT_EQ(split.schema, kFirstId + 13);
    const auto of_split = split.As<nvtx::OfSplit>();
    EXPECT_NE(of_split.made, 0u);
    EXPECT_NE(of_split.made, of_split.parent);
    EXPECT_EQ(of_split.color, 3);
    EXPECT_EQ(of_split.ranks, 2);
    EXPECT_EQ(RangeOf(ranges, "ncclCommFinalize").As<nvtx::OfFinalize>().comm, of_split.made);
    const auto shrink = RangeOf(ranges, "ncclCommShrink").As<nvtx::OfShrink>();
    EXPECT_EQ(shrink.made, of_split.parent) << "as NCCL, which names the old one";
    EXPECT_EQ(shrink.excluded, 1);
    EXPECT_EQ(RangeOf(ranges, "ncclCommAbort").schema, kFirstId + 3);
    EXPECT_EQ(RangeOf(ranges, "ncclCommRevoke").As<nvtx::OfComm>().comm, of_split.parent);
  });
}

TEST(Nvtx, WaitsAreADomainOfTheirOwn) {
  InProcess([] {
    WithRanks(2, [](ncclComm_t& comm, int rank) {
      if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_EQ(Sum(comm, rank), 1);
    });
    const std::vector<Ended> ranges = Ranges(Marks());
    EXPECT_EQ(RangeOf(ranges, "waits for ranks to meet").domain, "Tutti");
    EXPECT_EQ(RangeOf(ranges, "waits for operations").domain, "Tutti");
  });
}

TEST(Nvtx, CallsThatFailEndTheirRanges) {
  InProcess([] {
    float x = 0;
    EXPECT_EQ(ncclAllReduce(&x, &x, 1, ncclFloat32, ncclSum, nullptr, nullptr), ncclInvalidArgument);
    ncclComm_t comm = nullptr;
    ncclUniqueId id{};
    EXPECT_NE(ncclCommInitRank(&comm, 2, id, 5), ncclSuccess);
    NCCL_EXPECT_OK(ncclCommDestroy(nullptr));
    const std::vector<Ended> ranges = Ranges(Marks());
    EXPECT_EQ(RangeOf(ranges, "ncclAllReduce").As<nvtx::OfMoveWith>().comm, 0u);
    EXPECT_EQ(RangeOf(ranges, "ncclCommInitRank").schema, 0u) << "there is nothing to tell of";
  });
}

TEST(Nvtx, IsOffWhereItIsDisabled) {
  InProcess([] {
    setenv("NCCL_NVTX_DISABLE", "1", 1);
    WithRanks(1, [](ncclComm_t& comm, int) { CallOperations(comm); });
    EXPECT_TRUE(Marks().empty());
  });
}

}  // namespace
}  // namespace tutti::tests
