// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 whose launches return at once and do nothing, on host memory: what is left of a call that enqueues is
// Tutti's own. A program loads it by its path (fake_cuda.h) before anything asks for the driver; the dynamic linker gives it
// out for libcuda.so.1 from then on. Only the trial of peers at init is carried out, and streams write words, but wait for
// none. Copies into pinned memory fail, which ends the wait for kernels that have never run.
#include "tests/support/fake_cuda.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "exec/gpu/format/program.h"

namespace {

using tutti::exec::gpu::Handshake;
using tutti::sys::cuda::Address;
using tutti::sys::cuda::Allocation;
using tutti::sys::cuda::LaunchConfig;
using tutti::sys::cuda::MemoryOperation;
using tutti::tests::FakeCudaHooks;

constexpr int kNotSupported = 801, kInvalidValue = 1;
constexpr int kVersion = 13000, kMultiprocessors = 132, kHopper = 9, kMostGpus = 128, kFirstBus = 0x10;
constexpr std::size_t kGranularity = std::size_t{2} << 20;
int g_stream, g_event, g_library;  // their addresses are handles
int g_contexts[kMostGpus];         // likewise
FakeCudaHooks g_hooks;
thread_local std::vector<void*> t_contexts;

const int g_gpus = [] {
  const char* const asked = std::getenv(tutti::tests::kFakeGpus);
  return asked == nullptr ? 1 : std::clamp(std::atoi(asked), 1, kMostGpus);
}();

struct FakeKernel {
  std::string name;
  bool handshake;
};

// Memory that is passed on by descriptor, and pinned memory.
struct Memory {
  struct Piece {
    int descriptor;
    int holders;
  };
  std::mutex mutex;
  std::map<Allocation, Piece> pieces;
  std::map<Address, std::pair<std::size_t, Allocation>> mapped;
  std::map<Address, std::size_t> pinned;
  Allocation last = 0;

  Allocation Add(int descriptor) {
    pieces[++last] = {descriptor, 1};
    return last;
  }
  void Release(Allocation allocation) {
    const auto it = pieces.find(allocation);
    if (it == pieces.end() || --it->second.holders > 0) return;
    close(it->second.descriptor);
    pieces.erase(it);
  }
  template <typename Map>
  static typename Map::iterator Holding(Map& map, Address address) {
    auto it = map.upper_bound(address);
    return it == map.begin() ? map.end() : --it;
  }
  bool IsPinned(Address address) {
    const auto it = Holding(pinned, address);
    return it != pinned.end() && address < it->first + it->second;
  }
};
Memory& TheMemory() {
  static Memory& memory = *new Memory;  // never destroyed: threads may outlive static objects
  return memory;
}

template <typename Handle>
int Give(Handle* to, int& handle) {
  *to = reinterpret_cast<Handle>(&handle);
  return 0;
}

void* Current() { return t_contexts.empty() ? g_contexts : t_contexts.back(); }

int SeeAll(const Handshake& handshake) {
  for (int rank = 0; rank < handshake.ranks; ++rank) handshake.seen[rank] = 1;
  return 0;
}

}  // namespace

#define TUTTI_FAKE(name, ...) extern "C" __attribute__((visibility("default"))) int cu##name(__VA_ARGS__)
#define TUTTI_FAKE_IDLE(name) \
  TUTTI_FAKE(name) { return 0; }

