// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Communicators of more ranks than kernels have room for, by a driver that does nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "capi/handle.h"
#include "tests/support/errors_page.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/nccl_ranks.h"

namespace tutti::tests {
namespace {

constexpr std::size_t kCount = 64;
constexpr sys::cuda::Address kDevice = 1ull << 45;  // from here to twice that addresses are a GPU's

const bool loaded = [] {
  setenv(kFakeGpus, "72", 1);
  setenv("TUTTI_INIT_TIMEOUT_MS", "60000", 0);  // 72 threads on few cores
  return LoadFakeCuda(TUTTI_FAKE_CUDA, {.is_host = [](sys::cuda::Address address) {
                        return address < kDevice || address >= 2 * kDevice;
                      }});
}();

// What each rank is told of a call on device memory. Host memory works as ever.
std::vector<std::string> CallOnDevice(int ranks) {
  EXPECT_TRUE(loaded);
  std::vector<std::string> said(static_cast<std::size_t>(ranks));
  std::vector<std::vector<float>> sums(said.size(), std::vector<float>(kCount, 1));
  WithRanks(ranks, [&](ncclComm_t& comm, int rank) {
    auto* const device = reinterpret_cast<float*>(kDevice);
    EXPECT_EQ(comm->gpu, nullptr);
    EXPECT_EQ(ncclAllReduce(device, device, kCount, ncclFloat, ncclSum, comm, nullptr), ncclInvalidUsage);
    said[static_cast<std::size_t>(rank)] = ncclGetLastError(nullptr);
    NCCL_OK(ncclGroupStart());
    EXPECT_EQ(ncclBroadcast(device, device, kCount, ncclFloat, 0, comm, nullptr), ncclInvalidUsage);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    float* const sum = sums[static_cast<std::size_t>(rank)].data();
    NCCL_OK(ncclAllReduce(sum, sum, kCount, ncclFloat, ncclSum, comm, nullptr));
  });
  for (const std::vector<float>& sum : sums) {
    for (const float value : sum) EXPECT_EQ(value, static_cast<float>(ranks));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string& sentence = said[static_cast<std::size_t>(rank)];
    EXPECT_NE(sentence.find("the buffers of rank " + std::to_string(rank) + " lie in GPU memory"), std::string::npos)
        << sentence;
    EXPECT_NE(sentence.find("it has " + std::to_string(ranks) + " ranks"), std::string::npos) << sentence;
  }
  return said;
}

TEST_F(Provoke, DeviceMemoryWithTooManyRanks) { Expect(CallOnDevice(17)[0]); }

TEST(ManyRanks, AreToldThatTheirBuffersCanNotBeUsed) {
  CallOnDevice(32);
  CallOnDevice(72);
}

}  // namespace
}  // namespace tutti::tests
