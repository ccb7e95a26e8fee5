// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/bootstrap_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

constexpr std::uint32_t kMagic = 0x42545554;  // "TUTB"
constexpr std::size_t kHeaderBytes = 8;       // magic, kind
constexpr std::size_t kIntroductionBytes = 36;

using sys::Bytes;

class Writer {
 public:
  explicit Writer(MessageKind kind) {
    Put(kMagic);
    Put(kind);
  }

  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void Put(const T& value) { PutBytes(std::as_bytes(std::span(&value, 1))); }
  void PutBytes(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) message_.push_back(byte);  // GCC 12 takes a range's insertion for an overflow
  }
  void Put(const Introduction& self) {
    Put(self.process.pid);
    Put(self.process.start_ticks);
    Put(self.process_namespace);
    Put(self.uid);
    Put(self.has_shared);
    Put(static_cast<std::uint64_t>(self.payload.size()));
    PutBytes(self.payload);
  }
  Message Take() { return std::move(message_); }

 private:
  Message message_;
};

// Takes values off the front of a message. After the first that is missing or out of bounds all fail.
class Reader {
 public:
  Reader(std::span<const std::byte> message, MessageKind kind) : rest_(message) {
    if (Get<std::uint32_t>() != kMagic || Get<MessageKind>() != kind) good_ = false;
  }

  template <typename T>
  requires std::is_trivially_copyable_v<T> T Get() {
    T value{};
    const std::span<const std::byte> bytes = GetBytes(sizeof(T));
    if (good_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> GetBytes(std::uint64_t count) {
    if (count > rest_.size()) good_ = false;
    if (!good_) return {};
    const std::span<const std::byte> bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }
  std::span<const std::byte> GetRest() { return GetBytes(rest_.size()); }
  Introduction GetIntroduction() {
    Introduction self;
    self.process.pid = Get<std::int32_t>();
    self.process.start_ticks = Get<std::uint64_t>();
    self.process_namespace = Get<std::uint64_t>();
    self.uid = Get<std::uint32_t>();
    self.has_shared = Get<std::uint32_t>();
    const auto payload_bytes = Get<std::uint64_t>();
    Require(self.has_shared <= 1 && payload_bytes <= kMostPayloadBytes);
    self.payload = GetBytes(payload_bytes);
    return self;
  }
  void Require(bool condition) { good_ = good_ && condition; }
  bool good() const { return good_; }
  // Whether all was there and nothing is left.
  bool AtEnd() const { return good_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool good_ = true;
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
  const auto mac = in.Get<sys::Mac>();
  const std::span<const std::byte> body = in.GetRest();
  if (!in.AtEnd()) return Malformed("Hello", message);
  return SignedBody{mac, body};
}

}  // namespace

Result<MessageKind> KindOf(std::span<const std::byte> message) {
  if (message.size() >= kHeaderBytes) {
    std::uint32_t words[2];
    std::memcpy(words, message.data(), sizeof(words));
    const bool known = words[1] >= static_cast<std::uint32_t>(MessageKind::kGreeting) &&
                       words[1] <= static_cast<std::uint32_t>(MessageKind::kFailure);
    if (words[0] == kMagic && known) return static_cast<MessageKind>(words[1]);
  }
  return Malformed("bootstrap", message);
}

Message EncodeBare(MessageKind kind) { return Writer(kind).Take(); }

Status ParseBare(std::span<const std::byte> message, MessageKind kind) {
  return Reader(message, kind).AtEnd() ? Status::Ok() : Malformed("Ready or Complete", message);
}

Message Encode(const Greeting& greeting) {
  Writer out(MessageKind::kGreeting);
  out.Put(greeting.nonce);
  return out.Take();
}

Result<Greeting> ParseGreeting(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kGreeting);
  const Greeting greeting{.nonce = in.Get<sys::Nonce>()};
  if (!in.AtEnd()) return Malformed("Greeting", message);
  return greeting;
}

sys::Mac ChallengeMac(const sys::Key& secret, const sys::Nonce& visitor, const sys::Nonce& gatherer) {
  return sys::ComputeMac(secret, {Bytes("tutti bootstrap challenge"), visitor, gatherer});
}

Message Encode(const Challenge& challenge) {
  Writer out(MessageKind::kChallenge);
  out.Put(challenge.nonce);
  out.Put(challenge.mac);
  return out.Take();
}

Result<Challenge> ParseChallenge(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kChallenge);
  Challenge challenge;
  challenge.nonce = in.Get<sys::Nonce>();
  challenge.mac = in.Get<sys::Mac>();
  if (!in.AtEnd()) return Malformed("Challenge", message);
  return challenge;
}

