// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "ras/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/one_line.h"
#include "base/words.h"
#include "ras/json.h"
#include "ras/look_lines.h"
#include "ras/text.h"

namespace tutti::ras {
namespace {

// Of answers and events that a client has not read. A report may be longer: it is the last that it gets.
constexpr std::size_t kMostUnread = 256 << 10;
constexpr std::int32_t kMostSeconds = INT32_MAX;

// What follows `words` in a line that begins with them; a blank ends them.
std::optional<std::string_view> After(std::string_view line, std::string_view words) {
  if (line.size() < words.size() || !EqualIgnoringCase(line.substr(0, words.size()), words)) return std::nullopt;
  return line.substr(words.size());
}

// A part of a line as an answer repeats it.
std::string Quote(std::string_view text) {
  std::string quoted(text);
  ReplaceControls(quoted, '?');
  return quoted;
}

std::optional<unsigned> GroupsOf(std::string_view list, std::string_view& wrong) {
  unsigned groups = 0;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (EqualIgnoringCase(name, "lifecycle")) {
      groups |= kLifecycle;
    } else if (EqualIgnoringCase(name, "trace")) {
      groups |= kTrace;
    } else if (EqualIgnoringCase(name, "all")) {
      groups |= kAllEvents;
    } else if (!name.empty()) {
      wrong = name;
      return std::nullopt;
    }
  }
  return groups == 0 ? kLifecycle : groups;
}

}  // namespace

bool Session::Say(std::string_view text) {
  outgoing_ += text;
  return outgoing().size() <= kMostUnread;
}

void Session::Sent(std::size_t bytes) {
  sent_ += std::min(bytes, outgoing_.size() - sent_);
  if (sent_ < outgoing_.size() && sent_ < kMostUnread) return;
  outgoing_.erase(0, sent_);
  sent_ = 0;
}

bool Session::Take(std::string_view bytes) {
  while (!bytes.empty() && !ends_) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (incoming_.size() + piece.size() >= kMostLineBytes) return false;
    incoming_ += piece;
    if (end == std::string_view::npos) return true;
    bytes.remove_prefix(end + 1);
    if (incoming_.ends_with('\r')) incoming_.pop_back();
    const std::string line = std::exchange(incoming_, {});
    if (!Answer(line)) return false;
  }
  return true;
}

bool Session::Answer(std::string_view line) {
  if (After(line, "client protocol ")) return Say(fmt::format("SERVER PROTOCOL {}\n", kProtocol));
  if (const auto seconds = After(line, "timeout ")) {
    const std::optional<std::int64_t> number = ParseNumber<std::int64_t>(Trim(*seconds));
    if (number && *number >= 0 && *number <= kMostSeconds) return Say("OK\n");
    return Say(fmt::format("ERROR: Invalid timeout value {}\n", Quote(*seconds)));
  }
  if (const auto format = After(line, "set format ")) return AnswerFormat(*format);
  if (EqualIgnoringCase(line, "monitor")) return AnswerMonitor("");
  if (const auto groups = After(line, "monitor ")) return AnswerMonitor(*groups);
  if (make_look_ && EqualIgnoringCase(line, kAskForLook)) return AnswerLook();
  const bool verbose = EqualIgnoringCase(line, "verbose status");
  if (!verbose && !EqualIgnoringCase(line, "status"))
    return Say(fmt::format("ERROR: Unknown command {}\n", Quote(line)));
  const Report& report = make_report_();
  outgoing_ += json_ ? ToJson(report) : ToText(report, verbose ? Detail::kVerbose : Detail::kPlain);
  ends_ = true;
  return true;
}

bool Session::AnswerLook() {
  const std::vector<std::byte>& look = make_look_();
  outgoing_ += look.empty() ? "ERROR: The look is too large\n" : ToLines(look);
  ends_ = true;
  return true;
}

bool Session::AnswerFormat(std::string_view format) {
  const bool json = EqualIgnoringCase(format, "json");
  if (!json && !EqualIgnoringCase(format, "text")) return Say(fmt::format("ERROR: Invalid format {}\n", Quote(format)));
  json_ = json;
  return Say("OK\n");
}

bool Session::AnswerMonitor(std::string_view list) {
  std::string_view wrong;
  const std::optional<unsigned> groups = GroupsOf(Trim(list), wrong);
  if (!groups) return Say(fmt::format("ERROR: Invalid event group '{}'\n", Quote(wrong)));
  groups_ = *groups;
  return Say("OK\n");
}

bool Session::Tell(const Event& event) {
  if ((groups_ & event.group) == 0 || ends_) return true;
  return Say(json_ ? ToJson(event) : ToText(event));
}

}  // namespace tutti::ras
