// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_TRANSFERS_H_
#define TUTTI_COMM_GPU_TRANSFERS_H_

#include <memory>
#include <span>

#include "tutti/status.h"

namespace tutti {
struct Operation;
namespace exec::gpu {
class Failures;
struct GroupData;
struct PreparedPlan;
}  // namespace exec::gpu
}  // namespace tutti

namespace tutti::comm {

// A group of sends and receives on device memory: from calls to a plan and its data. Threads: one at a time.
class GpuTransfers {
 public:
  // `failures`: is told of plans that are forgotten.
  GpuTransfers(int rank, int ranks, exec::gpu::Failures& failures);
  GpuTransfers(const GpuTransfers&) = delete;
  GpuTransfers& operator=(const GpuTransfers&) = delete;
  ~GpuTransfers();

  // Takes the sends and receives among the operations, which must stay as long as calls() is used. Whether they are as those
  // before, but for their buffers.
  bool Take(std::span<const Operation> operations);
  std::span<const Operation* const> calls() const;
  const exec::gpu::GroupData& data() const;
  // Of what was taken. It stays until another one is asked for. kInvalidUsage where sends and receives to self do not match.
  Result<const exec::gpu::PreparedPlan*> FindPlan();
  // What was taken was not launched: what is taken next is like nothing before.
  void Forget();

 private:
  struct Inside;
  const std::unique_ptr<Inside> inside_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_TRANSFERS_H_
