// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>

#include "exec/gpu/launch/images.h"

namespace tutti::exec::gpu {

using proto::Protocol;
using sys::cuda::Check;
using sys::cuda::Kernel;

namespace {

constexpr int kImages = kNcclDataTypes + 2;  // of types, of moves and between hosts

// The images that have been handed to the driver. They stay for as long as the process: taking one back would wait for
// all kernels that run, also those of others.
Result<sys::cuda::Library> OpenImage(const sys::cuda::Driver* driver, int index, const void* image) {
  struct Opened {
    std::mutex mutex;
    std::array<sys::cuda::Library, kImages> libraries{};
  };
  static Opened& opened = *new Opened;  // never destroyed: threads may outlive static objects
  if (image == nullptr) {
    return Status(
        Code::kUnsupported,
        "this build of Tutti has no GPU kernels: configure it with -DTUTTI_CUDA=ON (cmake --preset cuda), or use "
        "host memory");
  }
  const std::lock_guard lock(opened.mutex);
  sys::cuda::Library& library = opened.libraries[index];
  if (library == nullptr) {
    TUTTI_RETURN_IF_ERROR(Check(*driver,
                                driver->LibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0),
                                "loading GPU kernels (was Tutti compiled for this GPU? CMAKE_CUDA_ARCHITECTURES)"));
  }
  return library;
}

// The kernel of that name, in the thread's current context.
Result<Kernel> OpenKernel(const sys::cuda::Driver* driver, int index, const void* image, const char* name) {
  const Result<sys::cuda::Library> library = OpenImage(driver, index, image);
  if (!library.ok()) return library.status();
  const std::string what =
      fmt::format("GPU kernel {} (was Tutti compiled for this GPU? CMAKE_CUDA_ARCHITECTURES)", name);
  Kernel kernel = nullptr;
  void* function = nullptr;
  TUTTI_RETURN_IF_ERROR(Check(*driver, driver->LibraryGetKernel(&kernel, *library, name), what));
  // Else the driver would load it when it is first launched.
  TUTTI_RETURN_IF_ERROR(Check(*driver, driver->KernelGetFunction(&function, kernel), what));
  return kernel;
}

// Of the operators that have kernels: averages and PreMulSum are sums.
constexpr const char* kOpNames[] = {"Sum", "Prod", "Max", "Min"};
int FoldOf(ReduceOp op) {
  return static_cast<int>(op) < static_cast<int>(std::size(kOpNames)) ? static_cast<int>(op) : 0;
}

// Of the largest copy: the block's threads do one copy after the other.
std::uint32_t MostUnits(std::span<const AcrossCopy> copies) {
  std::uint32_t most = 0;
  for (const AcrossCopy& copy : copies) most = std::max(most, copy.InVectors() ? copy.bytes / 16 : copy.bytes);
  return most;
}

}  // namespace

int ThreadsPerBlock(const Across& across) {
  constexpr std::uint32_t kWarp = 32;
  const std::uint32_t units =
      std::max(MostUnits(std::span(across.in, across.ins)), MostUnits(std::span(across.out, across.outs)));
  const std::uint32_t threads = (units + kWarp - 1) / kWarp * kWarp;
  return static_cast<int>(std::clamp(threads, kWarp, static_cast<std::uint32_t>(kMostAcrossThreads)));
}

Result<Kernel> Launcher::Load(int index, const char* name) {
  // Loading is not an operation of a stream; a capture by this thread may go on.
  int mode = sys::cuda::kRelaxedCapture;
  driver_->ThreadExchangeStreamCaptureMode(&mode);
  const void* image = index == kAcross ? AcrossKernelImage()
                      : index == kMove ? MoveKernelImage()
                                       : KernelImage(static_cast<DataType>(index));
  Result<Kernel> kernel = OpenKernel(driver_, index, image, name);
  driver_->ThreadExchangeStreamCaptureMode(&mode);
  return kernel;
}

