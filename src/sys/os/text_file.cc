// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "sys/os/error.h"
#include "sys/os/fd.h"

namespace tutti::sys {

Result<std::string> ReadFile(const std::string& path, std::size_t limit_bytes) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return SystemError(errno, fmt::format("cannot open {}", path));
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

}  // namespace tutti::sys
