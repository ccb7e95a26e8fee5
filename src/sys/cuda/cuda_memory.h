// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_CUDA_CUDA_MEMORY_H_
#define TUTTI_SYS_CUDA_CUDA_MEMORY_H_

#include <atomic>
#include <cstddef>

#include "sys/cuda/cuda.h"
#include "sys/os/fd.h"
#include "sys/os/memory.h"
#include "tutti/status.h"

namespace tutti::sys::cuda {

// Device memory that other processes can map, or a mapping of theirs; or none. Unmaps and frees when destroyed; the
// memory itself lives until the last process has done so.
//
// Two ways lead to another process: a POSIX descriptor (the driver's virtual memory functions), and where a device or
// a container does not allow that, a legacy IPC handle of 64 bytes.
class DeviceMemory {
 public:
  enum class Way { kDescriptor, kIpc };

  // `bytes` of zeros on a device; rounded up to what the device can map. The context must be the thread's current one.
  static Result<DeviceMemory> Create(const Driver* driver, Device device, std::size_t bytes, Way way);
  // `bytes` of zeros in host memory near the device, to be passed on by descriptor. kUnsupported where the driver has no
  // such memory (before 12.2, or not here).
  static Result<DeviceMemory> CreateOnHost(const Driver* driver, Device device, std::size_t bytes);
  // By descriptor, where the device can pass memory on so.
  static Way BestWay(const Driver* driver, Device device);

  // Maps another process's memory (of `bytes`, as its bytes() says) for access from `device`.
  static Result<DeviceMemory> Import(const Driver* driver, Device device, const Fd& fd, std::size_t bytes);
  static Result<DeviceMemory> Import(const Driver* driver, const IpcHandle& handle, std::size_t bytes);

  // Lets the other devices of this process that are peers of `device`, where the memory lies, reach it too.
  void LetPeersReach(Device device) const;

  // What to give to others. REQUIRES: made by Create, with this way.
  Result<Fd> ExportDescriptor() const;
  Result<IpcHandle> ExportIpc() const;

  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { Swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~DeviceMemory();

  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }
  std::size_t bytes() const { return bytes_; }

 private:
  enum class Kind { kNone, kMapped, kAllocated, kIpcOpened };

  static Result<DeviceMemory> Map(const Driver* driver, Device device, Allocation allocation, std::size_t bytes);
  static Result<DeviceMemory> Allocate(const Driver* driver, Device device, const Location& location, std::size_t bytes,
                                       const std::string& what);
  void Swap(DeviceMemory& other) noexcept;

  const Driver* driver_ = nullptr;
  Kind kind_ = Kind::kNone;
  Allocation allocation_ = 0;
  Address address_ = 0;
  std::size_t bytes_ = 0;
};

// Pages of host memory, kMostBytes, that the GPUs of this process can read and write while kernels run; or none. They are the
// process's own: threads may look at them until the very end of the process, when the driver is gone.
class MappedHostMemory {
 public:
  static constexpr std::size_t kMostBytes = 8192;
  static Result<MappedHostMemory> Create(const Driver* driver, std::size_t bytes);

  MappedHostMemory() = default;
  MappedHostMemory(MappedHostMemory&& other) noexcept;
  MappedHostMemory& operator=(MappedHostMemory&& other) noexcept;
  ~MappedHostMemory();

  void* host() const { return host_; }
  void* device() const { return reinterpret_cast<void*>(device_); }

 private:
  const Driver* driver_ = nullptr;
  void* host_ = nullptr;
  Address device_ = 0;
};

// Pages of host memory that several processes share (sys/os/memory.h) and that the GPUs of each can read and write while
// kernels run; or none. Threads of a process that hold the same pages share one mapping and one registration with the
// driver. Pages that nobody of the process holds any more stay registered until ReleaseUnused: taking that back waits for
// all kernels of a context, also those of others, and one of them may wait for what this thread does next.
class SharedHostMemory {
 public:
  // Maps `bytes` of a shared memory object and registers them. `device`: whose context is the thread's current one. The
  // driver must live as long as the process. Any thread. kSystem where the driver does not take the pages.
  static Result<SharedHostMemory> Register(const Driver* driver, Device device, const Fd& fd, std::size_t bytes);
  // Takes back all registrations, if nobody holds any.
  static void ReleaseUnused();

  SharedHostMemory() = default;
  SharedHostMemory(SharedHostMemory&& other) noexcept { Swap(other); }
  SharedHostMemory& operator=(SharedHostMemory&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~SharedHostMemory();

  std::byte* host() const { return host_; }
  std::byte* device() const { return reinterpret_cast<std::byte*>(device_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void Swap(SharedHostMemory& other) noexcept;

  std::atomic<int>* holders_ = nullptr;  // of the registration; null: none
  std::byte* host_ = nullptr;
  Address device_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tutti::sys::cuda

#endif  // TUTTI_SYS_CUDA_CUDA_MEMORY_H_
