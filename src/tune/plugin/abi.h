// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLUGIN_ABI_H_
#define TUTTI_TUNE_PLUGIN_ABI_H_

// The binary interface of NCCL's tuner plugins, versions 2 to 6, on 64-bit Linux. A plugin is a shared library with a data object
// ncclTunerPlugin_v<N> for each version N that it knows: an abi::Tuner<N>. Results are numbers of ncclResult_t.
//
//   version  NCCL  what is new
//      2     2.21  getCollInfo answers with one algorithm and protocol
//      3     2.22  getCollInfo changes a table of costs
//      4     2.24  it is told whether buffers are registered
//      5     2.28  init is told the communicator's number and NVLink domains, and may change constants of NCCL's model
//      6     2.30  getChunkSize, which may be null
//
// The table of costs is declared as float**, but it is one array float[7][3]: by algorithm, then by protocol, in microseconds.
// -1 says that there is no such way, 0 asks for this one, and other negative values are passed over.

#include <cstddef>
#include <cstdint>

namespace tutti::tune::plugin::abi {

inline constexpr int kOldest = 2, kNewest = 6;

inline constexpr int kAlgorithms = 7;
enum AlgorithmId : int {
  kTree = 0,
  kRing = 1,
  kCollNetDirect = 2,
  kCollNetChain = 3,
  kNvls = 4,
  kNvlsTree = 5,
  kPat = 6
};
inline constexpr int kProtocols = 3;  // LL, LL128, Simple: as proto::Protocol
inline constexpr float kNoWay = -1;

using Function = int;  // ncclFunc_t; of these five tuners are asked
inline constexpr Function kBroadcast = 0, kReduce = 1, kAllGather = 2, kReduceScatter = 3, kAllReduce = 4;

using Result = int;  // ncclResult_t
inline constexpr Result kSuccess = 0;

using Log = void (*)(int level, unsigned long subsystems, const char* file, int line, const char* format, ...);

struct NvlDomainInfo {  // ncclNvlDomainInfo_v5_t
  int nNvlDomains, minRanksPerNvlDomain, maxRanksPerNvlDomain;
};

inline constexpr int kHardwareLinks = 3;  // NVLink, PCI, network
inline constexpr int kArchitectures = 4;  // Volta, Ampere, Hopper, Blackwell
inline constexpr int kScales = 3;         // one node, two, more
struct Constants {                        // ncclTunerConstants_v5_t; us and GB/s
  double baseLatencies[kAlgorithms][kProtocols];
  double hwLatencies[kHardwareLinks][kAlgorithms][kProtocols];
  double llMaxBws[kArchitectures][kScales];
  double perChMaxRingLL128Bws[kArchitectures][kScales];
  double perChMaxTreeLL128Bws[kArchitectures][kScales];
  double perChMaxTreeBws[kArchitectures][kScales];
  double perChMaxNVLSTreeBws[kArchitectures][kScales];
};

// The tables of functions.
template <int kVersion>
struct Tuner;

template <>
struct Tuner<2> {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Log, void** context);
  Result (*getCollInfo)(void* context, Function, std::size_t bytes, int collnet, int nvls, int operations,
                        int* algorithm, int* protocol, int* channels);
  Result (*destroy)(void* context);
};
template <>
struct Tuner<3> {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Log, void** context);
  Result (*getCollInfo)(void* context, Function, std::size_t bytes, int operations, float** table, int algorithms,
                        int protocols, int* channels);
  Result (*destroy)(void* context);
};
template <>
struct Tuner<4> {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Log, void** context);
  Result (*getCollInfo)(void* context, Function, std::size_t bytes, int operations, float** table, int algorithms,
                        int protocols, int registered, int* channels);
  Result (*destroy)(void* context);
};
template <>
struct Tuner<5> {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes, Log, NvlDomainInfo*,
                 Constants*);
  Result (*getCollInfo)(void* context, Function, std::size_t bytes, int operations, float** table, int algorithms,
                        int protocols, int registered, int* channels);
  Result (*finalize)(void* context);
};
template <>
struct Tuner<6> {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes, Log, NvlDomainInfo*,
                 Constants*);
  Result (*getCollInfo)(void* context, Function, std::size_t bytes, int operations, float** table, int algorithms,
                        int protocols, int registered, int* channels);
  Result (*finalize)(void* context);
  Result (*getChunkSize)(void* context, Function, std::size_t bytes, int algorithm, int protocol, int channels,
                         std::size_t* chunk_bytes);
};

// What a compiler makes of NCCL's own declarations.
static_assert(sizeof(void*) == 8);
static_assert(sizeof(NvlDomainInfo) == 12 && offsetof(NvlDomainInfo, maxRanksPerNvlDomain) == 8);
static_assert(sizeof(Constants) == 1152);
static_assert(offsetof(Constants, hwLatencies) == 168 && offsetof(Constants, llMaxBws) == 672);
static_assert(offsetof(Constants, perChMaxRingLL128Bws) == 768 && offsetof(Constants, perChMaxTreeLL128Bws) == 864);
static_assert(offsetof(Constants, perChMaxTreeBws) == 960 && offsetof(Constants, perChMaxNVLSTreeBws) == 1056);
static_assert(sizeof(Tuner<2>) == 32 && sizeof(Tuner<3>) == 32 && sizeof(Tuner<4>) == 32 && sizeof(Tuner<5>) == 32);
static_assert(sizeof(Tuner<6>) == 40);
static_assert(offsetof(Tuner<2>, getCollInfo) == 16 && offsetof(Tuner<2>, destroy) == 24);
static_assert(offsetof(Tuner<4>, init) == 8 && offsetof(Tuner<4>, destroy) == 24);
static_assert(offsetof(Tuner<5>, getCollInfo) == 16 && offsetof(Tuner<5>, finalize) == 24);
static_assert(offsetof(Tuner<6>, finalize) == 24 && offsetof(Tuner<6>, getChunkSize) == 32);

}  // namespace tutti::tune::plugin::abi

#endif  // TUTTI_TUNE_PLUGIN_ABI_H_
