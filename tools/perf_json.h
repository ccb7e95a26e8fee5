// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PERF_JSON_H_
#define TUTTI_TOOLS_PERF_JSON_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/perf_options.h"
#include "tools/perf_table.h"
#include "tutti/status.h"

namespace tutti::tools {

// The results of `tutti perf -J FILE` in the layout of nccl-tests' files, version 3, which has "true" and
// "false" as strings. Ours has no "nccl_version" (null) and a "tutti_version"; of the environment it holds
// only the variables of Tutti, NCCL and the launchers, and never TUTTI_ID, which is a secret. Rows also name
// "algorithm" and "protocol".
class JsonReport {
 public:
  // Creates the file; where `path` exists, the first free one of path.0, path.1, ...
  static Result<JsonReport> Create(const std::string& path);
  JsonReport(JsonReport&&) noexcept;
  JsonReport& operator=(JsonReport&&) noexcept;
  ~JsonReport();

  const std::string& path() const;

  void Begin(const PerfOptions& options, std::span<const RankInfo> ranks);
  void Add(const Row& row, int iterations);
  // Writes the file.
  Status Finish(const Summary& summary);

 private:
  struct Impl;
  explicit JsonReport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PERF_JSON_H_
