// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/bootstrap_message.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

constexpr std::uint32_t kMagic = 0x42545554;  // "TUTB"
constexpr std::size_t kHeaderBytes = 8;       // magic, kind
constexpr std::size_t kIntroductionBytes = 44;

using sys::Bytes;

class Writer : public ByteWriter {
 public:
  explicit Writer(MessageKind kind) {
    Number(kMagic);
    Number(static_cast<std::uint32_t>(kind));
  }
  void Put(const Introduction& self) {
    Number(self.process.pid);
    Number(self.process.start_ticks);
    Number(self.process_namespace);
    Number(self.uid);
    Number(self.has_shared);
    Number(self.remote);
    Number(static_cast<std::uint32_t>(self.host.size()));
    Bytes(sys::Bytes(self.host));
    Number(static_cast<std::uint64_t>(self.payload.size()));
    Bytes(self.payload);
  }
};

class Reader : public ByteReader {
 public:
  Reader(std::span<const std::byte> message, MessageKind kind) : ByteReader(message) {
    Require(Number<std::uint32_t>() == kMagic);
    Require(Number<std::uint32_t>() == static_cast<std::uint32_t>(kind));
  }
  Introduction GetIntroduction() {
    Introduction self;
    self.process.pid = Number<std::int32_t>();
    self.process.start_ticks = Number<std::uint64_t>();
    self.process_namespace = Number<std::uint64_t>();
    self.uid = Number<std::uint32_t>();
    self.has_shared = Number<std::uint32_t>();
    self.remote = Number<std::uint32_t>();
    const auto host_bytes = Number<std::uint32_t>();
    Require(self.has_shared <= 1 && self.remote <= 1 && host_bytes <= kMostHostName);
    const std::span<const std::byte> host = Bytes(host_bytes);
    self.host = {reinterpret_cast<const char*>(host.data()), host.size()};
    const auto payload_bytes = Number<std::uint64_t>();
    Require(payload_bytes <= kMostPayloadBytes);
    self.payload = Bytes(payload_bytes);
    return self;
  }
};

Status Malformed(const char* name, std::span<const std::byte> message) {
  return Status(Code::kInvalidArgument, fmt::format("{} bytes are no {} message", message.size(), name));
}

sys::Mac HelloMac(const sys::Key& secret, const sys::Nonce& visitor, const sys::Nonce& gatherer,
                  std::span<const std::byte> body) {
  return sys::ComputeMac(secret, {Bytes("tutti bootstrap hello"), visitor, gatherer, body});
}

// Hello's code, and what it covers.
struct SignedBody {
  sys::Mac mac;
  std::span<const std::byte> body;
};
Result<SignedBody> SplitHello(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kHello);
  const auto mac = in.Array<sizeof(sys::Mac)>();
  const std::span<const std::byte> body = in.Rest();
  if (!in.AtEnd()) return Malformed("Hello", message);
  return SignedBody{mac, body};
}

}  // namespace

Result<MessageKind> KindOf(std::span<const std::byte> message) {
  ByteReader in(message);
  in.Require(in.Number<std::uint32_t>() == kMagic);
  const auto kind = in.Number<std::uint32_t>();
  in.Require(kind >= static_cast<std::uint32_t>(MessageKind::kGreeting) &&
             kind <= static_cast<std::uint32_t>(MessageKind::kMissing));
  if (!in.good()) return Malformed("bootstrap", message);
  return static_cast<MessageKind>(kind);
}

Message EncodeBare(MessageKind kind) { return Writer(kind).Take(); }

Status ParseBare(std::span<const std::byte> message, MessageKind kind) {
  return Reader(message, kind).AtEnd() ? Status::Ok() : Malformed("Ready or Complete", message);
}

Message Encode(const Greeting& greeting) {
  Writer out(MessageKind::kGreeting);
  out.Bytes(greeting.nonce);
  return out.Take();
}

