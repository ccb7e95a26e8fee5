// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PERF_GPU_H_
#define TUTTI_TOOLS_PERF_GPU_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "sys/cuda/cuda.h"
#include "tools/perf_buffers.h"
#include "tutti/communicator.h"
#include "tutti/gpu.h"
#include "tutti/status.h"

namespace tutti::tools {

// `tutti perf --gpu`: a rank's GPU, with buffers that mirror those on the host, where data are made and checked.
class PerfGpu {
 public:
  // Collective over the ranks of `communicator`: rank r gets GPU r modulo the GPUs that it sees. `communicator` and
  // `buffers` (each of `bytes` and its guard) must outlive this object. kUnsupported without GPUs.
  static Result<PerfGpu> Create(Communicator& communicator, const Buffers& buffers, std::size_t bytes);
  PerfGpu(PerfGpu&& other) noexcept;
  PerfGpu& operator=(PerfGpu&&) = delete;
  ~PerfGpu();

  // Both buffers, to the GPU and back. Return when the data are there.
  Status CopyIn();
  Status CopyOut();
  // Enqueues operations on host buffers, moved to their mirrors; several as one group. Does not wait.
  Status Run(std::span<const Operation> operations);
  // Until all that was enqueued has ended.
  Status Wait();
  // What would be chosen; `operation` on host buffers.
  std::string Explain(const Operation& operation);

 private:
  PerfGpu(const Buffers& buffers, std::size_t bytes) : buffers_(&buffers), bytes_(bytes) {}
  Operation Moved(const Operation& operation) const;

  const Buffers* buffers_;
  std::size_t bytes_;  // of each, with its guard
  const sys::cuda::Driver* driver_ = nullptr;
  std::optional<GpuCommunicator> communicator_;
  sys::cuda::PrimaryContext context_;
  sys::cuda::Stream stream_ = nullptr;
  sys::cuda::Address mirrors_[2] = {};
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PERF_GPU_H_
