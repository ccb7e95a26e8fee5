// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 whose launches return at once and do nothing, on host memory: what is left of a call that enqueues is
// Tutti's own. A program loads it by its path before anything asks for the driver; the dynamic linker gives it out for
// libcuda.so.1 from then on. Only the trial of peers at init is carried out. Copies fail, which ends the wait for kernels
// that have never run.
#include <cstdlib>
#include <cstring>

#include "exec/gpu/program.h"
#include "sys/cuda.h"

namespace {

using tutti::exec::gpu::Handshake;
using tutti::sys::cuda::Address;
using tutti::sys::cuda::LaunchConfig;

constexpr int kNotSupported = 801;
constexpr int kVersion = 13000, kMultiprocessors = 132, kHopper = 9;
constexpr unsigned kDeviceMemory = 2;
int g_context, g_stream, g_event, g_library, g_kernel, g_handshake;  // their addresses are handles

template <typename Handle>
int Give(Handle* to, int& handle) {
  *to = reinterpret_cast<Handle>(&handle);
  return 0;
}

int SeeAll(const Handshake& handshake) {
  for (int rank = 0; rank < handshake.ranks; ++rank) handshake.seen[rank] = 1;
  return 0;
}

}  // namespace

#define TUTTI_FAKE(name, ...) extern "C" __attribute__((visibility("default"))) int cu##name(__VA_ARGS__)
#define TUTTI_FAKE_IDLE(name) \
  TUTTI_FAKE(name) { return 0; }

TUTTI_FAKE_IDLE(Init)
TUTTI_FAKE(DriverGetVersion, int* version) {
  *version = kVersion;
  return 0;
}
TUTTI_FAKE(GetErrorName, int, const char** name) {
  *name = "FAKE";
  return 0;
}
TUTTI_FAKE(GetErrorString, int, const char** text) {
  *text = "tests/support/fake_cuda.cc has not got this";
  return 0;
}
TUTTI_FAKE(DeviceGet, int* device, int) {
  *device = 0;
  return 0;
}
TUTTI_FAKE(DeviceGetCount, int* count) {
  *count = 1;
  return 0;
}
TUTTI_FAKE(DeviceGetAttribute, int* value, int attribute, int) {
  *value = attribute == tutti::sys::cuda::kMultiprocessorCount      ? kMultiprocessors
           : attribute == tutti::sys::cuda::kComputeCapabilityMajor ? kHopper
                                                                    : 0;
  return 0;
}
TUTTI_FAKE(DeviceGetName, char* name, int bytes, int) {
  std::strncpy(name, "fake", static_cast<std::size_t>(bytes));
  return 0;
}
TUTTI_FAKE(DeviceGetUuid_v2, tutti::sys::cuda::Uuid* uuid, int) {
  *uuid = {};
  return 0;
}
TUTTI_FAKE(DeviceCanAccessPeer, int* can, int, int) {
  *can = 1;
  return 0;
}
TUTTI_FAKE(DeviceGetP2PAttribute, int* value, int, int, int) {
  *value = 1;
  return 0;
}
TUTTI_FAKE(DevicePrimaryCtxRetain, void** context, int) { return Give(context, g_context); }
TUTTI_FAKE_IDLE(DevicePrimaryCtxRelease_v2)
TUTTI_FAKE_IDLE(CtxPushCurrent_v2)
TUTTI_FAKE(CtxPopCurrent_v2, void** context) { return Give(context, g_context); }
TUTTI_FAKE_IDLE(CtxSetCurrent)
TUTTI_FAKE(CtxGetCurrent, void** context) { return Give(context, g_context); }
TUTTI_FAKE(CtxGetDevice, int* device) {
  *device = 0;
  return 0;
}
TUTTI_FAKE_IDLE(CtxEnablePeerAccess)

