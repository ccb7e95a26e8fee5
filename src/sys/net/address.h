// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_ADDRESS_H_
#define TUTTI_SYS_NET_ADDRESS_H_

// Addresses of the Internet Protocol, versions 4 and 6, and endpoints: an address with a port. Values without a tie to any
// socket. An IPv4 address and the IPv6 address that stands for it (::ffff:10.0.0.1) are the same value and count as IPv4.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tutti/status.h"

struct sockaddr;
struct sockaddr_storage;

namespace tutti::sys {

enum class IpFamily : std::uint8_t { kV4, kV6 };

class IpAddress {
 public:
  using Bytes = std::array<std::uint8_t, 16>;  // in network order; an IPv4 address is ::ffff:a.b.c.d

  IpAddress() = default;  // 0.0.0.0
  // scope: the index of the interface that a link-local IPv6 address belongs to; 0: none. Dropped for other addresses.
  explicit IpAddress(const Bytes& bytes, std::uint32_t scope = 0);
  static IpAddress V4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d);
  // Every address of the host: what a listener on all interfaces binds.
  static IpAddress Any(IpFamily family);

  // "10.0.0.1", "fe80::1%eth0", "fe80::1%2"; no brackets, no blanks. kInvalidArgument for all else, and where this host
  // has no such interface.
  static Result<IpAddress> Parse(std::string_view text);
  // What Parse reads. A scope is printed by its interface's name, or by its number where the interface is gone.
  std::string ToString() const;

  IpFamily family() const;
  const Bytes& bytes() const { return bytes_; }
  std::uint32_t scope() const { return scope_; }

  bool IsUnspecified() const;  // 0.0.0.0, ::
  bool IsLoopback() const;     // 127.0.0.0/8, ::1
  bool IsLinkLocal() const;    // 169.254.0.0/16, fe80::/10: valid on one cable, and given without anybody's asking
  bool IsMulticast() const;    // 224.0.0.0/4, ff00::/8

  auto operator<=>(const IpAddress&) const = default;

 private:
  Bytes bytes_ = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
  std::uint32_t scope_ = 0;
};

struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;  // 0: none, or any

  // "10.0.0.1:500", "[fd00::2]:500", "[fe80::1%eth0]:500". The port may not be left out; 0 to 65535, without a sign.
  static Result<Endpoint> Parse(std::string_view text);
  std::string ToString() const;

  // kInvalidArgument where the family is neither, or `bytes` are too few for it.
  static Result<Endpoint> FromSockaddr(const sockaddr* address, std::size_t bytes);
  // Fills `storage`; how many bytes of it count.
  std::size_t ToSockaddr(sockaddr_storage& storage) const;

  auto operator<=>(const Endpoint&) const = default;
};

// An endpoint as other hosts read it: 16 bytes of address and 2 of port, in network order. The scope stays behind, which
// means something on this host only.
inline constexpr std::size_t kEndpointBytes = 18;
using EndpointBytes = std::array<std::byte, kEndpointBytes>;
EndpointBytes ToBytes(const Endpoint& endpoint);
Endpoint EndpointFromBytes(std::span<const std::byte, kEndpointBytes> bytes);

// "10.0.0.1, fd00::2"; "none" of an empty list.
std::string ListAddresses(std::span<const IpAddress> addresses);
std::string ListEndpoints(std::span<const Endpoint> endpoints);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_ADDRESS_H_
