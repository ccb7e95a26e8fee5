// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_HOSTS_TIMES_H_
#define TUTTI_COMM_GPU_HOSTS_TIMES_H_

#include <memory>
#include <span>

#include "tutti/status.h"

namespace tutti {
struct Operation;
}

namespace tutti::comm {

class GpuWithinHost;
struct HostShape;
struct RunnerCommunicator;

// What operations on device memory among several hosts take by the cost model (comm/gpu/predict_hosts.h), as a communicator says it.
// Threads: one at a time.
class HostsTimes {
 public:
  // Of what a communicator is made of, before its parts are taken. `has_kernel`: for small operations. `within`: null: there is none;
  // it must outlive this.
  HostsTimes(std::span<RunnerCommunicator> communicators, const HostShape& shape, bool has_kernel,
             GpuWithinHost* within);
  ~HostsTimes();

  // Of operations that are called as one, us. REQUIRES: they are valid.
  Result<double> PredictUs(std::span<const Operation> operations);

 private:
  struct Inside;
  const std::unique_ptr<Inside> inside_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_HOSTS_TIMES_H_
