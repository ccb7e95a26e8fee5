// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_TEXT_FILE_H_
#define TUTTI_SYS_OS_TEXT_FILE_H_

#include <cstddef>
#include <string>

#include "tutti/status.h"

namespace tutti::sys {

// The content of a small file, such as those of /proc and /sys, whose size is not known beforehand. A file of
// more than `limit_bytes` is an error.
Result<std::string> ReadFile(const std::string& path, std::size_t limit_bytes = 1 << 20);
// The same of a regular file. All others are errors: a pipe would be waited for.
Result<std::string> ReadRegularFile(const std::string& path, std::size_t limit_bytes = 1 << 20);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_TEXT_FILE_H_
