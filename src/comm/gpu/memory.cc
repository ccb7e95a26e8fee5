// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/memory.h"

#include <map>
#include <mutex>

#include "exec/gpu/launch/images.h"
#include "sys/cuda/cuda.h"
#include "sys/cuda/cuda_memory.h"
#include "sys/os/fork.h"
#include "tutti/settings.h"

namespace tutti::comm {
namespace {

using sys::cuda::DeviceMemory;
using sys::cuda::Driver;

struct Piece {
  sys::cuda::PrimaryContext context;
  DeviceMemory memory;
};

// Never destroyed: at the end of a process the driver takes everything back by itself.
struct Pieces {
  std::mutex mutex;
  std::map<void*, Piece> by_address;  // guarded by mutex
};
Pieces& ThePieces() {
  static Pieces& pieces = *[] {
    auto* made = new Pieces;
    sys::FreeInForkedChildren(made->mutex);
    return made;
  }();
  return pieces;
}

}  // namespace

bool CanUseGpu() { return exec::gpu::MoveKernelImage() != nullptr && sys::cuda::OpenDriver().ok(); }

int CurrentGpu() {
  if (!CanUseGpu()) return 0;
  const Driver& driver = **sys::cuda::OpenDriver();
  sys::cuda::Context current = nullptr;
  sys::cuda::Device device = 0;
  if (driver.CtxGetCurrent(&current) != 0 || current == nullptr) return 0;
  return driver.CtxGetDevice(&device) == 0 ? device : 0;
}

Result<void*> AllocateOnGpu(std::size_t bytes) {
  if (!CanUseGpu() || !Settings::FromEnvironment().gpu) return nullptr;
  const Driver* driver = *sys::cuda::OpenDriver();
  const int device = CurrentGpu();
  Result<sys::cuda::PrimaryContext> context = sys::cuda::PrimaryContext::Retain(driver, device);
  if (!context.ok()) return context.status();
  const sys::cuda::ScopedContext scope(driver, context->get());
  Result<DeviceMemory> memory = DeviceMemory::Create(driver, device, bytes, DeviceMemory::BestWay(driver, device));
  if (!memory.ok()) return memory.status();
  memory->LetPeersReach(device);  // as NCCL does: programs copy between their GPUs
  void* const address = memory->data();
  Pieces& pieces = ThePieces();
  std::lock_guard lock(pieces.mutex);
  pieces.by_address[address] = {std::move(*context), std::move(*memory)};
  return address;
}

bool FreeOnGpu(void* memory) {
  Pieces& pieces = ThePieces();
  Piece piece;  // freed without the lock
  {
    std::lock_guard lock(pieces.mutex);
    const auto found = pieces.by_address.find(memory);
    if (found == pieces.by_address.end()) return false;
    piece = std::move(found->second);
    pieces.by_address.erase(found);
  }
  const sys::cuda::ScopedContext scope(*sys::cuda::OpenDriver(), piece.context.get());
  piece.memory = {};
  return true;
}

}  // namespace tutti::comm
