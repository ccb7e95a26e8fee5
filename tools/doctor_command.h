// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_DOCTOR_COMMAND_H_
#define TUTTI_TOOLS_DOCTOR_COMMAND_H_

namespace tutti::tools {

// `tutti doctor`: what is bad about this host, or about the hosts of a launcher's ranks, before a job. Returns 0 for OK, 1 for WARN,
// 2 for CRITICAL or a wrong command line, 3 for UNKNOWN.
int DoctorCommand(int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_DOCTOR_COMMAND_H_
