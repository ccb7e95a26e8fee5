// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PROTO_PROTOCOL_H_
#define TUTTI_PROTO_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti::proto {

// How one chunk crosses a link whose two ends share memory. Values equal NCCL's protocol ids.
enum class Protocol : std::uint8_t { kLl = 0, kLl128 = 1, kSimple = 2 };
inline constexpr int kProtocols = 3;

// "LL", "LL128", "Simple".
std::string_view Name(Protocol protocol);
// By name, any case.
std::optional<Protocol> ParseProtocol(std::string_view name);

}  // namespace tutti::proto

#endif  // TUTTI_PROTO_PROTOCOL_H_
