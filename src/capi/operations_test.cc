// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Data movement through nccl.h, with ranks as threads; reductions with a factor; groups.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <limits>
#include <numeric>

#include "nccl.h"
#include "tests/support/nccl_ranks.h"

namespace tutti {
namespace {

using tests::WithRanks;

constexpr int kRanks = 4;

TEST(Operations, AllReduceInEveryType) {
  constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  // One, and the sum of four ones, in each type.
  constexpr std::uint64_t kOne[] = {1, 1, 1, 1, 1, 1, 0x3c00, 0x3f800000, 0x3ff0000000000000, 0x3f80, 0x38, 0x3c};
  constexpr std::uint64_t kFour[] = {4, 4, 4, 4, 4, 4, 0x4400, 0x40800000, 0x4010000000000000, 0x4080, 0x48, 0x44};
  WithRanks(kRanks, [&](ncclComm_t& comm, int) {
    for (int type = 0; type < ncclNumTypes; ++type) {
      const std::uint64_t in = kOne[type];
      std::uint64_t out = 0;
      NCCL_OK(ncclAllReduce(&in, &out, 1, static_cast<ncclDataType_t>(type), ncclSum, comm, nullptr));
      NCCL_OK(ncclTuttiSynchronize(comm));
      EXPECT_EQ(out, kFour[type]) << "type " << type << " of " << kBytes[type] << " bytes";
    }
  });
}

TEST(Operations, AFactorOf64BitIntegersIsExact) {
  WithRanks(kRanks, [](ncclComm_t& comm, int rank) {
    std::int64_t factor = (std::int64_t{1} << 60) + 1 + rank;  // no double has these
    const std::int64_t one = 1;
    std::int64_t out = 0;
    ncclRedOp_t op;
    NCCL_OK(ncclRedOpCreatePreMulSum(&op, &factor, ncclInt64, ncclScalarHostImmediate, comm));
    factor = 0;  // it has been read
    NCCL_OK(ncclAllReduce(&one, &out, 1, ncclInt64, op, comm, nullptr));
    NCCL_OK(ncclRedOpDestroy(op, comm));
    NCCL_OK(ncclTuttiSynchronize(comm));
    EXPECT_EQ(out, (std::int64_t{1} << 62) + 4 + 6);
    NCCL_EXPECT_ERROR(ncclRedOpDestroy(op, comm), ncclInvalidArgument, "destroyed before");
  });
}

TEST(Operations, ADeviceFactorIsReadAtEachCall) {
  WithRanks(2, [](ncclComm_t& comm, int) {
    float factor = 2;
    const float one = 1;
    float out = 0;
    ncclRedOp_t op;
    NCCL_OK(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarDevice, comm));
    NCCL_OK(ncclAllReduce(&one, &out, 1, ncclFloat32, op, comm, nullptr));
    NCCL_OK(ncclTuttiSynchronize(comm));
    EXPECT_EQ(out, 4);
    factor = 0.5;
    NCCL_OK(ncclAllReduce(&one, &out, 1, ncclFloat32, op, comm, nullptr));
    NCCL_OK(ncclTuttiSynchronize(comm));
    EXPECT_EQ(out, 1);
    NCCL_OK(ncclRedOpDestroy(op, comm));
  });
}

TEST(Operations, AFactorBelongsToItsCommunicatorAndType) {
  ncclComm_t comms[2] = {};
  ncclComm_t* one = &comms[0];
  NCCL_OK(ncclCommInitAll(one, 1, nullptr));
  NCCL_OK(ncclCommInitAll(one + 1, 1, nullptr));
  float factor = 2, in = 1, out = 0;
  ncclRedOp_t op;
  NCCL_OK(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, comms[0]));
  EXPECT_GE(static_cast<int>(op), static_cast<int>(ncclNumOps));
  NCCL_EXPECT_ERROR(ncclAllReduce(&in, &out, 1, ncclFloat32, op, comms[1], nullptr), ncclInvalidArgument,
                    "does not exist");
  NCCL_EXPECT_ERROR(ncclAllReduce(&in, &out, 1, ncclFloat64, op, comms[0], nullptr), ncclInvalidArgument,
                    "must be the same");
  NCCL_EXPECT_ERROR(ncclRedOpDestroy(ncclSum, comms[0]), ncclInvalidArgument, "NCCL's own");
  NCCL_EXPECT_ERROR(ncclRedOpCreatePreMulSum(&op, nullptr, ncclFloat32, ncclScalarDevice, comms[0]),
                    ncclInvalidArgument, "NULL");
  NCCL_EXPECT_ERROR(
      ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, static_cast<ncclScalarResidence_t>(2), comms[0]),
      ncclInvalidArgument, "residence");
  for (ncclComm_t comm : comms) NCCL_EXPECT_OK(ncclCommDestroy(comm));
}

