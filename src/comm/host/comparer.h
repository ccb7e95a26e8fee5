// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_COMPARER_H_
#define TUTTI_COMM_HOST_COMPARER_H_

// Whether the calls of all ranks match. Every rank writes its calls down in its black box, which its peers can read; a
// rank that waits compares them. No rank is waited for here, and a rank that has not called yet is no mismatch.

#include <cstdint>
#include <vector>

#include "tutti/status.h"

namespace tutti {
namespace exec::cpu {
struct Foreign;
struct Job;
}  // namespace exec::cpu
namespace trace {
struct Call;
struct CallRecord;
}  // namespace trace
}  // namespace tutti

namespace tutti::comm {

struct Core;
class Ledger;

class Comparer {
 public:
  Comparer(Core& core, const Ledger& ledger) : core_(core), ledger_(ledger) {}

  // An error quotes two calls that do not match. Looks at what has arrived here in place of what is waited for; and, if
  // `since_ns` is not 0, at the calls that the peers have written down, where this rank has waited since then.
  Status CompareCalls(std::int64_t since_ns);
  // When this rank has left: whether it and the peers that have left before called the same collectives, on host memory and
  // on GPUs, and what its latest sends and receives met. Of any two ranks the later one sees both.
  Status CompareAtEnd();
  // The same for calls on GPUs, whose messages carry no marks: all that the ranks still have written down. Any thread.
  Status CompareGpuCalls();
  // How many calls all ranks have written down so far. Any thread.
  std::uint64_t CallsOfAll() const;

 private:
  Status CompareCollectives(std::uint64_t sequence);
  Status CompareHistory(int peer);
  Status CompareTransfers(const exec::cpu::Job& job);
  using Differ = bool (*)(const trace::Call& mine, const trace::Call& theirs);
  Status CompareTransfers(std::vector<trace::CallRecord> own, Differ differ);
  Status ExplainForeign(const exec::cpu::Job& job, const exec::cpu::Foreign& foreign);
  Status FindStandoff(const exec::cpu::Job& job, std::int64_t since_ns);

  Core& core_;
  const Ledger& ledger_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_COMPARER_H_
