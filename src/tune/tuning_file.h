// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_TUNING_FILE_H_
#define TUTTI_TUNE_TUNING_FILE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tune/gpu_machine.h"
#include "tune/machine.h"
#include "tutti/status.h"

namespace tutti::tune {

// The tables that are stored for a machine: one of host memory at most, and one for each situation of its GPUs.
struct TuningFile {
  std::optional<Machine> host;
  std::vector<GpuTable> gpus;

  // Stores a table in the place of the one of its class, if there is one.
  void Put(GpuTable table);
  std::string ToText() const;
  // Fails where a table cannot be read (tune/table.h), or is there twice.
  static Result<TuningFile> Parse(std::string_view text);
};

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_TUNING_FILE_H_
