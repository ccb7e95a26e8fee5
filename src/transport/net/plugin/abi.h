// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_PLUGIN_ABI_H_
#define TUTTI_TRANSPORT_NET_PLUGIN_ABI_H_

// The binary interface of NCCL's network plugins, versions 6 to 12, on 64-bit Linux. A plugin is a shared library with a data
// object ncclNetPlugin_v<N> for each version N that it knows: an abi::Net<N>. Results are numbers of ncclResult_t.
//
// What every user of these tables must know:
//   * Entries may be read only after `init` has succeeded; some plugins fill them in there. `name` may change there, too.
//   * connect and accept say "not yet" by success and a null comm; isend, irecv and iflush by success and a null request.
//   * connect may keep its state in the 128 bytes of the handle, so they must be writable and stay where they are until it is
//     done.

#include <cstddef>
#include <cstdint>

namespace tutti::transport::net::abi {

inline constexpr int kOldest = 6, kNewest = 12;
inline constexpr std::size_t kHandleBytes = 128;
// Bits of ptrSupport, and types of registered memory.
inline constexpr int kHostPointers = 1, kCudaPointers = 2, kDmaBufPointers = 4;
inline constexpr int kHostDevice = 0;  // netDeviceType of what needs no code on a GPU

inline constexpr std::size_t kMostBytes = std::size_t{1} << 40;  // of a message, in any version

// Requests that one comm takes at a time.
constexpr int MostRequests(int version) { return version == 6 ? 8 : 32; }

using Result = int;  // ncclResult_t
inline constexpr Result kSuccess = 0, kUnhandledCudaError = 1, kSystemError = 2, kInternalError = 3,
                        kInvalidArgument = 4, kInvalidUsage = 5, kRemoteError = 6, kInProgress = 7;

using Log = void (*)(int level, unsigned long subsystems, const char* file, int line, const char* format, ...);
using Profile = Result (*)(void** event, int type, void* parent, std::int64_t plugin, void* data);

struct Config {  // ncclNetCommConfig, of version 10 and later
  int trafficClass = -1;
};
struct DeviceHandle {  // ncclNetDeviceHandle: what a GPU would need
  int netDeviceType, netDeviceVersion;
  void* handle;
  std::size_t size;
  int needsProxyProgress;
};
struct Attributes {  // ncclNetAttr
  struct {
    std::int32_t maxConcurrentPeers, minConcurrentPeers, maxFlowsPerPeer, minFlowsPerPeer;
  } send, receive;
  std::uint32_t op, algo, proto;
};

template <int kDevices>
struct VirtualDevice {
  int ndevs;
  int devs[kDevices];
};

// Properties of a device. Where versions have the same, they share a number.
template <int kVersion>
struct Properties;

template <>
struct Properties<6> {
  const char* name;
  const char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int speed, port;
  float latency;
  int maxComms, maxRecvs;
};
template <>
struct Properties<7> {
  const char* name;
  const char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int speed, port;
  float latency;
  int maxComms, maxRecvs;
  int netDeviceType, netDeviceVersion;
};
template <>
struct Properties<8> {
  const char* name;
  const char* pciPath;
  std::uint64_t guid;
  int ptrSupport, regIsGlobal;
  int speed, port;
  float latency;
  int maxComms, maxRecvs;
  int netDeviceType, netDeviceVersion;
};
template <>
struct Properties<9> {
  const char* name;
  const char* pciPath;
  std::uint64_t guid;
  int ptrSupport, regIsGlobal, forceFlush;
  int speed, port;
  float latency;
  int maxComms, maxRecvs;
  int netDeviceType, netDeviceVersion;
  VirtualDevice<4> vProps;
  std::size_t maxP2pBytes, maxCollBytes;
};
template <>
struct Properties<10> : Properties<9> {};
template <>
struct Properties<11> {
  const char* name;
  const char* pciPath;
  std::uint64_t guid;
  int ptrSupport, regIsGlobal, forceFlush;
  int speed, port;
  float latency;
  int maxComms, maxRecvs;
  int netDeviceType, netDeviceVersion;
  VirtualDevice<4> vProps;
  std::size_t maxP2pBytes, maxCollBytes;
  int maxMultiRequestSize;
};
template <>
struct Properties<12> {
  const char* name;
  const char* pciPath;
  std::uint64_t guid;
  int ptrSupport, regIsGlobal, forceFlush;
  int speed, port;
  float latency;
  int maxComms, maxRecvs;
  int netDeviceType, netDeviceVersion;
  VirtualDevice<8> vProps;
  std::size_t maxP2pBytes, maxCollBytes;
  int maxMultiRequestSize;
  std::int16_t railId, planeId;
};

// The tables of functions.
template <int kVersion>
struct Net;

template <>
struct Net<6> {
  const char* name;
  Result (*init)(Log);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, Properties<6>*);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm);
  Result (*accept)(void* listen_comm, void** receive_comm);
  Result (*regMr)(void* comm, void* data, int bytes, int type, void** memory);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset, int fd,
                        void** memory);
  Result (*deregMr)(void* comm, void* memory);
  Result (*isend)(void* comm, void* data, int bytes, int tag, void* memory, void** request);
  Result (*irecv)(void* comm, int count, void** data, int* bytes, int* tags, void** memory, void** request);
  Result (*iflush)(void* comm, int count, void** data, int* bytes, void** memory, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*closeSend)(void* comm);
  Result (*closeRecv)(void* comm);
  Result (*closeListen)(void* comm);
};
template <>
struct Net<7> {
  const char* name;
  Result (*init)(Log);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, Properties<7>*);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm, DeviceHandle**);
  Result (*accept)(void* listen_comm, void** receive_comm, DeviceHandle**);
  Result (*regMr)(void* comm, void* data, int bytes, int type, void** memory);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset, int fd,
                        void** memory);
  Result (*deregMr)(void* comm, void* memory);
  Result (*isend)(void* comm, void* data, int bytes, int tag, void* memory, void** request);
  Result (*irecv)(void* comm, int count, void** data, int* bytes, int* tags, void** memory, void** request);
  Result (*iflush)(void* comm, int count, void** data, int* bytes, void** memory, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*closeSend)(void* comm);
  Result (*closeRecv)(void* comm);
  Result (*closeListen)(void* comm);
  Result (*getDeviceMr)(void* comm, void* memory, void** device_memory);
  Result (*irecvConsumed)(void* comm, int count, void* request);
};
template <>
struct Net<8> {
  const char* name;
  Result (*init)(Log);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, Properties<8>*);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm, DeviceHandle**);
  Result (*accept)(void* listen_comm, void** receive_comm, DeviceHandle**);
  Result (*regMr)(void* comm, void* data, std::size_t bytes, int type, void** memory);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset, int fd,
                        void** memory);
  Result (*deregMr)(void* comm, void* memory);
  Result (*isend)(void* comm, void* data, int bytes, int tag, void* memory, void** request);
  Result (*irecv)(void* comm, int count, void** data, int* bytes, int* tags, void** memory, void** request);
  Result (*iflush)(void* comm, int count, void** data, int* bytes, void** memory, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*closeSend)(void* comm);
  Result (*closeRecv)(void* comm);
  Result (*closeListen)(void* comm);
  Result (*getDeviceMr)(void* comm, void* memory, void** device_memory);
  Result (*irecvConsumed)(void* comm, int count, void* request);
};
template <>
struct Net<9> {
  const char* name;
  Result (*init)(Log);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, Properties<9>*);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm, DeviceHandle**);
  Result (*accept)(void* listen_comm, void** receive_comm, DeviceHandle**);
  Result (*regMr)(void* comm, void* data, std::size_t bytes, int type, void** memory);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset, int fd,
                        void** memory);
  Result (*deregMr)(void* comm, void* memory);
  Result (*isend)(void* comm, void* data, std::size_t bytes, int tag, void* memory, void** request);
  Result (*irecv)(void* comm, int count, void** data, std::size_t* bytes, int* tags, void** memory, void** request);
  Result (*iflush)(void* comm, int count, void** data, int* bytes, void** memory, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*closeSend)(void* comm);
  Result (*closeRecv)(void* comm);
  Result (*closeListen)(void* comm);
  Result (*getDeviceMr)(void* comm, void* memory, void** device_memory);
  Result (*irecvConsumed)(void* comm, int count, void* request);
  Result (*makeVDevice)(int* device, VirtualDevice<4>*);
};
template <>
struct Net<10> {
  const char* name;
  Result (*init)(Log, Profile);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, Properties<10>*);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, Config*, void* handle, void** send_comm, DeviceHandle**);
  Result (*accept)(void* listen_comm, void** receive_comm, DeviceHandle**);
  Result (*regMr)(void* comm, void* data, std::size_t bytes, int type, void** memory);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset, int fd,
                        void** memory);
  Result (*deregMr)(void* comm, void* memory);
  Result (*isend)(void* comm, void* data, std::size_t bytes, int tag, void* memory, void* profile, void** request);
  Result (*irecv)(void* comm, int count, void** data, std::size_t* bytes, int* tags, void** memory, void** profiles,
                  void** request);
  Result (*iflush)(void* comm, int count, void** data, int* bytes, void** memory, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*closeSend)(void* comm);
  Result (*closeRecv)(void* comm);
  Result (*closeListen)(void* comm);
  Result (*getDeviceMr)(void* comm, void* memory, void** device_memory);
  Result (*irecvConsumed)(void* comm, int count, void* request);
  Result (*makeVDevice)(int* device, VirtualDevice<4>*);
};

