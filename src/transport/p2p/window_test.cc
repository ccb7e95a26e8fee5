// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which memory can become a window, and where its parts lie. A stand-in for the driver knows some kinds of memory.
#include "transport/p2p/window.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

namespace tutti::transport::p2p {
namespace {

using sys::cuda::Address;
using sys::cuda::Allocation;

// What the stand-in knows of a range of addresses.
struct Memory {
  std::size_t bytes = 0;
  int device = 0;
  unsigned type = 2;               // 1: of the host, 2: of a device
  Allocation allocation = 0;       // that cuMemCreate made
  Allocation last_allocation = 0;  // where the end lies in another one
  bool exportable = true;
  bool ipc = false;
};

constexpr Address kDescribed = 0x10000000, kPlain = 0x20000000, kHost = 0x30000000, kPool = 0x40000000,
                  kOtherGpu = 0x50000000, kTwoPieces = 0x60000000, kPrivate = 0x70000000, kMapped = 0x80000000;

const std::map<Address, Memory>& TheMemory() {
  static const std::map<Address, Memory> memory = {
      {kDescribed, {.bytes = 1 << 21, .allocation = 7}},
      {kPlain, {.bytes = 1 << 21, .ipc = true}},
      {kHost, {.bytes = 1 << 21, .type = 1}},
      {kPool, {.bytes = 1 << 21}},
      {kOtherGpu, {.bytes = 1 << 21, .device = 3, .ipc = true}},
      {kTwoPieces, {.bytes = 1 << 21, .allocation = 8, .last_allocation = 9}},
      {kPrivate, {.bytes = 1 << 21, .allocation = 10, .exportable = false}},
  };
  return memory;
}

const std::pair<const Address, Memory>* Find(Address place) {
  auto at = TheMemory().upper_bound(place);
  if (at == TheMemory().begin()) return nullptr;
  --at;
  return place < at->first + at->second.bytes ? &*at : nullptr;
}

int g_mappings = 0, g_retained = 0;

// What a pointer is.
void AnswerAboutPointers(sys::cuda::Driver& d) {
  d.GetErrorName = [](int, const char**) { return 1; };
  d.GetErrorString = [](int, const char**) { return 1; };
  d.DeviceGetUuid = [](sys::cuda::Uuid* uuid, int) {
    *uuid = {};
    return 0;
  };
  d.PointerGetAttribute = [](void* value, int attribute, Address place) {
    const auto* found = Find(place);
    if (found == nullptr) return 1;
    if (attribute == sys::cuda::kMemoryType) *static_cast<unsigned*>(value) = found->second.type;
    if (attribute == sys::cuda::kDeviceOrdinal) *static_cast<int*>(value) = found->second.device;
    if (attribute == sys::cuda::kIpcCapable) *static_cast<unsigned*>(value) = found->second.ipc ? 1 : 0;
    return 0;
  };
  d.MemGetAddressRange = [](Address* base, std::size_t* bytes, Address place) {
    const auto* found = Find(place);
    if (found == nullptr) return 1;
    *base = found->first;
    *bytes = found->second.bytes;
    return 0;
  };
}

// Handing memory on, and mapping what others hand on.
void HandOnMemory(sys::cuda::Driver& d) {
  d.MemRetainAllocationHandle = [](Allocation* allocation, void* place) {
    const auto address = reinterpret_cast<Address>(place);
    const auto* found = Find(address);
    if (found == nullptr || found->second.allocation == 0) return 1;
    const bool last = address + 1 == found->first + found->second.bytes && found->second.last_allocation != 0;
    *allocation = last ? found->second.last_allocation : found->second.allocation;
    ++g_retained;
    return 0;
  };
  d.MemRelease = [](Allocation) {
    --g_retained;
    return 0;
  };
  d.MemExportToShareableHandle = [](void* fd, Allocation allocation, int, unsigned long long) {
    for (const auto& [base, memory] : TheMemory()) {
      if (memory.allocation == allocation && !memory.exportable) return 1;
    }
    *static_cast<int*>(fd) = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return 0;
  };
  d.IpcGetMemHandle = [](sys::cuda::IpcHandle* handle, Address) {
    *handle = {};
    return 0;
  };
  d.IpcOpenMemHandle = [](Address* address, sys::cuda::IpcHandle, unsigned) {
    *address = kMapped;
    ++g_mappings;
    return 0;
  };
  d.IpcCloseMemHandle = [](Address) {
    --g_mappings;
    return 0;
  };
  d.MemImportFromShareableHandle = [](Allocation*, void*, int) { return 1; };  // as for GPUs that are no peers
}

const sys::cuda::Driver& FakeDriver() {
  static const sys::cuda::Driver& driver = *[] {
    auto* d = new sys::cuda::Driver{};
    AnswerAboutPointers(*d);
    HandOnMemory(*d);
    return d;
  }();
  return driver;
}

Result<Window> Make(Address buffer, std::size_t bytes, int rank = 0) {
  return Window::Create(
      {.driver = &FakeDriver(), .device = 0, .rank = rank, .ranks = 2, .process = 1 + rank, .start = 5},
      reinterpret_cast<void*>(buffer), bytes);
}

void ExpectRefused(const Result<Window>& window, const char* words) {
  ASSERT_FALSE(window.ok());
  EXPECT_EQ(window.status().code(), Code::kUnsupported);
  EXPECT_NE(window.status().message().find(words), std::string::npos) << window.status().message();
}

TEST(Window, MemoryThatCanBeHandedOn) {
  const Result<Window> described = Make(kDescribed + 4096, 1000);
  ASSERT_TRUE(described.ok()) << described.status().message();
  EXPECT_TRUE(described->descriptor().valid());
  EXPECT_EQ(described->offer().offset, 4096u);
  EXPECT_EQ(described->offer().allocation_bytes, std::size_t{1} << 21);
  const Result<Window> plain = Make(kPlain, 1 << 21);
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_FALSE(plain->descriptor().valid());
  EXPECT_EQ(g_retained, 0);
}

TEST(Window, MemoryThatCanNot) {
  ExpectRefused(Make(kHost, 1000), "not device memory");
  ExpectRefused(Make(0x1000, 1000), "not device memory");
  ExpectRefused(Make(kOtherGpu, 1000), "lies on CUDA device 3");
  ExpectRefused(Make(kPool, 1000), "no IPC handle");
  ExpectRefused(Make(kDescribed + 4096, 1 << 21), "one allocation");  // reaches beyond its end
  ExpectRefused(Make(kTwoPieces, 1000), "one allocation");
  ExpectRefused(Make(kPrivate, 1000), "not made for descriptors");
  EXPECT_EQ(g_retained, 0);
}

TEST(Window, PartsLieWhereTheyAreMapped) {
  {
    Result<Window> mine = Make(kPlain + 512, 1000, 0);
    const Result<Window> theirs = Make(kPlain + 256, 900, 1);
    ASSERT_TRUE(mine.ok() && theirs.ok());
    ASSERT_TRUE(mine->Connect(0, mine->offer(), sys::Fd()).ok());
    ASSERT_TRUE(mine->Connect(1, theirs->offer(), sys::Fd()).ok());
    EXPECT_EQ(g_mappings, 1);
    EXPECT_EQ(mine->bytes(), 900u);  // the smaller one's
    EXPECT_FALSE(mine->symmetric());
    EXPECT_FALSE(mine->ordered_by_driver());
    EXPECT_EQ(reinterpret_cast<Address>(mine->At(0, 10)), kPlain + 512 + 10);
    EXPECT_EQ(reinterpret_cast<Address>(mine->At(1, 10)), kMapped + 256 + 10);
    const auto holds = [&](std::size_t offset, std::size_t bytes) {
      return mine->Holds(reinterpret_cast<void*>(kPlain + 512 + offset), bytes);
    };
    EXPECT_TRUE(holds(0, 900) && holds(100, 800) && holds(900, 0));
    EXPECT_FALSE(holds(0, 901) || holds(100, 801) || holds(901, 0) || holds(-std::size_t{1}, 1) || holds(1, SIZE_MAX));
  }
  EXPECT_EQ(g_mappings, 0);
}

TEST(Window, RanksOfOneProcessUsePlainPointers) {
  const auto make = [](Address buffer) {
    return Window::Create({.driver = &FakeDriver(), .device = 0, .rank = 0, .ranks = 2, .process = 1, .start = 5},
                          reinterpret_cast<void*>(buffer), 1000);
  };
  Result<Window> mine = make(kPlain);
  const Result<Window> theirs = make(kPlain + 4096);
  ASSERT_TRUE(mine.ok() && theirs.ok());
  ASSERT_TRUE(mine->Connect(0, mine->offer(), sys::Fd()).ok());
  EXPECT_FALSE(mine->ordered_by_driver());
  ASSERT_TRUE(mine->Connect(1, theirs->offer(), sys::Fd()).ok());
  EXPECT_TRUE(mine->ordered_by_driver());
  EXPECT_EQ(g_mappings, 0);
  EXPECT_EQ(reinterpret_cast<Address>(mine->At(1, 5)), kPlain + 4096 + 5);
}

TEST(Window, OnesInAnotherProcessAreSeenToBeOrderedByTheDriver) {
  const auto make = [](int rank, Address buffer, std::int32_t process) {
    return Window::Create(
        {.driver = &FakeDriver(), .device = 0, .rank = rank, .ranks = 3, .process = process, .start = 5},
        reinterpret_cast<void*>(buffer), 1000);
  };
  Result<Window> mine = make(0, kPlain, 1);
  const Result<Window> second = make(1, kPlain, 2), third = make(2, kPlain + 4096, 2);
  ASSERT_TRUE(mine.ok() && second.ok() && third.ok());
  ASSERT_TRUE(mine->Connect(2, third->offer(), sys::Fd()).ok());
  ASSERT_TRUE(mine->Connect(0, mine->offer(), sys::Fd()).ok());
  EXPECT_FALSE(mine->ordered_by_driver());
  ASSERT_TRUE(mine->Connect(1, second->offer(), sys::Fd()).ok());
  EXPECT_TRUE(mine->ordered_by_driver());
}

TEST(Window, APeerThatCanNotBeMappedIsNamed) {
  Result<Window> mine = Make(kDescribed, 1000);
  const Result<Window> theirs = Make(kDescribed, 1000, 1);
  ASSERT_TRUE(mine.ok() && theirs.ok());
  const Status s = mine->Connect(1, theirs->offer(), theirs->descriptor());
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_NE(s.message().find("rank 0 can not map the buffer of rank 1"), std::string::npos) << s.message();
}

}  // namespace
}  // namespace tutti::transport::p2p