Message Encode(const Hello& hello, const sys::Key& secret, const sys::Nonce& visitor, const sys::Nonce& gatherer) {
  Writer out(MessageKind::kHello);
  out.Put(sys::Mac{});
  out.Put(hello.version);
  out.Put(hello.rank);
  out.Put(hello.ranks);
  out.Put(hello.left_ms);
  out.Put(hello.self);
  Message message = out.Take();
  const std::span<const std::byte> body = std::span(message).subspan(kHeaderBytes + sizeof(sys::Mac));
  const sys::Mac mac = HelloMac(secret, visitor, gatherer, body);
  std::ranges::copy(mac, message.begin() + kHeaderBytes);
  return message;
}

Result<Hello> ParseUncheckedHello(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kHello);
  (void)in.Get<sys::Mac>();
  Hello hello;
  hello.version = in.Get<std::uint32_t>();
  hello.rank = in.Get<std::int32_t>();
  hello.ranks = in.Get<std::int32_t>();
  if (in.good() && hello.version != kBootstrapVersion) return hello;
  hello.left_ms = in.Get<std::int64_t>();
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
  out.Put(welcome.rank);
  out.Put(welcome.process.pid);
  out.Put(welcome.process.start_ticks);
  out.Put(welcome.process_namespace);
  return out.Take();
}

Result<Welcome> ParseWelcome(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kWelcome);
  Welcome welcome;
  welcome.rank = in.Get<std::int32_t>();
  welcome.process.pid = in.Get<std::int32_t>();
  welcome.process.start_ticks = in.Get<std::uint64_t>();
  welcome.process_namespace = in.Get<std::uint64_t>();
  if (!in.AtEnd()) return Malformed("Welcome", message);
  return welcome;
}

Message Encode(const Place& place) {
  Writer out(MessageKind::kPlace);
  out.Put(place.children);
  return out.Take();
}

Result<Place> ParsePlace(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kPlace);
  const Place place{.children = in.Get<std::uint32_t>()};
  in.Require(place.children <= kMostChildren);
  if (!in.AtEnd()) return Malformed("Place", message);
  return place;
}

std::size_t EncodedBytes(const Introduction& member) { return kIntroductionBytes + member.payload.size(); }

Message Encode(const Members& members) {
  Writer out(MessageKind::kMembers);
  out.Put(members.first);
  out.Put(static_cast<std::uint32_t>(members.members.size()));
  for (const Introduction& member : members.members) out.Put(member);
  return out.Take();
}

Result<Members> ParseMembers(std::span<const std::byte> message) {
  Reader in(message, MessageKind::kMembers);
  Members members;
  members.first = in.Get<std::int32_t>();
  const auto count = in.Get<std::uint32_t>();
  in.Require(members.first >= 0 && members.first < kMostRanks && count <= static_cast<std::uint32_t>(kMostRanks));
  for (std::uint32_t i = 0; i < count && in.good(); ++i) members.members.push_back(in.GetIntroduction());
  if (!in.AtEnd()) return Malformed("Members", message);
  return members;
}

Message Encode(const Status& failure) {
  const std::string_view sentence = std::string_view(failure.message()).substr(0, kMostSentenceBytes);
  Writer out(MessageKind::kFailure);
  out.Put(static_cast<std::uint32_t>(failure.code()));
  out.Put(static_cast<std::int32_t>(failure.peer()));
  out.PutBytes(Bytes(sentence));
  return out.Take();
}

Status ParseFailure(std::span<const std::byte> message, Status& failure) {
  Reader in(message, MessageKind::kFailure);
  const auto code = in.Get<std::uint32_t>();
  const auto peer = in.Get<std::int32_t>();
  const std::span<const std::byte> sentence = in.GetRest();
  in.Require(code >= static_cast<std::uint32_t>(Code::kSystem) &&
             code <= static_cast<std::uint32_t>(Code::kUnsupported) && peer >= -1 && peer < kMostRanks &&
             sentence.size() <= kMostSentenceBytes);
  if (!in.AtEnd()) return Malformed("Failure", message);
  failure = Status(static_cast<Code>(code),
                   std::string(reinterpret_cast<const char*>(sentence.data()), sentence.size()), peer);
  return Status::Ok();
}

}  // namespace tutti::comm
