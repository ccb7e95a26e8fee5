// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/on_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tools/cli.h"
#include "tools/host_job.h"
#include "tools/launch.h"
#include "tools/rank_program.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kMostLineBytes = 200;

// So many bytes; fewer where there are no more.
std::string ReadBytes(int fd, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t got = read(fd, text.data() + have, bytes - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

// The next line, and nothing of what follows; empty where there is none.
std::string ReadLine(int fd) {
  std::string line;
  while (line.size() < kMostLineBytes) {
    const std::string next = ReadBytes(fd, 1);
    if (next.empty() || next == "\n") break;
    line += next;
  }
  return line;
}

Result<HostJob> ReadJob(int fd) {
  const std::string line = ReadLine(fd);
  if (line.empty()) {
    return Status(
        Code::kInvalidArgument,
        "standard input ended before the job came. The agent has to pass it on, as docker exec -i and kubectl "
        "exec -i do; `tutti run --hosts` starts this command, people need not");
  }
  const Result<std::size_t> bytes = ParseJobLine(line);
  if (!bytes.ok()) return bytes.status();
  return ParseHostJob(ReadBytes(fd, *bytes));
}

void SayLine(std::string_view line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

}  // namespace

int RunOnHost() {
  // Ranks have no standard input: this one's goes on to be the launcher's word.
  const int control = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  SayLine(HereLine(Version()));
  const Result<HostJob> job = ReadJob(control);
  if (!job.ok()) {
    fmt::print(stderr, "tutti run --on-host: {}\n", job.status().message());
    return kExitFailed;
  }
  const LaunchOptions options{.name = fmt::format("tutti run on {}", job->host),
                              .grace_ms = job->grace_ms,
                              .tag_output = job->tag_output,
                              .quiet_codes = {},
                              .first_rank = job->first_rank,
                              .control_fd = control};
  if (chdir(job->folder.c_str()) != 0) {
    fmt::print(stderr, "{}: there is no folder '{}' as where the job was started ({}); the ranks start elsewhere\n",
               options.name, job->folder, std::strerror(errno));
  }
  const Result<std::string> program = FindProgram(job->words[0]);
  if (!program.ok()) {
    fmt::print(stderr, "{}: {}. The program has to be at the same path on all hosts\n", options.name,
               program.status().message());
    return ExitCodeOf(program.status());
  }
  SayLine(kSetLine);
  if (ReadLine(control) != kGoLine) return kExitFailed;  // another host could not do its part
  return LaunchRanks(job->local_ranks, options, [&](int rank) {
    std::vector<std::string> environment = job->environment;
    const RankPlace place{
        .rank = rank, .ranks = job->ranks, .local_rank = rank - job->first_rank, .local_ranks = job->local_ranks};
    for (std::string& variable : RankEnvironment(place, job->id_hex)) environment.push_back(std::move(variable));
    environment.push_back("NCCL_HOSTID=" + job->host);
    return RunProgram(job->words, environment, options.name);
  });
}

}  // namespace tutti::tools
