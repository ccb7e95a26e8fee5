// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "base/settings_checks.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/ports.h"
#include "base/words.h"

namespace tutti {

std::string CheckFamily(std::string_view text) {
  return text == "AF_INET" || text == "AF_INET6" ? "" : "one of AF_INET, AF_INET6";
}

std::string CheckPorts(std::string_view text) {
  return ParsePorts(text) ? "" : "a port, or two with a - between them, from 1 to 65535";
}

std::string CheckHostAndPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto port = colon == std::string_view::npos ? std::nullopt : ParseNumber<std::uint16_t>(text.substr(colon + 1));
  return colon != 0 && port && *port != 0 ? "" : "a host and a port from 1 to 65535, as localhost:28028 or [::1]:28028";
}

std::string CheckLevel(std::string_view text) {
  return log::ParseLevel(text) ? "" : "one of NONE, VERSION, WARN, INFO, ABORT, TRACE";
}
std::string CheckSubsystems(std::string_view text) {
  std::string unknown;
  if (log::ParseSubsystems(text, unknown)) return "";
  std::string known = "ALL";
  for (log::Subsystems bit = 1; bit < log::kAllSubsystems; bit <<= 1) known += ", " + log::SubsystemNames(bit);
  return fmt::format("a list of subsystems: \"{}\" is none of {}", unknown, known);
}
std::string CheckLevels(std::string_view text) {
  std::string unknown;
  if (log::ParseLevels(text, unknown)) return "";
  return fmt::format("a list of levels: \"{}\" is none of ALL, VERSION, WARN, INFO, ABORT, TRACE", unknown);
}
std::string CheckFormat(std::string_view text) {
  return EqualIgnoringCase(text, "text") || EqualIgnoringCase(text, "json") ? "" : "one of text, json";
}

}  // namespace tutti
