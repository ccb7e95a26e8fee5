// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/rendezvous_message.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "sys/net/auth.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

constexpr std::uint32_t kMagic = 0x52545554;  // "TUTR"
constexpr std::size_t kHeaderBytes = 12;      // magic, kind, count
constexpr std::size_t kArrivalBytes = 28;

bool IsPrintable(std::byte b) { return b >= std::byte{32} && b <= std::byte{126}; }

class Writer : public ByteWriter {
 public:
  explicit Writer(RendezvousKind kind) {
    Number(kMagic);
    Number(static_cast<std::uint32_t>(kind));
  }
  void Name(const std::string& host) {
    const std::string clean = CleanHostName(host);
    Number(static_cast<std::uint8_t>(clean.size()));
    Bytes(sys::Bytes(clean));
  }
};

class Reader : public ByteReader {
 public:
  Reader(std::span<const std::byte> message, RendezvousKind kind) : ByteReader(message) {
    Require(Number<std::uint32_t>() == kMagic);
    Require(Number<std::uint32_t>() == static_cast<std::uint32_t>(kind));
  }
  // How many follow, of so many bytes each at least: what is announced must be able to be there.
  std::uint32_t Count(std::size_t least_bytes) {
    const auto count = Number<std::uint32_t>();
    Require(count * std::uint64_t{least_bytes} <= kMostRendezvousBytes);
    return good() ? count : 0;
  }
  std::string Name() {
    const std::size_t bytes = Number<std::uint8_t>();
    Require(bytes > 0 && bytes <= kMostHostName);
    const std::span<const std::byte> text = Bytes(bytes);
    Require(std::ranges::all_of(text, IsPrintable));
    return good() ? std::string(reinterpret_cast<const char*>(text.data()), text.size()) : std::string();
  }
  std::int32_t Rank() {
    const auto rank = Number<std::int32_t>();
    Require(rank >= 0 && rank < kMostRanks);
    return rank;
  }
};

Status Malformed(const char* name, std::span<const std::byte> message) {
  return Status(Code::kInvalidArgument, fmt::format("{} bytes are no {} message", message.size(), name));
}

}  // namespace

std::string CleanHostName(std::string_view name) {
  std::string clean(name.substr(0, kMostHostName));
  for (char& c : clean) {
    if (!IsPrintable(static_cast<std::byte>(c))) c = '?';
  }
  return clean.empty() ? "?" : clean;
}

Result<RendezvousKind> RendezvousKindOf(std::span<const std::byte> message) {
  ByteReader in(message);
  in.Require(in.Number<std::uint32_t>() == kMagic);
  const auto kind = in.Number<std::uint32_t>();
  in.Require(kind >= static_cast<std::uint32_t>(RendezvousKind::kJoin) &&
             kind <= static_cast<std::uint32_t>(RendezvousKind::kComplete));
  if (!in.good()) return Malformed("rendezvous", message);
  return static_cast<RendezvousKind>(kind);
}

sys::NetMessage EncodeBare(RendezvousKind kind) { return Writer(kind).Take(); }

Status ParseBare(std::span<const std::byte> message, RendezvousKind kind) {
  return Reader(message, kind).AtEnd() ? Status::Ok() : Malformed("bare rendezvous", message);
}

sys::NetMessage Encode(const Join& join) {
  Writer out(RendezvousKind::kJoin);
  out.Number(join.ranks);
  out.Name(join.host);
  return out.Take();
}

Result<Join> ParseJoin(std::span<const std::byte> message) {
  Reader in(message, RendezvousKind::kJoin);
  Join join;
  join.ranks = in.Number<std::int32_t>();
  in.Require(join.ranks > 0 && join.ranks <= kMostRanks);
  join.host = in.Name();
  if (!in.AtEnd()) return Malformed("Join", message);
  return join;
}

std::size_t EncodedBytes(const Arrival& arrival) { return kArrivalBytes + arrival.payload.size(); }

sys::NetMessage Encode(RendezvousKind kind, std::span<const Arrival> arrivals) {
  Writer out(kind);
  out.Number(static_cast<std::uint32_t>(arrivals.size()));
  for (const Arrival& a : arrivals) {
    out.Number(a.rank);
    out.Number(a.host);
    out.Number(a.pid);
    out.Number(a.start_ticks);
    out.Number(a.uid);
    out.Number(static_cast<std::uint32_t>(a.payload.size()));
    out.Bytes(a.payload);
  }
  return out.Take();
}

Result<std::vector<Arrival>> ParseArrivals(std::span<const std::byte> message, RendezvousKind kind) {
  Reader in(message, kind);
  std::vector<Arrival> arrivals;
  for (std::uint32_t left = in.Count(kArrivalBytes); left > 0 && in.good(); --left) {
    Arrival& a = arrivals.emplace_back();
    a.rank = in.Rank();
    a.host = in.Number<std::int32_t>();
    in.Require(a.host >= 0 && a.host < kMostHosts);
    a.pid = in.Number<std::int32_t>();
    a.start_ticks = in.Number<std::uint64_t>();
    a.uid = in.Number<std::uint32_t>();
    const auto bytes = in.Number<std::uint32_t>();
    in.Require(bytes <= kMostPayloadBytes);
    a.payload = in.Bytes(bytes);
  }
  if (!in.AtEnd()) return Malformed(kind == RendezvousKind::kRemote ? "Remote" : "Arrivals", message);
  return arrivals;
}

sys::NetMessage Encode(const Known& known) {
  std::size_t bytes = kHeaderBytes;
  std::uint32_t count = 0;
  for (const Known::Host& host : known.hosts) {
    bytes += 1 + kMostHostName + 4 + 4 * host.ranks.size();
    if (bytes > kMostRendezvousBytes) break;
    ++count;
  }
  Writer out(RendezvousKind::kKnown);
  out.Number(count);
  for (const Known::Host& host : std::span(known.hosts).first(count)) {
    out.Name(host.name);
    out.Number(static_cast<std::uint32_t>(host.ranks.size()));
    for (const std::int32_t rank : host.ranks) out.Number(rank);
  }
  return out.Take();
}

Result<Known> ParseKnown(std::span<const std::byte> message) {
  Reader in(message, RendezvousKind::kKnown);
  Known known;
  for (std::uint32_t left = in.Count(1); left > 0 && in.good(); --left) {
    Known::Host& host = known.hosts.emplace_back();
    host.name = in.Name();
    for (std::uint32_t ranks = in.Count(sizeof(std::int32_t)); ranks > 0 && in.good(); --ranks) {
      host.ranks.push_back(in.Rank());
    }
  }
  if (!in.AtEnd()) return Malformed("Known", message);
  return known;
}

sys::NetMessage Encode(const All& all) {
  Writer out(RendezvousKind::kAll);
  out.Number(all.own);
  out.Number(static_cast<std::uint32_t>(all.hosts.size()));
  for (const std::string& host : all.hosts) out.Name(host);
  return out.Take();
}

Result<All> ParseAll(std::span<const std::byte> message) {
  Reader in(message, RendezvousKind::kAll);
  All all;
  all.own = in.Number<std::int32_t>();
  for (std::uint32_t left = in.Count(1); left > 0 && in.good(); --left) all.hosts.push_back(in.Name());
  in.Require(all.own >= 0 && static_cast<std::size_t>(all.own) < all.hosts.size());
  if (!in.AtEnd()) return Malformed("All", message);
  return all;
}

}  // namespace tutti::comm
