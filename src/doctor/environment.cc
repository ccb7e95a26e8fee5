// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/settings_registry.h"
#include "base/words.h"
#include "doctor/root.h"

namespace tutti::doctor {
namespace {

constexpr const char* kCheck = "environment";

bool IsZero(const std::string& value) { return value == "0"; }
bool IsOn(const std::string& value) { return !value.empty() && !IsZero(value); }
bool IsSocket(const std::string& value) { return EqualIgnoringCase(value, "Socket"); }
bool IsSet(const std::string& value) { return !value.empty(); }

// Two variables that cannot both have their effect.
struct Pair {
  const char *first, *second;
  bool (*first_is)(const std::string& value);
  bool (*second_is)(const std::string& value);
  Severity severity;
  const char* what;
};
bool HoldsOff(const std::string& value) { return EqualIgnoringCase(value, "LOC") || IsZero(value); }
bool Aborts(const std::string& value) { return value.starts_with("abort"); }
bool IsNotInfo(const std::string& value) {
  return !std::ranges::any_of(std::array{"INFO", "ABORT", "TRACE"},
                              [&](const char* level) { return EqualIgnoringCase(value, level); });
}
bool IsNotOn(const std::string& value) { return !IsOn(value); }
bool IsVerbs(const std::string& value) { return EqualIgnoringCase(value, "IB"); }
bool ReachesFar(const std::string& value) { return IsSet(value) && !HoldsOff(value); }

constexpr std::array<Pair, 10> kPairs = {{
    {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", IsOn, ReachesFar, Severity::kWarn,
     "GPUs are kept from each other's memory, so the level has no effect"},
    {"NCCL_IB_DISABLE", "NCCL_IB_HCA", IsOn, IsSet, Severity::kWarn, "verbs are off, so naming cards has no effect"},
    {"NCCL_IB_DISABLE", "NCCL_NET", IsOn, IsVerbs, Severity::kCritical,
     "the network that is asked for is switched off"},
    {"NCCL_NET", "NCCL_NET_PLUGIN", IsSocket, IsSet, Severity::kWarn, "TCP is asked for, so the plugin is not used"},
    {"NCCL_NET", "NCCL_IB_HCA", IsSocket, IsSet, Severity::kInfo, "TCP is asked for, so naming cards has no effect"},
    {"NCCL_OOB_NET_ENABLE", "NCCL_OOB_NET_IFNAME", IsNotOn, IsSet, Severity::kWarn,
     "the interfaces are named, and not switched on by NCCL_OOB_NET_ENABLE=1"},
    {"TUTTI_MONITOR", "TUTTI_ON_VERDICT", IsZero, Aborts, Severity::kWarn,
     "nobody is there to end a communicator: the monitor is off"},
    {"TUTTI_BLACK_BOX", "TUTTI_ON_VERDICT", IsZero, Aborts, Severity::kWarn,
     "the monitor sees nothing: calls are not written down"},
    {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", IsNotInfo, IsSet, Severity::kInfo,
     "subsystems are chosen, and lines about them are off without NCCL_DEBUG=INFO"},
    {"TUTTI_GPU", "NCCL_P2P_LEVEL", IsZero, ReachesFar, Severity::kInfo,
     "device memory is off, so the level has no effect"},
}};

std::string Shown(const char* name, const std::string& value) {
  return value.empty() ? fmt::format("{} is not set", name) : fmt::format("{}={}", name, value);
}

void ExaminePairs(const Environment& environment, Findings& findings) {
  for (const Pair& pair : kPairs) {
    const std::string first = environment.ValueOf(pair.first), second = environment.ValueOf(pair.second);
    if (!pair.first_is(first) || !pair.second_is(second)) continue;
    Add(findings, pair.severity, kCheck, pair.what,
        fmt::format("{}, {}", Shown(pair.first, first), Shown(pair.second, second)),
        fmt::format("leave one of {} and {} out", pair.first, pair.second));
  }
}

void ExamineNumbers(const Environment& environment, Findings& findings) {
  const auto number = [&](const char* name) { return ParseNumber<std::int64_t>(environment.ValueOf(name)); };
  for (const auto& [least, most] :
       {std::pair("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"), std::pair("NCCL_MIN_CTAS", "NCCL_MAX_CTAS")}) {
    if (number(least) && number(most) && *number(least) > *number(most)) {
      Add(findings, Severity::kWarn, kCheck, "the least number of channels is above the most",
          fmt::format("{}={}, {}={}", least, *number(least), most, *number(most)), "leave one of them out");
    }
  }
  const auto rank = number("TUTTI_RANK"), ranks = number("TUTTI_RANKS");
  if (rank.has_value() != ranks.has_value()) {
    Add(findings, Severity::kCritical, kCheck, "TUTTI_RANK and TUTTI_RANKS count only together",
        fmt::format("{} is missing", rank ? "TUTTI_RANKS" : "TUTTI_RANK"), "set both, or let the launcher do it");
  } else if (rank && (*rank < 0 || *rank >= *ranks)) {
    Add(findings, Severity::kCritical, kCheck, "this process's rank is none of the job's",
        fmt::format("TUTTI_RANK={}, TUTTI_RANKS={}", *rank, *ranks), "ranks count from 0");
  }
  const auto timeout = number("TUTTI_TIMEOUT_MS"), init = number("TUTTI_INIT_TIMEOUT_MS");
  for (const auto& [name, value] : {std::pair("TUTTI_TIMEOUT_MS", timeout), std::pair("TUTTI_INIT_TIMEOUT_MS", init)}) {
    if (value && *value > 0 && *value < 1000) {
      Add(findings, Severity::kWarn, kCheck, "a peer that is late for a moment ends the job",
          fmt::format("{}={}", name, *value), fmt::format("{} is in ms; make it some seconds at least", name));
    }
  }
}

void ExamineFiles(const Environment& environment, Findings& findings) {
  const Root here;
  for (const char* name : {"NCCL_TOPO_FILE", "NCCL_GRAPH_FILE", "TUTTI_TUNING_FILE", "NCCL_CONF_FILE"}) {
    const std::string path = environment.ValueOf(name);
    if (path.empty() || here.Exists(path)) continue;
    Add(findings, Severity::kWarn, kCheck, fmt::format("the file of {} is not there", name), path,
        "correct the path; on each host it must be there");
  }
  const std::string read = environment.ValueOf("NCCL_TOPO_FILE"), written = environment.ValueOf("NCCL_TOPO_DUMP_FILE");
  if (!read.empty() && read == written) {
    Add(findings, Severity::kWarn, kCheck, "the topology file is read and written over", read,
        "write it to another path");
  }
}

// In NCCL's syntax: "eth,ib0" by beginnings, "=eth0" by whole names, "^docker" all others.
bool SelectsAny(std::string_view pattern, const std::vector<std::string>& names) {
  const bool others = pattern.starts_with('^');
  if (others) pattern.remove_prefix(1);
  const bool whole = pattern.starts_with('=');
  if (whole) pattern.remove_prefix(1);
  return std::ranges::any_of(names, [&](const std::string& name) {
    bool matches = false;
    for (std::string_view rest = pattern; !rest.empty();) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      std::string_view one = rest.substr(0, end);
      one = one.substr(0, one.find(':'));
      matches |= !one.empty() && (whole ? name == one : name.starts_with(one));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return matches != others;
  });
}

void ExamineInterfaceNames(const Environment& environment, Findings& findings) {
  if (environment.interfaces.empty()) return;
  std::string have;
  for (const std::string& name : environment.interfaces) have += (have.empty() ? "" : ", ") + name;
  for (const char* name : {"NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME"}) {
    const std::string value = environment.ValueOf(name);
    if (value.empty() || SelectsAny(value, environment.interfaces)) continue;
    Add(findings, Severity::kCritical, kCheck,
        fmt::format("{} names no interface of this host, so hosts will not meet", name),
        fmt::format("{}={}; there are {}", name, value, have), "correct the name, or leave the choice to Tutti");
  }
}

std::string WhyOf(const std::string& name) { return std::string(WhyIgnored(name).value_or("it has no effect")); }

}  // namespace

std::string Environment::ValueOf(std::string_view name) const {
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    if (equals != variable.npos && equals + 1 < variable.size() && variable.compare(0, equals, name) == 0) {
      return variable.substr(equals + 1);
    }
  }
  std::string ignored;
  for (const ConfigFile& file : files) {
    for (const ConfigLine& line : ParseConfigFile(file, ignored)) {
      if (line.name == name && !line.value.empty()) return std::string(line.value);
    }
  }
  return "";
}

