// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/log_choice.h"

#include <fmt/format.h>

#include <cctype>
#include <iterator>

#include "base/log.h"

namespace tutti::comm {
namespace {

constexpr std::string_view kNames[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "Gather",
                                       "Scatter",   "AlltoAll",  "SendRecv",      "Barrier",   "Send",   "Recv"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Collective::kRecv) + 1);

}  // namespace

std::string_view NcclName(Collective kind) { return kNames[static_cast<int>(kind)]; }

void LogChoice(std::set<std::string>& said, Collective kind, std::string_view algorithm, std::string_view protocol) {
  constexpr log::Subsystems kTopics = log::kInit | log::kGraph | log::kTuning;
  if (!log::Enabled(log::Level::kInfo, kTopics)) return;
  std::string name(algorithm);
  if (!name.empty()) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  const std::string line = fmt::format("Algorithm {}, Protocol {} ({})", name, protocol, NcclName(kind));
  if (said.insert(line).second) TUTTI_INFO(kTopics, "{}", line);
}

}  // namespace tutti::comm
