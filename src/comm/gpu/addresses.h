// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_ADDRESSES_H_
#define TUTTI_COMM_GPU_ADDRESSES_H_

// On which side an operation's buffers lie.

#include <array>
#include <cstdint>
#include <string>

#include "sys/cuda/cuda.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

// Which addresses GPUs are to work on. Threads: one at a time.
class DeviceAddresses {
 public:
  explicit DeviceAddresses(const sys::cuda::Driver& driver) : driver_(driver) {}

  // Whether an address lies in device memory, or in pinned pages of the host.
  bool Has(const void* address);
  // The same of an operation's buffers, as a rank tells by one that it uses.
  bool HasBuffersOf(const Operation& operation, int rank);

 private:
  const sys::cuda::Driver& driver_;
  // Pieces of the address space known to be device memory; the driver is asked for the others.
  std::array<std::uintptr_t, 64> known_{};
};

// A communicator that works on host memory only, in a process that has a GPU. Any thread.
class HostOnly {
 public:
  // `why` ends a sentence.
  HostOnly(const sys::cuda::Driver& driver, std::string why) : driver_(driver), why_(std::move(why)) {}

  // kUnsupported where an operation's buffers lie in memory of a GPU that the CPU can not read.
  Status Check(const Operation& operation, int rank) const;

 private:
  const sys::cuda::Driver& driver_;
  const std::string why_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_ADDRESSES_H_
