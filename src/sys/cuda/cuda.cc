// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/cuda/cuda.h"

#include <fmt/format.h>

#include <utility>

#include "sys/os/shared_library.h"

namespace tutti::sys::cuda {
namespace {

constexpr int kOldestDriver = 12010;  // kernel arguments beyond 4 KB, library handles
constexpr const char* kLibraryName = "libcuda.so.1";

Status Unsupported(std::string message) { return Status(Code::kUnsupported, std::move(message)); }

template <typename F>
bool Find(const SharedLibrary& library, const char* symbol, F& function, const char*& missing) {
  function = reinterpret_cast<F>(library.Find(symbol));
  if (function == nullptr && missing == nullptr) missing = symbol;
  return function != nullptr;
}

// Fills the table; returns the first name that the library lacks, or null.
// Long because a line is a function that is called.
const char* FindAll(const SharedLibrary& library, Driver& d) {
  const char* missing = nullptr;
#define TUTTI_CUDA_FUNCTION(name, symbol) Find(library, "cu" symbol, d.name, missing)
  TUTTI_CUDA_FUNCTION(Init, "Init");
  TUTTI_CUDA_FUNCTION(DriverGetVersion, "DriverGetVersion");
  TUTTI_CUDA_FUNCTION(GetErrorName, "GetErrorName");
  TUTTI_CUDA_FUNCTION(GetErrorString, "GetErrorString");
  TUTTI_CUDA_FUNCTION(DeviceGet, "DeviceGet");
  TUTTI_CUDA_FUNCTION(DeviceGetCount, "DeviceGetCount");
  TUTTI_CUDA_FUNCTION(DeviceGetAttribute, "DeviceGetAttribute");
  TUTTI_CUDA_FUNCTION(DeviceGetName, "DeviceGetName");
  TUTTI_CUDA_FUNCTION(DeviceGetUuid, "DeviceGetUuid_v2");
  TUTTI_CUDA_FUNCTION(DeviceCanAccessPeer, "DeviceCanAccessPeer");
  TUTTI_CUDA_FUNCTION(DeviceGetP2PAttribute, "DeviceGetP2PAttribute");
  TUTTI_CUDA_FUNCTION(DevicePrimaryCtxRetain, "DevicePrimaryCtxRetain");
  TUTTI_CUDA_FUNCTION(DevicePrimaryCtxRelease, "DevicePrimaryCtxRelease_v2");
  TUTTI_CUDA_FUNCTION(CtxPushCurrent, "CtxPushCurrent_v2");
  TUTTI_CUDA_FUNCTION(CtxPopCurrent, "CtxPopCurrent_v2");
  TUTTI_CUDA_FUNCTION(CtxSetCurrent, "CtxSetCurrent");
  TUTTI_CUDA_FUNCTION(CtxGetCurrent, "CtxGetCurrent");
  TUTTI_CUDA_FUNCTION(CtxGetDevice, "CtxGetDevice");
  TUTTI_CUDA_FUNCTION(CtxEnablePeerAccess, "CtxEnablePeerAccess");
  TUTTI_CUDA_FUNCTION(MemGetAllocationGranularity, "MemGetAllocationGranularity");
  TUTTI_CUDA_FUNCTION(MemCreate, "MemCreate");
  TUTTI_CUDA_FUNCTION(MemRelease, "MemRelease");
  TUTTI_CUDA_FUNCTION(MemExportToShareableHandle, "MemExportToShareableHandle");
  TUTTI_CUDA_FUNCTION(MemImportFromShareableHandle, "MemImportFromShareableHandle");
  TUTTI_CUDA_FUNCTION(MemAddressReserve, "MemAddressReserve");
  TUTTI_CUDA_FUNCTION(MemAddressFree, "MemAddressFree");
  TUTTI_CUDA_FUNCTION(MemMap, "MemMap");
  TUTTI_CUDA_FUNCTION(MemUnmap, "MemUnmap");
  TUTTI_CUDA_FUNCTION(MemSetAccess, "MemSetAccess");
  TUTTI_CUDA_FUNCTION(MemRetainAllocationHandle, "MemRetainAllocationHandle");
  TUTTI_CUDA_FUNCTION(MemGetAddressRange, "MemGetAddressRange_v2");
  TUTTI_CUDA_FUNCTION(MemAlloc, "MemAlloc_v2");
  TUTTI_CUDA_FUNCTION(MemFree, "MemFree_v2");
  TUTTI_CUDA_FUNCTION(MemHostRegister, "MemHostRegister_v2");
  TUTTI_CUDA_FUNCTION(MemHostUnregister, "MemHostUnregister");
  TUTTI_CUDA_FUNCTION(MemHostGetDevicePointer, "MemHostGetDevicePointer_v2");
  TUTTI_CUDA_FUNCTION(PointerGetAttribute, "PointerGetAttribute");
  TUTTI_CUDA_FUNCTION(MemsetD8, "MemsetD8_v2");
  TUTTI_CUDA_FUNCTION(MemsetD8Async, "MemsetD8Async");
  TUTTI_CUDA_FUNCTION(MemcpyHtoD, "MemcpyHtoD_v2");
  TUTTI_CUDA_FUNCTION(MemcpyDtoH, "MemcpyDtoH_v2");
  TUTTI_CUDA_FUNCTION(MemcpyAsync, "MemcpyAsync");
  TUTTI_CUDA_FUNCTION(IpcGetMemHandle, "IpcGetMemHandle");
  TUTTI_CUDA_FUNCTION(IpcOpenMemHandle, "IpcOpenMemHandle_v2");
  TUTTI_CUDA_FUNCTION(IpcCloseMemHandle, "IpcCloseMemHandle");
  TUTTI_CUDA_FUNCTION(StreamCreate, "StreamCreate");
  TUTTI_CUDA_FUNCTION(StreamDestroy, "StreamDestroy_v2");
  TUTTI_CUDA_FUNCTION(StreamSynchronize, "StreamSynchronize");
  TUTTI_CUDA_FUNCTION(StreamQuery, "StreamQuery");
  TUTTI_CUDA_FUNCTION(StreamIsCapturing, "StreamIsCapturing");
  TUTTI_CUDA_FUNCTION(StreamGetCaptureInfo, "StreamGetCaptureInfo_v2");
  TUTTI_CUDA_FUNCTION(StreamWaitEvent, "StreamWaitEvent");
  TUTTI_CUDA_FUNCTION(StreamBatchMemOp, "StreamBatchMemOp_v2");
  TUTTI_CUDA_FUNCTION(StreamBeginCapture, "StreamBeginCapture_v2");
  TUTTI_CUDA_FUNCTION(StreamEndCapture, "StreamEndCapture");
  TUTTI_CUDA_FUNCTION(ThreadExchangeStreamCaptureMode, "ThreadExchangeStreamCaptureMode");
  TUTTI_CUDA_FUNCTION(GraphInstantiate, "GraphInstantiateWithFlags");
  TUTTI_CUDA_FUNCTION(GraphLaunch, "GraphLaunch");
  TUTTI_CUDA_FUNCTION(GraphExecDestroy, "GraphExecDestroy");
  TUTTI_CUDA_FUNCTION(GraphDestroy, "GraphDestroy");
  TUTTI_CUDA_FUNCTION(EventCreate, "EventCreate");
  TUTTI_CUDA_FUNCTION(EventDestroy, "EventDestroy_v2");
  TUTTI_CUDA_FUNCTION(EventRecord, "EventRecord");
  TUTTI_CUDA_FUNCTION(EventSynchronize, "EventSynchronize");
  TUTTI_CUDA_FUNCTION(EventElapsedTime, "EventElapsedTime");
  TUTTI_CUDA_FUNCTION(LibraryLoadData, "LibraryLoadData");
  TUTTI_CUDA_FUNCTION(LibraryUnload, "LibraryUnload");
  TUTTI_CUDA_FUNCTION(LibraryGetKernel, "LibraryGetKernel");
  TUTTI_CUDA_FUNCTION(KernelGetFunction, "KernelGetFunction");
  TUTTI_CUDA_FUNCTION(LaunchKernel, "LaunchKernelEx");
#undef TUTTI_CUDA_FUNCTION
  return missing;
}

Status Open(Driver& d) {
  const Result<SharedLibrary> library = SharedLibrary::Open(kLibraryName);
  if (!library.ok()) {
    return Unsupported(fmt::format("no NVIDIA driver: {}; operations on device memory need one, host memory does not",
                                   library.status().message()));
  }
  if (const char* missing = FindAll(*library, d); missing != nullptr) {
    return Unsupported(fmt::format("the NVIDIA driver ({}) lacks {}; Tutti needs a driver for CUDA 12.1 or later",
                                   kLibraryName, missing));
  }
  if (const int result = d.Init(0); result != 0) {
    return Unsupported(Check(d, result, "cuInit, which starts the NVIDIA driver").message());
  }
  int version = 0, devices = 0;
  if (d.DriverGetVersion(&version) != 0 || version < kOldestDriver) {
    return Unsupported(fmt::format("the NVIDIA driver is for CUDA {}.{}; Tutti needs one for 12.1 or later",
                                   version / 1000, version % 1000 / 10));
  }
  if (d.DeviceGetCount(&devices) != 0 || devices == 0) {
    return Unsupported("the NVIDIA driver sees no GPU; is CUDA_VISIBLE_DEVICES set to nothing?");
  }
  return Status::Ok();
}

}  // namespace

Result<const Driver*> OpenDriver() {
  struct Opened {
    Driver driver{};
    Status status;
  };
  // Never destroyed: streams and threads of the process may outlive its static objects.
  static const Opened& opened = *[] {
    auto* o = new Opened;
    o->status = Open(o->driver);
    return o;
  }();
  if (!opened.status.ok()) return opened.status;
  return &opened.driver;
}

Status Check(const Driver& driver, int result, std::string_view what) {
  if (result == 0) [[likely]]
    return Status::Ok();
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.GetErrorName(result, &name) != 0 || name == nullptr) name = "an unknown error";
  if (driver.GetErrorString(result, &text) != 0 || text == nullptr) text = "no description";
  return Status(Code::kSystem, fmt::format("{}: {} ({}, {})", what, text, name, result));
}

