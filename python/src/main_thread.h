// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PYTHON_SRC_MAIN_THREAD_H_
#define TUTTI_PYTHON_SRC_MAIN_THREAD_H_

namespace tutti::python {

// Whether this is the thread on which Python runs signal handlers: the only one that a process has after a fork, and else the first that
// asked for it. Needs no GIL.
bool OnMainThread();
// This thread is it: when the module is loaded on the main thread, and in a forked child.
void IsMainThread();

}  // namespace tutti::python

#endif  // TUTTI_PYTHON_SRC_MAIN_THREAD_H_
