// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sys/os/error.h"
#include "sys/os/fd.h"

namespace tutti::sys {

namespace {

Result<std::string> ReadAll(const Fd& fd, const std::string& path, std::size_t limit_bytes) {
  std::string content;
  char piece[4096];
  while (true) {
    const ssize_t n = read(fd.get(), piece, sizeof(piece));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(errno, fmt::format("cannot read {}", path));
    if (n == 0) return content;
    content.append(piece, static_cast<std::size_t>(n));
    if (content.size() > limit_bytes) {
      return Status(Code::kInvalidArgument, fmt::format("{} holds more than {} bytes", path, limit_bytes));
    }
  }
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t limit_bytes) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return SystemError(errno, fmt::format("cannot open {}", path));
  return ReadAll(fd, path, limit_bytes);
}

Result<std::string> ReadRegularFile(const std::string& path, std::size_t limit_bytes) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return SystemError(errno, fmt::format("cannot open {}", path));
  struct stat about {};
  if (fstat(fd.get(), &about) != 0) return SystemError(errno, fmt::format("cannot look at {}", path));
  if (!S_ISREG(about.st_mode)) return Status(Code::kInvalidArgument, fmt::format("{} is no regular file", path));
  return ReadAll(fd, path, limit_bytes);
}

}  // namespace tutti::sys
