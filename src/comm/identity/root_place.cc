// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/root_place.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "comm/identity/unique_id.h"

namespace tutti::comm {
namespace {

constexpr Ports kQuietPorts = {.first = 10240, .last = 32767};
constexpr int kPorts = 8;  // that are tried, where nobody says which are allowed

// A few ports in a row.
Ports ChoosePorts(const IdParts& id, const Ports& allowed) {
  const bool free = allowed.last == 0;
  const Ports range = free ? kQuietPorts : allowed;
  const int size = range.last - range.first + 1;
  const int count = std::min(size, free ? kPorts : kMostIdPorts);
  const sys::Mac mac = sys::ComputeMac(id.secret, {sys::Bytes("tutti port of rank 0"), id.name});
  std::uint32_t number = 0;
  std::memcpy(&number, mac.data(), sizeof(number));
  const auto first = range.first + static_cast<int>(number % static_cast<std::uint32_t>(size - count + 1));
  return {.first = static_cast<std::uint16_t>(first), .last = static_cast<std::uint16_t>(first + count - 1)};
}

}  // namespace

std::string FirstOfNodeList(std::string_view list) {
  std::string name;
  while (!list.empty() && list.front() != ',') {
    if (list.front() != '[') {
      const std::size_t end = std::min(list.find_first_of("[,"), list.size());
      name += list.substr(0, end);
      list.remove_prefix(end);
      continue;
    }
    const std::size_t close = std::min(list.find(']'), list.size());
    const std::string_view inside = list.substr(1, close - 1);
    name += inside.substr(0, inside.find_first_of(",-"));
    list.remove_prefix(std::min(close + 1, list.size()));
  }
  return name;
}

Result<UniqueId> WithRootPlace(const UniqueId& id, std::span<const std::string> hosts, const Resolver& resolve,
                               const Ports& allowed) {
  Result<IdParts> parts = ReadId(id);
  if (!parts.ok()) return parts.status();
  const Ports ports = ChoosePorts(*parts, allowed);
  Status failed;
  for (const std::string& host : hosts) {
    const Result<std::vector<sys::IpAddress>> addresses = resolve(host);
    if (!addresses.ok()) {
      failed = addresses.status();
      continue;
    }
    for (const sys::IpAddress& address : *addresses) {
      const sys::Endpoint endpoint = {.address = address, .port = ports.first};
      if (std::ranges::count(parts->addresses, endpoint) == 0) parts->addresses.push_back(endpoint);
    }
  }
  if (parts->addresses.empty()) return failed;
  parts->listener = IdListener::kRankZero;
  parts->ports = ports.last - ports.first + 1;
  return MakeId(*parts);
}

}  // namespace tutti::comm
