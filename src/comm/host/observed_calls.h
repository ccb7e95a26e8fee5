// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_OBSERVED_CALLS_H_
#define TUTTI_COMM_HOST_OBSERVED_CALLS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tutti {
struct Operation;
namespace exec::cpu {
struct Job;
}
namespace trace {
enum class WaitKind : std::uint32_t;
}
}  // namespace tutti

namespace tutti::comm {

class CallObserver;

// Leads from the jobs of a communicator's engine to whoever is told of its calls. A job that is told of has a watcher of its own before
// the one it had (exec/cpu/job.h), so the engine asks no question more where nobody is told.
//
// Threads: one at a time.
class ObservedCalls {
 public:
  explicit ObservedCalls(CallObserver& observer);
  ~ObservedCalls();

  CallObserver& observer() { return observer_; }
  // A job that was prepared, before the engine gets it.
  void Begin(std::span<const Operation> operations, exec::cpu::Job& job);
  // It is done, also where it has failed.
  void End(exec::cpu::Job& job);
  // The job, the engine's first, waits; `kind`: Waiter::KindOf.
  void Waits(const exec::cpu::Job& job, trace::WaitKind kind);

 private:
  class Watch;

  Watch* Find(const exec::cpu::Job& job);

  CallObserver& observer_;
  std::vector<std::unique_ptr<Watch>> watches_;
  std::vector<const Operation*> operations_;  // of the job that is being begun
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_OBSERVED_CALLS_H_