TEST(Operations, WrongArgumentsAreToldAtOnceAndHarmNothing) {
  WithRanks(2, [](ncclComm_t& comm, int rank) {
    const float in[2] = {1, 2};
    float out[2] = {};
    const auto type = static_cast<ncclDataType_t>(256);
    NCCL_EXPECT_ERROR(ncclAllReduce(in, out, 1, type, ncclSum, comm, nullptr), ncclInvalidArgument, "data type 256");
    NCCL_EXPECT_ERROR(ncclAllReduce(in, out, 1, ncclFloat32, ncclNumOps, comm, nullptr), ncclInvalidArgument,
                      "operator 5");
    NCCL_EXPECT_ERROR(ncclAllReduce(nullptr, out, 1, ncclFloat32, ncclSum, comm, nullptr), ncclInvalidArgument, "null");
    NCCL_EXPECT_ERROR(ncclBcast(out, 1, ncclFloat32, 2, comm, nullptr), ncclInvalidArgument, "root 2");
    NCCL_EXPECT_ERROR(ncclReduce(in, out, 1, ncclFloat32, ncclSum, -1, comm, nullptr), ncclInvalidArgument, "root -1");
    NCCL_EXPECT_ERROR(ncclSend(in, 1, ncclFloat32, 7, comm, nullptr), ncclInvalidArgument, "peer 7");
    NCCL_EXPECT_ERROR(ncclAllReduce(in, out, SIZE_MAX, ncclFloat32, ncclSum, comm, nullptr), ncclInvalidArgument,
                      "overflows");
    NCCL_EXPECT_ERROR(ncclAllReduce(in, out, 1, ncclFloat32, ncclSum, nullptr, nullptr), ncclInvalidArgument,
                      "communicator is NULL");
    NCCL_EXPECT_ERROR(ncclSend(in, 1, ncclFloat32, rank, comm, nullptr), ncclInvalidUsage, "same group");
    NCCL_OK(ncclAllReduce(in, out, 2, ncclFloat32, ncclSum, comm, nullptr));
    NCCL_OK(ncclTuttiSynchronize(comm));
    EXPECT_EQ(out[1], 4);
  });
}

TEST(Operations, NothingToDoIsFine) {
  WithRanks(2, [](ncclComm_t& comm, int rank) {
    NCCL_OK(ncclAllReduce(nullptr, nullptr, 0, ncclFloat32, ncclSum, comm, nullptr));
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclSend(nullptr, 0, ncclFloat32, 1 - rank, comm, nullptr));
    NCCL_OK(ncclRecv(nullptr, 0, ncclFloat32, 1 - rank, comm, nullptr));
    NCCL_OK(ncclGroupEnd());
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclGroupEnd());
    NCCL_OK(ncclTuttiSynchronize(comm));
  });
}

