// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/host_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>

#include "base/words.h"

namespace tutti::tools {
namespace {

constexpr int kMostRanksOfAHost = 4096;
constexpr std::size_t kMostJobBytes = 64u << 20;
constexpr std::string_view kJob = "job ", kHereStart = "tutti run --on-host of version ", kHereEnd = " is here";

Status BadHost(std::string_view word, std::string_view why) {
  return Status(Code::kInvalidArgument,
                fmt::format("'{}' is no host with a number of ranks, as a:4 is: {}", word, why));
}

Result<HostShare> ParseHost(std::string_view word) {
  HostShare share;
  std::string_view name = word;
  const std::size_t colon = word.rfind(':');
  // The colons of an IPv6 address count only where it stands in brackets.
  const std::size_t bracket = word.rfind(']');
  if (colon != word.npos && (bracket == word.npos || colon > bracket)) {
    const std::optional<int> ranks = ParseNumber<int>(word.substr(colon + 1));
    if (!ranks || *ranks < 1 || *ranks > kMostRanksOfAHost) {
      return BadHost(word, fmt::format("what follows the colon is no number from 1 to {}", kMostRanksOfAHost));
    }
    share.ranks = *ranks;
    name = word.substr(0, colon);
  }
  if (name.starts_with('[') && name.ends_with(']')) {
    name = name.substr(1, name.size() - 2);
  } else if (name.find(':') != name.npos) {
    return BadHost(word, "an IPv6 address stands in brackets");
  }
  if (name.empty()) return BadHost(word, "it has no name");
  if (name.starts_with('-')) return BadHost(word, "a name does not begin with a dash");
  if (name.find_first_of(kSpace) != name.npos) return BadHost(word, "a name has no blanks");
  share.name = name;
  return share;
}

bool IsPlainWord(std::string_view word) {
  constexpr std::string_view kPlain = "/._-+:@%,=";
  return !word.empty() && std::ranges::all_of(word, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != kPlain.npos;
  });
}

std::string Quoted(std::string_view word) {
  if (IsPlainWord(word)) return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

void AddField(std::string& bytes, std::string_view name, std::string_view value) {
  bytes.append(name).append("=").append(value).append(1, '\0');
}

template <typename Number>
bool ReadNumber(std::string_view text, Number& number) {
  const std::optional<Number> read = ParseNumber<Number>(text);
  if (read) number = *read;
  return read.has_value();
}

// False for a name that is not known, or no good value.
bool ReadField(std::string_view name, std::string_view value, HostJob& job) {
  if (name == "host") return job.host = value, true;
  if (name == "id") return job.id_hex = value, true;
  if (name == "folder") return job.folder = value, true;
  if (name == "word") return job.words.emplace_back(value), true;
  if (name == "variable") return job.environment.emplace_back(value), value.find('=') != value.npos;
  if (name == "first_rank") return ReadNumber(value, job.first_rank);
  if (name == "local_ranks") return ReadNumber(value, job.local_ranks);
  if (name == "ranks") return ReadNumber(value, job.ranks);
  if (name == "grace_ms") return ReadNumber(value, job.grace_ms);
  if (name == "tag_output") return job.tag_output = value == "1", true;
  return false;
}

}  // namespace

Result<std::vector<HostShare>> ParseHosts(std::string_view text) {
  std::vector<HostShare> hosts;
  std::set<std::string> names;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    Result<HostShare> host = ParseHost(Trim(text.substr(0, comma)));
    if (!host.ok()) return host.status();
    if (!names.insert(host->name).second)
      return BadHost(host->name, "it stands there twice; give it all its ranks once");
    hosts.push_back(std::move(*host));
    if (comma == text.size()) return hosts;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::string> SplitAgent(std::string_view text) {
  std::vector<std::string> words;
  for (text = Trim(text); !text.empty(); text = Trim(text)) {
    const std::size_t end = std::min(text.find_first_of(kSpace), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

std::vector<std::string> HostCommand(const HostAgent& agent, const std::string& host) {
  if (agent.words.empty()) {
    // Nobody is there to answer questions; what cannot be reached, or has died, is noticed in time.
    return {"ssh", "-T",
            "-o",  "BatchMode=yes",
            "-o",  "ConnectTimeout=20",
            "-o",  "ServerAliveInterval=15",
            host,  Quoted(agent.tutti) + " run --on-host"};
  }
  std::vector<std::string> words = agent.words;
  for (const std::string& word : {host, agent.tutti, std::string("run"), std::string("--on-host")})
    words.push_back(word);
  return words;
}

std::string Encode(const HostJob& job) {
  std::string bytes;
  AddField(bytes, "host", job.host);
  AddField(bytes, "id", job.id_hex);
  AddField(bytes, "first_rank", std::to_string(job.first_rank));
  AddField(bytes, "local_ranks", std::to_string(job.local_ranks));
  AddField(bytes, "ranks", std::to_string(job.ranks));
  AddField(bytes, "folder", job.folder);
  AddField(bytes, "grace_ms", std::to_string(job.grace_ms));
  AddField(bytes, "tag_output", job.tag_output ? "1" : "0");
  for (const std::string& word : job.words) AddField(bytes, "word", word);
  for (const std::string& variable : job.environment) AddField(bytes, "variable", variable);
  return fmt::format("{}{}\n", kJob, bytes.size()) + bytes;
}

Result<HostJob> ParseHostJob(std::string_view bytes) {
  HostJob job;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    const std::string_view field = bytes.substr(0, end);
    const std::size_t equals = field.find('=');
    if (end == bytes.npos || equals == field.npos ||
        !ReadField(field.substr(0, equals), field.substr(equals + 1), job)) {
      return Status(Code::kInvalidArgument, fmt::format("the job has a field that is not known: {}", field));
    }
    bytes.remove_prefix(end + 1);
  }
  if (job.words.empty() || job.first_rank < 0 || job.local_ranks < 1 || job.local_ranks > kMostRanksOfAHost ||
      job.first_rank > job.ranks - job.local_ranks) {
    return Status(Code::kInvalidArgument, "the job has no program, or ranks that do not exist");
  }
  return job;
}

Result<std::size_t> ParseJobLine(std::string_view line) {
  if (line.starts_with(kJob)) {
    const std::optional<std::size_t> bytes = ParseNumber<std::size_t>(line.substr(kJob.size()));
    if (bytes && *bytes <= kMostJobBytes) return *bytes;
  }
  return Status(Code::kInvalidArgument, "what came by standard input is no job of `tutti run --hosts`");
}

std::string HereLine(std::string_view version) { return fmt::format("{}{}{}", kHereStart, version, kHereEnd); }

std::string_view VersionOfHere(std::string_view line) {
  if (!line.starts_with(kHereStart) || !line.ends_with(kHereEnd)) return {};
  line.remove_prefix(kHereStart.size());
  return line.substr(0, line.size() - kHereEnd.size());
}

std::vector<std::string> SettingsAmong(const std::vector<std::string>& variables) {
  constexpr std::array<std::string_view, 5> kOwn = {"TUTTI_RANK", "TUTTI_RANKS", "TUTTI_ID", "NCCL_HOSTID",
                                                    "NCCL_COMM_ID"};
  std::vector<std::string> settings;
  for (const std::string& variable : variables) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    if (!name.starts_with("NCCL_") && !name.starts_with("TUTTI_")) continue;
    if (std::ranges::find(kOwn, name) == kOwn.end()) settings.push_back(variable);
  }
  return settings;
}

}  // namespace tutti::tools
