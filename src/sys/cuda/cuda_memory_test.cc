// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Shared host memory for GPUs, with a driver that only counts: who registers pages, and when that is taken back.
#include "sys/cuda/cuda_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace tutti::sys::cuda {
namespace {

constexpr std::size_t kBytes = 3 * 4096;

struct Count {
  int made = 0, contexts = 0;
  bool full = false;
  std::map<void*, std::size_t> registered;
};
Count g_count;

Driver CountingDriver() {
  Driver d{};
  d.GetErrorName = [](int, const char** name) { return *name = "CUDA_ERROR_OUT_OF_MEMORY", 0; };
  d.GetErrorString = [](int, const char** text) { return *text = "out of memory", 0; };
  d.DevicePrimaryCtxRetain = [](Context* context, Device) { return *context = nullptr, ++g_count.contexts, 0; };
  d.DevicePrimaryCtxRelease = [](Device) { return --g_count.contexts, 0; };
  d.CtxPushCurrent = [](Context) { return 0; };
  d.CtxPopCurrent = [](Context*) { return 0; };
  d.ThreadExchangeStreamCaptureMode = [](int*) { return 0; };
  d.MemHostRegister = [](void* pages, std::size_t bytes, unsigned flags) {
    EXPECT_EQ(flags, kHostMapped);
    if (g_count.full) return 2;
    ++g_count.made;
    return g_count.registered.emplace(pages, bytes).second ? 0 : kAlreadyRegistered;
  };
  d.MemHostUnregister = [](void* pages) { return g_count.registered.erase(pages) == 1 ? 0 : 713; };
  d.MemHostGetDevicePointer = [](Address* address, void* pages, unsigned) {
    *address = reinterpret_cast<Address>(pages) + 1;
    return 0;
  };
  return d;
}

class SharedHostMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    SharedHostMemory::ReleaseUnused();
    g_count = {};
    Result<Fd> fd = CreateSharedMemory("tutti-test", kBytes);
    ASSERT_TRUE(fd.ok()) << fd.status().ToString();
    fd_ = std::move(*fd);
  }
  void TearDown() override { SharedHostMemory::ReleaseUnused(); }

  const Driver driver_ = CountingDriver();
  Fd fd_;
};

TEST_F(SharedHostMemoryTest, ThreadsOfAProcessShareARegistration) {
  Result<SharedHostMemory> one = SharedHostMemory::Register(&driver_, 0, fd_, kBytes);
  Result<SharedHostMemory> two = SharedHostMemory::Register(&driver_, 1, fd_, kBytes);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(g_count.made, 1);
  EXPECT_EQ(one->host(), two->host());
  EXPECT_EQ(one->device(), one->host() + 1);
  EXPECT_EQ(g_count.registered.at(one->host()), kBytes);
  EXPECT_EQ(one->bytes(), kBytes);
  one->host()[kBytes - 1] = std::byte{7};
  *one = {};
  SharedHostMemory::ReleaseUnused();
  EXPECT_EQ(g_count.registered.size(), 1u);
  EXPECT_EQ(std::to_integer<int>(two->host()[kBytes - 1]), 7);
}

TEST_F(SharedHostMemoryTest, StaysRegisteredUntilItIsAskedFor) {
  {
    Result<SharedHostMemory> memory = SharedHostMemory::Register(&driver_, 0, fd_, kBytes);
    ASSERT_TRUE(memory.ok());
    const SharedHostMemory moved(std::move(*memory));
    SharedHostMemory::ReleaseUnused();
    EXPECT_EQ(g_count.registered.size(), 1u);
  }
  EXPECT_EQ(g_count.registered.size(), 1u);
  EXPECT_EQ(g_count.contexts, 1);
  SharedHostMemory::ReleaseUnused();
  EXPECT_TRUE(g_count.registered.empty());
  EXPECT_EQ(g_count.contexts, 0);
}

TEST_F(SharedHostMemoryTest, WhatTheDriverDoesNotTakeIsAnError) {
  g_count.full = true;
  const Result<SharedHostMemory> none = SharedHostMemory::Register(&driver_, 0, fd_, kBytes);
  EXPECT_EQ(none.status().code(), Code::kSystem);
  EXPECT_EQ(none.status().message(),
            "registering 12288 bytes of shared host memory for GPUs: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)");
  EXPECT_EQ(g_count.contexts, 0);
  EXPECT_FALSE(SharedHostMemory::Register(&driver_, 0, fd_, 2 * kBytes).ok());  // more than the object has
  g_count.full = false;
  EXPECT_TRUE(SharedHostMemory::Register(&driver_, 0, fd_, kBytes).ok());
}

}  // namespace
}  // namespace tutti::sys::cuda
