// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/cuda/cuda_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "sys/os/fork.h"

namespace tutti::sys::cuda {
namespace {

// Fills with zeros, in a stream of its own: to wait for the context would be to wait for everybody's kernels, and one of
// them may wait for what this thread does next.
Status Clear(const Driver& driver, Address address, std::size_t bytes, const std::string& what) {
  Stream stream = nullptr;
  TUTTI_RETURN_IF_ERROR(Check(driver, driver.StreamCreate(&stream, kNonBlocking), "a CUDA stream"));
  Status status = Check(driver, driver.MemsetD8Async(address, 0, bytes, stream), "clearing " + what);
  if (status.ok()) status = Check(driver, driver.StreamSynchronize(stream), "clearing " + what);
  driver.StreamDestroy(stream);
  return status;
}

constexpr std::size_t kMappedBytes = MappedHostMemory::kMostBytes;

// Pages that were registered with the driver once and are not in use. They stay registered: taking that back would wait for
// all kernels that run in the context, also those of others.
class PageList {
 public:
  void* Take() {
    const std::lock_guard lock(mutex_);
    if (pages_.empty()) return std::aligned_alloc(kMappedBytes, kMappedBytes);
    void* pages = pages_.back();
    pages_.pop_back();
    return pages;
  }
  void Give(void* pages) {
    const std::lock_guard lock(mutex_);
    pages_.push_back(pages);
  }

 private:
  std::mutex mutex_;
  std::vector<void*> pages_;  // guarded by mutex_
};
PageList& FreePages() {
  static PageList& list = *new PageList;  // never destroyed: threads may outlive static objects
  return list;
}

// Shared pages that this process has registered. Whoever lets go of them takes no lock, so that it can not be held up by
// one who registers others.
struct Registration {
  SharedMapping pages;
  PrimaryContext context;  // in which they were registered: they would go with it
  const Driver* driver = nullptr;
  std::atomic<int> holders{0};
};
struct Registrations {
  std::mutex mutex;
  std::map<std::byte*, Registration> by_address;  // guarded by mutex
};
Registrations& TheRegistrations() {
  static Registrations& registrations = *[] {
    auto* made = new Registrations;  // never destroyed, as above
    FreeInForkedChildren(made->mutex);
    return made;
  }();
  return registrations;
}

}  // namespace

DeviceMemory::Way DeviceMemory::BestWay(const Driver* driver, Device device) {
  int supported = 0;
  const int result = driver->DeviceGetAttribute(&supported, kPosixDescriptorSupported, device);
  return result == 0 && supported != 0 ? Way::kDescriptor : Way::kIpc;
}

// Reserves addresses, maps the allocation there, and lets `device` read and write it. Takes over the allocation.
Result<DeviceMemory> DeviceMemory::Map(const Driver* driver, Device device, Allocation allocation, std::size_t bytes) {
  DeviceMemory memory;
  memory.driver_ = driver;
  memory.kind_ = Kind::kMapped;
  memory.allocation_ = allocation;
  memory.bytes_ = bytes;
  Address address = 0;
  TUTTI_RETURN_IF_ERROR(Check(*driver, driver->MemAddressReserve(&address, bytes, 0, 0, 0),
                              fmt::format("reserving {} bytes of device addresses", bytes)));
  if (Status s = Check(*driver, driver->MemMap(address, bytes, 0, allocation, 0),
                       fmt::format("mapping {} bytes of device memory", bytes));
      !s.ok()) {
    driver->MemAddressFree(address, bytes);
    return s;
  }
  memory.address_ = address;
  AccessDescription access;
  access.location.id = device;
  TUTTI_RETURN_IF_ERROR(Check(
      *driver, driver->MemSetAccess(address, bytes, &access, 1),
      fmt::format("letting CUDA device {} use {} bytes of a GPU's memory (are the two GPUs peers?)", device, bytes)));
  return memory;
}

// Physical memory that can be passed on by descriptor, mapped for `device`.
Result<DeviceMemory> DeviceMemory::Allocate(const Driver* driver, Device device, const Location& location,
                                            std::size_t bytes, const std::string& what) {
  AllocationProperties properties;
  properties.handle_types = kPosixDescriptor;
  properties.location = location;
  std::size_t granularity = 0;
  TUTTI_RETURN_IF_ERROR(
      Check(*driver, driver->MemGetAllocationGranularity(&granularity, &properties, 1), "the granularity of memory"));
  bytes = (bytes + granularity - 1) / granularity * granularity;
  Allocation allocation = 0;
  TUTTI_RETURN_IF_ERROR(Check(*driver, driver->MemCreate(&allocation, bytes, &properties, 0), what));
  return Map(driver, device, allocation, bytes);
}

Result<DeviceMemory> DeviceMemory::CreateOnHost(const Driver* driver, Device device, std::size_t bytes) {
  const std::string what = fmt::format("{} bytes of host memory for CUDA device {}", bytes, device);
  int supported = 0, node = 0;
  const bool known = driver->DeviceGetAttribute(&supported, kHostNodesCanBeMapped, device) == 0 &&
                     driver->DeviceGetAttribute(&node, kNearestHostNode, device) == 0;
  if (!known || supported == 0) return Status(Code::kUnsupported, "the driver can not map " + what);
  Result<DeviceMemory> memory = Allocate(driver, device, {.type = kOnHostNode, .id = std::max(node, 0)}, bytes, what);
  if (!memory.ok()) return memory.status();
  TUTTI_RETURN_IF_ERROR(Clear(*driver, memory->address_, memory->bytes_, what));
  return memory;
}

Result<DeviceMemory> DeviceMemory::Create(const Driver* driver, Device device, std::size_t bytes, Way way) {
  const std::string what = fmt::format("{} bytes of memory on CUDA device {}", bytes, device);
  DeviceMemory memory;
  if (way == Way::kIpc) {
    memory.driver_ = driver;
    memory.bytes_ = bytes;
    TUTTI_RETURN_IF_ERROR(Check(*driver, driver->MemAlloc(&memory.address_, bytes), what));
    memory.kind_ = Kind::kAllocated;
  } else {
    Result<DeviceMemory> made = Allocate(driver, device, {.id = device}, bytes, what);
    if (!made.ok()) return made.status();
    memory = std::move(*made);
  }
  TUTTI_RETURN_IF_ERROR(Clear(*driver, memory.address_, memory.bytes_, what));
  return memory;
}

Result<DeviceMemory> DeviceMemory::Import(const Driver* driver, Device device, const Fd& fd, std::size_t bytes) {
  Allocation allocation = 0;
  auto* handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd.get()));
  TUTTI_RETURN_IF_ERROR(Check(*driver, driver->MemImportFromShareableHandle(&allocation, handle, kPosixDescriptor),
                              "importing a peer's device memory by its descriptor"));
  return Map(driver, device, allocation, bytes);
}