TEST(Operations, CallsReturnBeforeTheyHaveEndedAndTakePlaceInOrder) {
  constexpr int kCalls = 500;
  WithRanks(2, [](ncclComm_t& comm, int rank) {
    std::vector<std::int64_t> out(kCalls), in(kCalls);
    std::iota(in.begin(), in.end(), 1000 * rank);
    for (int i = 0; i < kCalls; ++i) NCCL_OK(ncclAllReduce(&in[i], &out[i], 1, ncclInt64, ncclSum, comm, nullptr));
    NCCL_OK(ncclTuttiSynchronize(comm));
    for (int i = 0; i < kCalls; ++i) EXPECT_EQ(out[i], 1000 + 2 * i);
  });
}

// Rank 0 makes its call and stays away: its progress thread does the work, or rank 1 could not end.
TEST(Operations, GoOnWithoutTheirCaller) {
  std::atomic<bool> ended{false};
  WithRanks(2, [&](ncclComm_t& comm, int rank) {
    std::vector<std::int32_t> in(3 << 20, rank + 1), out(in.size());
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));  // rank 0's call cannot end by itself
    NCCL_OK(ncclAllReduce(in.data(), out.data(), in.size(), ncclInt32, ncclSum, comm, nullptr));
    if (rank == 1) {
      NCCL_OK(ncclTuttiSynchronize(comm));
      ended = true;
    }
    while (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) NCCL_OK(ncclCommGetAsyncError(comm, &state));
    EXPECT_EQ(state, ncclSuccess);
    EXPECT_EQ(out, std::vector<std::int32_t>(in.size(), 3));
  });
}

TEST(Groups, SendsAndReceivesInAnyOrderAndToOneself) {
  WithRanks(kRanks, [](ncclComm_t& comm, int rank) {
    std::vector<std::int32_t> in(kRanks * 1000), out(kRanks * 1000, -1);
    for (int peer = 0; peer < kRanks; ++peer) {
      for (int i = 0; i < 1000; ++i) in[peer * 1000 + i] = rank * 100 + peer;
    }
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclGroupStart());  // nested
    for (int peer = 0; peer < kRanks; ++peer) {
      NCCL_OK(ncclSend(&in[peer * 1000], 1000, ncclInt32, peer, comm, nullptr));
    }
    NCCL_OK(ncclGroupEnd());
    EXPECT_EQ(out[0], -1) << "the inner end must not run anything";
    for (int peer = kRanks - 1; peer >= 0; --peer) {
      NCCL_OK(ncclRecv(&out[peer * 1000], 1000, ncclInt32, peer, comm, nullptr));
    }
    NCCL_OK(ncclGroupEnd());
    NCCL_OK(ncclTuttiSynchronize(comm));
    for (int peer = 0; peer < kRanks; ++peer) EXPECT_EQ(out[peer * 1000 + 999], peer * 100 + rank);
  });
}

TEST(Groups, RanksOfOneThreadAndSeveralCommunicators) {
  ncclComm_t comms[kRanks];
  const int devices[kRanks] = {5, 3, 0, 9};
  NCCL_OK(ncclCommInitAll(comms, kRanks, devices));
  std::int32_t in[kRanks], out[kRanks] = {}, gathered[kRanks][kRanks] = {};
  NCCL_OK(ncclGroupStart());
  for (int rank = 0; rank < kRanks; ++rank) {
    in[rank] = rank + 1;
    NCCL_OK(ncclAllReduce(&in[rank], &out[rank], 1, ncclInt32, ncclSum, comms[rank], nullptr));
    NCCL_OK(ncclAllGather(&in[rank], gathered[rank], 1, ncclInt32, comms[rank], nullptr));
  }
  NCCL_OK(ncclGroupEnd());
  for (int rank = 0; rank < kRanks; ++rank) {
    int device = -1, number = -1;
    NCCL_OK(ncclTuttiSynchronize(comms[rank]));
    EXPECT_EQ(out[rank], 10);
    EXPECT_EQ(gathered[rank][kRanks - 1], kRanks);
    NCCL_OK(ncclCommCuDevice(comms[rank], &device));
    NCCL_OK(ncclCommUserRank(comms[rank], &number));
    EXPECT_EQ(device, devices[rank]);
    EXPECT_EQ(number, rank);
  }
  for (ncclComm_t comm : comms) NCCL_EXPECT_OK(ncclCommDestroy(comm));
}

