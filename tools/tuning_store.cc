// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tuning_store.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sys/os/text_file.h"

namespace tutti::tools {

Result<tune::TuningFile> StoredTables(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return tune::TuningFile();
  const Result<std::string> text = sys::ReadFile(file);
  if (!text.ok()) return text.status();
  Result<tune::TuningFile> tables = tune::TuningFile::Parse(*text);
  if (tables.ok()) return tables;
  return Status(tables.status().code(), fmt::format("{}: {}", file, tables.status().message()));
}

Status WriteTables(const std::string& file, const tune::TuningFile& tables) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  const std::string fresh = file + ".new";  // whoever reads meanwhile sees the old one or the new one
  std::ofstream out(fresh);
  out << tables.ToText();
  out.close();
  if (out && std::rename(fresh.c_str(), file.c_str()) == 0) return Status::Ok();
  return Status(Code::kSystem, fmt::format("cannot write {}: {}", file, std::strerror(errno)));
}

}  // namespace tutti::tools
