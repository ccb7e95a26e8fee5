// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/unique_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"
#include "comm/identity/id_hash.h"
#include "sys/os/random_bytes.h"

namespace tutti {
namespace {

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string Hex(std::span<const unsigned char> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

std::string UniqueId::ToHex() const { return Hex(bytes); }

Result<UniqueId> UniqueId::FromHex(std::string_view hex) {
  UniqueId id;
  if (hex.size() != 2 * id.bytes.size()) {
    return Status(Code::kInvalidArgument, fmt::format("an id has {} hexadecimal digits, this text has {} characters; "
                                                      "likely it was cut off, or is no id",
                                                      2 * id.bytes.size(), hex.size()));
  }
  for (std::size_t i = 0; i < hex.size(); ++i) {
    const int value = DigitValue(hex[i]);
    if (value < 0) {
      return Status(Code::kInvalidArgument,
                    fmt::format("character {} of the id is no hexadecimal digit; an id has {} of them", i + 1,
                                2 * id.bytes.size()));
    }
    id.bytes[i / 2] = static_cast<unsigned char>(id.bytes[i / 2] << 4 | value);
  }
  Result<comm::IdParts> parts = comm::ReadId(id);
  if (!parts.ok()) return parts.status();
  return id;
}

namespace comm {
namespace {

constexpr std::array<unsigned char, 8> kMagic = {'T', 'U', 'T', 'T', 'I', 'I', 'D', 0};
constexpr std::size_t kVersionAt = 8, kKindAt = 9, kListenerAt = 10, kPortsAt = 11, kZeroAt = 12, kSecretAt = 16,
                      kNameAt = 48, kAddressAt = 64;

using sys::Bytes;

std::span<const std::byte> BytesOf(const std::uint64_t& number) { return std::as_bytes(std::span(&number, 1)); }

constexpr std::uint8_t kV4 = 4, kV6 = 6;
constexpr std::size_t kV4Bytes = 4;  // the last ones of an IpAddress

std::vector<std::byte> EncodeAddresses(const std::vector<sys::Endpoint>& addresses, std::size_t most_bytes) {
  ByteWriter list;
  std::uint8_t count = 0;
  std::size_t bytes = sizeof(count) + sizeof(std::uint16_t);
  for (const sys::Endpoint& endpoint : addresses) {
    const bool v4 = endpoint.address.family() == sys::IpFamily::kV4;
    std::span<const std::byte> address = std::as_bytes(std::span(endpoint.address.bytes()));
    if (v4) address = address.last(kV4Bytes);
    if (bytes + 1 + address.size() > most_bytes) break;
    bytes += 1 + address.size();
    list.Number(v4 ? kV4 : kV6);
    list.Bytes(address);
    ++count;
  }
  ByteWriter all;
  all.Number(count);
  all.Number(addresses.empty() ? std::uint16_t{0} : addresses.front().port);
  all.Bytes(list.Take());
  return all.Take();
}

// False where the bytes are not what EncodeAddresses writes, with zeros behind it.
bool ParseAddresses(std::span<const std::byte> bytes, std::vector<sys::Endpoint>& addresses) {
  ByteReader in(bytes);
  const auto count = in.Number<std::uint8_t>();
  const auto port = in.Number<std::uint16_t>();
  for (int i = 0; i < count; ++i) {
    const auto family = in.Number<std::uint8_t>();
    in.Require(family == kV4 || family == kV6);
    if (family == kV4) {
      const auto a = in.Array<kV4Bytes>();
      const auto part = [&](int at) { return std::to_integer<std::uint8_t>(a[static_cast<std::size_t>(at)]); };
      addresses.push_back({sys::IpAddress::V4(part(0), part(1), part(2), part(3)), port});
    } else {
      sys::IpAddress::Bytes address{};
      const auto a = in.Array<sizeof(address)>();
      std::memcpy(address.data(), a.data(), a.size());
      addresses.push_back({sys::IpAddress(address), port});
    }
  }
  in.Require((count == 0) == (port == 0));
  const std::span<const std::byte> rest = in.Rest();
  return in.good() && std::ranges::all_of(rest, [](std::byte b) { return b == std::byte{0}; });
}

// Whether the listener and the number of ports go with the addresses.
bool PlaceMakesSense(const IdParts& parts) {
  if (parts.listener == IdListener::kMaker || parts.addresses.empty()) {
    return parts.listener == IdListener::kMaker && parts.ports == 1;
  }
  return parts.listener == IdListener::kRankZero && parts.ports <= kMostIdPorts &&
         parts.addresses.front().port + parts.ports - 1 <= std::numeric_limits<std::uint16_t>::max();
}

bool AllZero(std::span<const unsigned char> bytes) {
  return std::ranges::all_of(bytes, [](unsigned char b) { return b == 0; });
}

}  // namespace

std::string IdParts::Name() const { return Hex({reinterpret_cast<const unsigned char*>(name.data()), name.size()}); }

std::vector<sys::Endpoint> IdParts::Endpoints() const {
  std::vector<sys::Endpoint> all;
  for (int i = 0; i < ports; ++i) {
    for (const sys::Endpoint& endpoint : addresses) {
      all.push_back({endpoint.address, static_cast<std::uint16_t>(endpoint.port + i)});
    }
  }
  return all;
}

UniqueId MakeId(const IdParts& parts) {
  UniqueId id;
  std::ranges::copy(kMagic, id.bytes.begin());
  id.bytes[kVersionAt] = kIdVersion;
  id.bytes[kKindAt] = static_cast<unsigned char>(parts.kind);
  if (!parts.addresses.empty()) {
    id.bytes[kListenerAt] = static_cast<unsigned char>(parts.listener);
    id.bytes[kPortsAt] = static_cast<unsigned char>(parts.ports - 1);
  }
  std::memcpy(&id.bytes[kSecretAt], parts.secret.data(), parts.secret.size());
  std::memcpy(&id.bytes[kNameAt], parts.name.data(), parts.name.size());
  const std::vector<std::byte> addresses = EncodeAddresses(parts.addresses, id.bytes.size() - kAddressAt);
  std::memcpy(&id.bytes[kAddressAt], addresses.data(), addresses.size());
  return id;
}

Result<IdParts> ReadId(const UniqueId& id) {
  const std::span<const unsigned char> bytes(id.bytes);
  if (AllZero(bytes)) {
    return Status(Code::kInvalidArgument,
                  "the id is empty: make one with CreateUniqueId() and give the same to all ranks");
  }
  if (!std::ranges::equal(bytes.first(kMagic.size()), kMagic)) {
    return Status(Code::kInvalidArgument,
                  "the id is not one of Tutti's: likely it was made by another library, or damaged on its way");
  }
  if (bytes[kVersionAt] != kIdVersion) {
    return Status(Code::kInvalidArgument,
                  fmt::format("the id has format {}, this version of Tutti knows format {}: run one version of Tutti "
                              "on all ranks",
                              bytes[kVersionAt], kIdVersion));
  }
  const unsigned char kind = bytes[kKindAt];
  IdParts parts;
  parts.listener = static_cast<IdListener>(bytes[kListenerAt]);
  parts.ports = bytes[kPortsAt] + 1;
  if ((kind != static_cast<int>(IdKind::kRandom) && kind != static_cast<int>(IdKind::kDerived)) ||
      !AllZero(bytes.subspan(kZeroAt, kSecretAt - kZeroAt)) ||
      !ParseAddresses(std::as_bytes(bytes.subspan(kAddressAt)), parts.addresses) || !PlaceMakesSense(parts)) {
    return Status(Code::kInvalidArgument, "the id is damaged: it has bytes that no id has");
  }
  parts.kind = static_cast<IdKind>(kind);
  std::memcpy(parts.secret.data(), &bytes[kSecretAt], parts.secret.size());
  std::memcpy(parts.name.data(), &bytes[kNameAt], parts.name.size());
  return parts;
}

std::uint64_t HashOf(const UniqueId& id) {
  const UniqueId bare = WithoutPlace(id);
  return Fnv1a({reinterpret_cast<const char*>(bare.bytes.data()), bare.bytes.size()});
}

UniqueId DeriveId(std::initializer_list<std::span<const std::byte>> facts) {
  // Folds the facts one by one: the code of each under the code of those before it.
  sys::Key key = sys::ComputeMac(sys::Key{}, {Bytes("tutti derived id")});
  for (const std::span<const std::byte> fact : facts) key = sys::ComputeMac(key, {Bytes("fact"), fact});
  IdParts parts{.kind = IdKind::kDerived, .secret = sys::ComputeMac(key, {Bytes("secret")})};
  const sys::Mac name = sys::ComputeMac(key, {Bytes("name")});
  std::copy_n(name.begin(), parts.name.size(), parts.name.begin());
  return MakeId(parts);
}

Result<UniqueId> FurtherId(const UniqueId& id, std::string_view purpose, std::uint64_t number) {
  Result<IdParts> parts = ReadId(id);
  if (!parts.ok()) return parts.status();
  const sys::Mac name = sys::ComputeMac(parts->secret, {Bytes("next name"), Bytes(purpose), BytesOf(number)});
  parts->secret = sys::ComputeMac(parts->secret, {Bytes("next secret"), Bytes(purpose), BytesOf(number)});
  std::copy_n(name.begin(), parts->name.size(), parts->name.begin());
  parts->addresses.clear();
  return MakeId(*parts);
}

Result<UniqueId> WithPlaceOf(const UniqueId& id, const UniqueId& other) {
  Result<IdParts> parts = ReadId(id);
  if (!parts.ok()) return parts.status();
  Result<IdParts> place = ReadId(other);
  if (!place.ok()) return place.status();
  parts->addresses = std::move(place->addresses);
  parts->listener = place->listener;
  parts->ports = place->ports;
  return MakeId(*parts);
}

UniqueId WithoutPlace(const UniqueId& id) {
  UniqueId bare = id;
  std::fill(bare.bytes.begin() + kListenerAt, bare.bytes.begin() + kZeroAt, 0);
  std::fill(bare.bytes.begin() + kAddressAt, bare.bytes.end(), 0);
  return bare;
}

Result<UniqueId> WithAddresses(const UniqueId& id, std::vector<sys::Endpoint> addresses) {
  Result<IdParts> parts = ReadId(id);
  if (!parts.ok()) return parts.status();
  parts->addresses = std::move(addresses);
  parts->listener = IdListener::kMaker;
  parts->ports = 1;
  return MakeId(*parts);
}

Result<UniqueId> NextId(const UniqueId& id, std::uint64_t generation) {
  if (generation != 0) return FurtherId(id, "generation", generation);
  TUTTI_RETURN_IF_ERROR(ReadId(id).status());
  return id;
}

}  // namespace comm
}  // namespace tutti
