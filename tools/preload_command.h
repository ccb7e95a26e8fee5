// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PRELOAD_COMMAND_H_
#define TUTTI_TOOLS_PRELOAD_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "tutti/status.h"

namespace tutti::tools {

// `tutti preload [--library FILE] [OPTIONS] PROG ARGS...`: starts a program so that it and all processes below it get
// our libnccl.so.2 where they ask for any libnccl, and says at the end which one each process mapped. Returns the
// program's exit code, 128 + signal where a signal ended it; 127 and 126 as `tutti run`.
int PreloadCommand(int argc, char** argv);

// A process that mapped a libnccl, as tools/preload_audit.c reports it.
struct LoadedNccl {
  int pid = 0;
  std::string rank;     // "-" where the environment does not tell
  std::string program;  // its executable
  std::string file;
};
// Lines that are not whole are left out.
std::vector<LoadedNccl> ParseLoaded(std::string_view text);

// "Tutti, answers as NCCL 2.28.9", "NCCL 2.27.3": what a library's own ncclGetVersion says, asked in a process of its
// own. The error says why `file` is no libnccl.
Result<std::string> AskVersion(const std::string& file);

// What `tutti preload` prints at the end: the processes below each file. `wanted` is the file that all should have
// mapped; empty where it only looks.
std::string FormatLoaded(const std::vector<LoadedNccl>& loaded, const std::string& wanted);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PRELOAD_COMMAND_H_
