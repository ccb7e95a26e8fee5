// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <limits>
#include <string_view>
#include <vector>

namespace tutti {
namespace {

std::vector<std::byte> Some(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(BytesTest, NumbersAreLittleEndianAndNothingStandsBetween) {
  ByteWriter out;
  out.Number(std::uint8_t{0xfe});
  out.Number(std::uint32_t{0x04030201});
  out.Number(std::int16_t{-2});
  out.Bytes(Some({7, 8, 9}));
  out.Number(std::uint64_t{0x8000000000000001});
  EXPECT_EQ(out.Take(), Some({0xfe, 1, 2, 3, 4, 0xfe, 0xff, 7, 8, 9, 1, 0, 0, 0, 0, 0, 0, 0x80}));
  EXPECT_TRUE(out.Take().empty());
}

TEST(BytesTest, WhatIsWrittenIsRead) {
  const std::array<std::byte, 3> array = {std::byte{1}, std::byte{2}, std::byte{3}};
  ByteWriter out;
  out.Number(std::numeric_limits<std::int32_t>::min());
  out.Number(std::numeric_limits<std::int64_t>::min());
  out.Number(std::numeric_limits<std::uint64_t>::max());
  out.Number(std::uint16_t{0xabcd});
  out.Bytes(array);
  out.Bytes(Some({4, 5}));
  const std::vector<std::byte> message = out.Take();
  ByteReader in(message);
  EXPECT_EQ(in.Number<std::int32_t>(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(in.Number<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(in.Number<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(in.Number<std::uint16_t>(), 0xabcd);
  EXPECT_EQ(in.Array<3>(), array);
  EXPECT_TRUE(in.good());
  EXPECT_FALSE(in.AtEnd());
  EXPECT_TRUE(std::ranges::equal(in.Rest(), Some({4, 5})));
  EXPECT_TRUE(in.AtEnd());
}

TEST(BytesTest, WhatIsMissingSpoilsAllThatFollows) {
  const std::vector<std::byte> message = Some({1, 2, 3, 4, 5, 6});
  for (const int way : {0, 1, 2}) {
    ByteReader in(message);
    EXPECT_EQ(in.Number<std::uint16_t>(), 0x0201);
    if (way == 0) {
      EXPECT_EQ(in.Number<std::uint64_t>(), 0u);
    }
    if (way == 1) {
      EXPECT_TRUE(in.Bytes(5).empty());
    }
    if (way == 2) {
      EXPECT_EQ(in.Array<5>(), (std::array<std::byte, 5>{}));
    }
    EXPECT_FALSE(in.good());
    EXPECT_EQ(in.Number<std::uint8_t>(), 0);  // though there are four more
    EXPECT_TRUE(in.Rest().empty());
    EXPECT_FALSE(in.AtEnd());
  }
}

TEST(BytesTest, ALengthThatNoMessageHasIsMissingToo) {
  const std::vector<std::byte> message = Some({1, 2});
  ByteReader in(message);
  EXPECT_TRUE(in.Bytes(std::numeric_limits<std::uint64_t>::max()).empty());
  EXPECT_FALSE(in.good());
}

TEST(BytesTest, ARefusalIsForEver) {
  const std::vector<std::byte> message = Some({1, 2});
  ByteReader in(message);
  in.Require(true);
  EXPECT_EQ(in.Number<std::uint8_t>(), 1);
  in.Require(false);
  in.Require(true);
  EXPECT_EQ(in.Number<std::uint8_t>(), 0);
  EXPECT_FALSE(in.good());
}

TEST(BytesTest, AnEmptyMessageIsAtItsEnd) {
  ByteReader in({});
  EXPECT_TRUE(in.AtEnd());
  EXPECT_TRUE(in.Bytes(0).empty());
  EXPECT_TRUE(in.AtEnd());
}

}  // namespace
}  // namespace tutti
