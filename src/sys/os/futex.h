// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_FUTEX_H_
#define TUTTI_SYS_OS_FUTEX_H_

#include <atomic>
#include <cstdint>

namespace tutti::sys {

// Sleeping on a word that threads of several processes share, each through a mapping of its own.
//
// A waiter needs to read the word only, so its mapping may be read-only. To lose no wake-up the waker first
// changes the word (release), then wakes; the waiter rereads the word after every return (acquire).

// Sleeps while *word == expected, until woken, for at most timeout_ns (negative: without limit). Returns
// false when the time ran out, true otherwise: woken, the word differs, a signal, or for no reason.
bool FutexWait(const std::atomic<std::uint32_t>* word, std::uint32_t expected, std::int64_t timeout_ns);

// Wakes all who sleep on the word, in every process. The number of them.
int FutexWakeAll(const std::atomic<std::uint32_t>* word);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_FUTEX_H_
