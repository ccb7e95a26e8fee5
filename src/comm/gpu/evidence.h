// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_EVIDENCE_H_
#define TUTTI_COMM_GPU_EVIDENCE_H_

#include <memory>

#include "sys/cuda/cuda.h"

namespace tutti {
namespace exec::gpu {
class Failures;
}
}  // namespace tutti

namespace tutti::comm {

struct GpuCore;
class GpuWords;

// Writes down in which stream the calls are from now on.
void NoteStream(GpuCore& core, sys::cuda::Stream stream);

// Writes down in the black box what this rank's kernels wait for, and, while other ranks' kernels wait for this one, which of its calls has
// begun. Threads: one at a time.
class GpuEvidence {
 public:
  GpuEvidence(GpuCore& core, const exec::gpu::Failures& failures);
  GpuEvidence(const GpuEvidence&) = delete;
  GpuEvidence& operator=(const GpuEvidence&) = delete;
  ~GpuEvidence();

  // Looks once; to be done some times in a third of a second. Waits for nobody. `words` stay until Close.
  void Note(const GpuWords& words);
  // Nothing of it is under way any more, unless the driver holds it up.
  void Close();

 private:
  struct Inside;
  const std::unique_ptr<Inside> inside_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_EVIDENCE_H_
