// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_P2P_FABRIC_H_
#define TUTTI_TRANSPORT_P2P_FABRIC_H_

// All links of a rank between GPUs: its own segment, and those of all peers, mapped once. Segments lie in device memory,
// where the GPUs reach each other's (NVLink or PCIe peer access), or else in host memory that all of them reach; the
// kernels are the same. The ranks hand each other an Identity and a descriptor (see comm/gpu/segments.cc); nothing is allocated or
// registered later. Several ranks may share a GPU, and ranks may be threads of one process.

#include <cstdint>
#include <vector>

#include "sys/cuda/cuda_memory.h"
#include "transport/p2p/sections.h"
#include "tutti/status.h"

namespace tutti::transport::p2p {

// What a rank tells its peers about its segment.
struct Identity {
  sys::cuda::Uuid gpu;   // not the ordinal: processes may see different devices, or in another order
  std::int32_t way;      // sys::cuda::DeviceMemory::Way, or kHostPages
  std::int32_t process;  // with `start`, tells whether two ranks share an address space
  std::uint64_t start;
  std::uint64_t address;  // of the segment, in its own process
  std::uint64_t bytes;
  std::int32_t multiprocessors;
  std::int32_t reserved;
  sys::cuda::IpcHandle ipc;  // where way is kIpc
};

// Identity::way of segments in shared pages; those in host memory are passed on as kDescriptor.
inline constexpr std::int32_t kHostPages = 2;

// Where segments lie, best first: on the GPUs; in host memory of the driver's; in shared pages that each process
// registers with it. kUnsupported says that the next one should be tried.
enum class Memory { kDevice, kHost, kPages };

struct FabricOptions {
  const sys::cuda::Driver* driver = nullptr;
  sys::cuda::Device device = 0;
  int rank = 0;
  Sections sections;
  std::int32_t process = 0;
  std::uint64_t start = 0;
  bool force_ipc = false;
  Memory memory = Memory::kDevice;  // the same on all ranks
};

class Fabric {
 public:
  // Allocates the segment. kUnsupported where device memory can not be handed to other processes. The device's context must be the thread's current one, here and below.
  static Result<Fabric> Create(const FabricOptions& options);

  const Identity& identity() const { return identity_; }
  // For the peers; invalid where identity().way is kIpc.
  const sys::Fd& descriptor() const { return descriptor_; }

  // Maps a peer's segment. kUnsupported where the two GPUs are not peers, unless segments are in host memory.
  Status Connect(int peer, const Identity& theirs, const sys::Fd& descriptor);
  // The descriptor has done its work once all peers have connected.
  void CloseDescriptor() { descriptor_.Close(); }

  const Sections& sections() const { return options_.sections; }
  // A rank's segment as this rank reaches it.
  std::byte* segment(int rank) const { return segments_[rank]; }
  // Ranks of the communicator that run on the GPU of `rank`.
  int RanksOnGpuOf(int rank) const;
  bool staged() const { return options_.memory != Memory::kDevice; }
  // Memory that this rank's segment takes.
  std::size_t device_bytes() const { return own_.bytes(); }
  std::size_t host_bytes() const { return staged() ? static_cast<std::size_t>(identity_.bytes) : 0; }
  // What the rank writes for itself is in device memory also where its segment is not. By section, to be added to the offsets
  // in the layout.
  const std::vector<StateShift>& state_shifts() const { return state_shifts_; }
  // Of all launches on this rank's GPU.
  LaunchCounts* counts() const;
  // False where segments are in host memory, and where a GPU that this rank talks to is seen to be connected otherwise
  // than by NVLink: lines of LL128 might arrive in parts then. A GPU that this process does not see counts as connected
  // by NVLink.
  bool LinesArriveWhole() const;
  // Whether some ranks share both GPU and process, and so a context.
  bool SomeShareAContext() const;
  int multiprocessors(int rank) const { return identities_[rank].multiprocessors; }

 private:
  Status AllocateOnDevice();
  Status AllocateOnHost();
  Status AllocateHostMemory(std::size_t bytes);
  Status AllocateHostPages(std::size_t bytes);
  // Maps a rank's pages.
  Status ConnectByPages(int rank, std::size_t bytes, const sys::Fd& descriptor);
  // The other device with this UUID, where this process sees it; -1: it does not.
  sys::cuda::Device Find(const sys::cuda::Uuid& gpu) const;
  void EnablePeerAccess(const sys::cuda::Uuid& gpu) const;

  FabricOptions options_;
  Identity identity_{};
  sys::Fd descriptor_;
  sys::cuda::DeviceMemory own_;                     // the segment; staged: what the rank writes for itself
  std::vector<sys::cuda::DeviceMemory> mappings_;   // by rank; none where a plain pointer serves
  std::vector<sys::cuda::SharedHostMemory> pages_;  // by rank; none unless kHostPages
  std::vector<StateShift> state_shifts_;
  std::vector<std::byte*> segments_;
  std::vector<Identity> identities_;
};

}  // namespace tutti::transport::p2p

#endif  // TUTTI_TRANSPORT_P2P_FABRIC_H_
