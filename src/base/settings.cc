// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tutti/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/one_line.h"
#include "base/settings_reader.h"
#include "base/settings_registry.h"
#include "base/words.h"

namespace tutti {
namespace {

constexpr int kMostFileWarnings = 20;
constexpr int kMostUnknown = 20;
constexpr std::size_t kMostFileLines = 1000;    // that set something
constexpr std::size_t kLongestLikelyName = 64;  // longer ones are not typing errors
constexpr std::size_t kMostQuoted = 100;        // bytes of a bad value in a warning

// What somebody wrote, fit for one line of a warning.
std::string Shorten(std::string_view text) {
  std::string shown(text.substr(0, kMostQuoted));
  ReplaceControls(shown, '?');
  return shown + (text.size() > kMostQuoted ? "..." : "");
}
std::string Quote(std::string_view text) { return fmt::format("\"{}\"", Shorten(text)); }

bool IsName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

bool IsOurs(std::string_view name) { return name.starts_with("NCCL_") || name.starts_with("TUTTI_"); }

// One value and where it stands.
struct Given {
  std::string_view name, value;
  std::string origin;  // "environment", "/etc/nccl.conf:3"
  bool in_file;
};

class Reader {
 public:
  Reader(Settings& settings, std::vector<Given> given) : settings_(settings), given_(std::move(given)) {}

  void ReadKnown() {
    for (const Setting& setting : AllSettings()) {
      const auto found = std::ranges::find(given_, setting.name, &Given::name);
      if (found != given_.end()) Read(setting, *found);
    }
  }

  // What no row of the registry took.
  void ReadOthers() {
    for (const Given& given : given_) {
      if (FindSetting(given.name) != nullptr) continue;
      if (WhyIgnored(given.name)) {
        settings_.ignored.emplace_back(given.name);
      } else {
        WarnUnknown(given);
      }
    }
    std::ranges::sort(settings_.ignored);
    if (unknown_ > kMostUnknown) {
      Warn(fmt::format("{} more names are not settings of Tutti or NCCL and have no effect", unknown_ - kMostUnknown));
    }
  }

  // The fewest channels bind: they raise a maximum that nobody has set. NCCL's users set only the minimum.
  void SettleChannels() {
    if (settings_.min_channels <= settings_.max_channels) return;
    const std::string least = NameSet("NCCL_MIN_"), most = NameSet("NCCL_MAX_");
    if (most.empty()) {
      settings_.max_channels = settings_.min_channels;
      return;
    }
    const Settings standard;
    Warn(fmt::format("{}={} exceeds {}={}; using {} to {}", least, settings_.min_channels, most, settings_.max_channels,
                     standard.min_channels, standard.max_channels));
    settings_.min_channels = standard.min_channels;
    settings_.max_channels = standard.max_channels;
    std::erase_if(settings_.origins, [](const auto& origin) {
      return origin.first.starts_with("NCCL_MIN_") || origin.first.starts_with("NCCL_MAX_");
    });
  }

 private:
  void Warn(const std::string& line) { settings_.warnings += line + "\n"; }

  void Read(const Setting& setting, const Given& given) {
    const std::string where = given.in_file ? given.origin + ": " : "";
    if (setting.read == nullptr) {
      if (!given.in_file) {
        settings_.origins.emplace(setting.name, given.origin);
      } else {
        Warn(fmt::format("{}{} counts in the environment only; export it there", where, setting.name));
      }
      return;
    }
    const std::string wrong = setting.read(given.value, settings_);
    if (wrong.empty()) {
      settings_.origins.emplace(setting.name, given.origin);
      return;
    }
    const std::string value = setting.print(settings_);
    Warn(fmt::format("{}{}={} is not {}; using {}", where, setting.name, Quote(given.value), wrong,
                     value.empty() ? "none" : value));
  }

  void WarnUnknown(const Given& given) {
    if (++unknown_ > kMostUnknown) return;
    const std::string where = given.in_file ? given.origin + ": " : "";
    const std::string_view nearest = given.name.size() > kLongestLikelyName ? "" : NearestSetting(given.name);
    Warn(fmt::format("{}{} is not a setting of Tutti or NCCL and has no effect{}", where, Shorten(given.name),
                     nearest.empty() ? "; `tutti env` lists all" : fmt::format("; did you mean {}?", nearest)));
  }

  // The name, of several for one bound, that was set and holds.
  std::string NameSet(std::string_view begin) const {
    for (const auto& [name, origin] : settings_.origins) {
      if (name.starts_with(begin)) return name;
    }
    return "";
  }

  Settings& settings_;
  std::vector<Given> given_;
  int unknown_ = 0;  // names, so far
};

}  // namespace

std::vector<ConfigLine> ParseConfigFile(const ConfigFile& file, std::string& warnings) {
  std::vector<ConfigLine> lines;
  int warned = 0, number = 0;
  const auto warn = [&](const std::string& what) {
    if (++warned <= kMostFileWarnings) warnings += fmt::format("{}:{}: {}\n", file.name, number, what);
  };
  std::string_view rest = file.text;
  while (!rest.empty()) {
    const std::string_view line = Trim(TakeLine(rest));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      warn(fmt::format("{} is left out: a line reads NAME=value", Quote(line)));
      continue;
    }
    const std::string_view name = Trim(line.substr(0, equals)), value = Trim(line.substr(equals + 1));
    const auto before = std::ranges::find(lines, name, &ConfigLine::name);
    if (!IsName(name)) {
      warn(fmt::format("{} is left out: {} is not a variable's name", Quote(line), Quote(name)));
    } else if (value.find('\0') != std::string_view::npos) {
      warn(fmt::format("{} is left out: its value has a zero byte", Shorten(name)));
    } else if (before != lines.end()) {
      warn(fmt::format("{} is left out: line {} has set it, and the first holds", Shorten(name), before->number));
    } else if (lines.size() == kMostFileLines) {
      warnings += fmt::format("{}:{}: the rest of the file is left out: it sets more than {} variables\n", file.name,
                              number, kMostFileLines);
      break;
    } else {
      lines.push_back({.name = name, .value = value, .number = number});
    }
  }
  if (warned > kMostFileWarnings) {
    warnings += fmt::format("{}: {} more lines are left out\n", file.name, warned - kMostFileWarnings);
  }
  return lines;
}

Settings ReadSettings(std::span<const std::string> environment, std::span<const ConfigFile> files) {
  Settings settings;
  std::vector<Given> given;
  const auto add = [&given](const Given& one) {
    if (one.value.empty() || std::ranges::find(given, one.name, &Given::name) != given.end()) return;
    given.push_back(one);
  };
  for (std::string_view variable : environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos || !IsOurs(variable)) continue;
    add({variable.substr(0, equals), variable.substr(equals + 1), "environment", false});
  }
  for (const ConfigFile& file : files) {
    for (const ConfigLine& line : ParseConfigFile(file, settings.warnings)) {
      add({line.name, line.value, fmt::format("{}:{}", file.name, line.number), true});
    }
  }
  Reader reader(settings, std::move(given));
  reader.ReadKnown();
  reader.ReadOthers();
  reader.SettleChannels();
  return settings;
}

std::string Settings::OriginOf(const std::string& variable) const {
  const auto found = origins.find(variable);
  return found == origins.end() ? "default" : found->second;
}

}  // namespace tutti
