// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PROFILER_FIND_PROFILER_H_
#define TUTTI_PROFILER_FIND_PROFILER_H_

// Which profiler plugin a process has, found as NCCL does it:
//
//   * NCCL_PROFILER_PLUGIN is tried as a file and then as libnccl-profiler-NAME.so; unset: libnccl-profiler.so. "none": none. A
//     beginning of STATIC_PLUGIN: what is linked into the program.
//   * Where no such file can be loaded, the library of the network plugin that carries data between hosts may be one too.
//   * The newest ncclProfiler_v<N> of the library counts, from version 6 down to 4.
//   * It is looked for once in a process, and stays loaded.

#include <memory>
#include <string>

#include "profiler/session.h"
#include "tutti/status.h"

namespace tutti::profiler {

class Interface;

struct Wishes {
  std::string plugin;           // NCCL_PROFILER_PLUGIN; empty: not set
  std::string network_library;  // of the network plugin in use: its path, or STATIC_PLUGIN; empty: there is none
};

// Null: there is none, and nobody has asked for one. Errors: why the one that was asked for cannot be used.
Result<std::shared_ptr<const Interface>> FindProfiler(const Wishes& wishes);

// Begins this process's plugin for a communicator. Null where there is none, where it wants no events of this communicator, or where
// it cannot be used, which is told in one line of the log. Any thread.
std::shared_ptr<Session> BeginSession(const Wishes& wishes, const Audience& audience);

}  // namespace tutti::profiler

#endif  // TUTTI_PROFILER_FIND_PROFILER_H_
