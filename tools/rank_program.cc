// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/rank_program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace tutti::tools {
namespace {

bool IsRunnable(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

int OwnWords(int argc, char** argv, std::initializer_list<std::string_view> with_value) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-' && std::strcmp(argv[i], "--") != 0; ++i) {
    if (std::ranges::find(with_value, argv[i]) != with_value.end()) ++i;
  }
  return std::min(i, argc);
}

std::vector<std::string> RankEnvironment(const RankPlace& place, const std::string& id_hex) {
  return {fmt::format("TUTTI_RANK={}", place.rank),
          fmt::format("TUTTI_RANKS={}", place.ranks),
          fmt::format("TUTTI_ID={}", id_hex),
          fmt::format("RANK={}", place.rank),
          fmt::format("WORLD_SIZE={}", place.ranks),
          fmt::format("LOCAL_RANK={}", place.local_rank),
          fmt::format("LOCAL_WORLD_SIZE={}", place.local_ranks)};
}

Result<std::string> FindProgram(const std::string& program) {
  if (program.find('/') != program.npos) {
    if (IsRunnable(program)) return program;
    struct stat info {};
    if (stat(program.c_str(), &info) != 0) {
      return Status(Code::kInvalidArgument, fmt::format("cannot run '{}': {}", program, std::strerror(errno)));
    }
    return Status(Code::kSystem, fmt::format("cannot run '{}': it is {}", program,
                                             S_ISDIR(info.st_mode) ? "a directory" : "not executable (chmod +x?)"));
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + program;
    if (IsRunnable(candidate)) return candidate;
  }
  std::string message = fmt::format("cannot run '{}': no folder of PATH holds it", program);
  if (IsRunnable("./" + program)) message += fmt::format("; did you mean './{}'?", program);
  return Status(Code::kInvalidArgument, message);
}

int ExitCodeOf(const Status& not_found) {
  return not_found.code() == Code::kInvalidArgument ? kExitNotFound : kExitCannotRun;
}

int RunProgram(std::vector<std::string> words, const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int exec_errno = errno;
  fmt::print(stderr, "{}: cannot run '{}': {}\n", name, words[0], std::strerror(exec_errno));
  return exec_errno == ENOENT ? kExitNotFound : kExitCannotRun;
}

}  // namespace tutti::tools
