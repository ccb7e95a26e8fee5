// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/p2p/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::transport::p2p {
namespace {

using sys::cuda::Address;
using sys::cuda::Allocation;
using sys::cuda::DeviceMemory;
using sys::cuda::Driver;

Address AddressOf(const void* pointer) { return reinterpret_cast<Address>(pointer); }

Status NotShared(std::string why) { return Status(Code::kUnsupported, std::move(why)); }

// Memory that cuMemCreate made gives its allocation; other memory none. Two places are of one allocation where they give
// the same.
class Retained {
 public:
  Retained(const Driver& driver, Address place) : driver_(driver) {
    const int result = driver.MemRetainAllocationHandle(&allocation_, reinterpret_cast<void*>(place));
    if (result != 0) allocation_ = 0;
  }
  Retained(const Retained&) = delete;
  Retained& operator=(const Retained&) = delete;
  ~Retained() {
    if (allocation_ != 0) driver_.MemRelease(allocation_);
  }
  Allocation get() const { return allocation_; }

 private:
  const Driver& driver_;
  Allocation allocation_ = 0;
};

Status CheckPlace(const WindowOptions& options, const void* buffer) {
  const Driver& d = *options.driver;
  unsigned type = 0;
  int device = -1;
  if (d.PointerGetAttribute(&type, sys::cuda::kMemoryType, AddressOf(buffer)) != 0 || type == 0 ||
      type == sys::cuda::kHostMemory) {
    return NotShared("the buffer is not device memory");
  }
  if (d.PointerGetAttribute(&device, sys::cuda::kDeviceOrdinal, AddressOf(buffer)) != 0 || device != options.device) {
    return NotShared(
        fmt::format("the buffer lies on CUDA device {}, and the communicator works on {}", device, options.device));
  }
  return Status::Ok();
}

}  // namespace

Result<Window> Window::Create(const WindowOptions& options, const void* buffer, std::size_t bytes) {
  TUTTI_RETURN_IF_ERROR(CheckPlace(options, buffer));
  const Driver& d = *options.driver;
  Address base = 0;
  std::size_t allocation_bytes = 0;
  const Address begin = AddressOf(buffer);
  if (d.MemGetAddressRange(&base, &allocation_bytes, begin) != 0 || begin + bytes > base + allocation_bytes) {
    return NotShared("the buffer is not part of one allocation");
  }
  Window window;
  window.options_ = options;
  window.bytes_ = bytes;
  window.symmetric_ = options.symmetric;
  window.base_.resize(options.ranks);
  window.mappings_.resize(options.ranks);
  window.base_[options.rank] = reinterpret_cast<std::byte*>(begin);
  WindowOffer& offer = window.offer_;
  offer.process = options.process;
  offer.start = options.start;
  offer.symmetric = options.symmetric ? 1 : 0;
  offer.address = begin;
  offer.bytes = bytes;
  offer.offset = begin - base;
  offer.allocation_bytes = allocation_bytes;
  TUTTI_RETURN_IF_ERROR(sys::cuda::Check(d, d.DeviceGetUuid(&offer.gpu, options.device), "the UUID of a GPU"));
  TUTTI_RETURN_IF_ERROR(window.Export(base));
  return window;
}

Status Window::Export(Address base) {
  const Driver& d = *options_.driver;
  const Retained first(d, base), last(d, base + offer_.allocation_bytes - 1);
  if (first.get() != 0) {
    if (first.get() != last.get()) return NotShared("the buffer is not part of one allocation");
    int fd = -1;
    if (d.MemExportToShareableHandle(&fd, first.get(), sys::cuda::kPosixDescriptor, 0) != 0) {
      return NotShared("the buffer's memory was not made for descriptors (ncclMemAlloc's is)");
    }
    descriptor_ = sys::Fd(fd);
    offer_.way = static_cast<std::int32_t>(DeviceMemory::Way::kDescriptor);
    return Status::Ok();
  }
  unsigned capable = 0;
  if (d.PointerGetAttribute(&capable, sys::cuda::kIpcCapable, base) != 0 || capable == 0 ||
      d.IpcGetMemHandle(&offer_.ipc, base) != 0) {
    return NotShared("the buffer's memory has no IPC handle, as that of pools (cudaMallocAsync); use ncclMemAlloc");
  }
  offer_.way = static_cast<std::int32_t>(DeviceMemory::Way::kIpc);
  return Status::Ok();
}

Status Window::Connect(int peer, const WindowOffer& theirs, const sys::Fd& descriptor) {
  bytes_ = std::min<std::size_t>(bytes_, theirs.bytes);
  symmetric_ = symmetric_ && theirs.symmetric != 0;
  NotePlain(theirs);
  if (peer == options_.rank) return Status::Ok();
  const bool same_process = theirs.process == offer_.process && theirs.start == offer_.start;
  const bool ipc = theirs.way == static_cast<std::int32_t>(DeviceMemory::Way::kIpc);
  if (same_process && ipc) {  // contexts of one process reach each other's: Fabric has seen to it
    base_[peer] = reinterpret_cast<std::byte*>(theirs.address);
    return Status::Ok();
  }
  Result<DeviceMemory> mapping =
      ipc ? DeviceMemory::Import(options_.driver, theirs.ipc, theirs.allocation_bytes)
          : DeviceMemory::Import(options_.driver, options_.device, descriptor, theirs.allocation_bytes);
  if (!mapping.ok()) {
    return NotShared(
        fmt::format("rank {} can not map the buffer of rank {}: {}", options_.rank, peer, mapping.status().message()));
  }
  mappings_[peer] = std::move(*mapping);
  base_[peer] = mappings_[peer].data() + theirs.offset;
  return Status::Ok();
}

void Window::NotePlain(const WindowOffer& offer) {
  if (offer.way != static_cast<std::int32_t>(DeviceMemory::Way::kIpc)) return;
  const std::pair process(offer.process, offer.start);
  ordered_by_driver_ |= std::ranges::find(plain_, process) != plain_.end();
  plain_.push_back(process);
}

bool Window::Holds(const void* begin, std::size_t bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(begin), base = reinterpret_cast<std::uintptr_t>(own());
  return at >= base && at - base <= bytes_ && bytes <= bytes_ - (at - base);
}

}  // namespace tutti::transport::p2p
