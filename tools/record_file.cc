// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/record_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace tutti::tools {
namespace {

Status CannotWrite(const std::string& path, int error) {
  return Status(Code::kSystem,
                fmt::format("cannot write {}: {}; name a file in a folder that is there and may be written to, on a "
                            "file system with room",
                            path, std::strerror(error)));
}

// The system's error, or 0.
int WriteAll(std::FILE* file, std::string_view content) {
  const bool ok = std::fwrite(content.data(), 1, content.size(), file) == content.size() && std::fflush(file) == 0;
  return ok ? 0 : errno;
}

int WriteFile(const std::string& path, std::string_view content) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), &std::fclose);
  if (file == nullptr) return errno;
  const int error = WriteAll(file.get(), content);
  if (std::fclose(file.release()) != 0 && error == 0) return errno;
  return error;
}

}  // namespace

Status WriteWhole(const std::string& path, std::string_view content) {
  if (path == "-") {
    const int error = WriteAll(stdout, content);
    return error == 0 ? Status::Ok() : CannotWrite("to the output", error);
  }
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    const int error = WriteFile(path, content);
    return error == 0 ? Status::Ok() : CannotWrite(path, error);
  }
  const std::string beside = fmt::format("{}.{}", path, getpid());
  int error = WriteFile(beside, content);
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return Status::Ok();
  (void)std::remove(beside.c_str());
  return CannotWrite(path, error);
}

}  // namespace tutti::tools
