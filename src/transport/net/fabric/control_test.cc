// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/fabric/control.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace tutti::transport::net::fabric {
namespace {

TEST(FabricControlTest, ImmediatesKeepWhatTheySay) {
  for (const Immediate said :
       {Immediate{.control = true, .number = 5}, Immediate{.number = 0x7fff, .segments = 0xffff}}) {
    const std::uint64_t data = Encode(said);
    EXPECT_LE(data, std::numeric_limits<std::uint32_t>::max());
    const Immediate read = DecodeImmediate(data);
    EXPECT_EQ(read.control, said.control);
    EXPECT_EQ(read.number, said.number);
    EXPECT_EQ(read.segments, said.segments);
  }
  EXPECT_EQ(DecodeImmediate(Encode({.number = 0x8003, .segments = 1})).number, 3u);
}

TEST(FabricControlTest, EntriesThatCannotBeAreRefused) {
  const ControlEntry good{.address = 4096, .bytes = 100, .number = 7, .form = kEntryForm};
  EXPECT_TRUE(CheckEntry(good, 7).ok());
  void (*const faults[])(ControlEntry&) = {
      [](ControlEntry& e) { e.form = 0; },
      [](ControlEntry& e) { e.number = 8; },
      [](ControlEntry& e) { e.number = 7 + 32; },  // of the same slot
      [](ControlEntry& e) { e.bytes = std::numeric_limits<std::uint64_t>::max(); },
      [](ControlEntry& e) { e.address = std::numeric_limits<std::uint64_t>::max() - 50; },
  };
  for (const auto fault : faults) {
    ControlEntry bad = good;
    fault(bad);
    EXPECT_EQ(CheckEntry(bad, 7).code(), Code::kRemote);
  }
}

TEST(FabricControlTest, IntroductionsThatCannotBeAreRefused) {
  const std::vector<std::vector<std::byte>> names = {{std::byte{1}, std::byte{2}}, {std::byte{3}}};
  const Introduction good = Introduce(99, names);
  Introduction read;
  const auto bytes = [](const Introduction& said) { return std::as_bytes(std::span(&said, 1)); };
  ASSERT_TRUE(CheckIntroduction(bytes(good), 99, read).ok());
  EXPECT_EQ(read.rails, 2u);
  EXPECT_EQ(read.names[1][0], std::byte{3});
  EXPECT_EQ(CheckIntroduction(bytes(good), 98, read).code(), Code::kRemote);
  EXPECT_EQ(CheckIntroduction(bytes(good).first(100), 99, read).code(), Code::kRemote);
  void (*const faults[])(Introduction&) = {
      [](Introduction& i) { i.form = 1; },
      [](Introduction& i) { i.rails = 0; },
      [](Introduction& i) { i.rails = 5; },
      [](Introduction& i) { i.name_bytes[1] = 0; },
      [](Introduction& i) { i.name_bytes[0] = 129; },
  };
  for (const auto fault : faults) {
    Introduction bad = good;
    fault(bad);
    EXPECT_EQ(CheckIntroduction(bytes(bad), 99, read).code(), Code::kRemote);
  }
}

TEST(FabricControlTest, HandlesThatAreNoneAreRefused) {
  CallMe place{.form = kHandleForm, .token = 3, .name_bytes = 16};
  plugin::Handle handle;
  const auto read = [&] {
    std::memcpy(handle.bytes.data(), &place, sizeof(place));
    return ReadHandle(handle);
  };
  ASSERT_TRUE(read().ok());
  place.name_bytes = 97;
  EXPECT_EQ(read().status().code(), Code::kRemote);
  place.name_bytes = 0;
  EXPECT_EQ(read().status().code(), Code::kRemote);
  place.name_bytes = 16;
  place.form = 0;
  EXPECT_EQ(read().status().code(), Code::kRemote);
}

TEST(FabricControlTest, SegmentsCoverAMessageOnce) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4097}, kSplitBytes - 1, kSplitBytes,
                                  kSplitBytes + 1, std::size_t{1'000'003}}) {
    for (std::size_t rails = 1; rails <= kMostRails; ++rails) {
      for (const std::size_t most : {std::size_t{1000}, std::size_t{65536}, std::size_t{1} << 30}) {
        const std::vector<Segment> segments = Cut(bytes, rails, most, 6);
        std::size_t at = 0;
        std::vector<std::size_t> of_rail(rails);
        for (const Segment& segment : segments) {
          ASSERT_LT(segment.rail, rails);
          ASSERT_EQ(segment.offset, at);
          ASSERT_LE(segment.bytes, most);
          at += segment.bytes;
          of_rail[segment.rail] += segment.bytes;
        }
        ASSERT_EQ(at, bytes);
        if (bytes < kSplitBytes) {
          EXPECT_EQ(of_rail[6 % rails], bytes);
        } else {
          for (const std::size_t share : of_rail) EXPECT_NEAR(double(share), double(bytes) / double(rails), 512.0);
        }
        EXPECT_TRUE(bytes > 0 || segments.size() == 1);
      }
    }
  }
}

}  // namespace
}  // namespace tutti::transport::net::fabric
