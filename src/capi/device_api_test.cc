// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The host side of NCCL's device interface. Its functions are declared in nccl_device.h, which needs CUDA; here as a
// program without CUDA may declare them.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "nccl.h"
#include "tests/support/nccl_ranks.h"

extern "C" {
struct Team {
  int ranks, rank, stride;
};
struct Requirements {
  Requirements* next;
  std::size_t buffer_bytes, buffer_align;
  std::uint32_t* buffer_handle;
  int signals, counters;
  std::uint32_t* signal_start;
  std::uint32_t* counter_start;
};
struct LsaBarrierHandle {
  std::uint32_t buffer;
  int barriers;
};
struct GinBarrierHandle {
  std::uint32_t signal0, buffer;
};
struct LlHandle {
  std::uint32_t buffer, slots;
};
// As programs built against 2.29.2 and 2.30 lay it out.
struct Properties {
  std::size_t size;
  unsigned magic, version;
  int rank, ranks, cuda_device, nvml_device;
  bool device_api, multimem;
  int gin_type;
  int lsa_teams;
  bool host_rma;
  int railed_gin_type;
};
static_assert(offsetof(Properties, lsa_teams) == 40 && sizeof(Properties) == 56);

Team ncclTeamWorld(ncclComm_t);
Team ncclTeamLsa(ncclComm_t);
Team ncclTeamRail(ncclComm_t);
int ncclTeamRankToWorld(ncclComm_t, Team, int);
int ncclTeamRankToLsa(ncclComm_t, Team, int);
ncclResult_t ncclLsaBarrierCreateRequirement(Team, int, LsaBarrierHandle*, Requirements*);
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t, Team, int, GinBarrierHandle*, Requirements*);
int ncclLLA2ACalcSlots(int, int);
ncclResult_t ncclLLA2ACreateRequirement(int, int, LlHandle*, Requirements*);
ncclResult_t ncclGinOutboxCreateRequirement(int, int, void*, Requirements*);
ncclResult_t ncclGinInboxA2ACreateRequirement(Team, int, int, void*, Requirements*);
ncclResult_t ncclDevCommCreate(ncclComm_t, const void*, void*);
ncclResult_t ncclDevCommDestroy(ncclComm_t, const void*);
ncclResult_t ncclCommQueryProperties(ncclComm_t, Properties*);
ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t, std::size_t, int, void**);
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t, std::size_t, int, void**);
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t, std::size_t, void**);
ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t, std::size_t, void*, void**);
}

