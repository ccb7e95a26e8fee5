// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_ON_HOST_H_
#define TUTTI_TOOLS_ON_HOST_H_

namespace tutti::tools {

// `tutti run --on-host`: what `tutti run --hosts` starts on each host. Reads the job from standard input, starts the host's
// ranks and watches over them (host_job.h). Returns the exit code of the rank that failed first; 126 or 127 where the program
// cannot be run here, 1 where no job came.
int RunOnHost();

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_ON_HOST_H_