void ExamineContradictions(const Environment& environment, Findings& findings) {
  ExaminePairs(environment, findings);
  ExamineNumbers(environment, findings);
  ExamineFiles(environment, findings);
  ExamineInterfaceNames(environment, findings);
}

void ExamineEnvironment(const Environment& environment, Findings& findings) {
  const std::size_t before = findings.size();
  const Settings settings = ReadSettings(environment.variables, environment.files);
  for (std::string_view rest : {std::string_view(environment.warnings), std::string_view(settings.warnings)}) {
    while (!rest.empty()) {
      const std::string_view line = Trim(TakeLine(rest));
      if (!line.empty()) Add(findings, Severity::kWarn, kCheck, std::string(line), "", "correct it or take it out");
    }
  }
  ExamineContradictions(environment, findings);
  const bool wrong = findings.size() > before;
  for (const std::string& name : settings.ignored) {
    Add(findings, Severity::kInfo, kCheck, fmt::format("{} is set and has no effect", name),
        fmt::format("{}={}", name, environment.ValueOf(name)), WhyOf(name));
  }
  if (!wrong) {
    findings.push_back({.check = kCheck,
                        .what = "the variables of NCCL and Tutti are known and fit each other",
                        .evidence = fmt::format("{} set", settings.origins.size())});
  }
}

}  // namespace tutti::doctor
