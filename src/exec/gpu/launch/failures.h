// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_FAILURES_H_
#define TUTTI_EXEC_GPU_LAUNCH_FAILURES_H_

// What kernels wait for, also those that gave up, and copy engines that go on waiting. Kernels that are lowered alike
// (exec/gpu/launch/lowered.h) have words of their own, and the host keeps beside them what it takes to read them. Streams with
// copies say by a number which way they go (transport/p2p/copy_words.h).

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/gpu/launch/failed_wait.h"

namespace tutti::exec::gpu {

struct CopyWait;
struct Group;
struct HostWords;
struct PreparedPlan;
struct Program;
struct Relay;

// The words of a communicator's kernels, and the ways of its copy engines. Any thread.
class Failures {
 public:
  static constexpr int kSlots = 24;

  Failures();
  Failures(const Failures&) = delete;
  Failures& operator=(const Failures&) = delete;
  ~Failures();

  // As the host and as the GPU see them: kSlots of them.
  void Use(HostWords* host, HostWords* device);
  // The words for a kernel that runs a plan so; steps, rank_of: as of Lowered (exec/gpu/launch/lowered.h). Where there are more ways
  // than slots, several share one, and what differs between them is left open.
  HostWords* WordsFor(const PreparedPlan& plan, const Program& program);
  HostWords* WordsForBatch(const PreparedPlan& plan);
  HostWords* WordsFor(const PreparedPlan& plan, const Relay& relay);
  HostWords* WordsFor(const PreparedPlan& plan, const Group& group, std::vector<std::uint16_t> steps,
                      const std::vector<int>& rank_of);
  // The number of a way of copy engines, below kSlots; likewise.
  int WayOf(const PreparedPlan& plan);
  // A plan is about to end. What kernels that run it would say is left open.
  void Forget(const PreparedPlan& plan);
  // Lets all kernels end.
  void EndKernels();
  bool ending() const;
  // What the first one found has waited for, if any has given up.
  std::optional<FailedWait> Find();
  // What copy engines have waited for.
  FailedWait Read(const CopyWait& wait);

  // HostWords::waits of a slot for each seat, and the rank that such a seat is; -1: not known.
  std::span<const volatile std::uint64_t> WaitsOf(int slot) const;
  int RankAt(int slot, int seat) const;
  // No kernel notes that this call has begun (transport::p2p::LaunchCounts); the last such one.
  void NoKernelFor(std::uint64_t number) { without_kernel_.store(number, std::memory_order_relaxed); }
  std::uint64_t without_kernel() const { return without_kernel_.load(std::memory_order_relaxed); }

 private:
  struct Ways;
  HostWords* host_ = nullptr;
  HostWords* device_ = nullptr;
  const std::unique_ptr<Ways> kernels_, copies_;
  std::atomic<std::uint64_t> without_kernel_{0};
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_FAILURES_H_
