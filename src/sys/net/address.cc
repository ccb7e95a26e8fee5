// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/one_line.h"
#include "base/words.h"

namespace tutti::sys {
namespace {

constexpr std::size_t kMostQuoted = 80;

Status Wrong(std::string_view text, std::string_view why) {
  std::string shown(text.substr(0, kMostQuoted));
  ReplaceControls(shown, '?');
  return Status(Code::kInvalidArgument, fmt::format("\"{}{}\" is not {}; write 10.0.0.1, fd00::2 or fe80::1%eth0",
                                                    shown, text.size() > kMostQuoted ? "..." : "", why));
}

std::optional<std::uint32_t> ParseScope(std::string_view text) {
  char name[IFNAMSIZ] = {};
  if (!text.empty() && text.size() < sizeof(name) && text.find('\0') == std::string_view::npos) {
    text.copy(name, sizeof(name) - 1);
    if (const unsigned index = if_nametoindex(name); index != 0) return index;
  }
  const auto number = ParseNumber<std::uint32_t>(text);
  return number && *number != 0 ? number : std::nullopt;
}

template <typename List, typename Print>
std::string Join(const List& list, Print print) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + print(item);
  return text.empty() ? "none" : text;
}

}  // namespace

IpAddress::IpAddress(const Bytes& bytes, std::uint32_t scope) : bytes_(bytes) {
  if (family() == IpFamily::kV6 && IsLinkLocal()) scope_ = scope;
}

IpAddress IpAddress::V4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return IpAddress(Bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d});
}

IpAddress IpAddress::Any(IpFamily family) { return family == IpFamily::kV4 ? IpAddress() : IpAddress(Bytes{}); }

Result<IpAddress> IpAddress::Parse(std::string_view text) {
  const std::size_t percent = text.find('%');
  char plain[INET6_ADDRSTRLEN] = {};
  const std::string_view address = text.substr(0, percent);
  if (address.size() >= sizeof(plain) || address.find('\0') != std::string_view::npos)
    return Wrong(text, "an IP address");
  address.copy(plain, sizeof(plain) - 1);
  Bytes bytes = IpAddress().bytes();
  if (inet_pton(AF_INET, plain, bytes.data() + 12) != 1 && inet_pton(AF_INET6, plain, bytes.data()) != 1) {
    return Wrong(text, "an IP address");
  }
  IpAddress parsed(bytes);
  if (percent == std::string_view::npos) return parsed;
  if (parsed.family() != IpFamily::kV6 || !parsed.IsLinkLocal()) {
    return Wrong(text, "an address that has an interface after it, which only link-local ones of IPv6 have");
  }
  const std::optional<std::uint32_t> scope = ParseScope(text.substr(percent + 1));
  if (!scope) return Wrong(text, "an address on an interface of this host");
  return IpAddress(bytes, *scope);
}

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN];
  if (family() == IpFamily::kV4) return inet_ntop(AF_INET, bytes_.data() + 12, text, sizeof(text));
  std::string address = inet_ntop(AF_INET6, bytes_.data(), text, sizeof(text));
  if (scope_ == 0) return address;
  char name[IFNAMSIZ];
  return if_indextoname(scope_, name) != nullptr ? fmt::format("{}%{}", address, name)
                                                 : fmt::format("{}%{}", address, scope_);
}

IpFamily IpAddress::family() const {
  const Bytes mapped = IpAddress().bytes_;
  return std::equal(mapped.begin(), mapped.begin() + 12, bytes_.begin()) ? IpFamily::kV4 : IpFamily::kV6;
}

bool IpAddress::IsUnspecified() const { return bytes_ == IpAddress().bytes_ || bytes_ == Bytes{}; }

bool IpAddress::IsLoopback() const {
  if (family() == IpFamily::kV4) return bytes_[12] == 127;
  Bytes one{};
  one[15] = 1;
  return bytes_ == one;
}

bool IpAddress::IsLinkLocal() const {
  if (family() == IpFamily::kV4) return bytes_[12] == 169 && bytes_[13] == 254;
  return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
}