Result<unsigned long long> CaptureOf(const Driver& driver, Stream stream) {
  int status = 0;
  unsigned long long id = 0;
  const int result = driver.StreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr);
  if (Status s = Check(driver, result, "asking a stream whether it is being captured"); !s.ok()) return s;
  return status == 0 ? 0 : id;
}

Result<PrimaryContext> PrimaryContext::Retain(const Driver* driver, Device device) {
  PrimaryContext context;
  const int result = driver->DevicePrimaryCtxRetain(&context.context_, device);
  if (Status s = Check(*driver, result, fmt::format("the context of CUDA device {}", device)); !s.ok()) return s;
  context.driver_ = driver;
  context.device_ = device;
  return context;
}

PrimaryContext::PrimaryContext(PrimaryContext&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)), context_(other.context_), device_(other.device_) {}

PrimaryContext& PrimaryContext::operator=(PrimaryContext&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(context_, other.context_);
  std::swap(device_, other.device_);
  return *this;
}

PrimaryContext::~PrimaryContext() {
  if (driver_ != nullptr) driver_->DevicePrimaryCtxRelease(device_);
}

ScopedContext::ScopedContext(const Driver* driver, Context context) : driver_(driver) {
  driver_->CtxPushCurrent(context);
  driver_->ThreadExchangeStreamCaptureMode(&capture_mode_);
}

ScopedContext::~ScopedContext() {
  driver_->ThreadExchangeStreamCaptureMode(&capture_mode_);
  Context previous;
  driver_->CtxPopCurrent(&previous);
}

}  // namespace tutti::sys::cuda
