// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Memory through nccl.h: allocated, registered, counted, given back for a while, and how little a communicator takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

#include "nccl.h"
#include "tests/support/nccl_ranks.h"

namespace tutti {
namespace {

using tests::WithRanks;

TEST(Memory, AllocatedRegisteredAndCounted) {
  void* memory = nullptr;
  NCCL_OK(ncclMemAlloc(&memory, 100));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
  NCCL_OK(ncclMemFree(memory));
  NCCL_OK(ncclMemAlloc(&memory, 0));
  EXPECT_EQ(memory, nullptr);
  NCCL_OK(ncclMemFree(nullptr));
  NCCL_EXPECT_ERROR(ncclMemAlloc(nullptr, 1), ncclInvalidArgument, "NULL");
  NCCL_EXPECT_ERROR(ncclMemAlloc(&memory, SIZE_MAX), ncclInvalidArgument, "cannot exist");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end the program instead
  NCCL_EXPECT_ERROR(ncclMemAlloc(&memory, SIZE_MAX / 2), ncclSystemError, "no memory");
#endif
  WithRanks(2, [](ncclComm_t& comm, int) {
    float buffer[4] = {};
    void* handle = nullptr;
    NCCL_OK(ncclCommRegister(comm, buffer, sizeof(buffer), &handle));
    NCCL_OK(ncclCommDeregister(comm, handle));
    NCCL_EXPECT_ERROR(ncclCommDeregister(comm, reinterpret_cast<void*>(99)), ncclInvalidArgument, "given back");
    NCCL_OK(ncclCommDeregister(comm, nullptr));
    NCCL_EXPECT_ERROR(ncclCommRegister(comm, nullptr, 4, &handle), ncclInvalidArgument, "cannot be registered");
    ncclWindow_t window = reinterpret_cast<ncclWindow_t>(8);
    NCCL_OK(ncclCommWindowRegister(comm, buffer, sizeof(buffer), &window, NCCL_WIN_COLL_SYMMETRIC));
    EXPECT_EQ(window, nullptr);
    NCCL_OK(ncclCommWindowDeregister(comm, window));
    void* address = buffer;
    NCCL_OK(ncclWinGetUserPtr(comm, window, &address));
    EXPECT_EQ(address, nullptr);
    NCCL_EXPECT_ERROR(ncclCommWindowRegister(comm, buffer, 4, &window, 0x100), ncclInvalidArgument, "window flags");
    NCCL_EXPECT_ERROR(ncclSignal(1, 0, 0, 0, comm, nullptr), ncclInvalidUsage, "windows need GPUs");
    NCCL_EXPECT_ERROR(ncclPutSignal(buffer, 1, ncclFloat, 1, window, 0, 0, 0, 0, comm, nullptr), ncclInvalidUsage,
                      "windows need GPUs");
    NCCL_EXPECT_ERROR(ncclWaitSignal(0, nullptr, comm, nullptr), ncclInvalidUsage, "windows need GPUs");
  });
}

std::uint64_t Stat(ncclComm_t comm, ncclCommMemStat_t stat) {
  std::uint64_t value = ~0ull;
  EXPECT_EQ(ncclCommMemStats(comm, stat, &value), ncclSuccess);
  return value;
}

TEST(Memory, SuspendAndResume) {
  WithRanks(2, [](ncclComm_t& comm, int) {
    std::vector<float> in(1 << 20, 1), out(in.size());
    NCCL_OK(ncclAllReduce(in.data(), out.data(), in.size(), ncclFloat32, ncclSum, comm, nullptr));
    EXPECT_GT(Stat(comm, ncclStatGpuMemSuspend), 1u << 20);
    EXPECT_EQ(Stat(comm, ncclStatGpuMemTotal), Stat(comm, ncclStatGpuMemSuspend) + Stat(comm, ncclStatGpuMemPersist));
    EXPECT_EQ(Stat(comm, ncclStatGpuMemSuspended), 0u);
    NCCL_EXPECT_ERROR(ncclCommResume(comm), ncclInvalidUsage, "not suspended");
    NCCL_EXPECT_ERROR(ncclCommSuspend(comm, 0), ncclInvalidArgument, "NCCL_SUSPEND_MEM");
    NCCL_OK(ncclCommSuspend(comm, NCCL_SUSPEND_MEM));
    EXPECT_EQ(out.back(), 2) << "it waits for what was called before";
    EXPECT_EQ(Stat(comm, ncclStatGpuMemSuspended), 1u);
    NCCL_EXPECT_ERROR(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclInvalidUsage, "suspended already");
    NCCL_EXPECT_ERROR(ncclBcast(in.data(), 1, ncclFloat, 0, comm, nullptr), ncclInvalidUsage, "ncclCommResume first");
    NCCL_OK(ncclCommResume(comm));
    std::fill(out.begin(), out.end(), 0);
    NCCL_OK(ncclAllReduce(in.data(), out.data(), in.size(), ncclFloat32, ncclSum, comm, nullptr));
    NCCL_OK(ncclTuttiSynchronize(comm));
    EXPECT_EQ(out.front(), 2);
    EXPECT_EQ(out.back(), 2);
  });
}

// Bytes of this process's memory, shared pages included, that are touched.
std::size_t ResidentBytes() {
  std::size_t total, resident;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

// 64 communicators of 8 ranks in one process cost less than 1 MiB each, for all their ranks together.
TEST(Memory, SplitTouchesLittle) {
  constexpr int kRanks = 8, kSplits = 64;
  ncclComm_t parents[kRanks];
  NCCL_OK(ncclCommInitAll(parents, kRanks, nullptr));
  std::vector<ncclComm_t> children;
  std::size_t before = 0;
  for (int split = 0; split < kSplits + 1; ++split) {
    if (split == 1) before = ResidentBytes();  // the first one pays for what is made once
    ncclComm_t comms[kRanks];
    NCCL_OK(ncclGroupStart());
    for (int rank = 0; rank < kRanks; ++rank) NCCL_OK(ncclCommSplit(parents[rank], 0, rank, &comms[rank], nullptr));
    NCCL_OK(ncclGroupEnd());
    children.insert(children.end(), comms, comms + kRanks);
  }
  const std::size_t each = (ResidentBytes() - before) / kSplits;
  RecordProperty("bytes_per_split", static_cast<int>(each));
  std::printf("a split of 8 ranks touches %zu KiB\n", each >> 10);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(each, std::size_t{1} << 20);
#endif
  for (ncclComm_t comm : children) NCCL_OK(ncclCommDestroy(comm));
  for (ncclComm_t comm : parents) NCCL_OK(ncclCommDestroy(comm));
}

}  // namespace
}  // namespace tutti
