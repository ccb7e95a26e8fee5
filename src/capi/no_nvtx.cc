// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What stands for nvtx.cc in a build without NVTX's headers.
#include "capi/nvtx.h"

namespace tutti::capi::nvtx {

constinit std::atomic<std::uint8_t> g_state{kOff};

bool Ask() { return false; }
bool Built() { return false; }
void Range::Push(const void* /*payload*/, std::size_t /*bytes*/) {}
void Range::Keep(const void* /*payload*/, std::size_t /*bytes*/) {}
void Range::Pop() {}
void Waiting::Push(const char* /*what*/) {}
void Waiting::Pop() {}

}  // namespace tutti::capi::nvtx
