// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/protocol.h"

#include <strings.h>

#include <string>

namespace tutti::proto {
namespace {
constexpr std::string_view kNames[kProtocols] = {"LL", "LL128", "Simple"};
}

std::string_view Name(Protocol protocol) { return kNames[static_cast<int>(protocol)]; }

std::optional<Protocol> ParseProtocol(std::string_view name) {
  for (int i = 0; i < kProtocols; ++i) {
    if (strcasecmp(std::string(name).c_str(), kNames[i].data()) == 0) return static_cast<Protocol>(i);
  }
  return std::nullopt;
}

}  // namespace tutti::proto
