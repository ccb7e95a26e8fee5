// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_WORDS_H_
#define TUTTI_EXEC_GPU_DEVICE_WORDS_H_

// The numbers of device code, and a pack of 8 or 16 bytes.

#include <cstdint>

namespace tutti::exec::gpu {

using u8 = unsigned char;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = unsigned long long;
using i32 = std::int32_t;
using i64 = long long;

template <int W>
struct Pack {
  static constexpr u32 kBytes = W * 4;
  u32 w[W];
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_WORDS_H_
