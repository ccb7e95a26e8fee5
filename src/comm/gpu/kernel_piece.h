// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_KERNEL_PIECE_H_
#define TUTTI_COMM_GPU_KERNEL_PIECE_H_

namespace tutti::comm {

struct HostPiece;

// Whether one kernel can copy a piece to host memory and back (exec/gpu/format/across.h), which lies at a multiple of 16 bytes there.
bool FitsKernel(const HostPiece& piece);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_KERNEL_PIECE_H_
