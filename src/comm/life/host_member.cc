// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/host_member.h"

#include <cstring>
#include <type_traits>

#include "base/bytes.h"
#include "tune/model.h"

namespace tutti::comm {
namespace {

using transport::net::Card;

static_assert(std::is_trivially_copyable_v<tune::Machine>);

void Write(ByteWriter& out, const std::vector<sys::Endpoint>& endpoints) {
  out.Number(static_cast<std::uint16_t>(endpoints.size()));
  for (const sys::Endpoint& endpoint : endpoints) out.Bytes(sys::ToBytes(endpoint));
}

void Write(ByteWriter& out, const std::string& text) {
  out.Number(static_cast<std::uint16_t>(text.size()));
  out.Bytes(std::as_bytes(std::span(text)));
}

std::string ReadText(ByteReader& in) {
  const std::span<const std::byte> text = in.Bytes(in.Number<std::uint16_t>());
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::vector<sys::Endpoint> ReadEndpoints(ByteReader& in) {
  std::vector<sys::Endpoint> endpoints(in.Number<std::uint16_t>());
  for (sys::Endpoint& endpoint : endpoints) {
    if (in.good()) endpoint = sys::EndpointFromBytes(in.Array<sys::kEndpointBytes>());
  }
  return endpoints;
}

}  // namespace

std::vector<std::byte> Encode(const HostMember& own) {
  ByteWriter out;
  out.Number(static_cast<std::uint8_t>(own.can_refer ? 1 : 0));
  out.Number(own.pid);
  out.Number(static_cast<std::uint8_t>(own.flows_per_card));
  Write(out, own.network.name);
  out.Number(static_cast<std::uint8_t>(own.network.automatic ? 1 : 0));
  out.Number(static_cast<std::int32_t>(own.rail));
  Write(out, own.failure);
  Write(out, own.tuner);
  out.Number(static_cast<std::uint16_t>(own.cards.size()));
  for (const Card& card : own.cards) {
    out.Number(static_cast<std::uint8_t>(card.name.size()));
    out.Bytes(std::as_bytes(std::span(card.name)));
    out.Number(static_cast<std::uint16_t>(card.rail));
    Write(out, card.endpoints);
  }
  Write(out, own.meeting);
  if (own.machine != nullptr) out.Bytes(std::as_bytes(std::span(own.machine.get(), 1)));
  return out.Take();
}

Result<HostMember> ParseHostMember(std::span<const std::byte> payload) {
  ByteReader in(payload);
  HostMember theirs;
  theirs.can_refer = in.Number<std::uint8_t>() != 0;
  theirs.pid = in.Number<std::int32_t>();
  theirs.flows_per_card = in.Number<std::uint8_t>();
  theirs.network.name = ReadText(in);
  theirs.network.automatic = in.Number<std::uint8_t>() != 0;
  theirs.rail = in.Number<std::int32_t>();
  theirs.failure = ReadText(in);
  theirs.tuner = ReadText(in);
  const std::size_t cards = in.Number<std::uint16_t>();
  for (std::size_t i = 0; i < cards && in.good(); ++i) {
    const std::span<const std::byte> name = in.Bytes(in.Number<std::uint8_t>());
    const int rail = in.Number<std::uint16_t>();
    theirs.cards.push_back({.name = {reinterpret_cast<const char*>(name.data()), name.size()},
                            .endpoints = ReadEndpoints(in),
                            .rail = rail});
  }
  theirs.meeting = ReadEndpoints(in);
  const std::span<const std::byte> machine = in.Rest();
  in.Require(machine.empty() || machine.size() == sizeof(tune::Machine));
  if (!in.good()) return Status(Code::kRemote, "it runs another build of Tutti; start all ranks with the same one");
  if (machine.empty()) return theirs;
  auto copy = std::make_shared<tune::Machine>();
  std::memcpy(copy.get(), machine.data(), machine.size());
  theirs.machine = std::move(copy);
  return theirs;
}

}  // namespace tutti::comm
