// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/bell.h"

#include <sys/eventfd.h>

#include <cerrno>

#include "sys/os/error.h"

namespace tutti::sys {

Result<Bell> Bell::Make() {
  Bell bell;
  bell.fd_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell.fd_.valid()) return SystemError(errno, "cannot make a bell (eventfd)");
  return bell;
}

void Bell::Ring() const {
  if (fd_.valid()) (void)eventfd_write(fd_.get(), 1);
}

void Bell::Clear() const {
  eventfd_t count = 0;
  if (fd_.valid()) (void)eventfd_read(fd_.get(), &count);
}

}  // namespace tutti::sys
