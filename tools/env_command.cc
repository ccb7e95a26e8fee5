// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/env_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/settings_reader.h"
#include "base/settings_registry.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/env_tables.h"
#include "tools/json.h"
#include "tutti/status.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kTextWidth = 100;

// A variable as it was set, whoever reads it.
struct Given {
  std::string value, origin;
};

std::optional<Given> Find(const comm::SettingsSources& sources, std::string_view name) {
  for (const std::string& variable : sources.environment) {
    const std::size_t equals = variable.find('=');
    if (equals != std::string::npos && equals + 1 < variable.size() && variable.compare(0, equals, name) == 0) {
      return Given{variable.substr(equals + 1), "environment"};
    }
  }
  std::string ignored;
  for (const ConfigFile& file : sources.files) {
    for (const ConfigLine& line : ParseConfigFile(file, ignored)) {
      if (line.name == name && !line.value.empty()) {
        return Given{std::string(line.value), fmt::format("{}:{}", file.name, line.number)};
      }
    }
  }
  return std::nullopt;
}

Settings Read(const comm::SettingsSources& sources) {
  Settings settings = ReadSettings(sources.environment, sources.files);
  settings.warnings = sources.warnings + settings.warnings;
  return settings;
}

// One setting as it is shown.
struct SettingRow {
  std::string value, origin, standard;
};

SettingRow Show(const Setting& setting, const Settings& settings, const comm::SettingsSources& sources) {
  SettingRow shown{.value = "", .origin = settings.OriginOf(std::string(setting.name)), .standard = ""};
  const bool set = shown.origin != "default";
  if (setting.name == "TUTTI_ID" || setting.name == "TUTTI_SECRET") {
    shown.value = set ? "(set; holds a secret)" : "";
  } else if (setting.print == nullptr || !setting.bounds.empty()) {
    const std::optional<Given> given = set ? Find(sources, setting.name) : std::nullopt;
    shown.value = given ? given->value : "";
  } else {
    shown.value = setting.print(settings);
  }
  if (setting.print != nullptr && setting.bounds.empty()) shown.standard = setting.print(Settings());
  return shown;
}

std::string OrUnset(const std::string& text) { return text.empty() ? "unset" : text; }

