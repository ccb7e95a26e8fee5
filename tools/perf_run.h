// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PERF_RUN_H_
#define TUTTI_TOOLS_PERF_RUN_H_

// The rows of the table: for every element type, reduction, root and size, warm up, measure, check; out of
// place, then in place.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/perf_buffers.h"
#include "tools/perf_check.h"
#include "tools/perf_gpu.h"
#include "tools/perf_options.h"
#include "tools/perf_report.h"
#include "tools/perf_shape.h"
#include "tools/perf_team.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::tools {

// What Communicator::Explain says, in parts: "two_shot", "LL", 2 out of "two_shot LL, 2 channels". The protocol is
// "by-ref" where data is read straight from the sender's memory.
struct ChoiceNames {
  std::string algorithm, protocol;
  int channels = 1;
};
ChoiceNames ParseChoice(const std::string& explained);

class RowRunner {
 public:
  // Measures `tested`; the ranks agree on times and counts through `team`. All must outlive the runner.
  // REQUIRES: the same options on all ranks; `buffers` hold options.max_bytes and the unaligned elements
  // (BufferBytes). `gpu`: mirrors them on a GPU where the operations run, or null.
  RowRunner(const PerfOptions& options, Team& team, Communicator& tested, const Buffers& buffers, PerfGpu* gpu,
            PerfReport& report)
      : options_(options), team_(team), tested_(tested), buffers_(buffers), gpu_(gpu), report_(report) {}

  // Runs every row. Collective; returns at the first failure.
  Status Run();

  // What would be chosen for the largest size.
  std::string ExplainLargest() const;

 private:
  Work MakeWork(DataType type, ReduceOp op, int root, std::size_t bytes) const;
  Status RunRow(const Work& work);
  Result<Measurement> Measure(const Work& work, Placement placement);
  Result<double> Time(const Work& work, Placement placement);
  Result<std::int64_t> Check(const Work& work, Placement placement);
  // What the first iterations run: one list of operations for each. They repeat from there.
  std::vector<std::vector<Operation>> IterationsOf(const Work& work, Placement placement) const;
  Status Once(const std::vector<Operation>& operations);
  // Until what Once started has ended; on the host it has.
  Status Wait() { return gpu_ != nullptr ? gpu_->Wait() : Status::Ok(); }
  std::string Explain(const Operation& operation) const {
    return gpu_ != nullptr ? gpu_->Explain(operation) : tested_.Explain(operation);
  }
  std::byte* first(const Work& work) const;
  std::byte* second(const Work& work) const;

  const PerfOptions& options_;
  Team& team_;
  Communicator& tested_;
  const Buffers& buffers_;
  PerfGpu* gpu_;
  PerfReport& report_;
  Checker checker_;
  std::uint64_t seed_ = 1;  // another one for each check
};

// Bytes that each of the two buffers must have.
std::size_t BufferBytes(const PerfOptions& options);

// Settings that force no algorithm, for the communicator on which the ranks agree.
Settings ControlSettings(const PerfOptions& options);

// All of one rank's work, from the introduction of the ranks to the last line. Prints what goes wrong.
// Returns the exit code. `made`: a communicator of ControlSettings, or why there is none; `rank` says who
// failed then (-1: unknown).
int RunPerfRank(const PerfOptions& options, int rank, Result<Communicator> made);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PERF_RUN_H_
