// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_team.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "tools/cli.h"

namespace tutti::tools {
namespace {

constexpr double kUsable = 0.9;  // of the free memory; the rest is for the library and the page cache

// What crosses the network.
struct Introduction {
  std::int64_t pid = 0;
  std::int64_t free_bytes = 0;
  char host[64] = {};
  char device[80] = {};
};

template <std::size_t N>
void CopyText(const std::string& text, char (&out)[N]) {
  std::memcpy(out, text.data(), std::min(text.size(), N - 1));
}

// The value behind the first line of `path` that begins with `key`, from the first character that is not a
// separator.
std::optional<std::string> ReadKey(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t:", key.size());
    return begin == line.npos ? std::string() : line.substr(begin);
  }
  return std::nullopt;
}

// A number in a file of its own; nullopt for "max" and for no file.
std::optional<std::int64_t> ReadNumber(const char* path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::string ProcessorName() {
  for (const char* key : {"model name", "Model", "Hardware", "uarch"}) {
    if (std::optional<std::string> name = ReadKey("/proc/cpuinfo", key)) return *name;
  }
  return "processor";
}

}  // namespace

Status Team::Barrier() { return communicator_->Run(tutti::Barrier()); }

Result<std::int64_t> Team::Sum(std::int64_t value) {
  std::array<std::int64_t, 1> sum = {value};
  TUTTI_RETURN_IF_ERROR(communicator_->Run(AllReduce(sum, sum)));
  return sum[0];
}

Result<double> Team::Combine(double seconds, PerfOptions::Average average) {
  std::array<double, 1> value = {seconds};
  switch (average) {
    case PerfOptions::Average::kRank0:
      TUTTI_RETURN_IF_ERROR(communicator_->Run(Broadcast(value, 0)));
      break;
    case PerfOptions::Average::kMean:
      TUTTI_RETURN_IF_ERROR(communicator_->Run(AllReduce(value, value)));
      value[0] /= ranks();
      break;
    case PerfOptions::Average::kMin:
      TUTTI_RETURN_IF_ERROR(communicator_->Run(AllReduce(value, value, ReduceOp::kMin)));
      break;
    case PerfOptions::Average::kMax:
      TUTTI_RETURN_IF_ERROR(communicator_->Run(AllReduce(value, value, ReduceOp::kMax)));
      break;
  }
  return value[0];
}

Result<std::vector<Member>> Team::Introduce() {
  Introduction mine{.pid = getpid(), .free_bytes = FreeMemory()};
  CopyText(HostName(), mine.host);
  CopyText(ProcessorName(), mine.device);
  std::vector<Introduction> all(static_cast<std::size_t>(ranks()));
  TUTTI_RETURN_IF_ERROR(
      communicator_->Run(AllGather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)))));
  std::vector<Member> members;
  std::map<std::string, int> local_ranks;
  for (const Introduction& one : all) {
    const int rank = static_cast<int>(members.size());
    members.push_back({.info = {.rank = rank,
                                .pid = static_cast<int>(one.pid),
                                .host = one.host,
                                .local_rank = local_ranks[one.host]++,
                                .device = one.device},
                       .free_bytes = one.free_bytes});
  }
  return members;
}

Result<Communicator> Team::Again(const Settings& settings) {
  CommunicatorOptions options{.rank = rank(), .ranks = ranks(), .settings = settings};
  Status made;
  if (rank() == 0) {
    const Result<UniqueId> id = CreateUniqueId();
    made = id.status();
    if (id.ok()) options.id = *id;
  }
  TUTTI_RETURN_IF_ERROR(communicator_->Run(Broadcast(options.id.bytes, 0)));
  TUTTI_RETURN_IF_ERROR(made);
  if (options.id.bytes == UniqueId().bytes) return Status(Code::kRemote, "rank 0 could not make a new unique id", 0);
  return Communicator::Create(options);
}

std::string MemoryProblem(const std::vector<Member>& members, std::size_t bytes_per_rank) {
  struct Host {
    std::size_t ranks = 0;
    std::int64_t free_bytes = std::numeric_limits<std::int64_t>::max();
  };
  std::map<std::string, Host> hosts;
  for (const Member& member : members) {
    Host& host = hosts[member.info.host];
    ++host.ranks;
    host.free_bytes = std::min(host.free_bytes, member.free_bytes);
  }
  for (const auto& [name, host] : hosts) {
    const double usable = static_cast<double>(host.free_bytes) * kUsable;
    if (static_cast<double>(host.ranks * bytes_per_rank) <= usable) continue;
    const auto fits = static_cast<std::size_t>(usable / 2 / static_cast<double>(host.ranks));
    return fmt::format(
        "the buffers of {} rank{} on {} take {}, two per rank, but {} are free: make the largest size "
        "(-e) {} or less, or use fewer ranks",
        host.ranks, host.ranks == 1 ? "" : "s", name, FormatBytes(host.ranks * bytes_per_rank),
        FormatBytes(static_cast<std::size_t>(std::max<std::int64_t>(host.free_bytes, 0))),
        FormatBytes(fits >> 20 << 20));
  }
  return {};
}

std::int64_t FreeMemory() {
  std::int64_t free = std::numeric_limits<std::int64_t>::max();
  if (const std::optional<std::string> available = ReadKey("/proc/meminfo", "MemAvailable")) {
    free = std::strtoll(available->c_str(), nullptr, 10) * 1024;
  }
  // Control groups, version 2 and 1, as a container sees its own. Cached files count as used but make room.
  struct Group {
    const char *limit, *used, *details, *cache_key;
  };
  constexpr Group kGroups[] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
       "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"}};
  for (const Group& group : kGroups) {
    const std::optional<std::int64_t> limit = ReadNumber(group.limit), used = ReadNumber(group.used);
    if (!limit || !used) continue;
    const std::string cache = ReadKey(group.details, group.cache_key).value_or("0");
    free = std::min<std::int64_t>(free, *limit - *used + std::strtoll(cache.c_str(), nullptr, 10));
  }
  return free;
}

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  const std::string text = name[0] != '\0' ? name : "host";
  return text.substr(0, text.find('.'));
}

void PrintFailure(int rank, const Status& status) {
  const std::string line = fmt::format("{}: rank {} pid {}: {}\n", HostName(), rank < 0 ? "?" : std::to_string(rank),
                                       getpid(), status.ToString());
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace tutti::tools