Result<Greeting> ParseGreeting(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kGreeting);
  const Greeting greeting{.nonce = in.Array<sizeof(sys::Nonce)>()};
  if (!in.AtEnd()) return Malformed("Greeting", message);
  return greeting;
}

sys::Mac ChallengeMac(const sys::Key& secret, const sys::Nonce& visitor, const sys::Nonce& gatherer) {
  return sys::ComputeMac(secret, {Bytes("tutti bootstrap challenge"), visitor, gatherer});
}

Message Encode(const Challenge& challenge) {
  Writer out(MessageKind::kChallenge);
  out.Bytes(challenge.nonce);
  out.Bytes(challenge.mac);
  return out.Take();
}

Result<Challenge> ParseChallenge(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kChallenge);
  Challenge challenge;
  challenge.nonce = in.Array<sizeof(sys::Nonce)>();
  challenge.mac = in.Array<sizeof(sys::Mac)>();
  if (!in.AtEnd()) return Malformed("Challenge", message);
  return challenge;
}

Message Encode(const Hello& hello, const sys::Key& secret, const sys::Nonce& visitor, const sys::Nonce& gatherer) {
  Writer out(MessageKind::kHello);
  out.Bytes(sys::Mac{});
  out.Number(hello.version);
  out.Number(hello.rank);
  out.Number(hello.ranks);
  out.Number(hello.left_ms);
  out.Put(hello.self);
  Message message = out.Take();
  const std::span<const std::byte> body = std::span(message).subspan(kHeaderBytes + sizeof(sys::Mac));
  const sys::Mac mac = HelloMac(secret, visitor, gatherer, body);
  std::ranges::copy(mac, message.begin() + kHeaderBytes);
  return message;
}

Result<Hello> ParseUncheckedHello(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kHello);
  (void)in.Array<sizeof(sys::Mac)>();
  Hello hello;
  hello.version = in.Number<std::uint32_t>();
  hello.rank = in.Number<std::int32_t>();
  hello.ranks = in.Number<std::int32_t>();
  if (in.good() && hello.version != kBootstrapVersion) return hello;
  hello.left_ms = in.Number<std::int64_t>();
  hello.self = in.GetIntroduction();
  if (!in.AtEnd()) return Malformed("Hello", message);
  return hello;
}

Result<Hello> ParseHello(std::span<const std::byte> message, const sys::Key& secret, const sys::Nonce& visitor,
                         const sys::Nonce& gatherer) {
  const Result<SignedBody> parts = SplitHello(message);
  if (!parts.ok()) return parts.status();
  if (!sys::SameMac(parts->mac, HelloMac(secret, visitor, gatherer, parts->body))) {
    return Status(Code::kInvalidArgument, "the code of a Hello message is wrong: its sender does not know the secret");
  }
  return ParseUncheckedHello(message);
}

Message Encode(const Welcome& welcome) {
  Writer out(MessageKind::kWelcome);
  out.Number(welcome.rank);
  out.Number(welcome.process.pid);
  out.Number(welcome.process.start_ticks);
  out.Number(welcome.process_namespace);
  return out.Take();
}

Result<Welcome> ParseWelcome(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kWelcome);
  Welcome welcome;
  welcome.rank = in.Number<std::int32_t>();
  welcome.process.pid = in.Number<std::int32_t>();
  welcome.process.start_ticks = in.Number<std::uint64_t>();
  welcome.process_namespace = in.Number<std::uint64_t>();
  if (!in.AtEnd()) return Malformed("Welcome", message);
  return welcome;
}

