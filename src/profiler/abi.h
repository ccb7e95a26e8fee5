// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PROFILER_ABI_H_
#define TUTTI_PROFILER_ABI_H_

// The binary interface of NCCL's profiler plugins, versions 4 to 6, on 64-bit Linux. A plugin is a shared library with a data object
// ncclProfiler_v<N> for each version N that it knows: an abi::Profiler<N>. Results are numbers of ncclResult_t.
//
//   version  NCCL  what is new
//      4     2.27  init is told of the communicator
//      5     2.28  events of the calls themselves (GroupApi, CollApi, P2pApi, KernelLaunch); the type has 64 bits
//      6     2.29  events of copy engines, which Tutti does not send
//
// Events form trees. Each names the event above it by the handle that the plugin gave that one:
//
//   GroupApi +- CollApi - Coll +- KernelCh            Group   above Coll and P2p in version 4, beside the tree from 5 on
//            |                 +- ProxyOp - ProxyStep
//            +- P2pApi  - P2p  +- (the same)
//            +- KernelLaunch

#include <cstddef>
#include <cstdint>

namespace tutti::profiler::abi {

inline constexpr int kOldest = 4, kNewest = 6;

using Result = int;  // ncclResult_t
inline constexpr Result kSuccess = 0;

using Log = void (*)(int level, unsigned long subsystems, const char* file, int line, const char* format, ...);

// Types of events, which are bits of the mask that a plugin asks with.
enum EventType : std::uint64_t {
  kGroup = 1 << 0,
  kColl = 1 << 1,
  kP2p = 1 << 2,
  kProxyOp = 1 << 3,
  kProxyStep = 1 << 4,
  kKernelCh = 1 << 6,
  kGroupApi = 1 << 8,
  kCollApi = 1 << 9,
  kP2pApi = 1 << 10,
  kKernelLaunch = 1 << 11,
};

// What recordEventState says of an event, as far as Tutti does.
enum State : int {
  // Of a ProxyStep that sends, in this order.
  kSendGpuWait = 8,    // waits for what is to be sent
  kSendPeerWait = 20,  // for room at the peer, NCCL's credit
  kSendWait = 9,       // until the peer has taken it
  // Of one that receives.
  kRecvWait = 10,       // waits for data of the peer
  kRecvFlushWait = 11,  // until they can be read
  kRecvGpuWait = 12,    // until they have been used
  kProxyOpInProgress = 19,
  kKernelChStop = 22,
  kGroupStartApiStop = 23,
  kGroupEndApiStart = 24,
};

// The parts of a description that depend on the type. Strings live until the process ends.
struct GroupApi {
  bool graph_captured;
  int depth;  // 1: the group is one call by itself
};
struct CollApi {
  const char* function;
  std::size_t count;
  const char* type;
  int root;
  void* stream;
  bool graph_captured;
};
struct P2pApi {
  const char* function;
  std::size_t count;
  const char* type;
  void* stream;
  bool graph_captured;
};
struct KernelLaunch {
  void* stream;
};
struct Coll4 {
  std::uint64_t sequence;
  const char* function;
  const void* in;
  void* out;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels, warps;
  const char* algorithm;
  const char* protocol;
};
struct Coll5 {
  std::uint64_t sequence;
  const char* function;
  const void* in;
  void* out;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels, warps;
  const char* algorithm;
  const char* protocol;
  void* parent_group;
};
struct P2p4 {
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};
struct P2p5 {
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* parent_group;
};
struct ProxyOp {
  std::int32_t pid;
  std::uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};
struct ProxyStep {
  int step;
};
struct KernelCh {
  std::uint8_t channel;
  std::uint64_t timer_ns;
};
// What startEvent is handed. Versions 5 and 6 differ in events of copy engines alone, which take no more room.
template <int kVersion>
struct Description {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollApi coll_api;
    P2pApi p2p_api;
    KernelLaunch kernel_launch;
    Coll5 coll;
    P2p5 p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelCh kernel_ch;
  };
};
template <>
struct Description<4> {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Coll4 coll;
    P2p4 p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelCh kernel_ch;
  };
};

// What recordEventState is handed beside the state; alike in all three versions.
union StateArguments {
  std::size_t transferred_bytes;  // of a ProxyStep
  std::uint64_t timer_ns;         // of a KernelCh
};

// The tables of functions. `mask`: the plugin writes the types that it wants there, and may change them at any time; one place for
// all communicators of a process.
template <int kVersion>
struct Profiler {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, int* mask, const char* communicator_name, int nodes,
                 int ranks, int rank, Log);
  Result (*startEvent)(void* context, void** event, Description<kVersion>*);
  Result (*stopEvent)(void* event);
  Result (*recordEventState)(void* event, int state, StateArguments*);
  Result (*finalize)(void* context);
};
template <>
struct Profiler<4> {
  const char* name;
  Result (*init)(void** context, int* mask, const char* communicator_name, std::uint64_t communicator, int nodes,
                 int ranks, int rank, Log);
  Result (*startEvent)(void* context, void** event, Description<4>*);
  Result (*stopEvent)(void* event);
  Result (*recordEventState)(void* event, int state, StateArguments*);
  Result (*finalize)(void* context);
};

// What a compiler makes of NCCL's own declarations.
static_assert(sizeof(void*) == 8);
static_assert(sizeof(Description<4>) == 104 && sizeof(Description<5>) == 112 && sizeof(Description<6>) == 112);
static_assert(offsetof(Description<4>, parent) == 8 && offsetof(Description<4>, rank) == 16);
static_assert(offsetof(Description<4>, coll) == 24 && offsetof(Description<5>, coll) == 24);
static_assert(offsetof(Description<6>, coll) == 24);
static_assert(offsetof(Coll5, channels) == 56 && offsetof(Coll5, algorithm) == 64 &&
              offsetof(Coll5, parent_group) == 80);
static_assert(sizeof(Coll4) == 80 && sizeof(Coll5) == 88 && sizeof(P2p4) == 40 && sizeof(P2p5) == 48);
static_assert(offsetof(P2p5, channels) == 36 && offsetof(P2p5, parent_group) == 40);
static_assert(sizeof(CollApi) == 48 && offsetof(CollApi, stream) == 32 && sizeof(P2pApi) == 40);
static_assert(sizeof(ProxyOp) == 24 && offsetof(ProxyOp, channel) == 4 && offsetof(ProxyOp, is_send) == 20);
static_assert(sizeof(KernelCh) == 16 && sizeof(StateArguments) == 8);
static_assert(sizeof(Profiler<4>) == 48 && sizeof(Profiler<5>) == 48 && offsetof(Profiler<6>, finalize) == 40);

}  // namespace tutti::profiler::abi

#endif  // TUTTI_PROFILER_ABI_H_