namespace tutti {
namespace {

using tests::WithRanks;

TEST(DeviceApi, Teams) {
  WithRanks(3, [](ncclComm_t& comm, int rank) {
    const Team world = ncclTeamWorld(comm);
    EXPECT_EQ(world.ranks, 3);
    EXPECT_EQ(world.rank, rank);
    EXPECT_EQ(world.stride, 1);
    EXPECT_EQ(ncclTeamRail(comm).ranks, 3);
    const Team lsa = ncclTeamLsa(comm);
    EXPECT_EQ(lsa.ranks, 1) << "no rank can load from another's memory";
    EXPECT_EQ(lsa.rank, 0);
    EXPECT_EQ(ncclTeamRankToWorld(comm, world, 2), 2);
    EXPECT_EQ(ncclTeamRankToWorld(comm, lsa, 0), rank);
    EXPECT_EQ(ncclTeamRankToLsa(comm, world, rank), 0);
    EXPECT_EQ(ncclTeamRankToWorld(comm, world, 3), -1);
    EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("rank 3 is not in a team of 3"), std::string::npos);
    EXPECT_EQ(ncclTeamWorld(nullptr).ranks, 0);
    EXPECT_EQ(ncclTeamRankToLsa(nullptr, world, 0), -1);
  });
}

TEST(DeviceApi, Requirements) {
  const Team team{4, 1, 1};
  Requirements needs;
  std::memset(&needs, 0xee, sizeof(needs));
  LsaBarrierHandle lsa{};
  NCCL_OK(ncclLsaBarrierCreateRequirement(team, 2, &lsa, &needs));
  EXPECT_EQ(needs.buffer_bytes, (3 * 2 + 2 * 4) * 4u);
  EXPECT_EQ(needs.buffer_handle, &lsa.buffer);
  EXPECT_EQ(needs.next, nullptr);
  EXPECT_EQ(needs.signals, 0);
  EXPECT_EQ(lsa.barriers, 2);
  NCCL_EXPECT_ERROR(ncclLsaBarrierCreateRequirement(team, -1, &lsa, &needs), ncclInvalidArgument, "negative");
  NCCL_EXPECT_ERROR(ncclLsaBarrierCreateRequirement(team, 1, nullptr, &needs), ncclInvalidArgument, "NULL");
  EXPECT_EQ(ncclLLA2ACalcSlots(10, 8), 10);
  EXPECT_EQ(ncclLLA2ACalcSlots(10, 9), 20);
  LlHandle ll{};
  NCCL_OK(ncclLLA2ACreateRequirement(3, 20, &ll, &needs));
  EXPECT_EQ(needs.buffer_bytes, 3u * (1 + 2 * 20) * 16);
  EXPECT_EQ(needs.buffer_align, 16u);
  EXPECT_EQ(ll.slots, 20u);
  NCCL_EXPECT_ERROR(ncclLLA2ACreateRequirement(3, -1, &ll, &needs), ncclInvalidArgument, "negative");
  ncclComm_t comm;
  NCCL_OK(ncclCommInitAll(&comm, 1, nullptr));
  GinBarrierHandle gin{};
  NCCL_OK(ncclGinBarrierCreateRequirement(comm, team, 3, &gin, &needs));
  EXPECT_EQ(needs.signals, 12);
  EXPECT_EQ(needs.signal_start, &gin.signal0);
  NCCL_EXPECT_ERROR(ncclGinBarrierCreateRequirement(nullptr, team, 3, &gin, &needs), ncclInvalidArgument, "NULL");
  NCCL_OK(ncclCommDestroy(comm));
}

TEST(DeviceApi, PropertiesAsFarAsTheCallersStructGoes) {
  WithRanks(2, [](ncclComm_t& comm, int rank) {
    Properties all;
    std::memset(&all, 0xee, sizeof(all));
    all.size = sizeof(all);
    all.magic = NCCL_API_MAGIC;
    all.version = 23007;
    NCCL_OK(ncclCommQueryProperties(comm, &all));
    EXPECT_EQ(all.rank, rank);
    EXPECT_EQ(all.ranks, 2);
    EXPECT_FALSE(all.device_api || all.multimem || all.host_rma);
    EXPECT_EQ(all.gin_type, 0);
    EXPECT_EQ(all.lsa_teams, 2);
    EXPECT_EQ(all.railed_gin_type, 0);
    Properties old;
    std::memset(&old, 0xee, sizeof(old));
    old.size = offsetof(Properties, lsa_teams);
    old.magic = NCCL_API_MAGIC;
    NCCL_OK(ncclCommQueryProperties(comm, &old));
    EXPECT_EQ(old.gin_type, 0);
    EXPECT_EQ(old.lsa_teams, static_cast<int>(0xeeeeeeee)) << "the struct of an older program ends before it";
    old.magic = 1;
    NCCL_EXPECT_ERROR(ncclCommQueryProperties(comm, &old), ncclInvalidUsage, "NCCL_COMM_PROPERTIES_INITIALIZER");
    NCCL_EXPECT_ERROR(ncclCommQueryProperties(comm, nullptr), ncclInvalidArgument, "NULL");
  });
}

TEST(DeviceApi, WhatNeedsAGpuSaysSo) {
  ncclComm_t comm;
  NCCL_OK(ncclCommInitAll(&comm, 1, nullptr));
  char memory[1024] = {};
  NCCL_EXPECT_ERROR(ncclDevCommCreate(comm, memory, memory), ncclInvalidUsage, "needs a GPU");
  NCCL_EXPECT_ERROR(ncclDevCommCreate(nullptr, memory, memory), ncclInvalidArgument, "NULL");
  NCCL_EXPECT_ERROR(ncclDevCommDestroy(comm, memory), ncclInvalidUsage, "no device communicator");
  Requirements needs;
  std::memset(&needs, 0xee, sizeof(needs));
  NCCL_EXPECT_ERROR(ncclGinOutboxCreateRequirement(1, 7, memory, &needs), ncclInvalidUsage, "needs a GPU");
  EXPECT_EQ(needs.buffer_bytes, 0u);
  NCCL_EXPECT_ERROR(ncclGinInboxA2ACreateRequirement(Team{2, 0, 1}, 1, 7, memory, &needs), ncclInvalidUsage,
                    "needs a GPU");
  void* pointer = memory;
  NCCL_EXPECT_ERROR(ncclGetLsaDevicePointer(nullptr, 0, 0, &pointer), ncclInvalidUsage, "needs a GPU");
  EXPECT_EQ(pointer, nullptr);
  NCCL_EXPECT_ERROR(ncclGetPeerDevicePointer(nullptr, 0, 0, &pointer), ncclInvalidUsage, "needs a GPU");
  NCCL_EXPECT_ERROR(ncclGetLsaMultimemDevicePointer(nullptr, 0, &pointer), ncclInvalidUsage, "needs a GPU");
  NCCL_EXPECT_ERROR(ncclGetMultimemDevicePointer(nullptr, 0, memory, nullptr), ncclInvalidUsage, "needs a GPU");
  NCCL_OK(ncclCommDestroy(comm));
}

}  // namespace
}  // namespace tutti
