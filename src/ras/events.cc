// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "ras/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tutti::ras {
namespace {

// Those of which nothing tells which one they are cannot come or go.
std::map<std::pair<std::string, std::int32_t>, const Process*> ById(const Report& report) {
  std::map<std::pair<std::string, std::int32_t>, const Process*> by_id;
  for (const Process& p : report.processes) {
    if (p.pid != 0 && !p.has_ended()) by_id[{p.host, p.pid}] = &p;
  }
  return by_id;
}

bool IsHeld(const Process& process) {
  return process.state == diag::ProcessState::kStopped || process.state == diag::ProcessState::kFrozen ||
         process.state == diag::ProcessState::kTraced;
}

// Sentences by what they are about. A verdict on several communicators is told once.
std::map<std::string, std::string> Sentences(const Report& report) {
  std::map<std::string, std::string> sentences;
  for (const CommunicatorReport& c : report.communicators) {
    for (const Finding& f : c.findings) sentences.try_emplace(f.about, f.sentence);
  }
  return sentences;
}

}  // namespace

std::vector<Event> EventsBetween(const Report& before, const Report& now) {
  std::vector<Event> events;
  const auto add = [&](unsigned group, const char* name, const Process* process, std::string details) {
    Event event{.group = group, .name = name, .details = std::move(details), .unix_ns = now.taken_unix_ns};
    if (process != nullptr) event.process = *process;
    events.push_back(std::move(event));
  };
  const auto were = ById(before), are = ById(now);
  for (const auto& [id, process] : are) {
    const auto found = were.find(id);
    if (found == were.end()) add(kLifecycle, "PEER_NEW", process, "");
    const bool was_held = found != were.end() && IsHeld(*found->second);
    if (IsHeld(*process) && !was_held)
      add(kTrace, "PEER_UNRESPONSIVE", process, fmt::format("its process is {}", diag::Name(process->state)));
    if (!IsHeld(*process) && was_held) add(kTrace, "PEER_RECOVERED", process, "its process runs again");
  }
  for (const auto& [id, process] : were) {
    if (!are.contains(id)) add(kLifecycle, "PEER_DEAD", process, "");
  }
  const auto said = Sentences(before), says = Sentences(now);
  for (const auto& [about, sentence] : says) {
    if (!said.contains(about)) add(kLifecycle, "VERDICT", nullptr, sentence);
  }
  for (const auto& [about, sentence] : said) {
    if (!says.contains(about)) add(kLifecycle, "VERDICT_CLEARED", nullptr, sentence);
  }
  return events;
}

}  // namespace tutti::ras