Result<DeviceMemory> DeviceMemory::Import(const Driver* driver, const IpcHandle& handle, std::size_t bytes) {
  DeviceMemory memory;
  constexpr unsigned kEnablePeerAccess = 1;
  TUTTI_RETURN_IF_ERROR(Check(*driver, driver->IpcOpenMemHandle(&memory.address_, handle, kEnablePeerAccess),
                              "opening a peer's device memory by its IPC handle"));
  memory.driver_ = driver;
  memory.kind_ = Kind::kIpcOpened;
  memory.bytes_ = bytes;
  return memory;
}

Result<Fd> DeviceMemory::ExportDescriptor() const {
  int fd = -1;
  TUTTI_RETURN_IF_ERROR(Check(*driver_, driver_->MemExportToShareableHandle(&fd, allocation_, kPosixDescriptor, 0),
                              "a descriptor for device memory"));
  return Fd(fd);
}

Result<IpcHandle> DeviceMemory::ExportIpc() const {
  IpcHandle handle{};
  TUTTI_RETURN_IF_ERROR(
      Check(*driver_, driver_->IpcGetMemHandle(&handle, address_), "an IPC handle for device memory"));
  return handle;
}

void DeviceMemory::LetPeersReach(Device device) const {
  if (kind_ != Kind::kMapped) return;
  int devices = 0;
  if (driver_->DeviceGetCount(&devices) != 0) return;
  for (Device other = 0; other < devices; ++other) {
    int peers = 0;
    if (other == device || driver_->DeviceCanAccessPeer(&peers, other, device) != 0 || peers == 0) continue;
    const AccessDescription access{.location = {.id = other}};
    driver_->MemSetAccess(address_, bytes_, &access, 1);
  }
}

