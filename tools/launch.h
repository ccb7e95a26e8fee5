// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_LAUNCH_H_
#define TUTTI_TOOLS_LAUNCH_H_

// Starts the ranks of a job as processes of this host and watches over them to the end (child_watch.h): what `tutti run` and
// `tutti perf --ranks` have in common.
//
//   launcher --fork--> rank 0, rank 1, ...     each the leader of a process group of its own; of a session where each can have a core
//
// Rank 0 reads the launcher's standard input unless that is a terminal; the other ranks read nothing.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tutti::tools {

struct LaunchOptions {
  std::string name = "tutti";  // who speaks in messages
  std::int64_t grace_ms = 5000;
  bool tag_output = false;  // every line that rank 3 writes begins with "[3] "
  // Exit codes that a rank explains itself, so that the launcher does not.
  std::vector<int> quiet_codes;
  int first_rank = 0;  // of this host's
  // Where a launcher on another host says what to do (launch_hosts.h), which is read here and closed; -1: there is none. Lines
  // "signal 15" give ranks that signal. Its end kills all ranks: the other launcher is gone. Then no rank has standard input.
  int control_fd = -1;
};

// Runs body(rank) for each of so many ranks, from first_rank on, each in a child of its own that exits with the value returned.
// Returns when no rank is left: 0, or the exit code of the rank that failed first (128 + signal where a
// signal ended it). REQUIRES: this process has one thread.
int LaunchRanks(int ranks, const LaunchOptions& options, const std::function<int(int rank)>& body);

// "rank 2 (pid 123) was killed by signal 9 (Killed)", "rank 0 (pid 120) ended with exit code 3";
// `wait_status` as waitpid reports it.
std::string DescribeEnd(int rank, int pid, int wait_status);
// The exit code that a shell would report: the process's own, or 128 + signal.
int ExitCodeOf(int wait_status);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_LAUNCH_H_