extern "C" __attribute__((visibility("default"))) void TuttiSetFakeCudaHooks(const FakeCudaHooks& hooks) {
  g_hooks = hooks;
}

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
TUTTI_FAKE(DeviceGet, int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
TUTTI_FAKE(DeviceGetCount, int* count) {
  *count = g_gpus;
  return 0;
}
TUTTI_FAKE(DeviceGetAttribute, int* value, int attribute, int device) {
  if (attribute == tutti::sys::cuda::kPciBus) {  // of the first one 0000:10:00.0
    *value = kFirstBus + device;
    return 0;
  }
  const bool of_several = attribute == tutti::sys::cuda::kPosixDescriptorSupported ||
                          attribute == tutti::sys::cuda::kMemoryOperationsSupported;
  *value = attribute == tutti::sys::cuda::kMultiprocessorCount      ? kMultiprocessors
           : attribute == tutti::sys::cuda::kComputeCapabilityMajor ? kHopper
           : of_several && g_gpus > 1                               ? 1
                                                                    : 0;
  return 0;
}
TUTTI_FAKE(DeviceGetName, char* name, int bytes, int) {
  std::strncpy(name, "fake", static_cast<std::size_t>(bytes));
  return 0;
}
TUTTI_FAKE(DeviceGetUuid_v2, tutti::sys::cuda::Uuid* uuid, int device) {
  *uuid = {};
  uuid->bytes[0] = static_cast<unsigned char>(device);
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
TUTTI_FAKE(DevicePrimaryCtxRetain, void** context, int device) {
  return device < 0 || device >= g_gpus ? kInvalidValue : Give(context, g_contexts[device]);
}
TUTTI_FAKE_IDLE(DevicePrimaryCtxRelease_v2)
TUTTI_FAKE(CtxPushCurrent_v2, void* context) {
  t_contexts.push_back(context);
  return 0;
}
TUTTI_FAKE(CtxPopCurrent_v2, void** context) {
  *context = Current();
  if (!t_contexts.empty()) t_contexts.pop_back();
  return 0;
}
TUTTI_FAKE(CtxSetCurrent, void* context) {
  t_contexts.assign(1, context);
  return 0;
}
TUTTI_FAKE(CtxGetCurrent, void** context) {
  *context = Current();
  return 0;
}
TUTTI_FAKE(CtxGetDevice, int* device) {
  *device = static_cast<int>(static_cast<int*>(Current()) - g_contexts);
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
TUTTI_FAKE(MemHostRegister_v2, void* address, std::size_t bytes, unsigned) {
  const std::lock_guard lock(TheMemory().mutex);
  TheMemory().pinned[reinterpret_cast<Address>(address)] = bytes;
  return 0;
}
TUTTI_FAKE(MemHostUnregister, void* address) {
  const std::lock_guard lock(TheMemory().mutex);
  TheMemory().pinned.erase(reinterpret_cast<Address>(address));
  return 0;
}
TUTTI_FAKE(MemHostGetDevicePointer_v2, Address* address, void* host, unsigned) {
  *address = reinterpret_cast<Address>(host);
  return 0;
}
TUTTI_FAKE(PointerGetAttribute, void* value, int attribute, Address address) {
  if (g_hooks.is_host != nullptr && g_hooks.is_host(address)) return kInvalidValue;
  if (attribute == tutti::sys::cuda::kDeviceOrdinal) return cuCtxGetDevice(static_cast<int*>(value));
  *static_cast<unsigned*>(value) = attribute == tutti::sys::cuda::kMemoryType ? tutti::sys::cuda::kDeviceMemory : 0;
  return 0;
}
TUTTI_FAKE_IDLE(MemsetD8_v2)
TUTTI_FAKE_IDLE(MemsetD8Async)  // what is cleared is fresh
TUTTI_FAKE(MemcpyHtoD_v2) { return kNotSupported; }
TUTTI_FAKE(MemcpyDtoH_v2) { return kNotSupported; }
TUTTI_FAKE(MemcpyAsync, Address to, Address from, std::size_t bytes, void*) {
  {
    const std::lock_guard lock(TheMemory().mutex);
    if (TheMemory().IsPinned(to)) return kNotSupported;
  }
  if (g_hooks.copy == nullptr) return kNotSupported;
  g_hooks.copy(to, from, bytes);
  return 0;
}
TUTTI_FAKE_IDLE(IpcGetMemHandle)  // ranks are threads of one process and use plain addresses
TUTTI_FAKE(IpcOpenMemHandle_v2) { return kNotSupported; }
TUTTI_FAKE(IpcCloseMemHandle) { return kNotSupported; }
TUTTI_FAKE(MemGetAllocationGranularity, std::size_t* bytes) {
  *bytes = kGranularity;
  return 0;
}
TUTTI_FAKE(MemCreate, Allocation* allocation, std::size_t bytes) {
  const int descriptor = memfd_create("fake-gpu", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) return kNotSupported;
  const std::lock_guard lock(TheMemory().mutex);
  *allocation = TheMemory().Add(descriptor);
  return 0;
}
TUTTI_FAKE(MemRelease, Allocation allocation) {
  const std::lock_guard lock(TheMemory().mutex);
  TheMemory().Release(allocation);
  return 0;
}
TUTTI_FAKE(MemExportToShareableHandle, int* descriptor, Allocation allocation) {
  const std::lock_guard lock(TheMemory().mutex);
  const auto it = TheMemory().pieces.find(allocation);
  *descriptor = it == TheMemory().pieces.end() ? -1 : dup(it->second.descriptor);
  return *descriptor < 0 ? kInvalidValue : 0;
}
TUTTI_FAKE(MemImportFromShareableHandle, Allocation* allocation, void* descriptor) {
  const std::lock_guard lock(TheMemory().mutex);
  *allocation = TheMemory().Add(dup(static_cast<int>(reinterpret_cast<std::intptr_t>(descriptor))));
  return 0;
}
TUTTI_FAKE(MemAddressReserve, Address* address, std::size_t bytes) {
  void* const place = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *address = reinterpret_cast<Address>(place);
  return place == MAP_FAILED ? kNotSupported : 0;
}
TUTTI_FAKE(MemAddressFree, Address address, std::size_t bytes) {
  return munmap(reinterpret_cast<void*>(address), bytes) == 0 ? 0 : kInvalidValue;
}
TUTTI_FAKE(MemMap, Address address, std::size_t bytes, std::size_t, Allocation allocation) {
  const std::lock_guard lock(TheMemory().mutex);
  const auto it = TheMemory().pieces.find(allocation);
  if (it == TheMemory().pieces.end()) return kInvalidValue;
  void* const place = reinterpret_cast<void*>(address);
  if (mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, it->second.descriptor, 0) !=
      place) {
    return kNotSupported;
  }
  ++it->second.holders;
  TheMemory().mapped[address] = {bytes, allocation};
  return 0;
}
TUTTI_FAKE(MemUnmap, Address address, std::size_t bytes) {
  const std::lock_guard lock(TheMemory().mutex);
  const auto it = TheMemory().mapped.find(address);
  if (it == TheMemory().mapped.end()) return kInvalidValue;
  mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
       0);
  TheMemory().Release(it->second.second);
  TheMemory().mapped.erase(it);
  return 0;
}
TUTTI_FAKE_IDLE(MemSetAccess)
TUTTI_FAKE(MemRetainAllocationHandle, Allocation* allocation, void* place) {
  const std::lock_guard lock(TheMemory().mutex);
  const auto address = reinterpret_cast<Address>(place);
  const auto it = Memory::Holding(TheMemory().mapped, address);
  if (it == TheMemory().mapped.end() || address >= it->first + it->second.first) return kInvalidValue;
  *allocation = it->second.second;
  ++TheMemory().pieces[*allocation].holders;
  return 0;
}
TUTTI_FAKE(MemGetAddressRange_v2, Address* base, std::size_t* bytes, Address address) {
  const std::lock_guard lock(TheMemory().mutex);
  const auto it = Memory::Holding(TheMemory().mapped, address);
  if (it == TheMemory().mapped.end() || address >= it->first + it->second.first) return kInvalidValue;
  *base = it->first;
  *bytes = it->second.first;
  return 0;
}

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
TUTTI_FAKE(StreamBatchMemOp_v2, void*, unsigned count, MemoryOperation* operations, unsigned) {
  using namespace tutti::sys::cuda;  // NOLINT: the operations' names
  if (g_gpus == 1) return kNotSupported;
  const std::size_t passed = g_hooks.words == nullptr ? count : g_hooks.words({operations, count});
  for (const MemoryOperation& operation : std::span(operations, std::min<std::size_t>(passed, count))) {
    if (operation.operation == kWaitWord) continue;
    auto* const word = reinterpret_cast<void*>(operation.address);
    std::memcpy(word, &operation.value, operation.operation == kWriteLong ? 8 : 4);
  }
  return 0;
}
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
  static std::mutex mutex;
  static std::map<std::string, FakeKernel>& kernels = *new std::map<std::string, FakeKernel>;
  const std::lock_guard lock(mutex);
  const bool handshake = std::strstr(name, "Handshake") != nullptr;
  *kernel = &kernels.try_emplace(name, FakeKernel{name, handshake}).first->second;
  return 0;
}
TUTTI_FAKE(KernelGetFunction, void** function, void* kernel) {
  *function = kernel;
  return 0;
}
TUTTI_FAKE(LaunchKernelEx, const LaunchConfig* config, void* kernel, void** arguments, void**) {
  const auto& launched = *static_cast<const FakeKernel*>(kernel);
  if (launched.handshake) return SeeAll(*static_cast<const Handshake*>(arguments[0]));
  if (g_hooks.launch != nullptr) g_hooks.launch(launched.name.c_str(), *config, arguments[0]);
  return 0;
}
