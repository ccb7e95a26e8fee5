// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_SOON_H_
#define TUTTI_TESTS_SUPPORT_SOON_H_

#include <chrono>

namespace tutti::tests {

// What a user is promised is a second; sanitizers and a busy machine get some more before a test fails.
inline constexpr std::chrono::milliseconds kSoon{5000};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_SOON_H_