bool IpAddress::IsMulticast() const {
  if (family() == IpFamily::kV4) return (bytes_[12] & 0xf0) == 0xe0;
  return bytes_[0] == 0xff;
}

Result<Endpoint> Endpoint::Parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Wrong(text, "an address with :port after it");
  const std::optional<std::uint16_t> port = ParseNumber<std::uint16_t>(text.substr(colon + 1));
  if (!port) return Wrong(text, "an address with a port from 0 to 65535 after it");
  std::string_view address = text.substr(0, colon);
  const bool brackets = address.size() >= 2 && address.front() == '[' && address.back() == ']';
  if (brackets) address = address.substr(1, address.size() - 2);
  Result<IpAddress> parsed = IpAddress::Parse(address);
  if (!parsed.ok()) return parsed.status();
  if (brackets != (address.find(':') != std::string_view::npos)) {
    return Wrong(text, "an endpoint: an IPv6 address stands in brackets before its port, and no other does");
  }
  return Endpoint{*parsed, *port};
}

std::string Endpoint::ToString() const {
  return address.family() == IpFamily::kV4 ? fmt::format("{}:{}", address.ToString(), port)
                                           : fmt::format("[{}]:{}", address.ToString(), port);
}

Result<Endpoint> Endpoint::FromSockaddr(const sockaddr* address, std::size_t bytes) {
  sa_family_t family = AF_UNSPEC;
  if (bytes >= offsetof(sockaddr, sa_family) + sizeof(family)) {
    std::memcpy(&family, reinterpret_cast<const char*>(address) + offsetof(sockaddr, sa_family), sizeof(family));
  }
  if (family == AF_INET && bytes >= sizeof(sockaddr_in)) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof(in));
    IpAddress::Bytes v4 = IpAddress().bytes();
    std::memcpy(v4.data() + 12, &in.sin_addr, 4);
    return Endpoint{IpAddress(v4), ntohs(in.sin_port)};
  }
  if (family == AF_INET6 && bytes >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in;
    std::memcpy(&in, address, sizeof(in));
    IpAddress::Bytes v6;
    std::memcpy(v6.data(), &in.sin6_addr, sizeof(v6));
    return Endpoint{IpAddress(v6, in.sin6_scope_id), ntohs(in.sin6_port)};
  }
  return Status(Code::kInvalidArgument,
                fmt::format("{} bytes of address family {} are no address of IPv4 or IPv6", bytes, family));
}

std::size_t Endpoint::ToSockaddr(sockaddr_storage& storage) const {
  storage = {};
  if (address.family() == IpFamily::kV4) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    std::memcpy(&in.sin_addr, address.bytes().data() + 12, 4);
    std::memcpy(&storage, &in, sizeof(in));
    return sizeof(in);
  }
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(port);
  in.sin6_scope_id = address.scope();
  std::memcpy(&in.sin6_addr, address.bytes().data(), address.bytes().size());
  std::memcpy(&storage, &in, sizeof(in));
  return sizeof(in);
}

EndpointBytes ToBytes(const Endpoint& endpoint) {
  EndpointBytes bytes;
  std::memcpy(bytes.data(), endpoint.address.bytes().data(), 16);
  bytes[16] = static_cast<std::byte>(endpoint.port >> 8);
  bytes[17] = static_cast<std::byte>(endpoint.port & 0xff);
  return bytes;
}

Endpoint EndpointFromBytes(std::span<const std::byte, kEndpointBytes> bytes) {
  IpAddress::Bytes address;
  std::memcpy(address.data(), bytes.data(), address.size());
  return {IpAddress(address),
          static_cast<std::uint16_t>(static_cast<unsigned>(bytes[16]) << 8 | static_cast<unsigned>(bytes[17]))};
}

std::string ListAddresses(std::span<const IpAddress> addresses) {
  return Join(addresses, [](const IpAddress& address) { return address.ToString(); });
}

std::string ListEndpoints(std::span<const Endpoint> endpoints) {
  return Join(endpoints, [](const Endpoint& endpoint) { return endpoint.ToString(); });
}

}  // namespace tutti::sys
