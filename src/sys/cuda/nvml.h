// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_CUDA_NVML_H_
#define TUTTI_SYS_CUDA_NVML_H_

// What NVIDIA's management library, NVML, says of this host's GPUs. libnvidia-ml.so.1 comes with the driver and is
// opened when it is asked for, so a machine without it runs everything else, and no header of CUDA is needed to compile
// this.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tutti/status.h"

namespace tutti::sys::cuda {

enum class NvLinkState : std::uint8_t {
  kDown,
  kUp,
  kAsleep,     // wakes up when it is used
  kNoTraffic,  // up, and closed to data
  kUnknown,
};
// What is at the other end of an NVLink.
enum class NvLinkEnd : std::uint8_t { kGpu, kCpu, kSwitch, kUnknown };

struct NvLink {
  int number = 0;
  NvLinkState state = NvLinkState::kUnknown;
  // Of links that are not down:
  NvLinkEnd end = NvLinkEnd::kUnknown;
  std::string bus_id;  // at the other end; empty: not known, or hidden as NVSwitches are from a virtual machine
  bool p2p = true;     // GPUs may reach each other's memory over it; true also where NVML does not say
};

// NVLinks between a GPU and the CPU of its module.
struct C2c {
  int links = 0;
  int links_up = 0;
  int mb_per_s = 0;  // of one that is up, in each direction
};

// The NVLink domain that a GPU belongs to, which may reach over several hosts.
struct Fabric {
  std::array<std::uint8_t, 16> cluster{};
  std::uint32_t clique = 0;
  bool complete = false;  // the fabric manager has let it in, and without an error
};

struct PcieLink {
  int generation = 0;  // 0: not known
  int width = 0;       // lanes; 0: not known
};

struct NvmlGpu {
  int index = 0;       // as NVML counts
  std::string bus_id;  // "0000:1b:00.0"; empty: not known, as of a GPU that has fallen off the bus
  std::string name, uuid;
  int sm = 0;           // compute capability: 90 is 9.0; 0: not known
  PcieLink pcie, best;  // now, and what GPU and slot can do
  std::vector<NvLink> nvlinks;
  C2c c2c;
  std::optional<Fabric> fabric;  // nothing: it belongs to none
};

// Whether GPUs may reach each other's memory. The values are NVML's.
enum class P2pStatus : std::uint8_t {
  kOk,
  kChipsetNotSupported,
  kGpuNotSupported,
  kTopologyNotSupported,
  kDisabled,  // by a setting of the driver
  kNotSupported,
  kUnknown,
};
struct P2p {
  int from = 0, to = 0;  // indices in NvmlFacts::gpus, the lower one first
  P2pStatus read = P2pStatus::kUnknown, write = P2pStatus::kUnknown;
};

struct NvmlFacts {
  std::string driver;              // "580.159.04"; empty: not known
  std::vector<NvmlGpu> gpus;       // by index
  std::vector<P2p> p2p;            // of all pairs
  std::vector<std::string> notes;  // what could not be found out, a line for each kind
};

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// Opens and starts NVML, asks it for everything and lets it go again. What one call refuses stays not known.
// kUnsupported where there is no such library or no driver for it, kSystem where NVML fails as a whole. Threads: any.
// May take seconds where no process keeps the driver awake.
Result<NvmlFacts> ReadNvml(const std::string& library = kNvmlLibrary);

// The parts of NVML's binary interface that are used, under names of their own; nvml_test.cc compares them with
// <nvml.h> where that is installed.
namespace nvml_abi {

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device;
  unsigned ids, subsystem_ids;
  char bus_id[32];
};
struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;  // of NVLinks and C2C links: which
  long long timestamp_us = 0, latency_us = 0;
  int type = 0;
  int result = 0;
  union {
    double as_double;
    int as_int;
    unsigned as_unsigned;
    unsigned long as_unsigned_long;
    unsigned long long as_unsigned_long_long;
    long long as_long_long;
    unsigned short as_unsigned_short;
  };
};
struct FabricInfo {
  unsigned version = 0;
  unsigned char cluster[16] = {};
  int status = 0;
  unsigned clique = 0;
  unsigned char state = 0;
  unsigned health = 0;
};

inline constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kDriverNotLoaded = 9,
                     kFunctionNotFound = 13;
inline constexpr unsigned kNvLinkCount = 91, kNvLinkState = 165;  // FieldValue::field
inline constexpr unsigned kC2cCount = 170, kC2cState = 171, kC2cMbPerS = 172;
inline constexpr int kDouble = 0, kUnsigned = 1, kUnsignedLong = 2, kUnsignedLongLong = 3, kLongLong = 4, kInt = 5,
                     kUnsignedShort = 6;                                                   // FieldValue::type
inline constexpr int kStateDown = 0, kStateUp = 1, kStateAsleep = 2, kStateNoTraffic = 3;  // of field kNvLinkState
inline constexpr int kRemoteGpu = 0, kRemoteIbmNpu = 1, kRemoteSwitch = 2;                 // remote device types
inline constexpr int kP2pCapability = 0;                                                   // of an NVLink
inline constexpr int kP2pRead = 0, kP2pWrite = 1;                                          // of a pair
inline constexpr unsigned kFabricInfoVersion = static_cast<unsigned>(sizeof(FabricInfo)) | (2u << 24);  // the second
inline constexpr unsigned char kFabricComplete = 3;  // FabricInfo::state
inline constexpr unsigned kMostNvLinks = 36;

}  // namespace nvml_abi

}  // namespace tutti::sys::cuda

#endif  // TUTTI_SYS_CUDA_NVML_H_