std::string Indent(std::string_view text) {
  std::string out, line;
  const auto flush = [&] {
    if (!line.empty()) out += fmt::format("    {}\n", line);
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (!line.empty() && line.size() + 1 + end > kTextWidth) flush();
    line += fmt::format("{}{}", line.empty() ? "" : " ", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  flush();
  return out;
}

std::string_view WhereRanksDiffer(const Setting& setting) {
  if (!setting.bounds.empty()) return "as the variable that it works on";
  switch (setting.agreement) {
    case Agreement::kMust:
      return "an error";
    case Agreement::kRankZero:
      return "rank 0's holds; a warning";
    case Agreement::kShould:
      return "each its own; a warning";
    case Agreement::kOwn:
      return "each its own";
  }
  return "";
}

std::string_view ScopeName(Scope scope) {
  switch (scope) {
    case Scope::kCommunicator:
      return "communicator";
    case Scope::kProcess:
      return "process";
    case Scope::kEnvironment:
      return "environment";
  }
  return "";
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string Table(Scope scope) {
  std::string text = "| variable | what may be set | default | meaning | where ranks differ |\n|---|---|---|---|---|\n";
  for (const Setting& setting : AllSettings()) {
    if (setting.scope != scope) continue;
    std::string standard = "unset";
    if (setting.print != nullptr && setting.bounds.empty()) {
      const std::string value = setting.print(Settings());
      if (!value.empty()) standard = fmt::format("`{}`", value);
    }
    if (!setting.unit.empty() && standard != "unset") standard += fmt::format(" {}", setting.unit);
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", setting.name, setting.values, standard, setting.meaning,
                        WhereRanksDiffer(setting));
  }
  return text;
}

std::string IgnoredTable() {
  std::string text = "| variables | why |\n|---|---|\n";
  for (const IgnoredSettings& group : AllIgnoredSettings()) {
    std::string names = fmt::format("`{}`", group.names);
    for (std::size_t at = 0; (at = names.find(' ', at)) != std::string::npos; at += 3) names.replace(at, 1, "` `");
    text += fmt::format("| {} | {}. |\n", names, group.reason);
  }
  return text;
}

// Prints a text, or why there is none.
int Show(const Result<std::string>& text) {
  if (text.ok()) {
    fmt::print("{}", *text);
    return kExitOk;
  }
  fmt::print(stderr, "tutti env: {}\n", text.status().message());
  return kExitFailed;
}

}  // namespace

std::string FormatSettings(const comm::SettingsSources& sources, Shown shown) {
  const Settings settings = Read(sources);
  std::string text;
  for (const Setting& setting : AllSettings()) {
    const SettingRow row = Show(setting, settings, sources);
    if (shown == Shown::kSet && row.origin == "default") continue;
    text += fmt::format("{} = {}{}{}  from: {}", setting.name, OrUnset(row.value), setting.unit.empty() ? "" : " ",
                        row.value.empty() ? "" : setting.unit, row.origin);
    if (row.origin != "default" && setting.print != nullptr && setting.bounds.empty()) {
      text += fmt::format(", default: {}", OrUnset(row.standard));
    }
    text += fmt::format("\n{}{}", Indent(setting.meaning), Indent(fmt::format("Values: {}", setting.values)));
  }
  if (shown == Shown::kSet && text.empty()) text = "Nothing is set that Tutti reads.\n";
  if (!settings.ignored.empty()) text += "\nSet and ignored:\n";
  for (const std::string& name : settings.ignored) {
    const Given given = Find(sources, name).value_or(Given{});
    text += fmt::format("{} = {}  from: {}\n{}", name, given.value, given.origin,
                        Indent(fmt::format("{}.", WhyIgnored(name).value_or(""))));
  }
  const std::vector<std::string> warnings = LinesOf(settings.warnings);
  if (!warnings.empty()) text += "\nWrong:\n";
  for (const std::string& warning : warnings) text += fmt::format("{}\n", warning);
  return text;
}

std::string SettingsAsJson(const comm::SettingsSources& sources) {
  const Settings settings = Read(sources);
  Json json = {{"settings", Json::Array()}, {"ignored", Json::Array()}, {"warnings", LinesOf(settings.warnings)}};
  for (const Setting& setting : AllSettings()) {
    const SettingRow row = Show(setting, settings, sources);
    json["settings"].Append({{"name", setting.name},
                             {"value", row.value},
                             {"origin", row.origin},
                             {"default", row.standard},
                             {"unit", setting.unit},
                             {"values", setting.values},
                             {"meaning", setting.meaning},
                             {"applies_to", ScopeName(setting.scope)},
                             {"where_ranks_differ", WhereRanksDiffer(setting)}});
  }
  for (const std::string& name : settings.ignored) {
    const Given given = Find(sources, name).value_or(Given{});
    json["ignored"].Append(
        {{"name", name}, {"value", given.value}, {"origin", given.origin}, {"reason", WhyIgnored(name).value_or("")}});
  }
  // Values may hold any bytes.
  return json.Dump(2) + "\n";
}

std::string EnvironmentPage() {
  return fmt::format(
      R"(# Settings

<!-- The output of `tutti env --markdown`; a test compares them. -->

Tutti reads its own variables (`TUTTI_`) and those of NCCL that make sense for it. `tutti env` prints each with its
value and where that came from; `tutti env --set` only those that are set.

A variable is looked for in the environment, then in the file that `NCCL_CONF_FILE` names, or else in `~/.nccl.conf`,
then in `/etc/nccl.conf`. The first place that has it holds; an empty value in the environment counts as none. A file
has one `NAME=value` per line; empty lines and lines that begin with `#` say nothing; of two lines for one name the
first holds. A line or a value that cannot be read keeps the default and gets one warning, which names file and line. A
name with `NCCL_` or `TUTTI_` that nobody knows gets one warning with the nearest known name. Tutti never changes the
environment.

Settings are read when they are asked for: in C++ by `Settings::FromEnvironment()`, which `CommunicatorOptions` calls.
Those of a process's first communicator hold for its log.

When ranks meet they compare their settings. Values that must be alike and are not end the making of the communicator
on all ranks, with one sentence that names variable, values and ranks. Of other differences rank 0 warns.

## Communicators

{}
## Log

The log goes to stderr, never to stdout, in NCCL's format: `host:pid:tid [rank] NCCL INFO text`, where the rank is -1
while it is not known. WARN and TRACE lines also name file and line of the source. Each line is one `write`, of at most
4096 bytes, so lines of several ranks do not mix. Files are appended to.

{}
## Environment only

Without `TUTTI_RANK` and `TUTTI_RANKS` the variables of the launcher count: those of torchrun, Open MPI, MPICH and Intel
MPI, PMIx, Slurm, Flux and PMI, in this order.

{}
## Known and ignored

These variables have no effect, and Tutti does not warn of them. `tutti env` lists those that are set here with the
reason, and so does the log at `NCCL_DEBUG=INFO` under ENV. A name that ends in `*` stands for all that begin so.

{})",
      Table(Scope::kCommunicator), Table(Scope::kProcess), Table(Scope::kEnvironment), IgnoredTable());
}

int EnvCommand(int argc, char** argv) {
  CommandLine line("Shows every setting, its value here and where that came from.", "tutti env");
  std::string json;
  bool only_set = false, markdown = false, tables = false;
  line.AddFlag("--set", only_set, "only what is set, read or ignored");
  line.Add("--json", json, "write all of it to a file as JSON; - is stdout").Shown("FILE");
  line.AddFlag("--tables", tables, "the tables of constants that choices go by instead, in full");
  line.AddFlag("--markdown", markdown, "print docs/environment.md and nothing else");
  line.Footer(
      "Exit code 1 where a value, a line or a name that is set cannot be read.\n\n"
      "Examples:\n  tutti env --set\n  NCCL_CONF_FILE=job.conf tutti env --json settings.json");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  if (markdown) {
    fmt::print("{}", EnvironmentPage());
    return kExitOk;
  }
  const comm::SettingsSources sources = comm::FindSettings();
  if (tables) return Show(PrintTables(Read(sources)));
  if (json.empty()) {
    fmt::print("{}", FormatSettings(sources, only_set ? Shown::kSet : Shown::kAll));
    if (!only_set) {
      fmt::print("\nTables of constants, in the order in which they are looked through:\n");
      if (Show(ListTables(Read(sources))) != kExitOk) return kExitFailed;
    }
  } else if (const Status written = WriteText(json, SettingsAsJson(sources)); !written.ok()) {
    fmt::print(stderr, "tutti env: {}\n", written.message());
    return kExitFailed;
  }
  return Read(sources).warnings.empty() ? kExitOk : kExitFailed;
}

}  // namespace tutti::tools
