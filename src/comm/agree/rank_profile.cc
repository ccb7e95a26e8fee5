// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/rank_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/hash.h"
#include "base/words.h"

namespace tutti::comm {
namespace {

constexpr std::size_t kMostValues = 4;  // of one variable in a sentence
constexpr std::size_t kMostShown = 60;  // bytes of one value in a sentence
constexpr int kMostStretches = 8;       // of ranks in a list

// Where the payload begins; the settings follow.
struct Header {
  std::uint64_t build;
  std::uint64_t warnings;
  std::uint32_t cpus;
  std::uint32_t settings_bytes;
  std::uint32_t machine_known;
  tune::Machine machine;
};
static_assert(std::is_trivially_copyable_v<Header>);

std::uint64_t Build() { return Fnv1a(fmt::format("Tutti {}, profile of {} bytes", TUTTI_VERSION, sizeof(Header))); }

bool IsCompared(const Setting& setting) {
  return setting.agreement != Agreement::kOwn && setting.print != nullptr && setting.bounds.empty();
}

// The value of a variable in a text of settings; its default where it is not there.
std::string ValueIn(std::string_view settings, const Setting& setting) {
  const std::string begin = fmt::format("{}=", setting.name);
  while (!settings.empty()) {
    const std::string_view line = TakeLine(settings);
    if (line.starts_with(begin)) return std::string(line.substr(begin.size()));
  }
  return setting.print(Settings());
}

// The values of all settings that must be alike.
std::string DemandsIn(std::string_view settings) {
  std::string demands;
  for (const Setting& setting : AllSettings()) {
    if (IsCompared(setting) && setting.agreement == Agreement::kMust) demands += ValueIn(settings, setting) + '\n';
  }
  return demands;
}

std::string Show(std::string value) {
  if (value.empty()) return "unset";
  if (value.size() > kMostShown) value = value.substr(0, kMostShown) + "...";
  return value;
}

}  // namespace

Result<RankProfile> MakeProfile(const Settings& settings, const std::optional<tune::Machine>& machine, int cpus) {
  RankProfile profile{.cpus = cpus,
                      .warnings = Fnv1a(settings.warnings),
                      .machine_known = machine.has_value(),
                      .machine = machine.value_or(tune::Machine{}),
                      .settings = ""};
  const Settings standard;
  for (const Setting& setting : AllSettings()) {
    if (!IsCompared(setting)) continue;
    std::string value = setting.print(settings);
    if (value == setting.print(standard)) continue;
    std::ranges::replace(value, '\n', ' ');
    profile.settings += fmt::format("{}={}\n", setting.name, value);
    if (profile.settings.size() > kMostSettingsBytes) {
      return Status(Code::kInvalidUsage,
                    fmt::format("{} is {} bytes long; the settings that ranks compare may have {} bytes together: "
                                "shorten it",
                                setting.name, value.size(), kMostSettingsBytes));
    }
  }
  return profile;
}

std::vector<std::byte> Encode(const RankProfile& profile) {
  const Header header{.build = Build(),
                      .warnings = profile.warnings,
                      .cpus = static_cast<std::uint32_t>(profile.cpus),
                      .settings_bytes = static_cast<std::uint32_t>(profile.settings.size()),
                      .machine_known = profile.machine_known ? 1U : 0U,
                      .machine = profile.machine};
  std::vector<std::byte> payload(sizeof(header) + profile.settings.size());
  std::memcpy(payload.data(), &header, sizeof(header));
  if (!profile.settings.empty()) {
    std::memcpy(payload.data() + sizeof(header), profile.settings.data(), profile.settings.size());
  }
  return payload;
}

Result<RankProfile> ParseProfile(std::span<const std::byte> payload) {
  Header header;
  if (payload.size() >= sizeof(header)) {
    std::memcpy(&header, payload.data(), sizeof(header));
    const std::size_t rest = payload.size() - sizeof(header);
    if (header.build == Build() && header.settings_bytes == rest && rest <= kMostSettingsBytes) {
      return RankProfile{.cpus = std::max(static_cast<int>(header.cpus), 1),
                         .warnings = header.warnings,
                         .machine_known = header.machine_known != 0,
                         .machine = header.machine,
                         .settings = std::string(reinterpret_cast<const char*>(payload.data() + sizeof(header)), rest)};
    }
  }
  return Status(Code::kRemote, "it runs another build of Tutti; start all ranks with the same one");
}

void TakeFromRankZero(std::string_view their_settings, Settings& settings) {
  for (const Setting& setting : AllSettings()) {
    if (!IsCompared(setting) || setting.agreement != Agreement::kRankZero) continue;
    const std::string value = ValueIn(their_settings, setting);
    if (value == setting.print(settings)) continue;
    if (setting.read(value, settings).empty()) settings.origins[std::string(setting.name)] = "rank 0";
  }
}

SettingsComparison::SettingsComparison(std::string_view own) : demands_(DemandsIn(own)) {}

bool SettingsComparison::Add(std::string_view settings) {
  auto found = ranks_.find(settings);
  if (found == ranks_.end()) {
    found = ranks_.emplace(settings, std::vector<int>()).first;
    agree_ = agree_ && DemandsIn(settings) == demands_;
  }
  found->second.push_back(count_++);
  return agree_;
}

std::string SettingsComparison::Describe(const Setting& setting) const {
  std::vector<std::pair<std::string, std::vector<int>>> by_value;
  for (const auto& [settings, ranks] : ranks_) {
    const std::string value = ValueIn(settings, setting);
    auto found = std::ranges::find(by_value, value, [](const auto& entry) { return entry.first; });
    if (found == by_value.end()) found = by_value.insert(by_value.end(), {value, {}});
    found->second.insert(found->second.end(), ranks.begin(), ranks.end());
  }
  if (by_value.size() < 2) return "";
  for (auto& [value, ranks] : by_value) std::ranges::sort(ranks);
  std::ranges::sort(by_value, {}, [](const auto& entry) { return entry.second.front(); });
  std::string text = fmt::format("{} is ", setting.name);
  const std::size_t shown = std::min(by_value.size(), kMostValues);
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == by_value.size();
    text += fmt::format("{}{} on {}",
                        i == 0 ? ""
                        : last ? " and "
                               : ", ",
                        Show(by_value[i].first), internal::RankList(by_value[i].second));
  }
  if (shown < by_value.size()) text += fmt::format(" and {} other values", by_value.size() - shown);
  return text;
}

