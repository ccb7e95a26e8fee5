// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/resolve.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sys/os/clock.h"

namespace tutti::sys {
namespace {

std::int64_t Soon() { return NowNs() + 10 * kNsPerSecond; }

TEST(ResolveTest, AnAddressIsItself) {
  for (const char* text : {"10.1.2.3", "fd00::7"}) {
    // Nobody is asked, so no time is needed.
    const Result<std::vector<IpAddress>> addresses = ResolveHost(text, 0);
    ASSERT_TRUE(addresses.ok()) << addresses.status().message();
    ASSERT_EQ(addresses->size(), 1u);
    EXPECT_EQ(addresses->front().ToString(), text);
  }
}

TEST(ResolveTest, ANameHasAddresses) {
  const Result<std::vector<IpAddress>> addresses = ResolveHost("localhost", Soon());
  ASSERT_TRUE(addresses.ok()) << addresses.status().message();
  ASSERT_FALSE(addresses->empty());
  for (const IpAddress& address : *addresses) {
    EXPECT_TRUE(address.IsLoopback()) << address.ToString();
    EXPECT_EQ(std::ranges::count(*addresses, address), 1);
  }
}

TEST(ResolveTest, ANameThatNobodyKnowsIsNamed) {
  // No name of a host has blanks, so no server is asked.
  const Status status = ResolveHost("no such host", Soon()).status();
  EXPECT_EQ(status.code(), Code::kInvalidUsage);
  EXPECT_NE(status.message().find("host \"no such host\" has no address"), std::string::npos) << status.message();
}

TEST(ResolveTest, NobodyWaitsLongerThanTheDeadline) {
  const Status status = ResolveHost("localhost", 0).status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_NE(status.message().find("\"localhost\""), std::string::npos) << status.message();
}

}  // namespace
}  // namespace tutti::sys
