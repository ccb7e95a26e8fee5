// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_IDENTITY_USER_SECRET_H_
#define TUTTI_COMM_IDENTITY_USER_SECRET_H_

// What only the processes of one user know: TUTTI_SECRET, or 32 random bytes in tutti/secret in $XDG_CACHE_HOME or ~/.cache, made
// at the first need, for the user's eyes only. It goes into the ids that are derived from a launcher's variables, which other
// users may know or guess. Ranks of several hosts that derive an id need the same on all.

#include <cstddef>
#include <string>
#include <vector>

#include "tutti/status.h"

namespace tutti::comm {

// Empty where there is no home, or none that can be written to: then ids are protected by the kernel's word on who calls
// alone. kInvalidUsage where TUTTI_SECRET has less than kLeastSecret characters, or the file is there and others may read it or have written it.
Result<std::vector<std::byte>> UserSecret();
inline constexpr std::size_t kLeastSecret = 16;

namespace internal {
// The same with the path of the file; the folders above it are made where they are missing.
Result<std::vector<std::byte>> UserSecretIn(const std::string& path);
}  // namespace internal

}  // namespace tutti::comm

#endif  // TUTTI_COMM_IDENTITY_USER_SECRET_H_
