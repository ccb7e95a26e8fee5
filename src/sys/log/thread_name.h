// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_LOG_THREAD_NAME_H_
#define TUTTI_SYS_LOG_THREAD_NAME_H_

#include <string_view>

namespace tutti::sys {

// The calling thread's name, as debuggers and the log show it. Longer names than 15 bytes are cut.
void SetThreadName(std::string_view name);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_LOG_THREAD_NAME_H_