TUTTI_FAKE(MemAlloc_v2, Address* address, std::size_t bytes) {
  *address = reinterpret_cast<Address>(std::calloc(bytes, 1));
  return *address == 0 ? kNotSupported : 0;
}
TUTTI_FAKE(MemFree_v2, Address address) {
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
TUTTI_FAKE_IDLE(MemHostRegister_v2)
TUTTI_FAKE_IDLE(MemHostUnregister)
TUTTI_FAKE(MemHostGetDevicePointer_v2, Address* address, void* host, unsigned) {
  *address = reinterpret_cast<Address>(host);
  return 0;
}
TUTTI_FAKE(PointerGetAttribute, void* value, int, Address) {
  *static_cast<unsigned*>(value) = kDeviceMemory;
  return 0;
}
TUTTI_FAKE_IDLE(MemsetD8_v2)
TUTTI_FAKE_IDLE(MemsetD8Async)  // what is cleared comes from calloc
TUTTI_FAKE(MemcpyHtoD_v2) { return kNotSupported; }
TUTTI_FAKE(MemcpyDtoH_v2) { return kNotSupported; }
TUTTI_FAKE(MemcpyAsync) { return kNotSupported; }
TUTTI_FAKE_IDLE(IpcGetMemHandle)  // ranks are threads of one process and use plain addresses
TUTTI_FAKE(IpcOpenMemHandle_v2) { return kNotSupported; }
TUTTI_FAKE(IpcCloseMemHandle) { return kNotSupported; }
TUTTI_FAKE(MemGetAllocationGranularity) { return kNotSupported; }
TUTTI_FAKE(MemCreate) { return kNotSupported; }
TUTTI_FAKE(MemRelease) { return kNotSupported; }
TUTTI_FAKE(MemExportToShareableHandle) { return kNotSupported; }
TUTTI_FAKE(MemImportFromShareableHandle) { return kNotSupported; }
TUTTI_FAKE(MemAddressReserve) { return kNotSupported; }
TUTTI_FAKE(MemAddressFree) { return kNotSupported; }
TUTTI_FAKE(MemMap) { return kNotSupported; }
TUTTI_FAKE(MemUnmap) { return kNotSupported; }
TUTTI_FAKE(MemSetAccess) { return kNotSupported; }
TUTTI_FAKE(MemRetainAllocationHandle) { return kNotSupported; }
TUTTI_FAKE(MemGetAddressRange_v2) { return kNotSupported; }

TUTTI_FAKE(StreamCreate, void** stream, unsigned) { return Give(stream, g_stream); }
TUTTI_FAKE_IDLE(StreamDestroy_v2)
TUTTI_FAKE_IDLE(StreamSynchronize)
TUTTI_FAKE_IDLE(StreamQuery)
TUTTI_FAKE(StreamIsCapturing, void*, int* capturing) {
  *capturing = 0;
  return 0;
}
TUTTI_FAKE(StreamGetCaptureInfo_v2, void*, int* status, unsigned long long* id) {
  *status = 0;
  *id = 0;
  return 0;
}
TUTTI_FAKE_IDLE(StreamWaitEvent)
TUTTI_FAKE(StreamBatchMemOp_v2) { return kNotSupported; }
TUTTI_FAKE(StreamBeginCapture_v2) { return kNotSupported; }
TUTTI_FAKE(StreamEndCapture) { return kNotSupported; }
TUTTI_FAKE_IDLE(ThreadExchangeStreamCaptureMode)
TUTTI_FAKE(GraphInstantiateWithFlags) { return kNotSupported; }
TUTTI_FAKE(GraphLaunch) { return kNotSupported; }
TUTTI_FAKE(GraphExecDestroy) { return kNotSupported; }
TUTTI_FAKE(GraphDestroy) { return kNotSupported; }
TUTTI_FAKE(EventCreate, void** event, unsigned) { return Give(event, g_event); }
TUTTI_FAKE_IDLE(EventDestroy_v2)
TUTTI_FAKE_IDLE(EventRecord)
TUTTI_FAKE_IDLE(EventSynchronize)
TUTTI_FAKE(EventElapsedTime, float*, void*, void*) { return kNotSupported; }

TUTTI_FAKE(LibraryLoadData, void** library) { return Give(library, g_library); }
TUTTI_FAKE_IDLE(LibraryUnload)
TUTTI_FAKE(LibraryGetKernel, void** kernel, void*, const char* name) {
  return Give(kernel, std::strstr(name, "Handshake") != nullptr ? g_handshake : g_kernel);
}
TUTTI_FAKE(KernelGetFunction, void** function, void* kernel) {
  *function = kernel;
  return 0;
}
TUTTI_FAKE(LaunchKernelEx, const LaunchConfig*, void* kernel, void** arguments, void**) {
  return kernel == &g_handshake ? SeeAll(*static_cast<const Handshake*>(arguments[0])) : 0;
}
