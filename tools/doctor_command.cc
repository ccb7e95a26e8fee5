// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/identity/launch_identity.h"
#include "comm/identity/settings_source.h"
#include "comm/meet/job_id.h"
#include "doctor/examine.h"
#include "doctor/finding.h"
#include "sys/net/resolve.h"
#include "sys/os/clock.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/doctor_job.h"
#include "tools/doctor_paths.h"
#include "tools/doctor_report.h"
#include "tools/json.h"
#include "tutti/communicator.h"

namespace tutti::tools {
namespace {

constexpr std::string_view kFooter =
    "Under a launcher (tutti run, mpirun, torchrun, srun) the first rank of each host examines it, and rank 0 prints "
    "what all have "
    "found,\n"
    "how the hosts differ, and whether full packets arrive between them. docs/diagnosis.md has the checks.\n\n"
    "Examples:\n"
    "  tutti doctor\n"
    "  tutti doctor --all --peer node7\n"
    "  tutti run --hosts node1:1,node2:1 tutti doctor\n\n"
    "Exit code: 0 for OK, 1 for WARN, 2 for CRITICAL or a wrong command line, 3 where something could not be found "
    "out.";

constexpr std::int64_t kResolveNs = 5 * sys::kNsPerSecond;
constexpr int kExitUnknown = 3;

struct Options {
  std::string json, root, nvml = sys::cuda::kNvmlLibrary;
  std::vector<std::string> peers;
  bool all = false;
};

doctor::ExamineOptions ExamineOptionsFor(const Options& options) {
  const comm::SettingsSources sources = comm::FindSettings();
  doctor::Environment environment;
  environment.variables = sources.environment;
  environment.files = sources.files;
  environment.warnings = sources.warnings;
  return {.root = options.root,
          .nvml_library = options.nvml,
          .version = std::string(Version()),
          .environment = std::move(environment)};
}

doctor::Finding ExaminePeer(const std::string& peer) {
  const auto unknown = [&](const char* what, const Status& why, const char* remedy) {
    return doctor::Finding{.severity = doctor::Severity::kUnknown,
                           .check = "path",
                           .what = fmt::format("to {}: {}", peer, what),
                           .evidence = why.message(),
                           .remedy = remedy};
  };
  const Result<std::vector<sys::IpAddress>> addresses = sys::ResolveHost(peer, sys::NowNs() + kResolveNs);
  if (!addresses.ok() || addresses->empty()) {
    return unknown("its address is not known", addresses.status(), "name an address, or look at DNS and /etc/hosts");
  }
  const Result<std::unique_ptr<Prober>> prober = ProbeByEcho(addresses->front());
  if (!prober.ok()) {
    return unknown("no packet can be sent", prober.status(),
                   "run as root, or ask by `tutti run --hosts`, which needs no echoes");
  }
  return ExaminePath("to " + peer, **prober);
}

int Print(const Options& options, const doctor::Findings& findings, int hosts) {
  if (options.json != "-") fmt::print("{}", FormatFindings(findings, hosts, options.all));
  if (!options.json.empty()) {
    Json json = FindingsAsJson(findings);
    json["hosts"] = hosts;
    json["version"] = std::string(Version());
    if (const Status written = WriteText(options.json, json.Dump(2) + "\n"); !written.ok()) {
      fmt::print(stderr, "tutti doctor: {}\n", written.message());
      return kExitUnknown;
    }
  }
  return doctor::ExitCodeOf(findings);
}

// Where the ranks do not meet, each tells of its own host what might be the reason.
int ExamineWithoutOthers(const Options& options, const Status& why) {
  doctor::Findings findings = doctor::ExamineHost(ExamineOptionsFor(options)).findings;
  findings.push_back({.severity = doctor::Severity::kCritical,
                      .check = "meeting",
                      .what = "the ranks of the job do not come together",
                      .evidence = why.message(),
                      .remedy = "docs/hosts.md has what they need"});
  return Print(options, findings, 1);
}

int ExamineWithOthers(const Options& options) {
  Settings settings = Settings::FromEnvironment();
  settings.doctor = false;
  Result<Communicator> communicator = Communicator::FromEnvironment(settings);
  if (!communicator.ok()) return ExamineWithoutOthers(options, communicator.status());
  const Result<JobReport> report = ExamineJob(*communicator, ExamineOptionsFor(options));
  if (!report.ok()) return ExamineWithoutOthers(options, report.status());
  if (communicator->rank() != 0) return kExitOk;
  doctor::Findings findings;
  for (const doctor::HostReport& host : report->hosts) {
    findings.insert(findings.end(), host.findings.begin(), host.findings.end());
  }
  findings.insert(findings.end(), report->between.begin(), report->between.end());
  for (const std::string& peer : options.peers) findings.push_back(ExaminePeer(peer));
  return Print(options, findings, static_cast<int>(report->hosts.size()));
}

}  // namespace

int DoctorCommand(int argc, char** argv) {
  CommandLine line("Look for what is bad about this host, or the hosts of a job, before the job.", "tutti doctor");
  Options options;
  line.Footer(std::string(kFooter));
  line.AddFlag("--all", options.all, "also what is OK");
  line.Add("--peer", options.peers, "also whether full packets arrive at this host, by echoes; may be given again")
      .Shown("HOST");
  line.Add("--json", options.json, "write it to a file as JSON; - is the standard output").Shown("FILE");
  line.Add("--root", options.root, "look at /sys, /proc and /dev below this folder instead").Shown("FOLDER");
  line.Add("--nvml", options.nvml, "the library to ask about GPUs instead of libnvidia-ml.so.1; empty: none")
      .Shown("FILE");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  const Result<comm::LaunchIdentity> identity = comm::IdentityFromEnvironment();
  if (!identity.ok()) return ExamineWithoutOthers(options, identity.status());
  if (identity->ranks > 1) return ExamineWithOthers(options);
  doctor::Findings findings = doctor::ExamineHost(ExamineOptionsFor(options)).findings;
  for (const std::string& peer : options.peers) findings.push_back(ExaminePeer(peer));
  return Print(options, findings, 1);
}

}  // namespace tutti::tools