void DeviceMemory::Swap(DeviceMemory& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(kind_, other.kind_);
  std::swap(allocation_, other.allocation_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
}

DeviceMemory::~DeviceMemory() {
  switch (kind_) {
    case Kind::kNone:
      break;
    case Kind::kMapped:
      if (address_ != 0) {
        driver_->MemUnmap(address_, bytes_);
        driver_->MemAddressFree(address_, bytes_);
      }
      driver_->MemRelease(allocation_);
      break;
    case Kind::kAllocated:
      driver_->MemFree(address_);
      break;
    case Kind::kIpcOpened:
      driver_->IpcCloseMemHandle(address_);
      break;
  }
}

Result<MappedHostMemory> MappedHostMemory::Create(const Driver* driver, std::size_t bytes) {
  const std::string what = fmt::format("{} bytes of host memory for GPUs", bytes);
  if (bytes > kMappedBytes) return Status(Code::kInvalidArgument, what + ": more than one piece of it has");
  void* pages = FreePages().Take();
  if (pages == nullptr) return Status(Code::kSystem, "no memory for " + what);
  std::memset(pages, 0, kMappedBytes);
  MappedHostMemory memory;
  memory.driver_ = driver;
  memory.host_ = pages;
  // Pages of an earlier one are registered still, unless their context has gone.
  if (const int result = driver->MemHostRegister(pages, kMappedBytes, kHostMapped); result != kAlreadyRegistered) {
    TUTTI_RETURN_IF_ERROR(Check(*driver, result, what));
  }
  TUTTI_RETURN_IF_ERROR(Check(*driver, driver->MemHostGetDevicePointer(&memory.device_, memory.host_, 0), what));
  return memory;
}

MappedHostMemory::MappedHostMemory(MappedHostMemory&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)), host_(other.host_), device_(other.device_) {}

MappedHostMemory& MappedHostMemory::operator=(MappedHostMemory&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(host_, other.host_);
  std::swap(device_, other.device_);
  return *this;
}

MappedHostMemory::~MappedHostMemory() {
  if (driver_ != nullptr) FreePages().Give(host_);
}

Result<SharedHostMemory> SharedHostMemory::Register(const Driver* driver, Device device, const Fd& fd,
                                                    std::size_t bytes) {
  Result<SharedMapping> pages = MapOnce(fd, bytes, Access::kReadWrite);
  if (!pages.ok()) return pages.status();
  const std::string what = fmt::format("registering {} bytes of shared host memory for GPUs", bytes);
  SharedHostMemory memory;
  memory.host_ = pages->data();
  memory.bytes_ = bytes;
  Registrations& all = TheRegistrations();
  const std::lock_guard lock(all.mutex);
  const auto [at, fresh] = all.by_address.try_emplace(memory.host_);
  Registration& registration = at->second;
  if (fresh) {
    Result<PrimaryContext> context = PrimaryContext::Retain(driver, device);
    Status s = context.status();
    if (s.ok()) s = Check(*driver, driver->MemHostRegister(memory.host_, bytes, kHostMapped), what);
    if (!s.ok()) {
      all.by_address.erase(at);
      return s;
    }
    registration.pages = std::move(*pages);
    registration.context = std::move(*context);
    registration.driver = driver;
  }
  registration.holders.fetch_add(1, std::memory_order_relaxed);
  memory.holders_ = &registration.holders;
  TUTTI_RETURN_IF_ERROR(Check(*driver, driver->MemHostGetDevicePointer(&memory.device_, memory.host_, 0), what));
  return memory;
}

void SharedHostMemory::ReleaseUnused() {
  std::vector<std::map<std::byte*, Registration>::node_type> unused;  // given back without the lock
  Registrations& all = TheRegistrations();
  {
    const std::lock_guard lock(all.mutex);
    const auto is_held = [](const auto& item) { return item.second.holders.load(std::memory_order_acquire) != 0; };
    if (std::ranges::any_of(all.by_address, is_held)) return;
    while (!all.by_address.empty()) unused.push_back(all.by_address.extract(all.by_address.begin()));
  }
  for (const auto& node : unused) {
    const Registration& registration = node.mapped();
    const ScopedContext scope(registration.driver, registration.context.get());
    registration.driver->MemHostUnregister(node.key());
  }
}

void SharedHostMemory::Swap(SharedHostMemory& other) noexcept {
  std::swap(holders_, other.holders_);
  std::swap(host_, other.host_);
  std::swap(device_, other.device_);
  std::swap(bytes_, other.bytes_);
}

SharedHostMemory::~SharedHostMemory() {
  if (holders_ != nullptr) holders_->fetch_sub(1, std::memory_order_release);
}

}  // namespace tutti::sys::cuda