Result<Kernel> Launcher::Find(DataType type, ReduceOp op, Protocol protocol) {
  const int fold = FoldOf(op);
  Kernel& kernel = kernels_[static_cast<int>(type)][fold][static_cast<int>(protocol)];
  if (kernel == nullptr) [[unlikely]] {
    const std::string name =
        fmt::format("ncclTutti{}_{}_{}", kOpNames[fold], KernelTypeName(type), proto::Name(protocol));
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

Result<Kernel> Launcher::FindRelayOf(int type, int op) {
  Kernel& kernel = relays_[type][op];
  if (kernel == nullptr) [[unlikely]] {
    const bool move = type == kMove;
    const std::string name = fmt::format("ncclTutti{}_{}_Relay", move ? "Move" : kOpNames[op],
                                         move ? "bytes" : KernelTypeName(static_cast<DataType>(type)));
    const Result<Kernel> loaded = Load(type, name.c_str());
    if (!loaded.ok()) return loaded.status();
    kernel = *loaded;
  }
  return kernel;
}

Result<Kernel> Launcher::FindRelay(DataType type, ReduceOp op) {
  return FindRelayOf(static_cast<int>(type), FoldOf(op));
}

Result<Kernel> Launcher::FindMoveRelay() { return FindRelayOf(kMove, 0); }

Result<Kernel> Launcher::FindBatchOf(int type, Protocol protocol, std::size_t items) {
  const bool few = items <= kFewItems;
  Kernel& kernel = batch_kernels_[type][few ? 1 : 0][static_cast<int>(protocol)];
  if (kernel == nullptr) [[unlikely]] {
    const bool move = type == kMove;
    const std::string name =
        fmt::format("ncclTutti{}{}_{}_{}", move ? "Move" : "Sum", few ? "FewBatch" : "Batch",
                    move ? "bytes" : KernelTypeName(static_cast<DataType>(type)), proto::Name(protocol));
    const Result<Kernel> loaded = Load(type, name.c_str());
    if (!loaded.ok()) return loaded.status();
    kernel = *loaded;
  }
  return kernel;
}

Result<Kernel> Launcher::FindBatch(DataType type, Protocol protocol, std::size_t items) {
  return FindBatchOf(static_cast<int>(type), protocol, items);
}

Result<Kernel> Launcher::FindMoveBatch(Protocol protocol, std::size_t items) {
  return FindBatchOf(kMove, protocol, items);
}

Result<Kernel> Launcher::FindSendRecv(GroupKernel which) {
  constexpr const char* kNames[kGroupKernels] = {"ncclTuttiSendRecv", "ncclTuttiSendRecvLarge",
                                                 "ncclTuttiSendRecvWide"};
  Kernel& kernel = send_recv_[static_cast<int>(which)];
  if (kernel == nullptr) [[unlikely]] {
    const Result<Kernel> loaded = Load(kMove, kNames[static_cast<int>(which)]);
    if (!loaded.ok()) return loaded.status();
    kernel = *loaded;
  }
  return kernel;
}

Result<Kernel> Launcher::FindHandshake() { return Load(kMove, "ncclTuttiHandshake"); }

Result<Kernel> Launcher::FindAcross() { return Load(kAcross, "ncclTuttiAcross"); }

Status Launcher::LoadAll() {
  TUTTI_RETURN_IF_ERROR(FindHandshake().status());
  for (int kernel = 0; kernel < kGroupKernels; ++kernel) {
    TUTTI_RETURN_IF_ERROR(FindSendRecv(static_cast<GroupKernel>(kernel)).status());
  }
  TUTTI_RETURN_IF_ERROR(FindMoveRelay().status());
  for (int type = 0; type < kNcclDataTypes; ++type) {
    for (int op = 0; op < kOps; ++op) {
      TUTTI_RETURN_IF_ERROR(FindRelay(static_cast<DataType>(type), static_cast<ReduceOp>(op)).status());
    }
  }
  for (int p = 0; p < proto::kProtocols; ++p) {
    const auto protocol = static_cast<Protocol>(p);
    TUTTI_RETURN_IF_ERROR(FindMove(protocol).status());
    for (int type = 0; type <= kMove; ++type) {
      for (const int items : {kFewItems, kMaxItems}) {
        TUTTI_RETURN_IF_ERROR(FindBatchOf(type, protocol, static_cast<std::size_t>(items)).status());
      }
    }
    for (int type = 0; type < kNcclDataTypes; ++type) {
      for (int op = 0; op < kOps; ++op) {
        TUTTI_RETURN_IF_ERROR(Find(static_cast<DataType>(type), static_cast<ReduceOp>(op), protocol).status());
      }
    }
  }
  return Status::Ok();
}

unsigned Launcher::ClusterOf(unsigned blocks) const {
  if (static_cast<int>(blocks) > most_clustered_) return 1;
  return blocks % 4 == 0 ? 4 : blocks % 2 == 0 ? 2 : 1;
}

Status Launcher::StartKernel(Kernel kernel, const void* argument, sys::cuda::LaunchConfig config, Overlap overlap,
                             unsigned cluster) {
  // Each is cleared where it is used: zeros for all take a tenth of the call's time.
  sys::cuda::LaunchAttribute attributes[2];
  config.attributes = attributes;
  config.attribute_count = 0;
  if (overlap == Overlap::kWithPrevious) {
    sys::cuda::LaunchAttribute& attribute = attributes[config.attribute_count++];
    std::memset(&attribute, 0, sizeof(attribute));
    attribute.id = sys::cuda::kProgrammaticStreamSerialization;
    attribute.value = 1;
  }
  if (cluster > 1) {
    sys::cuda::LaunchAttribute& attribute = attributes[config.attribute_count++];
    std::memset(&attribute, 0, sizeof(attribute));
    attribute.id = sys::cuda::kClusterDimension;
    attribute.cluster[0] = cluster;
    attribute.cluster[1] = attribute.cluster[2] = 1;
  }
  void* arguments[] = {const_cast<void*>(argument)};
  const int result = driver_->LaunchKernel(&config, kernel, arguments, nullptr);
  if (result == 0) [[likely]]
    return Status::Ok();
  if (cluster > 1) {  // too few multiprocessors beside each other, as in a part of a GPU
    most_clustered_ = 0;
    return StartKernel(kernel, argument, config, overlap);
  }
  return Check(*driver_, result,
               fmt::format("starting a GPU kernel of {} blocks of {} threads", config.grid_x, config.block_x));
}

Status Launcher::Start(const Launch& launch, Overlap overlap, sys::cuda::Stream stream) {
  const auto blocks = static_cast<unsigned>(launch.blocks);
  return StartKernel(launch.kernel, launch.argument,
                     {.grid_x = blocks, .block_x = static_cast<unsigned>(launch.threads), .stream = stream}, overlap,
                     launch.in_clusters ? ClusterOf(blocks) : 1);
}

Status Launcher::StartHandshake(Kernel kernel, const Handshake& handshake, sys::cuda::Stream stream) {
  return StartKernel(kernel, &handshake, {.block_x = kSeats, .stream = stream}, Overlap::kNo);
}

// Without overlap: it touches memory at once, and what comes behind it may not run before it has ended.
Status Launcher::StartAcross(Kernel kernel, const Across& across, sys::cuda::Stream stream) {
  const auto threads = static_cast<unsigned>(ThreadsPerBlock(across));
  return StartKernel(kernel, &across, {.block_x = threads, .stream = stream}, Overlap::kNo);
}

}  // namespace tutti::exec::gpu
