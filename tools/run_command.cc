// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/run_command.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/launch.h"
#include "tutti/communicator.h"

namespace tutti::tools {
namespace {

constexpr int kExitCannotRun = 126;
constexpr int kExitNotFound = 127;

bool IsRunnable(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Runs in the child. Only returns when the program cannot be run.
int Exec(std::vector<std::string> words, const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int exec_errno = errno;
  fmt::print(stderr, "tutti run: cannot run '{}': {}\n", words[0], std::strerror(exec_errno));
  return exec_errno == ENOENT ? kExitNotFound : kExitCannotRun;
}

// How many words of the command line come before the program: everything behind it is the program's own.
int OwnWords(int argc, char** argv) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-' && std::strcmp(argv[i], "--") != 0; ++i) {
    const std::string_view option = argv[i];
    if (option == "-n" || option == "--ranks" || option == "--grace") ++i;  // its value
  }
  return std::min(i, argc);
}

}  // namespace

std::vector<std::string> RankEnvironment(int rank, int ranks, const std::string& id_hex) {
  return {fmt::format("TUTTI_RANK={}", rank),       fmt::format("TUTTI_RANKS={}", ranks),
          fmt::format("TUTTI_ID={}", id_hex),       fmt::format("RANK={}", rank),
          fmt::format("WORLD_SIZE={}", ranks),      fmt::format("LOCAL_RANK={}", rank),
          fmt::format("LOCAL_WORLD_SIZE={}", ranks)};
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

int RunCommand(int argc, char** argv) {
  CommandLine line("Starts N ranks of a program on this host and watches over them.", "tutti run");
  int ranks = 0;
  double grace_s = 5;
  LaunchOptions options{.name = "tutti run"};
  line.Add("-n,--ranks", ranks, "number of ranks; required").Required().Between(1, 4096);
  line.AddFlag("--tag-output", options.tag_output, "begin every line with the rank that wrote it: [3] ...");
  line.Add("--grace", grace_s, "seconds that the others have to end when one rank fails (default 5)")
      .BetweenSeconds(0.0, 1e6);
  std::vector<std::string> words;
  line.Add("PROG", words, "the program, followed by its own arguments").Shown("ARGS...");
  line.Footer(
      "Each rank finds TUTTI_RANK, TUTTI_RANKS and TUTTI_ID in its environment, and RANK, WORLD_SIZE, "
      "LOCAL_RANK and\n"
      "LOCAL_WORLD_SIZE. Rank 0 reads this command's standard input unless that is a terminal. What a rank "
      "leaves\n"
      "running when it ends is killed. The exit code is that of the rank that failed first, 128 + signal "
      "where a\n"
      "signal ended it.\n\n"
      "Example:\n  tutti run -n 4 --tag-output ./my_program --steps 10");
  const int own = OwnWords(argc, argv);
  if (const std::optional<int> code = line.Parse(own, argv)) return *code;
  words.assign(argv + own, argv + argc);
  if (!words.empty() && words[0] == "--") words.erase(words.begin());
  if (words.empty()) return UsageError("tutti run", "which program? Name it after the options");

  const Result<std::string> program = FindProgram(words[0]);
  if (!program.ok()) {
    fmt::print(stderr, "tutti run: {}\n", program.status().message());
    return program.status().code() == Code::kInvalidArgument ? kExitNotFound : kExitCannotRun;
  }
  const Result<UniqueId> id = CreateUniqueId();
  if (!id.ok()) {
    fmt::print(stderr, "tutti run: {}\n", id.status().message());
    return kExitFailed;
  }
  options.grace_ms = static_cast<std::int64_t>(grace_s * 1000);
  const std::string hex = id->ToHex();
  return LaunchRanks(ranks, options, [&](int rank) { return Exec(words, RankEnvironment(rank, ranks, hex)); });
}

}  // namespace tutti::tools
