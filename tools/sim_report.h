// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_SIM_REPORT_H_
#define TUTTI_TOOLS_SIM_REPORT_H_

// What `tutti sim` found, for --json: a row for each line of its tables.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "tools/json.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::sim {
struct Outcome;
struct Way;
struct WorkloadTimes;
}  // namespace tutti::sim

namespace tutti::tools {

struct SimCase;

class SimReport {
 public:
  // `file`: of --json; empty: none is written. "-" is the standard output, which then has nothing but this.
  explicit SimReport(std::string file) : file_(std::move(file)), rows_(Json::Array()) {}

  // Whether tables are printed.
  bool prints() const { return file_ != "-"; }

  // An operation in one way. `size`: bytes of the larger buffer.
  void Add(const SimCase& which, Collective collective, std::size_t size, const sim::Way& way,
           const sim::Outcome& outcome);
  // A training step.
  void Add(const SimCase& which, std::string_view workload, const sim::WorkloadTimes& times);

  Status Write() const;

 private:
  std::string file_;
  Json rows_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_SIM_REPORT_H_
