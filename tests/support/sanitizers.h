// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_SANITIZERS_H_
#define TUTTI_TESTS_SUPPORT_SANITIZERS_H_

#include <cstddef>

namespace tutti::tests {

#if defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kSlowdown = 8;
#else
inline constexpr std::size_t kSlowdown = 1;
#endif

#if defined(__has_feature)  // clang has no macro
#if __has_feature(address_sanitizer)
#define TUTTI_CLANG_ADDRESS_SANITIZER
#endif
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(TUTTI_CLANG_ADDRESS_SANITIZER)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

// How long a test lets others get somewhere before it disturbs them, where it cannot see that they are there.
constexpr int HeadStartMs(int ms) { return kAddressSanitizer || kSlowdown > 1 ? 5 * ms : ms; }

// The size of a test that is too slow under a sanitizer: `size`, and a part of it there.
constexpr std::size_t Scaled(std::size_t size) { return size / kSlowdown; }

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_SANITIZERS_H_
