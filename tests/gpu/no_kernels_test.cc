// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// A library without kernels on a machine with GPUs: buffers in device memory get a sentence, and host memory works.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "capi/handle.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/nccl_ranks.h"

namespace tutti::tests {
namespace {

constexpr sys::cuda::Address kDevice = 1ull << 45;  // from here to twice that addresses are a GPU's

TEST(NoKernels, DeviceMemoryIsRefusedAndHostMemoryWorks) {
  setenv(kFakeGpus, "2", 1);
  ASSERT_TRUE(LoadFakeCuda(TUTTI_FAKE_CUDA,
                           {.is_host = [](sys::cuda::Address at) { return at < kDevice || at >= 2 * kDevice; }}));
  float sums[2] = {1, 1};
  WithRanks(2, [&](ncclComm_t& comm, int rank) {
    auto* const device = reinterpret_cast<float*>(kDevice);
    EXPECT_EQ(comm->gpu, nullptr);
    EXPECT_EQ(ncclAllReduce(device, device, 8, ncclFloat, ncclSum, comm, nullptr), ncclInvalidUsage);
    EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("this build of Tutti has no kernels for GPUs"),
              std::string::npos)
        << ncclGetLastError(nullptr);
    NCCL_OK(ncclAllReduce(&sums[rank], &sums[rank], 1, ncclFloat, ncclSum, comm, nullptr));
  });
  for (const float sum : sums) EXPECT_EQ(sum, 2);
}

}  // namespace
}  // namespace tutti::tests
