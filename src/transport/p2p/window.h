// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_P2P_WINDOW_H_
#define TUTTI_TRANSPORT_P2P_WINDOW_H_

// A user's buffer on every rank's GPU, as each rank reaches them: what a rank's copy engines may write to directly. The
// ranks hand each other an offer and a descriptor (comm/gpu/window.cc).

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sys/cuda/cuda_memory.h"
#include "tutti/status.h"

namespace tutti::transport::p2p {

// What a rank tells its peers about its buffer.
struct WindowOffer {
  std::int32_t way;      // sys::cuda::DeviceMemory::Way
  std::int32_t process;  // with `start`, tells whether two ranks share an address space
  std::uint64_t start;
  sys::cuda::Uuid gpu;
  std::uint64_t address;           // of the buffer, in its own process
  std::uint64_t bytes;             // of the buffer
  std::uint64_t offset;            // of the buffer in its allocation
  std::uint64_t allocation_bytes;  // what the peer has to map
  std::int32_t symmetric;          // 1: as WindowOptions says
  std::int32_t reserved;
  sys::cuda::IpcHandle ipc;  // where way is kIpc
};

struct WindowOptions {
  const sys::cuda::Driver* driver = nullptr;
  sys::cuda::Device device = 0;
  int rank = 0;
  int ranks = 1;
  std::int32_t process = 0;
  std::uint64_t start = 0;
  bool symmetric = false;  // the rank promises to use places in it that all ranks use alike
};

class Window {
 public:
  // Finds out how a buffer can be handed to other processes: memory that cuMemCreate made (ncclMemAlloc, for one) by
  // descriptor, plain cudaMalloc memory by IPC handle. kUnsupported for what neither way can hand on: memory of the host
  // or of another GPU, of a pool, of several allocations. The GPU's context must be the thread's current one, here and
  // below, and when the window is destroyed; what copies were still to do with the peers' buffers must have been done.
  static Result<Window> Create(const WindowOptions& options, const void* buffer, std::size_t bytes);

  const WindowOffer& offer() const { return offer_; }
  // For the peers; invalid where offer().way is kIpc.
  const sys::Fd& descriptor() const { return descriptor_; }
  // Maps a peer's buffer. kUnsupported where that can not be done.
  Status Connect(int peer, const WindowOffer& theirs, const sys::Fd& descriptor);
  // The descriptor has done its work once all peers have connected.
  void CloseDescriptor() { descriptor_.Close(); }

  // All ranks say that it is symmetric.
  bool symmetric() const { return symmetric_; }
  // Some ranks' buffers are plain cudaMalloc memory of one process. The driver may let a copy from one to the other wait
  // for both GPUs' default streams, which may be waiting for that copy. The same on all ranks once all have connected.
  bool ordered_by_driver() const { return ordered_by_driver_; }
  int ranks() const { return options_.ranks; }
  // Bytes that every rank's buffer has.
  std::size_t bytes() const { return bytes_; }
  std::byte* own() const { return base_[options_.rank]; }
  // Whether these bytes of this rank's lie in it.
  bool Holds(const void* begin, std::size_t bytes) const;
  // A place in a rank's buffer, `offset` <= bytes(), as this rank reaches it.
  std::byte* At(int rank, std::size_t offset) const { return base_[rank] + offset; }

 private:
  Status Export(sys::cuda::Address base);
  void NotePlain(const WindowOffer& offer);

  WindowOptions options_;
  WindowOffer offer_{};
  sys::Fd descriptor_;
  std::size_t bytes_ = 0;
  bool symmetric_ = false;
  bool ordered_by_driver_ = false;
  std::vector<std::pair<std::int32_t, std::uint64_t>> plain_;  // processes of ranks with plain memory
  std::vector<std::byte*> base_;                               // of every rank's buffer
  std::vector<sys::cuda::DeviceMemory> mappings_;              // by rank; none where a plain pointer serves
};

}  // namespace tutti::transport::p2p

#endif  // TUTTI_TRANSPORT_P2P_WINDOW_H_
