// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_ERROR_H_
#define TUTTI_SYS_OS_ERROR_H_

#include <string_view>

#include "tutti/status.h"

namespace tutti::sys {

// A kSystem status from errno: "<what>: <the system's text> (errno <n>). <hint>", without a full
// stop at its end: sentences that quote it go on.
//
// `what` says what failed and where; `hint` the likely cause and the remedy, and may be empty. An exhausted
// table of file descriptors (EMFILE, ENFILE) gets a hint of its own, which names `ulimit -n`.
Status SystemError(int error_number, std::string_view what, std::string_view hint = {});

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_ERROR_H_
