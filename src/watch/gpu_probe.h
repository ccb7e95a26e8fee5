// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_GPU_PROBE_H_
#define TUTTI_WATCH_GPU_PROBE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "diag/gpu_look.h"

namespace tutti::watch {

// Asks NVML how this host's GPUs are. A driver whose GPU hangs may take its time, so each question has a thread of its own, which ends with the
// answer; who asks never waits, and is told for how long there has been none. Threads: one at a time.
class GpuProbe {
 public:
  explicit GpuProbe(std::string library);
  ~GpuProbe();  // waits for nobody
  GpuProbe(const GpuProbe&) = delete;
  GpuProbe& operator=(const GpuProbe&) = delete;

  // What is known of these GPUs, in the same order: all fields but `xids`. Asks where there is no answer yet, or the last one is older than a
  // second, ten after five answers, and than 20 times what it took. What counters have risen by counts from the first answer on, until nobody has asked for half a minute.
  std::vector<diag::GpuLook> Latest(const std::vector<std::string>& bus_ids, std::int64_t now_ns);
  // Whether an answer is under way.
  bool is_asking() const;

 private:
  struct State;
  void Ask(std::int64_t now_ns);

  const std::shared_ptr<State> state_;
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_GPU_PROBE_H_