// Version 12 has the functions of 11.
template <int kVersion, int kDevices>
struct NetWithContext {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, Config*, Log, Profile);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, Properties<kVersion>*);
  Result (*listen)(void* context, int device, void* handle, void** listen_comm);
  Result (*connect)(void* context, int device, void* handle, void** send_comm, DeviceHandle**);
  Result (*accept)(void* listen_comm, void** receive_comm, DeviceHandle**);
  Result (*regMr)(void* comm, void* data, std::size_t bytes, int type, void** memory);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset, int fd,
                        void** memory);
  Result (*deregMr)(void* comm, void* memory);
  Result (*isend)(void* comm, void* data, std::size_t bytes, int tag, void* memory, void* profile, void** request);
  Result (*irecv)(void* comm, int count, void** data, std::size_t* bytes, int* tags, void** memory, void** profiles,
                  void** request);
  Result (*iflush)(void* comm, int count, void** data, int* bytes, void** memory, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*closeSend)(void* comm);
  Result (*closeRecv)(void* comm);
  Result (*closeListen)(void* comm);
  Result (*getDeviceMr)(void* comm, void* memory, void** device_memory);
  Result (*irecvConsumed)(void* comm, int count, void* request);
  Result (*makeVDevice)(int* device, VirtualDevice<kDevices>*);
  Result (*finalize)(void* context);
  Result (*setNetAttr)(void* context, Attributes*);
};
template <>
struct Net<11> : NetWithContext<11, 4> {};
template <>
struct Net<12> : NetWithContext<12, 8> {};

