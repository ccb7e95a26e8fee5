// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/hello.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/bytes.h"

namespace tutti::sys {
namespace {

using internal::HelloAnswer;
using internal::HelloChallenge;
using internal::HelloKind;
using internal::HelloOpening;

class Writer : public ByteWriter {
 public:
  explicit Writer(HelloKind kind) {
    Number(static_cast<std::uint16_t>(kind));
    Number(kHelloForm);
  }
  void Version(const HelloVersion& version) {
    const std::string_view name = std::string_view(version.name).substr(0, kMostVersionName);
    Number(version.number);
    Sized(sys::Bytes(name));
  }
  void Sized(std::span<const std::byte> bytes) {
    Number(static_cast<std::uint16_t>(bytes.size()));
    Bytes(bytes);
  }
};

class Reader : public ByteReader {
 public:
  Reader(std::span<const std::byte> message, HelloKind kind) : ByteReader(message) {
    Require(Number<std::uint16_t>() == static_cast<std::uint16_t>(kind));
    form_ = Number<std::uint16_t>();
    other_form_ = good() && form_ != kHelloForm;
    Require(!other_form_);
  }
  std::span<const std::byte> Sized(std::size_t most) {
    const std::size_t bytes = Number<std::uint16_t>();
    Require(bytes <= most);
    return Bytes(bytes);
  }
  HelloVersion Version() {
    HelloVersion version;
    version.number = Number<std::uint32_t>();
    for (const std::byte byte : Sized(kMostVersionName)) {
      const auto c = static_cast<char>(byte);
      Require(c >= 32 && c <= 126);  // it goes into sentences
      version.name += c;
    }
    return version;
  }
  bool other_form() const { return other_form_; }
  Status Error(const char* name) const {
    if (other_form_) {
      return Status(
          Code::kInvalidArgument,
          fmt::format("says hello in form {}, where this process knows form {}: they run different versions of Tutti",
                      form_, kHelloForm));
    }
    return Status(Code::kInvalidArgument, fmt::format("sends something else than the {} of a hello", name));
  }

 private:
  std::uint16_t form_ = 0;
  bool other_form_ = false;
};

// What the codes of one hello have in common.
struct Talk {
  const HelloTerms& terms;
  const Nonce& caller;
  const Nonce& listener;
  const HelloVersion& caller_version;
  const HelloVersion& listener_version;

