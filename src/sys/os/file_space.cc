// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/file_space.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "sys/os/error.h"

namespace tutti::sys {

Result<FileSpace> SpaceOf(const std::string& path) {
  struct statvfs about {};
  if (statvfs(path.c_str(), &about) != 0) return SystemError(errno, fmt::format("cannot look at {}", path));
  const auto unit = static_cast<std::int64_t>(about.f_frsize);
  return FileSpace{.bytes = static_cast<std::int64_t>(about.f_blocks) * unit,
                   .free_bytes = static_cast<std::int64_t>(about.f_bavail) * unit};
}

}  // namespace tutti::sys
