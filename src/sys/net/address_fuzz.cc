// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary text to the parser of endpoints and addresses. What it accepts must print to a text that reads back as
// the same value, in the system's form and, but for the scope, in eighteen bytes too.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (an IPv6 endpoint with a port above 9 "crashes") must be found within
// seconds.

#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sys/net/address.h"

namespace tutti::sys {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void Check(std::string_view text) {
  const Result<IpAddress> address = IpAddress::Parse(text);
  if (address.ok()) Require(*IpAddress::Parse(address->ToString()) == *address);
  const Result<Endpoint> endpoint = Endpoint::Parse(text);
  if (!endpoint.ok()) {
    Require(endpoint.status().message().size() < 400);
    return;
  }
#ifdef TUTTI_FUZZ_CANARY
  Require(endpoint->address.family() == IpFamily::kV4 || endpoint->port <= 9);
#endif
  Require(*Endpoint::Parse(endpoint->ToString()) == *endpoint);
  sockaddr_storage storage;
  const std::size_t bytes = endpoint->ToSockaddr(storage);
  Require(*Endpoint::FromSockaddr(reinterpret_cast<const sockaddr*>(&storage), bytes) == *endpoint);
  const Endpoint back = EndpointFromBytes(ToBytes(*endpoint));
  Require(back.port == endpoint->port && back.address.bytes() == endpoint->address.bytes());
}

}  // namespace
}  // namespace tutti::sys

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::sys::Check(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
