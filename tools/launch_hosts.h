// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_LAUNCH_HOSTS_H_
#define TUTTI_TOOLS_LAUNCH_HOSTS_H_

#include <vector>

#include "tools/host_job.h"
#include "tools/launch.h"

namespace tutti::tools {

// Runs a job on several hosts: starts `tutti run --on-host` on each by the agent, gives it its part, and passes on what the
// ranks write (host_job.h). No rank is started before all hosts are ready for theirs. Then it is as with LaunchRanks: signals
// go to all ranks, one that fails ends all, and none outlives this process. Returns when all hosts have ended: 0, or the exit
// code of the rank that failed first; 1 or the agent's own exit code where a host could not be reached.
//
// Of the options, name, grace_ms and tag_output. REQUIRES: no other thread holds a lock that a child needs before its exec.
int LaunchOnHosts(const std::vector<HostJob>& jobs, const HostAgent& agent, const LaunchOptions& options);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_LAUNCH_HOSTS_H_
