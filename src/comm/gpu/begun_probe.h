// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_BEGUN_PROBE_H_
#define TUTTI_COMM_GPU_BEGUN_PROBE_H_

#include <cstdint>
#include <memory>

#include "sys/cuda/cuda.h"

namespace tutti::comm {

class GpuWords;

// Asks a GPU which call of a communicator has begun there. The driver may take as long as it likes for that, while some thread of the
// program waits inside it, so a thread does it that lives for one question and holds up nobody. While all is well nobody asks.
class BegunProbe {
 public:
  struct Terms {
    const sys::cuda::Driver* driver = nullptr;
    sys::cuda::Context context = nullptr;
    sys::cuda::Stream stream = nullptr;  // for the copy
    sys::cuda::Address counts = 0;       // transport::p2p::LaunchCounts on the GPU
  };

  BegunProbe();
  BegunProbe(const BegunProbe&) = delete;
  BegunProbe& operator=(const BegunProbe&) = delete;
  ~BegunProbe();

  // Begins a question, unless one is under way. What `terms` name, and `words`, stay until Close.
  void Ask(const Terms& terms, const GpuWords& words);
  // The number of the last call that had begun when it was last asked; 0: not known.
  std::uint64_t begun() const;
  // Forgets the answer, also one that is to come.
  void Forget();
  // Waits until nothing is under way. False where the driver has not let it go for `timeout_ns`.
  bool Close(std::int64_t timeout_ns);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_BEGUN_PROBE_H_