TEST(Groups, ManyOperationsOfOneThreadsRanksOneAfterTheOther) {
  ncclComm_t comms[2];
  NCCL_OK(ncclCommInitAll(comms, 2, nullptr));
  std::vector<std::int32_t> in(1 << 20, 7), out[2];
  for (auto& o : out) o.resize(in.size());
  // No group: rank 0's call cannot end before rank 1's is made.
  for (int round = 0; round < 3; ++round) {
    for (int rank = 0; rank < 2; ++rank) {
      NCCL_OK(ncclAllReduce(in.data(), out[rank].data(), in.size(), ncclInt32, ncclSum, comms[rank], nullptr));
    }
  }
  for (ncclComm_t comm : comms) NCCL_OK(ncclTuttiSynchronize(comm));
  EXPECT_EQ(out[0], std::vector<std::int32_t>(in.size(), 14));
  EXPECT_EQ(out[1], out[0]);
  for (ncclComm_t comm : comms) NCCL_EXPECT_OK(ncclCommDestroy(comm));
}

TEST(Groups, MistakesAreTold) {
  NCCL_EXPECT_ERROR(ncclGroupEnd(), ncclInvalidUsage, "no group to end");
  NCCL_EXPECT_ERROR(ncclGroupSimulateEnd(nullptr), ncclInvalidUsage, "no group to end");
  ncclComm_t comm;
  NCCL_OK(ncclCommInitAll(&comm, 1, nullptr));
  NCCL_OK(ncclGroupStart());
  NCCL_EXPECT_ERROR(ncclTuttiSynchronize(comm), ncclInvalidUsage, "ncclGroupEnd first");
  NCCL_EXPECT_ERROR(ncclBcast(nullptr, 1, ncclInt8, 3, comm, nullptr), ncclInvalidArgument, "root 3");
  std::int8_t in = 3, out = 0;
  NCCL_OK(ncclAllReduce(&in, &out, 1, ncclInt8, ncclSum, comm, nullptr));
  NCCL_OK(ncclGroupEnd());  // a wrong argument does not spoil the group
  EXPECT_EQ(out, 3);
  NCCL_OK(ncclGroupStart());
  NCCL_OK(ncclSend(&in, 1, ncclInt8, 0, comm, nullptr));
  NCCL_EXPECT_ERROR(ncclGroupEnd(), ncclInvalidUsage, "without a matching receive");
  NCCL_OK(ncclAllReduce(&in, &out, 1, ncclInt8, ncclProd, comm, nullptr));
  NCCL_OK(ncclCommDestroy(comm));
}

TEST(Groups, SimulateEndEstimatesAndRunsNothing) {
  WithRanks(2, [](ncclComm_t& comm, int) {
    std::vector<float> in(1 << 20, 1), out(in.size(), -1);
    float estimates[2];
    for (int k = 0; k < 2; ++k) {
      ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
      NCCL_OK(ncclGroupStart());
      NCCL_OK(ncclAllReduce(in.data(), out.data(), k == 0 ? 2 : in.size(), ncclFloat32, ncclSum, comm, nullptr));
      NCCL_OK(ncclGroupSimulateEnd(&info));
      estimates[k] = info.estimatedTime;
    }
    EXPECT_GT(estimates[0], 0);
    EXPECT_GT(estimates[1], 10 * estimates[0]);
    EXPECT_EQ(out[0], -1);
    ncclSimInfo_t bad = NCCL_SIM_INFO_INITIALIZER;
    bad.magic = 1;
    NCCL_OK(ncclGroupStart());
    NCCL_EXPECT_ERROR(ncclGroupSimulateEnd(&bad), ncclInvalidArgument, "NCCL_SIM_INFO_INITIALIZER");
    NCCL_OK(ncclGroupEnd());
  });
}

}  // namespace
}  // namespace tutti
