// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_PRESENCE_H_
#define TUTTI_COMM_GPU_PRESENCE_H_

#include <atomic>

namespace tutti::comm {

// A communicator of several ranks on a device of this process, among others: kernels of each may wait there for other ranks,
// and hold multiprocessors that the others need (docs/decisions/0012-part-of-a-gpu.md). Any thread may call these.
class GpuPresence {
 public:
  GpuPresence() = default;
  GpuPresence(const GpuPresence&) = delete;
  GpuPresence& operator=(const GpuPresence&) = delete;
  ~GpuPresence() { End(); }

  // REQUIRES: was not called before.
  void Begin(int device);
  // Also before destruction: of a communicator that is broken, whose kernels end.
  void End();
  // Whether no other one is on its device; so, too, where this one is not.
  bool IsAlone() const {
    const std::atomic<int>* count = count_.load(std::memory_order_relaxed);
    return count == nullptr || count->load(std::memory_order_relaxed) <= 1;
  }

 private:
  std::atomic<std::atomic<int>*> count_{nullptr};
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_PRESENCE_H_
