// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// tutti <command>: Tutti's command line.

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/doctor_command.h"
#include "tools/env_command.h"
#include "tools/expect_command.h"
#include "tools/explain_command.h"
#include "tools/health_command.h"
#include "tools/pages_command.h"
#include "tools/perf_command.h"
#include "tools/plan_command.h"
#include "tools/preload_command.h"
#include "tools/record_command.h"
#include "tools/run_command.h"
#include "tools/sim_command.h"
#include "tools/top_command.h"
#include "tools/topo_command.h"
#include "tools/tune_command.h"

namespace tutti::tools {
namespace {

int VersionCommand(int argc, char** argv) {
  CommandLine line("Prints the version.", "tutti version");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  fmt::print("tutti {}\n", Version());
  return kExitOk;
}

int ManCommand(int argc, char** argv);
int CompletionCommand(int argc, char** argv);

constexpr Command kCommands[] = {
    {"perf", PerfCommand, "measure and check a collective, with nccl-tests' options and table"},
    {"plan", PlanCommand, "show what every rank of a collective does, check it, predict its time"},
    {"tune", TuneCommand, "show which algorithm is chosen for which size; measure this machine"},
    {"env", EnvCommand, "show every setting, its value here and where that came from"},
    {"run", RunCommand, "start the ranks of a program, on this host or several, and watch over them"},
    {"preload", PreloadCommand, "start a program on our libnccl.so.2; say which one its processes mapped"},
    {"top", TopCommand, "show what the communicators of a process do and wait for"},
    {"record", RecordCommand, "write what jobs do and have done in formats that other programs read"},
    {"explain", ExplainCommand, "say what an error message means and what to do"},
    {"expect", ExpectCommand, "predict what an operation takes on a machine, with Tutti or with NCCL"},
    {"sim", SimCommand, "simulate an operation or a training step on a machine of any size"},
    {"topo", TopoCommand, "show a machine: GPUs, network cards, what joins them, and what is bad about it"},
    {"doctor", DoctorCommand, "look for what is bad about this host, or the hosts of a job, before the job"},
    {"health", HealthCommand, "check that all ranks of a job move data as fast as expected, and unchanged"},
    {"man", ManCommand, "print the manual page of a command"},
    {"completion", CompletionCommand, "print a script that completes words behind tutti, for bash, zsh or fish"},
    {"version", VersionCommand, "print the version"},
};
constexpr std::string_view kExitCodes = "Exit codes: 0 done, 1 it failed, 2 bad usage, 7 wrong values.";

int ManCommand(int argc, char** argv) { return PrintManPage(kCommands, kExitCodes, argc, argv); }
int CompletionCommand(int argc, char** argv) { return PrintCompletion(kCommands, argc, argv); }

void PrintHelp(std::FILE* out) {
  fmt::print(out, "Collective communication for plain hosts and GPUs.\nUsage: tutti COMMAND [OPTIONS]\n\nCommands:\n");
  for (const Command& command : kCommands) fmt::print(out, "  {:<12}{}\n", command.name, command.help);
  fmt::print(out, "\n'tutti COMMAND --help' tells more. {}\n", kExitCodes);
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    PrintHelp(stderr);
    return kExitUsage;
  }
  const std::string_view name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") {
    PrintHelp(stdout);
    return kExitOk;
  }
  if (name == "--version" || name == "-V") {
    fmt::print("tutti {}\n", Version());
    return kExitOk;
  }
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(argc - 1, argv + 1);
    names.push_back(command.name);
  }
  const std::optional<std::string_view> nearest = Nearest(name, names);
  return UsageError("tutti", fmt::format("there is no command '{}'{}", name,
                                         nearest ? fmt::format("; did you mean '{}'?", *nearest) : ""));
}

}  // namespace
}  // namespace tutti::tools

int main(int argc, char** argv) { return tutti::tools::Main(argc, argv); }
