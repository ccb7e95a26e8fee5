// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launcher.h"

#include <fmt/format.h>

#include <string>

#include "exec/gpu/images.h"

namespace tutti::exec::gpu {

using proto::Protocol;
using sys::cuda::Check;
using sys::cuda::Kernel;

Launcher::~Launcher() {
  for (const sys::cuda::Library library : libraries_) {
    if (library != nullptr) driver_->LibraryUnload(library);
  }
}

Result<Kernel> Launcher::Load(int type, const char* name) {
  // Loading is not an operation of a stream; a capture by this thread may go on.
  int mode = sys::cuda::kRelaxedCapture;
  driver_->ThreadExchangeStreamCaptureMode(&mode);
  Status status = Status::Ok();
  Kernel kernel = nullptr;
  if (libraries_[type] == nullptr) {
    const void* image = type == kMove ? MoveKernelImage() : KernelImage(static_cast<DataType>(type));
    status = image == nullptr
                 ? Status(Code::kUnsupported,
                          "this build of Tutti has no GPU kernels: configure it with -DTUTTI_CUDA=ON (cmake --preset "
                          "cuda), or use host memory")
                 : Check(*driver_,
                         driver_->LibraryLoadData(&libraries_[type], image, nullptr, nullptr, 0, nullptr, nullptr, 0),
                         "loading GPU kernels (was Tutti compiled for this GPU? CMAKE_CUDA_ARCHITECTURES)");
  }
  if (status.ok()) {
    status = Check(*driver_, driver_->LibraryGetKernel(&kernel, libraries_[type], name),
                   fmt::format("GPU kernel {} (was Tutti compiled for this GPU? CMAKE_CUDA_ARCHITECTURES)", name));
  }
  driver_->ThreadExchangeStreamCaptureMode(&mode);
  if (!status.ok()) return status;
  return kernel;
}

Result<Kernel> Launcher::Find(DataType type, ReduceOp op, Protocol protocol) {
  constexpr const char* kNames[kOps] = {"Sum", "Prod", "Max", "Min"};
  const int fold = static_cast<int>(op) < kOps ? static_cast<int>(op) : 0;  // averages and PreMulSum are sums
  Kernel& kernel = kernels_[static_cast<int>(type)][fold][static_cast<int>(protocol)];
  if (kernel == nullptr) [[unlikely]] {
    const std::string name =
        fmt::format("ncclTutti{}_{}_{}", kNames[fold], KernelTypeName(type), proto::Name(protocol));
    const Result<Kernel> loaded = Load(static_cast<int>(type), name.c_str());
    if (!loaded.ok()) return loaded.status();
    kernel = *loaded;
  }
  return kernel;
}

Result<Kernel> Launcher::FindMove(Protocol protocol) {
  Kernel& kernel = kernels_[kMove][0][static_cast<int>(protocol)];
  if (kernel == nullptr) [[unlikely]] {
    const Result<Kernel> loaded = Load(kMove, fmt::format("ncclTuttiMove_bytes_{}", proto::Name(protocol)).c_str());
    if (!loaded.ok()) return loaded.status();
    kernel = *loaded;
  }
  return kernel;
}

Result<Kernel> Launcher::FindSendRecv() {
  if (send_recv_ == nullptr) [[unlikely]] {
    const Result<Kernel> loaded = Load(kMove, "ncclTuttiSendRecv");
    if (!loaded.ok()) return loaded.status();
    send_recv_ = *loaded;
  }
  return send_recv_;
}

Result<Kernel> Launcher::FindHandshake() { return Load(kMove, "ncclTuttiHandshake"); }

Status Launcher::LoadAll() {
  const auto load = [&](const Result<Kernel>& kernel) {
    void* function = nullptr;
    if (!kernel.ok()) return kernel.status();
    return Check(*driver_, driver_->KernelGetFunction(&function, *kernel), "loading a GPU kernel");
  };
  TUTTI_RETURN_IF_ERROR(load(FindHandshake()));
  TUTTI_RETURN_IF_ERROR(load(FindSendRecv()));
  for (int p = 0; p < proto::kProtocols; ++p) {
    const auto protocol = static_cast<Protocol>(p);
    TUTTI_RETURN_IF_ERROR(load(FindMove(protocol)));
    for (int type = 0; type < kDataTypes; ++type) {
      for (int op = 0; op < kOps; ++op) {
        TUTTI_RETURN_IF_ERROR(load(Find(static_cast<DataType>(type), static_cast<ReduceOp>(op), protocol)));
      }
    }
  }
  return Status::Ok();
}

Status Launcher::Start(Kernel kernel, const void* argument, int blocks, int threads, Overlap overlap,
                       sys::cuda::Stream stream) {
  sys::cuda::LaunchConfig config;
  config.grid_x = static_cast<unsigned>(blocks);
  config.block_x = static_cast<unsigned>(threads);
  config.stream = stream;
  sys::cuda::LaunchAttribute attribute{};
  if (overlap == Overlap::kWithPrevious) {
    attribute.id = sys::cuda::kProgrammaticStreamSerialization;
    attribute.value = 1;
    config.attributes = &attribute;
    config.attribute_count = 1;
  }
  void* arguments[] = {const_cast<void*>(argument)};
  const int result = driver_->LaunchKernel(&config, kernel, arguments, nullptr);
  if (result == 0) [[likely]]
    return Status::Ok();
  return Check(*driver_, result, fmt::format("starting a GPU kernel of {} blocks of {} threads", blocks, threads));
}

Status Launcher::Launch(Kernel kernel, const Program& program, int blocks, int threads, Overlap overlap,
                        sys::cuda::Stream stream) {
  return Start(kernel, &program, blocks, threads, overlap, stream);
}

Status Launcher::Launch(Kernel kernel, const Group& group, Overlap overlap, sys::cuda::Stream stream) {
  return Start(kernel, &group, group.blocks, kTransferThreads, overlap, stream);
}

Status Launcher::Launch(Kernel kernel, const Handshake& handshake, sys::cuda::Stream stream) {
  return Start(kernel, &handshake, 1, kMaxRanks, Overlap::kNo, stream);
}

}  // namespace tutti::exec::gpu