Status SettingsComparison::Check() const {
  if (agree_) return Status::Ok();
  std::string all;
  for (const Setting& setting : AllSettings()) {
    if (!IsCompared(setting) || setting.agreement != Agreement::kMust) continue;
    const std::string difference = Describe(setting);
    if (!difference.empty()) all += fmt::format("{}{}", all.empty() ? "" : "; ", difference);
  }
  return Status(Code::kInvalidUsage,
                fmt::format("the ranks have different settings: {}; set them alike on all ranks", all));
}

std::vector<std::string> SettingsComparison::Warnings() const {
  std::vector<std::string> warnings;
  if (ranks_.size() < 2) return warnings;
  for (const Setting& setting : AllSettings()) {
    if (!IsCompared(setting) || setting.agreement == Agreement::kMust) continue;
    const std::string difference = Describe(setting);
    if (difference.empty()) continue;
    warnings.push_back(fmt::format(
        "{}; {}", difference,
        setting.agreement == Agreement::kRankZero ? "rank 0's holds for all" : "each rank goes by its own"));
  }
  return warnings;
}

std::string internal::RankList(std::span<const int> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  int stretches = 0;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (++stretches > kMostStretches) return text + fmt::format(" and {} more", ranks.size() - begin);
    text += begin == 0 ? "" : ",";
    text += end - begin == 1 ? fmt::format("{}", ranks[begin]) : fmt::format("{}-{}", ranks[begin], ranks[end - 1]);
    begin = end;
  }
  return text;
}

}  // namespace tutti::comm
