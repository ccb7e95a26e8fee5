// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_CUDA_CUDA_H_
#define TUTTI_SYS_CUDA_CUDA_H_

// The door to NVIDIA's driver. libcuda.so.1 is opened when first asked for, so a machine without it runs everything
// that needs no GPU, and no CUDA header or library is needed to compile this. Only the driver's own interface is used,
// never the CUDA runtime; handles are the same, so a cudaStream_t may be given as Stream.
//
// Declarations below repeat the driver's binary interface (CUDA 12 and later); cuda_abi_test.cc compares them with
// <cuda.h> where that is installed.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tutti/status.h"

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUlib_st;
struct CUkern_st;

namespace tutti::sys::cuda {

using Context = CUctx_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Graph = CUgraph_st*;
using GraphExec = CUgraphExec_st*;
using Library = CUlib_st*;
using Kernel = CUkern_st*;
using Device = int;
using Address = unsigned long long;     // of device memory
using Allocation = unsigned long long;  // handle of physical memory

struct Uuid {
  unsigned char bytes[16];
  bool operator==(const Uuid&) const = default;
};

struct Location {
  int type = 1;  // 1: a device, kOnHostNode: a NUMA node of the host
  int id = 0;
};
inline constexpr int kOnHostNode = 3;
struct AllocationProperties {
  int type = 1;          // 1: pinned
  int handle_types = 0;  // kPosixDescriptor
  Location location;
  void* win32 = nullptr;
  unsigned char compression = 0;
  unsigned char gpu_direct_rdma = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {};
};
struct AccessDescription {
  Location location;
  int flags = 3;  // read and write
};
struct alignas(8) LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int value;
    unsigned cluster[3];  // of blocks: along x, y, z
  };
};
struct LaunchConfig {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
  const LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
struct IpcHandle {
  char bytes[64];
};

// One operation of StreamBatchMemOp on a word in memory.
struct MemoryOperation {
  int operation = 0;  // kWaitWord, kWriteWord or kWriteLong
  Address address = 0;
  std::uint64_t value = 0;  // 32 bits of it, but for kWriteLong
  unsigned flags = 0;       // of a wait: kUntilEqual
  Address alias = 0;        // the driver's
  std::uint64_t reserved = 0;
};

inline constexpr int kPosixDescriptor = 1;       // AllocationProperties::handle_types
inline constexpr int kMultiprocessorCount = 16;  // device attributes
inline constexpr int kPciBus = 33, kPciDevice = 34, kPciDomain = 50;
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;
inline constexpr int kPosixDescriptorSupported = 103;
inline constexpr int kNearestHostNode = 134;  // -1: the host has no nodes
inline constexpr int kHostNodesCanBeMapped = 141;
inline constexpr int kNativePeerAtomics = 3;  // of a pair: true of NVLink, not of PCIe
inline constexpr int kClusterDimension = 4;   // LaunchAttribute::id
inline constexpr int kProgrammaticStreamSerialization = 6;
inline constexpr unsigned kNonBlocking = 1;     // streams
inline constexpr unsigned kHostMapped = 1 | 2;  // host memory: for all contexts, in the devices' address space
inline constexpr int kRelaxedCapture = 2;
inline constexpr int kThreadLocalCapture = 1;
inline constexpr int kNotReady = 600;
inline constexpr int kAlreadyRegistered = 712;
inline constexpr unsigned kNoTiming = 2;      // events
inline constexpr int kMemoryType = 2;         // attribute of a pointer
inline constexpr unsigned kHostMemory = 1;    // its value for pinned pages of the host
inline constexpr unsigned kDeviceMemory = 2;  // likewise for memory of a GPU
inline constexpr int kIsManaged = 8;          // another attribute: memory that the host can use too
inline constexpr int kDeviceOrdinal = 9;      // another attribute
inline constexpr int kIpcCapable = 10;        // and another: memory that an IPC handle can be had of
inline constexpr int kWaitWord = 1, kWriteWord = 2, kWriteLong = 5;   // MemoryOperation::operation
inline constexpr unsigned kUntilGreaterOrEqual = 0, kUntilEqual = 1;  // flags of a wait
inline constexpr std::uintptr_t kLegacyStream = 1;                    // the default stream as a handle
// Attribute of a device: StreamBatchMemOp. Of 64 bits; that of 32 has an attribute no more.
inline constexpr int kMemoryOperationsSupported = 122;

// The driver's functions, under their own names without "cu". Each returns a CUresult; Check makes a Status of it.
// Threads: as the driver says: all of them from any thread, most on the thread's current context.
// Long because a field is a function that is called.
struct Driver {
  int (*Init)(unsigned);
  int (*DriverGetVersion)(int*);
  int (*GetErrorName)(int, const char**);
  int (*GetErrorString)(int, const char**);
  int (*DeviceGet)(Device*, int);
  int (*DeviceGetCount)(int*);
  int (*DeviceGetAttribute)(int*, int, Device);
  int (*DeviceGetName)(char*, int, Device);
  int (*DeviceGetUuid)(Uuid*, Device);
  int (*DeviceCanAccessPeer)(int*, Device, Device);
  int (*DeviceGetP2PAttribute)(int*, int, Device, Device);
  int (*DevicePrimaryCtxRetain)(Context*, Device);
  int (*DevicePrimaryCtxRelease)(Device);
  int (*CtxPushCurrent)(Context);
  int (*CtxPopCurrent)(Context*);
  int (*CtxSetCurrent)(Context);
  int (*CtxGetCurrent)(Context*);
  int (*CtxGetDevice)(Device*);
  int (*CtxEnablePeerAccess)(Context, unsigned);
  int (*MemGetAllocationGranularity)(std::size_t*, const AllocationProperties*, int);
  int (*MemCreate)(Allocation*, std::size_t, const AllocationProperties*, unsigned long long);
  int (*MemRelease)(Allocation);
  int (*MemExportToShareableHandle)(void*, Allocation, int, unsigned long long);
  int (*MemImportFromShareableHandle)(Allocation*, void*, int);
  int (*MemAddressReserve)(Address*, std::size_t, std::size_t, Address, unsigned long long);
  int (*MemAddressFree)(Address, std::size_t);
  int (*MemMap)(Address, std::size_t, std::size_t, Allocation, unsigned long long);
  int (*MemUnmap)(Address, std::size_t);
  int (*MemSetAccess)(Address, std::size_t, const AccessDescription*, std::size_t);
  int (*MemRetainAllocationHandle)(Allocation*, void*);
  int (*MemGetAddressRange)(Address*, std::size_t*, Address);
  int (*MemAlloc)(Address*, std::size_t);
  int (*MemFree)(Address);
  int (*MemHostRegister)(void*, std::size_t, unsigned);
  int (*MemHostUnregister)(void*);
  int (*MemHostGetDevicePointer)(Address*, void*, unsigned);
  int (*PointerGetAttribute)(void*, int, Address);
  int (*MemsetD8)(Address, unsigned char, std::size_t);
  int (*MemsetD8Async)(Address, unsigned char, std::size_t, Stream);
  int (*MemcpyHtoD)(Address, const void*, std::size_t);
  int (*MemcpyDtoH)(void*, Address, std::size_t);
  int (*MemcpyAsync)(Address, Address, std::size_t, Stream);
  int (*IpcGetMemHandle)(IpcHandle*, Address);
  int (*IpcOpenMemHandle)(Address*, IpcHandle, unsigned);
  int (*IpcCloseMemHandle)(Address);
  int (*StreamCreate)(Stream*, unsigned);
  int (*StreamDestroy)(Stream);
  int (*StreamSynchronize)(Stream);
  int (*StreamQuery)(Stream);
  int (*StreamIsCapturing)(Stream, int*);
  int (*StreamGetCaptureInfo)(Stream, int* status, unsigned long long* id, Graph*, const void**, std::size_t*);
  int (*StreamWaitEvent)(Stream, Event, unsigned);
  int (*StreamBatchMemOp)(Stream, unsigned, MemoryOperation*, unsigned);
  int (*StreamBeginCapture)(Stream, int);
  int (*StreamEndCapture)(Stream, Graph*);
  int (*ThreadExchangeStreamCaptureMode)(int*);
  int (*GraphInstantiate)(GraphExec*, Graph, unsigned long long);
  int (*GraphLaunch)(GraphExec, Stream);
  int (*GraphExecDestroy)(GraphExec);
  int (*GraphDestroy)(Graph);
  int (*EventCreate)(Event*, unsigned);
  int (*EventDestroy)(Event);
  int (*EventRecord)(Event, Stream);
  int (*EventSynchronize)(Event);
  int (*EventElapsedTime)(float*, Event, Event);
  int (*LibraryLoadData)(Library*, const void*, int*, void**, unsigned, int*, void**, unsigned);
  int (*LibraryUnload)(Library);
  int (*LibraryGetKernel)(Kernel*, Library, const char*);
  int (*KernelGetFunction)(void**, Kernel);
  int (*LaunchKernel)(const LaunchConfig*, Kernel, void**, void**);
};

// The driver of this process, opened and initialised by the first call. kUnsupported, with the reason, where there is
// none, it is too old, or it sees no GPU; the same answer every time. Threads: any.
Result<const Driver*> OpenDriver();

// Ok for 0, else kSystem: "<what>: <the driver's text> (<its name>)". `what` says which call failed and for what.
Status Check(const Driver& driver, int result, std::string_view what);

// The capture that a stream takes part in; 0: none.
Result<unsigned long long> CaptureOf(const Driver& driver, Stream stream);

// A device's primary context, which the CUDA runtime uses too; held until destroyed.
class PrimaryContext {
 public:
  static Result<PrimaryContext> Retain(const Driver* driver, Device device);
  PrimaryContext() = default;
  PrimaryContext(PrimaryContext&& other) noexcept;
  PrimaryContext& operator=(PrimaryContext&& other) noexcept;
  ~PrimaryContext();

  Context get() const { return context_; }
  Device device() const { return device_; }

 private:
  const Driver* driver_ = nullptr;
  Context context_ = nullptr;
  Device device_ = 0;
};

// Makes a context the calling thread's current one for its own lifetime, and lets the thread call anything while some
// other thread's stream is being captured.
class ScopedContext {
 public:
  ScopedContext(const Driver* driver, Context context);
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;
  ~ScopedContext();

 private:
  const Driver* driver_;
  int capture_mode_ = kRelaxedCapture;
};

}  // namespace tutti::sys::cuda

#endif  // TUTTI_SYS_CUDA_CUDA_H_
