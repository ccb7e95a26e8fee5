// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/random_bytes.h"

#include <sys/random.h>

#include <cerrno>

#include "sys/os/error.h"

namespace tutti::sys {

Status FillRandom(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = getrandom(bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return SystemError(errno, "cannot get random bytes from the kernel",
                         "Likely a sandbox forbids the system call getrandom: allow it.");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return Status::Ok();
}

}  // namespace tutti::sys
