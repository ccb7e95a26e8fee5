// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_RANDOM_BYTES_H_
#define TUTTI_SYS_OS_RANDOM_BYTES_H_

#include <cstddef>
#include <span>

#include "tutti/status.h"

namespace tutti::sys {

// Fills `bytes` with random bytes fit for secrets, from the kernel.
Status FillRandom(std::span<std::byte> bytes);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_RANDOM_BYTES_H_
