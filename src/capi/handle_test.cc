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

// A program may split a communicator as soon as it is ready, and the job that made it end after that.
TEST(Handles, ArePendingUntilAllThatUseThemHaveEnded) {
  const std::shared_ptr<ncclComm> comm = NewHandle(Config(), 0);
  BeginBackground(*comm);  // it is made
  EXPECT_EQ(comm->state, State::kPending);
  comm->state = State::kReady;
  BeginBackground(*comm);  // it is split
  EXPECT_EQ(comm->state, State::kPending);
  EndBackground(*comm, Status::Ok());
  EXPECT_EQ(comm->state, State::kPending);
  BeginBackground(*comm);  // and again
  EndBackground(*comm, Status::Ok());
  EXPECT_EQ(comm->state, State::kPending);
  EndBackground(*comm, Status(Code::kTimeout, "nobody came"));
  EXPECT_EQ(comm->state, State::kReady);
  EXPECT_EQ(comm->background.failure.message(), "nobody came");
  Bury(*comm);
}

TEST(Handles, StayWhatAJobHasMadeOfThem) {
  const std::shared_ptr<ncclComm> finalized = NewHandle(Config(), 0), failed = NewHandle(Config(), 0);
  finalized->state = State::kReady;
  BeginBackground(*finalized);
  finalized->state = State::kFinalized;
  EndBackground(*finalized, Status::Ok());
  EXPECT_EQ(finalized->state, State::kFinalized);
  const Status why(Code::kTimeout, "nobody came");
  BeginBackground(*failed);
  FailHandle(*failed, why);
  EndBackground(*failed, why);
  EXPECT_EQ(failed->state, State::kFailed);
  Bury(*finalized);
  Bury(*failed);
}

}  // namespace
}  // namespace tutti::capi