// What a compiler makes of NCCL's own declarations.
static_assert(sizeof(void*) == 8);
static_assert(sizeof(Attributes) == 44 && sizeof(DeviceHandle) == 32 && sizeof(Config) == 4);
static_assert(sizeof(Properties<6>) == 48 && sizeof(Properties<7>) == 56 && sizeof(Properties<8>) == 64);
static_assert(sizeof(Properties<9>) == 104 && sizeof(Properties<10>) == 104);
static_assert(sizeof(Properties<11>) == 112 && sizeof(Properties<12>) == 128);
static_assert(offsetof(Properties<6>, speed) == 28 && offsetof(Properties<6>, maxRecvs) == 44);
static_assert(offsetof(Properties<7>, speed) == 28 && offsetof(Properties<7>, netDeviceVersion) == 52);
static_assert(offsetof(Properties<8>, regIsGlobal) == 28 && offsetof(Properties<8>, netDeviceVersion) == 56);
static_assert(offsetof(Properties<9>, forceFlush) == 32 && offsetof(Properties<9>, vProps) == 64);
static_assert(offsetof(Properties<9>, maxP2pBytes) == 88 && offsetof(Properties<9>, maxCollBytes) == 96);
static_assert(offsetof(Properties<11>, maxP2pBytes) == 88 && offsetof(Properties<11>, maxMultiRequestSize) == 104);
static_assert(offsetof(Properties<12>, maxP2pBytes) == 104 && offsetof(Properties<12>, maxCollBytes) == 112);
static_assert(offsetof(Properties<12>, maxMultiRequestSize) == 120 && offsetof(Properties<12>, railId) == 124);
static_assert(offsetof(Properties<12>, planeId) == 126);
static_assert(sizeof(Net<6>) == 136 && sizeof(Net<7>) == 152 && sizeof(Net<8>) == 152);
static_assert(sizeof(Net<9>) == 160 && sizeof(Net<10>) == 160 && sizeof(Net<11>) == 176 && sizeof(Net<12>) == 176);
static_assert(offsetof(Net<6>, isend) == 80 && offsetof(Net<6>, closeListen) == 128);
static_assert(offsetof(Net<7>, getDeviceMr) == 136 && offsetof(Net<8>, irecvConsumed) == 144);
static_assert(offsetof(Net<9>, makeVDevice) == 152 && offsetof(Net<10>, connect) == 40);
static_assert(offsetof(Net<11>, irecv) == 88 && offsetof(Net<11>, finalize) == 160 &&
              offsetof(Net<12>, setNetAttr) == 168);

}  // namespace tutti::transport::net::abi

#endif  // TUTTI_TRANSPORT_NET_PLUGIN_ABI_H_
