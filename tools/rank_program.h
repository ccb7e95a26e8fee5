// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RANK_PROGRAM_H_
#define TUTTI_TOOLS_RANK_PROGRAM_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/status.h"

namespace tutti::tools {

inline constexpr int kExitCannotRun = 126;
inline constexpr int kExitNotFound = 127;

// How many words of a command line come before the program: everything behind it is the program's own. `with_value` are the
// options whose value is the next word.
int OwnWords(int argc, char** argv, std::initializer_list<std::string_view> with_value);

// Where a rank is among the ranks of its job and among those of its host.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_ranks = 1;
};
// The variables that the rank finds set, as "NAME=value".
std::vector<std::string> RankEnvironment(const RankPlace& place, const std::string& id_hex);

// Where execvp would find `program`; the error says why it would not, and kInvalidArgument that there is none.
Result<std::string> FindProgram(const std::string& program);
// The exit code for that error: 127 or 126.
int ExitCodeOf(const Status& not_found);

// For the child of a fork: becomes the program, with these variables set. Only returns where it cannot: the exit code, after
// a sentence that `name` speaks.
int RunProgram(std::vector<std::string> words, const std::vector<std::string>& environment, const std::string& name);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RANK_PROGRAM_H_
