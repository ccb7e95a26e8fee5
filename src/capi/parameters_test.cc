// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Settings through nccl.h.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "nccl.h"
#include "tests/support/nccl_ranks.h"

namespace tutti {
namespace {

TEST(Parameters, ByKeyAndByHandle) {
  ncclParamHandle_t* handle = nullptr;
  NCCL_OK(ncclParamBind(&handle, "TUTTI_TIMEOUT_MS"));
  std::int64_t value = 0;
  NCCL_OK(ncclParamGetI64(handle, &value));
  EXPECT_EQ(value, 1800000);
  std::int8_t small;
  NCCL_EXPECT_ERROR(ncclParamGetI8(handle, &small), ncclInvalidArgument, "does not fit 8 bits");
  std::uint32_t unsigned_value = 0;
  NCCL_OK(ncclParamGetU32(handle, &unsigned_value));
  EXPECT_EQ(unsigned_value, 1800000u);
  const char* text = nullptr;
  NCCL_OK(ncclParamGetStr(handle, &text));
  EXPECT_STREQ(text, "1800000");
  std::int64_t raw = 0;
  int bytes = 0;
  NCCL_OK(ncclParamGet(handle, &raw, sizeof(raw), &bytes));
  EXPECT_EQ(raw, 1800000);
  EXPECT_EQ(bytes, 8);
  NCCL_OK(ncclParamGetParameter("NCCL_DEBUG", &text, &bytes));
  EXPECT_EQ(std::strlen(text), static_cast<std::size_t>(bytes));
  NCCL_OK(ncclParamBind(&handle, "NCCL_DEBUG_SUBSYS"));
  NCCL_EXPECT_ERROR(ncclParamGetI64(handle, &value), ncclInvalidArgument, "is no number");
  NCCL_EXPECT_ERROR(ncclParamBind(&handle, "NCCL_DEBG"), ncclInvalidArgument, "did you mean NCCL_DEBUG?");
  NCCL_EXPECT_ERROR(ncclParamGetStr(reinterpret_cast<ncclParamHandle_t*>(8), &text), ncclInvalidArgument, "handle");
  const char** keys = nullptr;
  int count = 0;
  NCCL_OK(ncclParamGetAllParameterKeys(&keys, &count));
  EXPECT_GT(count, 10);
  for (int i = 0; i < count; ++i) NCCL_EXPECT_OK(ncclParamGetParameter(keys[i], &text, &bytes));
  ncclParamDumpAll();
  ncclResetDebugInit();
}

}  // namespace
}  // namespace tutti
