// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_RAS_H_
#define TUTTI_WATCH_RAS_H_

#include <string>

namespace tutti::watch {

// Starts the thread that answers RAS clients (ras/service.h) about what is in the registry. It ends, within a second or so, when
// nothing is there any more, and takes no signals. It uses nothing that the end of a process takes down, and nobody waits for its end.
// Where there can be no thread the log says so, and there is no service.
// REQUIRES: the registry's lock is held, and its `serves` was false; the thread sets it so again at its end.
void StartRas(const std::string& address);

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_RAS_H_
