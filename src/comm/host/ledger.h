// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_LEDGER_H_
#define TUTTI_COMM_HOST_LEDGER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "trace/call.h"
#include "tutti/operation.h"

namespace tutti {
namespace exec::cpu {
struct Job;
struct JobCalls;
struct Lane;
}  // namespace exec::cpu
}  // namespace tutti

namespace tutti::comm {

struct Core;
class Planner;

// Numbers what this rank calls, writes it into the black box and marks its messages (trace/call.h).
class Ledger {
 public:
  Ledger(Core& core, Planner& planner);

  // A call, or sends and receives that proceed together, for which `job` was prepared.
  void Record(const Operation& operation, exec::cpu::Job& job);
  void RecordGroup(std::span<const Operation> operations, exec::cpu::Job& job);
  // A job of the library's own, which goes before `job` and belongs to its call.
  static void Accompany(const exec::cpu::Job& job, exec::cpu::Job& ahead);
  // A collective that moves nothing.
  void RecordEmpty(const Operation& operation);
  // A call that the GPU runs, or a collective on device memory that moves nothing. It counts as ended here when it is in its
  // stream. Returns its number in the black box; 0: it is not written down.
  std::uint64_t RecordGpuCall(const Operation& operation);

  // Stands for all collectives so far, those on GPUs included (trace/call.h). Where GPUs' calls and others take turns it does
  // not stand for the order of the two kinds.
  std::uint64_t mark_of_all() const { return trace::NextMark(mark_, gpu_mark_); }
  // Sends and receives called so far.
  std::uint64_t transfers() const { return transfers_; }
  // Collectives written down so far, which is the sequence number of the last.
  std::uint64_t collectives() const;
  // Those that the library has called itself while it was made; alike on all ranks. Those so far are.
  std::uint64_t own_collectives() const { return own_collectives_; }
  void EndOwn();

 private:
  void RecordCollective(exec::cpu::Job& job);
  // Its number in the black box.
  std::uint64_t RecordTransfer(const Operation& operation, const exec::cpu::Lane& lane, std::uint64_t* its_mark);
  // Counts a send or receive; its number among those with the same peer.
  std::uint64_t NumberTransfer(const Operation& operation);
  void TimeCalls(exec::cpu::JobCalls& calls);

  Core& core_;
  Planner& planner_;
  std::uint64_t own_collectives_ = 0;
  std::uint64_t transfers_ = 0;  // sends and receives called so far; the other calls are collectives
  std::uint64_t mark_ = 0;       // of the last collective that is not on the GPU
  // Of the last one that is. Messages do not carry it: calls that are captured into graphs are not counted, and a rank may
  // capture what another one runs at once.
  std::uint64_t gpu_mark_ = 0;
  std::vector<std::uint64_t> sends_, receives_;  // called so far, by peer
  // The last collective on the GPU: its word and count, and the run of the black box that it is in.
  struct {
    trace::CallWord word = 0;
    std::uint64_t count = 0, run = 0, signature = 0;
  } gpu_call_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_LEDGER_H_