  Mac Code(std::string_view name, std::span<const std::byte> caller_says = {},
           std::span<const std::byte> listener_says = {}) const {
    const NetMessage versions = [&] {
      Writer out(HelloKind::kOpening);
      out.Version(caller_version);
      out.Version(listener_version);
      return out.Take();
    }();
    return ComputeMac(terms.secret, {Bytes(name), terms.id, caller, listener, versions, caller_says, listener_says});
  }
};
constexpr std::string_view kChallengeName = "tutti hello challenge", kAnswerName = "tutti hello answer",
                           kWelcomeName = "tutti hello welcome", kSessionName = "tutti hello session";

Status Differ(const std::string& caller_name, const HelloVersion& caller, const std::string& listener_name,
              const HelloVersion& listener) {
  return Status(
      Code::kInvalidUsage,
      fmt::format("{} runs Tutti {} (protocol {}), {} runs Tutti {} (protocol {}): start all ranks with one build "
                  "of Tutti",
                  caller_name, caller.name, caller.number, listener_name, listener.name, listener.number));
}

HelloVersion Cut(HelloVersion version) {
  version.name.resize(std::min(version.name.size(), kMostVersionName));
  return version;
}

}  // namespace

namespace internal {

NetMessage Encode(const HelloOpening& opening) {
  Writer out(HelloKind::kOpening);
  out.Bytes(opening.id);
  out.Version(opening.version);
  out.Bytes(opening.nonce);
  return out.Take();
}

Result<HelloOpening> ParseOpening(std::span<const std::byte> message, bool* other_form) {
  Reader in(message, HelloKind::kOpening);
  if (other_form != nullptr) *other_form = in.other_form();
  HelloOpening opening;
  opening.id = in.Array<sizeof(HelloId)>();
  opening.version = in.Version();
  opening.nonce = in.Array<sizeof(Nonce)>();
  if (!in.AtEnd()) return in.Error("opening");
  return opening;
}

NetMessage Encode(const HelloChallenge& challenge) {
  Writer out(HelloKind::kChallenge);
  out.Version(challenge.version);
  out.Bytes(challenge.nonce);
  out.Bytes(challenge.mac);
  return out.Take();
}

Result<HelloChallenge> ParseChallenge(std::span<const std::byte> message) {
  Reader in(message, HelloKind::kChallenge);
  HelloChallenge challenge;
  challenge.version = in.Version();
  challenge.nonce = in.Array<sizeof(Nonce)>();
  challenge.mac = in.Array<sizeof(Mac)>();
  if (!in.AtEnd()) return in.Error("challenge");
  return challenge;
}

NetMessage Encode(const HelloAnswer& answer, HelloKind kind) {
  Writer out(kind);
  out.Sized(answer.payload);
  out.Bytes(answer.mac);
  return out.Take();
}

Result<HelloAnswer> ParseAnswer(std::span<const std::byte> message, HelloKind kind) {
  Reader in(message, kind);
  HelloAnswer answer;
  const std::span<const std::byte> payload = in.Sized(kMostHelloPayload);
  answer.payload.assign(payload.begin(), payload.end());
  answer.mac = in.Array<sizeof(Mac)>();
  if (!in.AtEnd()) return in.Error(kind == HelloKind::kAnswer ? "answer" : "welcome");
  return answer;
}

}  // namespace internal

NetMessage HelloCaller::Opening() const {
  return internal::Encode(HelloOpening{.id = terms_.id, .version = Cut(terms_.version), .nonce = nonce_});
}

Status HelloCaller::Take(std::span<const std::byte> message, const std::string& caller_name,
                         const std::string& listener_name, NetMessage& reply) {
  reply.clear();
  const HelloVersion own = Cut(terms_.version);
  const Talk talk{terms_, nonce_, its_nonce_, own, outcome_.version};
  if (!challenged_) {
    const Result<HelloChallenge> challenge = internal::ParseChallenge(message);
    if (!challenge.ok()) return challenge.status();
    its_nonce_ = challenge->nonce;
    outcome_.version = challenge->version;
    if (!SameMac(challenge->mac, talk.Code(kChallengeName))) {
      return Status(Code::kInvalidArgument, "does not know the secret of this job: ranks of another job listen there");
    }
    challenged_ = true;
    HelloAnswer answer{.payload = terms_.payload, .mac = talk.Code(kAnswerName, terms_.payload)};
    reply = internal::Encode(answer, HelloKind::kAnswer);
    if (outcome_.version.number != own.number) return Differ(caller_name, own, listener_name, outcome_.version);
    return Status(Code::kInProgress, "the welcome has not come");
  }
  Result<HelloAnswer> welcome = internal::ParseAnswer(message, HelloKind::kWelcome);
  if (!welcome.ok()) return welcome.status();
  if (!SameMac(welcome->mac, talk.Code(kWelcomeName, terms_.payload, welcome->payload))) {
    return Status(Code::kInvalidArgument, "sends a welcome that only one who does not know the secret would send");
  }
  outcome_.id = terms_.id;
  outcome_.payload = std::move(welcome->payload);
  outcome_.session = talk.Code(kSessionName);
  return Status::Ok();
}

Status HelloListener::Take(std::span<const std::byte> message, const std::string& caller_name,
                           const std::string& listener_name, NetMessage& reply) {
  reply.clear();
  if (!opened_) {
    bool other_form = false;
    const Result<HelloOpening> opening = internal::ParseOpening(message, &other_form);
    // The form of this side, and nothing else, so that the caller too can say that they differ.
    if (other_form) reply = Writer(HelloKind::kChallenge).Take();
    if (!opening.ok()) return opening.status();
    const HelloTerms* terms = find_(opening->id);
    if (terms == nullptr) return Status(Code::kInvalidArgument, "asks for a job that this process has no part in");
    opened_ = true;
    its_nonce_ = opening->nonce;
    outcome_.id = opening->id;
    outcome_.version = opening->version;
    const HelloVersion own = Cut(terms->version);
    const Talk talk{*terms, its_nonce_, nonce_, outcome_.version, own};
    reply = internal::Encode(HelloChallenge{.version = own, .nonce = nonce_, .mac = talk.Code(kChallengeName)});
    return Status(Code::kInProgress, "the answer has not come");
  }
  Result<HelloAnswer> answer = internal::ParseAnswer(message, HelloKind::kAnswer);
  if (!answer.ok()) return answer.status();
  const HelloTerms* terms = find_(outcome_.id);
  if (terms == nullptr) return Status(Code::kInvalidArgument, "asks for a job that has ended here");
  const HelloVersion own = Cut(terms->version);
  const Talk talk{*terms, its_nonce_, nonce_, outcome_.version, own};
  if (!SameMac(answer->mac, talk.Code(kAnswerName, answer->payload))) {
    return Status(Code::kInvalidArgument, "does not know the secret of the job that it asks for");
  }
  if (outcome_.version.number != own.number) return Differ(caller_name, outcome_.version, listener_name, own);
  HelloAnswer welcome{.payload = terms->payload, .mac = talk.Code(kWelcomeName, answer->payload, terms->payload)};
  reply = internal::Encode(welcome, HelloKind::kWelcome);
  outcome_.payload = std::move(answer->payload);
  outcome_.session = talk.Code(kSessionName);
  return Status::Ok();
}

}  // namespace tutti::sys
