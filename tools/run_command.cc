// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/run_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "comm/identity/unique_id.h"
#include "comm/meet/job_id.h"
#include "sys/os/process.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/host_job.h"
#include "tools/launch.h"
#include "tools/launch_hosts.h"
#include "tools/on_host.h"
#include "tools/rank_program.h"
#include "tutti/communicator.h"

namespace tutti::tools {
namespace {

constexpr const char* kSelf = "tutti run";

// Those of the command line that are about hosts.
struct HostOptions {
  std::string hosts;
  std::string agent;
  std::string remote_tutti;
  std::vector<std::string> variables;
};

int Failed(const Status& status, int code) {
  fmt::print(stderr, "{}: {}\n", kSelf, status.message());
  return code;
}

// "NAME=value" for NAME or NAME=value; empty where NAME is not set here.
std::string VariableOf(const std::string& text) {
  if (text.find('=') != text.npos) return text;
  const char* value = std::getenv(text.c_str());
  return value == nullptr ? "" : text + "=" + value;
}

int RunOnHosts(const HostOptions& hosts, const LaunchOptions& options, const std::vector<std::string>& words) {
  const Result<std::vector<HostShare>> shares = ParseHosts(hosts.hosts);
  if (!shares.ok()) return UsageError(kSelf, "--hosts: " + shares.status().message());
  std::error_code none;
  const HostAgent agent{.words = SplitAgent(hosts.agent),
                        .tutti = hosts.remote_tutti.empty()
                                     ? std::filesystem::read_symlink("/proc/self/exe", none).string()
                                     : hosts.remote_tutti};
  HostJob job{.folder = std::filesystem::current_path(none).string(), .grace_ms = options.grace_ms};
  job.tag_output = options.tag_output;
  job.words = words;
  job.environment = SettingsAmong(sys::Environment());
  for (const std::string& text : hosts.variables) {
    const std::string variable = VariableOf(text);
    if (variable.empty()) return UsageError(kSelf, fmt::format("--export: {} is not set here", text));
    job.environment.push_back(variable);
  }
  for (const HostShare& share : *shares) job.first_rank += share.ranks;
  job.ranks = std::exchange(job.first_rank, 0);

  // Leaders of hosts meet in this process (comm/meet/rendezvous_server.h), which is no rank.
  const Result<UniqueId> id = CreateUniqueId();
  if (!id.ok()) return Failed(id.status(), kExitFailed);
  job.id_hex = id->ToHex();
  const Result<comm::IdParts> parts = comm::ReadId(*id);
  if (shares->size() > 1 && parts.ok() && parts->addresses.empty()) {
    return Failed(
        Status(Code::kInvalidUsage,
               "no network interface of this host can be used, so ranks of several hosts could not meet here; "
               "NCCL_DEBUG=INFO says why, NCCL_SOCKET_IFNAME names one"),
        kExitFailed);
  }
  if (shares->size() > 1) {
    if (const Status awaits = comm::AwaitJob(*id); !awaits.ok()) return Failed(awaits, kExitFailed);
  }
  std::vector<HostJob> jobs;
  for (const HostShare& share : *shares) {
    job.host = share.name;
    job.local_ranks = share.ranks;
    jobs.push_back(job);
    job.first_rank += share.ranks;
  }
  return LaunchOnHosts(jobs, agent, options);
}

int RunHere(int ranks, const LaunchOptions& options, const std::vector<std::string>& words) {
  const Result<std::string> program = FindProgram(words[0]);
  if (!program.ok()) return Failed(program.status(), ExitCodeOf(program.status()));
  const Result<UniqueId> id = CreateUniqueId();
  if (!id.ok()) return Failed(id.status(), kExitFailed);
  const std::string hex = id->ToHex();
  return LaunchRanks(ranks, options, [&](int rank) {
    return RunProgram(
        words, RankEnvironment({.rank = rank, .ranks = ranks, .local_rank = rank, .local_ranks = ranks}, hex), kSelf);
  });
}

void AddOptions(CommandLine& line, int& ranks, double& grace_s, LaunchOptions& options, HostOptions& hosts) {
  CommandLine::Option number = line.Add("-n,--ranks", ranks, "number of ranks, all on this host").Between(1, 4096);
  line.AddFlag("--tag-output", options.tag_output, "begin every line with the rank that wrote it: [3] ...");
  line.Add("--grace", grace_s, "seconds that the others have to end when one rank fails (default 5)")
      .BetweenSeconds(0.0, 1e6);
  line.Group("Several hosts");
  CommandLine::Option list = line.Add("--hosts", hosts.hosts, "the hosts, each with its number of ranks: a:4,b:4")
                                 .Shown("HOST:N,...")
                                 .Excludes(number);
  line.Add("--agent", hosts.agent, "what runs commands on hosts, called as: COMMAND HOST WORDS... (default ssh)")
      .Shown("COMMAND")
      .Needs(list);
  line.Add("--remote-tutti", hosts.remote_tutti, "where tutti is on the hosts (default: where it is here)")
      .Shown("PATH")
      .Needs(list);
  line.Add("-x,--export", hosts.variables, "a variable for the ranks, besides NCCL_* and TUTTI_*; may be repeated")
      .Shown("NAME[=VALUE]")
      .Needs(list);
}

constexpr const char* kFooter =
    "Each rank finds TUTTI_RANK, TUTTI_RANKS and TUTTI_ID in its environment, and RANK, WORLD_SIZE, LOCAL_RANK and\n"
    "LOCAL_WORLD_SIZE. Rank 0 reads this command's standard input unless that is a terminal. What a rank leaves\n"
    "running when it ends is killed. The exit code is that of the rank that failed first, 128 + signal where a\n"
    "signal ended it.\n\n"
    "With --hosts, ranks are numbered through the hosts in their order. The program, and tutti itself, have to be at "
    "the\n"
    "same paths on all hosts; ranks start in the folder of the same name as this one, and no rank has standard input.\n"
    "The job and its secret id go to the hosts by standard input, so the agent has to pass that on. ssh has to work\n"
    "without a password. The hosts have to reach this one by the network. Each host's name is its NCCL_HOSTID.\n\n"
    "Examples:\n"
    "  tutti run -n 4 --tag-output ./my_program --steps 10\n"
    "  tutti run --hosts node1:8,node2:8 ./my_program\n"
    "  tutti run --hosts east:1,west:1 --agent \"ip netns exec\" ./my_program";

}  // namespace

int RunCommand(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--on-host") == 0) return RunOnHost();
  CommandLine line("Starts the ranks of a program, on this host or on several, and watches over them.", kSelf);
  int ranks = 0;
  double grace_s = 5;
  LaunchOptions options{.name = kSelf};
  HostOptions hosts;
  std::vector<std::string> words;
  AddOptions(line, ranks, grace_s, options, hosts);
  line.Add("PROG", words, "the program, followed by its own arguments").Shown("ARGS...");
  line.Footer(kFooter);
  const int own =
      OwnWords(argc, argv, {"-n", "--ranks", "--grace", "--hosts", "--agent", "--remote-tutti", "-x", "--export"});
  if (const std::optional<int> code = line.Parse(own, argv)) return *code;
  words.assign(argv + own, argv + argc);
  if (!words.empty() && words[0] == "--") words.erase(words.begin());
  if (words.empty()) return UsageError(kSelf, "which program? Name it after the options");
  if (ranks == 0 && hosts.hosts.empty()) return UsageError(kSelf, "how many ranks? -n 4, or --hosts a:4,b:4");
  options.grace_ms = static_cast<std::int64_t>(grace_s * 1000);
  return hosts.hosts.empty() ? RunHere(ranks, options, words) : RunOnHosts(hosts, options, words);
}

}  // namespace tutti::tools
