// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/handle.h"

#include <gtest/gtest.h>

namespace tutti::capi {
namespace {

TEST(Handles, OnADeviceAreThoseThatMayWaitThereForOtherRanks) {
  constexpr int kDevice = 5;
  EXPECT_FALSE(DeviceHasOthers(kDevice, nullptr));
  const std::shared_ptr<ncclComm> pending = NewHandle(Config(), kDevice);
  EXPECT_TRUE(DeviceHasOthers(kDevice, nullptr));
  EXPECT_FALSE(DeviceHasOthers(kDevice, pending.get()));
  EXPECT_FALSE(DeviceHasOthers(kDevice + 1, nullptr));
  pending->ranks = 2;
  EXPECT_TRUE(DeviceHasOthers(kDevice, nullptr));
  pending->ranks = 1;
  EXPECT_FALSE(DeviceHasOthers(kDevice, nullptr));
  pending->ranks = 2;

  const std::shared_ptr<ncclComm> failed = NewHandle(Config(), kDevice);
  EXPECT_TRUE(DeviceHasOthers(kDevice, pending.get()));
  FailHandle(*failed, Status(Code::kTimeout, "nobody came"));
  EXPECT_FALSE(DeviceHasOthers(kDevice, pending.get()));
  Bury(*failed);
  Bury(*pending);
  EXPECT_FALSE(DeviceHasOthers(kDevice, nullptr));
}

}  // namespace
}  // namespace tutti::capi
