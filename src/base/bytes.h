// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_BYTES_H_
#define TUTTI_BASE_BYTES_H_

// Messages as bytes: numbers in little endian and strings of bytes, one after the other, without padding.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti {

// Threads: one at a time.
class ByteWriter {
 public:
  template <std::integral T>
  void Number(T value) {
    const auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) message_.push_back(static_cast<std::byte>(bits >> (8 * i) & 0xff));
  }
  void Bytes(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) message_.push_back(byte);  // GCC 12 takes a range's insertion for an overflow
  }
  // What was written; nothing is left here.
  std::vector<std::byte> Take() { return std::move(message_); }

 private:
  std::vector<std::byte> message_;
};

// Takes values off the front of a message that a stranger may have made. After the first that is missing, or that the caller
// has refused, all are 0 or empty: a parser reads all it needs and asks once, at the end. Strings of bytes point into the
// message. Threads: one at a time.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> message) : rest_(message) {}

  template <std::integral T>
  T Number() {
    std::make_unsigned_t<T> bits = 0;
    const std::span<const std::byte> bytes = Bytes(sizeof(T));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bits = static_cast<std::make_unsigned_t<T>>(bits | std::to_integer<std::uint64_t>(bytes[i]) << (8 * i));
    }
    return static_cast<T>(bits);
  }
  std::span<const std::byte> Bytes(std::uint64_t count) {
    Require(count <= rest_.size());
    if (!good_) return {};
    const std::span<const std::byte> bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }
  template <std::size_t kBytes>
  std::array<std::byte, kBytes> Array() {
    std::array<std::byte, kBytes> array{};
    std::ranges::copy(Bytes(kBytes), array.begin());
    return array;
  }
  std::span<const std::byte> Rest() { return Bytes(rest_.size()); }

  // Refuses the message where the condition does not hold.
  void Require(bool condition) { good_ = good_ && condition; }
  // Whether all that was asked for was there, and nothing was refused.
  bool good() const { return good_; }
  // The same, and nothing is left.
  bool AtEnd() const { return good_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool good_ = true;
};

}  // namespace tutti

#endif  // TUTTI_BASE_BYTES_H_
