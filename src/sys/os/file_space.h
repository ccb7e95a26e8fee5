// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_FILE_SPACE_H_
#define TUTTI_SYS_OS_FILE_SPACE_H_

#include <cstdint>
#include <string>

#include "tutti/status.h"

namespace tutti::sys {

struct FileSpace {
  std::int64_t bytes = 0;       // of the whole file system
  std::int64_t free_bytes = 0;  // that this user may still take
};

// How much room the file system has on which `path` lies. kSystem: there is no such path, or it may not be looked at.
Result<FileSpace> SpaceOf(const std::string& path);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_FILE_SPACE_H_