// A bit for each rank up to the highest, so that all ranks fit in a message.
Message Encode(const Missing& missing) {
  Writer out(MessageKind::kMissing);
  std::vector<std::byte> bits(missing.ranks.empty() ? 0 : static_cast<std::size_t>(missing.ranks.back()) / 8 + 1);
  for (const int rank : missing.ranks) bits[static_cast<std::size_t>(rank) / 8] |= std::byte{1} << rank % 8;
  out.Number(static_cast<std::uint32_t>(bits.size()));
  out.Bytes(bits);
  const std::string_view place = std::string_view(missing.place).substr(0, kMostPlaceBytes);
  out.Number(static_cast<std::uint32_t>(place.size()));
  out.Bytes(std::as_bytes(std::span(place)));
  return out.Take();
}

Result<Missing> ParseMissing(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kMissing);
  const auto bytes = in.Number<std::uint32_t>();
  in.Require(bytes <= kMostRanks / 8);
  const std::span<const std::byte> bits = in.Bytes(bytes);
  // The last byte has a bit, so that there is one way to write each list.
  in.Require(bits.empty() || bits.back() != std::byte{0});
  const auto length = in.Number<std::uint32_t>();
  in.Require(length <= kMostPlaceBytes);
  const std::span<const std::byte> place = in.Bytes(length);
  if (!in.AtEnd()) return Malformed("Missing", message);
  Missing missing;
  missing.place.assign(reinterpret_cast<const char*>(place.data()), place.size());
  for (std::size_t i = 0; i < 8 * bits.size(); ++i) {
    if ((bits[i / 8] >> i % 8 & std::byte{1}) != std::byte{0}) missing.ranks.push_back(static_cast<int>(i));
  }
  return missing;
}

Message Encode(const Place& place) {
  Writer out(MessageKind::kPlace);
  out.Number(place.children);
  return out.Take();
}

Result<Place> ParsePlace(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kPlace);
  const Place place{.children = in.Number<std::uint32_t>()};
  in.Require(place.children <= kMostChildren);
  if (!in.AtEnd()) return Malformed("Place", message);
  return place;
}

std::size_t EncodedBytes(const Introduction& member) {
  return kIntroductionBytes + member.host.size() + member.payload.size();
}

Message Encode(const Members& members) {
  Writer out(MessageKind::kMembers);
  out.Number(members.first);
  out.Number(static_cast<std::uint32_t>(members.members.size()));
  for (const Introduction& member : members.members) out.Put(member);
  return out.Take();
}

Result<Members> ParseMembers(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kMembers);
  Members members;
  members.first = in.Number<std::int32_t>();
  const auto count = in.Number<std::uint32_t>();
  in.Require(members.first >= 0 && members.first < kMostRanks && count <= static_cast<std::uint32_t>(kMostRanks));
  for (std::uint32_t i = 0; i < count && in.good(); ++i) members.members.push_back(in.GetIntroduction());
  if (!in.AtEnd()) return Malformed("Members", message);
  return members;
}

Message Encode(const Status& failure) {
  const std::string_view sentence = std::string_view(failure.message()).substr(0, kMostSentenceBytes);
  Writer out(MessageKind::kFailure);
  out.Number(static_cast<std::uint32_t>(failure.code()));
  out.Number(static_cast<std::int32_t>(failure.peer()));
  out.Bytes(Bytes(sentence));
  return out.Take();
}

Status ParseFailure(std::span<const std::byte> message, Status& failure) {
  Reader in(message, MessageKind::kFailure);
  const auto code = in.Number<std::uint32_t>();
  const auto peer = in.Number<std::int32_t>();
  const std::span<const std::byte> sentence = in.Rest();
  in.Require(code >= static_cast<std::uint32_t>(Code::kSystem) &&
             code <= static_cast<std::uint32_t>(Code::kUnsupported) && peer >= -1 && peer < kMostRanks &&
             sentence.size() <= kMostSentenceBytes);
  if (!in.AtEnd()) return Malformed("Failure", message);
  failure = Status(static_cast<Code>(code),
                   std::string(reinterpret_cast<const char*>(sentence.data()), sentence.size()), peer);
  return Status::Ok();
}

}  // namespace tutti::comm
