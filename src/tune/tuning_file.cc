// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/tuning_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::tune {

void TuningFile::Put(GpuTable table) {
  const auto same = std::ranges::find(gpus, table.name, &GpuTable::name);
  if (same != gpus.end()) {
    *same = std::move(table);
  } else {
    gpus.push_back(std::move(table));
  }
}

std::string TuningFile::ToText() const {
  std::string text = "# Constants of Tutti's cost models. The unit of each is the end of its name.\n";
  if (host) text += fmt::format("\n{}", host->ToText());
  for (const GpuTable& table : gpus) text += fmt::format("\n{}", table.ToText());
  return text;
}

Result<TuningFile> TuningFile::Parse(std::string_view text) {
  const Result<std::vector<TableText>> tables = SplitTables(text);
  if (!tables.ok()) return tables.status();
  TuningFile file;
  for (const TableText& table : *tables) {
    std::string again;  // what is there already
    if (table.kind == kHostTable) {
      if (file.host) again = "of host memory";
      const Result<Machine> machine = Machine::Parse(table);
      if (!machine.ok()) return machine.status();
      file.host = *machine;
    } else {
      Result<GpuTable> gpu = GpuTable::Parse(table);
      if (!gpu.ok()) return gpu.status();
      const bool known = std::ranges::find(file.gpus, gpu->name, &GpuTable::name) != file.gpus.end();
      if (known) again = fmt::format("of the class {}", gpu->name);
      file.gpus.push_back(std::move(*gpu));
    }
    if (again.empty()) continue;
    return Status(
        Code::kInvalidUsage,
        fmt::format("line {} of the tuning file begins a second table {}; leave one of them", table.number, again));
  }
  return file;
}

}  // namespace tutti::tune
