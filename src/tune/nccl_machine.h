// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_NCCL_MACHINE_H_
#define TUTTI_TUNE_NCCL_MACHINE_H_

// What the prediction of NCCL goes by: a few figures of a machine, NCCL's version and its settings. Where a topology is known they
// follow from it; a caller who knows a machine only by name writes them down. GraphOf derives what NCCL's search over such a machine
// ends with, as far as its formula (tune/nccl_choice.h) depends on it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/protocol.h"

namespace tutti::tune {

enum class NcclAlgorithm : std::uint8_t { kTree, kRing, kNvls, kNvlsTree };
inline constexpr int kNcclAlgorithms = 4;

// Names as NCCL_ALGO takes them: "Tree", "Ring", "NVLS", "NVLSTree".
std::string_view Name(NcclAlgorithm algorithm);
std::optional<NcclAlgorithm> ParseNcclAlgorithm(std::string_view name);

// By compute capability: 7.x, 8.x, 9.x, and 10.0 or above.
enum class GpuGeneration : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };
inline constexpr int kGpuGenerations = 4;

enum class FabricKind : std::uint8_t { kInfiniBand, kRoce, kEfa };
inline constexpr int kFabricKinds = 3;

enum class CpuKind : std::uint8_t { kIntel, kAmd, kArm };

// How operations are launched while they are timed.
enum class NcclLaunch : std::uint8_t {
  kStream,    // a process or thread per GPU, one call after the other
  kGraph,     // a replayed CUDA graph
  kOneThread  // one thread calls for all GPUs of the host
};

struct NcclMachine {
  GpuGeneration generation = GpuGeneration::kHopper;
  int hosts = 1;  // domains of NVLink or, without it, machines: a rack of 72 GPUs is one
  int gpus_per_host = 8;
  // Of one GPU, all its links, one direction, as NCCL counts them: 20 GB/s a link on A100, 20.6 on H100 and H200, 40.1 on B200.
  // 0: GPUs reach each other over PCIe.
  double nvlink_gb_per_s = 370.8;
  bool multicast = true;  // NVSwitches that reduce and multicast, and NCCL_NVLS_ENABLE not 0

  // The network, where there are several hosts. Cards as NCCL sees them: a plugin may join several to one.
  int nics_per_host = 8;
  double nic_gb_per_s = 50;
  double pci_gb_per_s = 48;  // of a GPU, and between it and its card, as NCCL counts it
  FabricKind fabric = FabricKind::kInfiniBand;
  double reported_latency_us = 0;  // what the plugin tells NCCL, which its formula adds to a step: EFA says 75 or 35
  bool gpu_direct = true;          // the cards read and write GPU memory themselves
  bool switches_reduce = false;    // SHARP
  CpuKind cpu = CpuKind::kIntel;   // of the hosts; NCCL's formula asks for it

  // NCCL and its settings.
  int version = 22800;                              // as ncclGetVersion says it: 22809 is 2.28.9
  std::optional<NcclAlgorithm> algorithm;           // NCCL_ALGO
  std::optional<proto::Protocol> protocol;          // NCCL_PROTO
  int min_ctas = 0;                                 // NCCL_MIN_CTAS; 0: not set
  int qps = 1;                                      // NCCL_IB_QPS_PER_CONNECTION
  std::size_t buffer_bytes = std::size_t{4} << 20;  // NCCL_BUFFSIZE
  std::size_t nvls_chunk_bytes = 128 << 10;         // NCCL_NVLS_CHUNKSIZE
  NcclLaunch launch = NcclLaunch::kStream;
  double call_us = 0;  // of CPU time per call in a stream, which no operation takes less than; 0: not known
  bool registers_in_graphs = true;  // NCCL_GRAPH_REGISTER: a graph's buffers need no staging

  int ranks() const { return hosts * gpus_per_host; }
  // Between two GPUs of a host.
  double inside_gb_per_s() const { return nvlink_gb_per_s > 0 ? nvlink_gb_per_s : pci_gb_per_s; }
};

// What NCCL's search finds on a machine whose GPUs all see the same: channels and GB/s of each.
struct NcclGraph {
  int ring_channels = 1;
  double ring_gb_per_s = 0;        // inside a host and between hosts
  double tree_intra_gb_per_s = 0;  // between hosts as the ring
  int heads = 0;                   // of multicast: GPUs of a host that each own a part
  double nvls_intra_gb_per_s = 0, nvls_inter_gb_per_s = 0;
  int channels = 2;                       // of rings and trees when they run
  int nvls_channels = 0;                  // of multicast
  std::size_t nvls_tree_chunk_bytes = 0;  // the most that NVLSTree takes
};

// REQUIRES: at least one host with at least one GPU, two ranks, and with several hosts a card that is faster than 0.24 GB/s.
NcclGraph GraphOf(const NcclMachine& machine);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_NCCL_MACHINE_H_
