// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_IDENTITY_LAUNCHERS_H_
#define TUTTI_COMM_IDENTITY_LAUNCHERS_H_

// The launchers that are known, as data.

#include <algorithm>
#include <array>
#include <span>

#include "sys/job/job_store.h"

namespace tutti::comm {

// Names of variables, at most six.
struct Names {
  std::array<const char*, 6> names{};

  bool empty() const { return names[0] == nullptr; }
  const char* front() const { return names[0]; }
  auto begin() const { return names.begin(); }
  auto end() const { return std::ranges::find(names, nullptr); }
};

// How a launcher tells its processes who they are.
struct Launcher {
  const char* name;
  const char* rank;
  Names ranks;   // the first that is set counts
  Names needed;  // only where one of these is set too; empty: always
  const char* local_rank;
  const char* local_ranks;  // null: none
  Names job;                // what tells one job from another
  Names proof;              // `job` suffices where one of these is set; else the launching process counts too
  const char* process;      // its name, "" where it is not known
  // What shows that the job has several hosts: variables that count them, and whether local_ranks is the number of
  // ranks on this host (and not that of one of several agents on it).
  Names hosts;
  bool local_is_host = false;
  // How ranks of several hosts come to one id: by the launcher's own store, where it has one that can be used; else these
  // variables say where rank 0 may be, as names or addresses of a host, or lists of nodes whose first it is.
  sys::JobStore store = sys::JobStore::kNone;
  Names root;
};

// The first that fits a process counts.
std::span<const Launcher> Launchers();

}  // namespace tutti::comm

#endif  // TUTTI_COMM_IDENTITY_LAUNCHERS_H_
