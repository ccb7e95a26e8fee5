// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/auth.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

namespace tutti::sys {
namespace {

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(AuthTest, CodeDependsOnKeyPartsAndTheirBorders) {
  const Key key = *FreshNonce();
  Key other = key;
  other[31] ^= std::byte{1};
  const Mac mac = ComputeMac(key, {Bytes("hello"), Bytes("abc")});
  EXPECT_TRUE(SameMac(mac, ComputeMac(key, {Bytes("hello"), Bytes("abc")})));
  EXPECT_FALSE(SameMac(mac, ComputeMac(other, {Bytes("hello"), Bytes("abc")})));
  EXPECT_FALSE(SameMac(mac, ComputeMac(key, {Bytes("hello"), Bytes("abd")})));
  EXPECT_FALSE(SameMac(mac, ComputeMac(key, {Bytes("helloa"), Bytes("bc")})));
  EXPECT_FALSE(SameMac(mac, ComputeMac(key, {Bytes("helloabc")})));
  EXPECT_FALSE(SameMac(mac, ComputeMac(key, {Bytes("hello"), Bytes("abc"), {}})));
}

// BLAKE2b-256 with this key over eight zero bytes (the length of an empty part), from Python's
// hashlib.blake2b.
TEST(AuthTest, IsBlake2b) {
  Key key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  const Mac mac = ComputeMac(key, {{}});
  constexpr unsigned char kExpected[4] = {0x22, 0x3b, 0x9a, 0x19};
  EXPECT_EQ(std::memcmp(mac.data(), kExpected, 4), 0);
}

TEST(AuthTest, NoncesDiffer) { EXPECT_NE(*FreshNonce(), *FreshNonce()); }

TEST(AuthTest, ManyThreadsMayStartAtOnce) {
  std::vector<std::thread> threads;
  const Key key{};
  const Mac expected = ComputeMac(key, {Bytes("x")});
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(ComputeMac(key, {Bytes("x")}), expected); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tutti::sys
