// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/kernel_piece.h"

#include <cstddef>
#include <span>

#include "comm/gpu/host_pieces.h"
#include "exec/gpu/format/across.h"

namespace tutti::comm {
namespace {

// Of one way.
bool FitsKernel(std::span<const HostCopy> copies) {
  if (copies.size() > exec::gpu::kMostAcrossCopies) return false;
  std::size_t bytes = 0, bytewise = 0;
  for (const HostCopy& copy : copies) {
    if (copy.bytes > exec::gpu::kMostAcrossBytes) return false;
    bytes += copy.bytes;
    const exec::gpu::AcrossCopy as_kernels_see_it{.from = copy.user, .to = reinterpret_cast<std::byte*>(copy.at)};
    if (!as_kernels_see_it.InVectors()) bytewise += copy.bytes;
  }
  return bytes <= exec::gpu::kMostAcrossBytes && bytewise <= exec::gpu::kMostAcrossBytewise;
}

}  // namespace

bool FitsKernel(const HostPiece& piece) { return FitsKernel(piece.in) && FitsKernel(piece.out); }

}  // namespace tutti::comm
