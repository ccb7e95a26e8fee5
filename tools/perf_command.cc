// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <variant>
#include <vector>

#include "comm/meet/job_id.h"
#include "tools/cli.h"
#include "tools/launch.h"
#include "tools/perf_options.h"
#include "tools/perf_run.h"
#include "tutti/communicator.h"

namespace tutti::tools {
namespace {

constexpr std::int64_t kGraceMs = 10000;  // the library tells the others of a dead rank within a second

// For messages only: the rank that a launcher gave this process, or -1.
int RankFromLauncher() {
  const Result<comm::LaunchIdentity> identity = comm::IdentityFromEnvironment();
  return identity.ok() ? identity->rank : -1;
}

int RunMember(const PerfOptions& options, int rank, const UniqueId& id) {
  return RunPerfRank(
      options, rank,
      Communicator::Create({.rank = rank, .ranks = options.ranks, .id = id, .settings = ControlSettings(options)}));
}

int RunProcesses(const PerfOptions& options, const UniqueId& id) {
  const LaunchOptions launch{
      .name = "tutti perf", .grace_ms = kGraceMs, .quiet_codes = {kExitFailed, kExitUsage, kExitWrong}};
  const int code = LaunchRanks(options.ranks, launch, [&](int rank) { return RunMember(options, rank, id); });
  return code > 128 ? kExitFailed : code;  // killed by a signal
}

int RunThreads(const PerfOptions& options, const UniqueId& id) {
  std::vector<int> codes(static_cast<std::size_t>(options.ranks), kExitOk);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.ranks; ++rank) {
    threads.emplace_back([&, rank] { codes[static_cast<std::size_t>(rank)] = RunMember(options, rank, id); });
  }
  for (std::thread& thread : threads) thread.join();
  for (int code : {kExitFailed, kExitUsage, kExitWrong}) {
    if (std::ranges::find(codes, code) != codes.end()) return code;
  }
  return kExitOk;
}

}  // namespace

int PerfCommand(int argc, char** argv) {
  const std::variant<PerfOptions, int> parsed = ParsePerfOptions(argc, argv);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  const PerfOptions& options = std::get<PerfOptions>(parsed);
  if (options.launch == PerfOptions::Launch::kEnvironment) {
    return RunPerfRank(options, RankFromLauncher(), Communicator::FromEnvironment(ControlSettings(options)));
  }
  const Result<UniqueId> id = CreateUniqueId();
  if (!id.ok()) {
    PrintFailure(-1, id.status());
    return kExitFailed;
  }
  return options.launch == PerfOptions::Launch::kThreads ? RunThreads(options, *id) : RunProcesses(options, *id);
}

}  // namespace tutti::tools
