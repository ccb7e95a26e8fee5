// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_PRIVATE_FILE_H_
#define TUTTI_SYS_OS_PRIVATE_FILE_H_

// Small files that only their owner may read: for secrets, and for what processes of one user leave for each other.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/status.h"

namespace tutti::sys {

// The content of a private file, at most `limit_bytes`. kInvalidUsage where it is not this user's, or others may read or
// write it, or it is longer or no plain file; kSystem where it is not there or can not be read.
Result<std::vector<std::byte>> ReadPrivateFile(const std::string& path, std::size_t limit_bytes);

// Makes the file with that content, whole or not at all, and the folders above it where they are missing. Where a file
// of that name is there already, or comes at the same time from another process, that one stays and the call succeeds.
Status CreatePrivateFile(const std::string& path, std::span<const std::byte> content);

// The same for a file that is of use for so many seconds, which its time of change says. It takes the place of one of that
// name at once. The folder must be there.
Status ReplacePrivateFile(const std::string& path, std::span<const std::byte> content, std::int64_t useful_s);

// Removes a file, if it is there and may be removed.
void RemoveFile(const std::string& path);
// The same for all files of this user in a folder whose names begin so and that are of no use any more.
void RemoveUselessFiles(const std::string& folder, std::string_view prefix);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_PRIVATE_FILE_H_
