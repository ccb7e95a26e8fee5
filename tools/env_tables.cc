// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/env_tables.h"

#include <fmt/format.h>

#include "comm/agree/machine_file.h"

namespace tutti::tools {
namespace {

std::string OrAny(int value) { return value == 0 ? "any" : fmt::format("{}", value); }

std::string LineOf(const tune::GpuTable& table, std::string_view origin) {
  return fmt::format(
      "GPU table {}  from: {}\n    GPU {}, compute capability {}, multiprocessors {}, ranks {} to {}, ranks "
      "per GPU {}, data through {} memory\n",
      table.name, origin, table.gpu == "*" ? "any" : table.gpu, OrAny(table.compute_capability),
      OrAny(table.multiprocessors), table.ranks_least, table.ranks_most, OrAny(table.ranks_per_gpu), table.memory);
}

}  // namespace

Result<std::string> ListTables(const Settings& settings) {
  const Result<tune::TuningFile> stored = comm::LoadTables(settings);
  if (!stored.ok()) return stored.status();
  const std::string file = comm::MachineFile(settings);
  std::string text = fmt::format("host memory's table  from: {}\n", stored->host ? file : "measured at init");
  for (const tune::GpuTable& table : stored->gpus) text += LineOf(table, file);
  for (const tune::GpuTable& table : tune::ShippedGpuTables()) text += LineOf(table, "compiled in");
  return text;
}

Result<std::string> PrintTables(const Settings& settings) {
  const Result<tune::TuningFile> stored = comm::LoadTables(settings);
  if (!stored.ok()) return stored.status();
  std::string text;
  if (stored->host || !stored->gpus.empty()) {
    text = fmt::format("# {}\n{}\n", comm::MachineFile(settings), stored->ToText());
  }
  for (const tune::GpuTable& table : tune::ShippedGpuTables()) {
    text += fmt::format("# compiled in\n{}\n", table.ToText());
  }
  return text;
}

}  // namespace tutti::tools
