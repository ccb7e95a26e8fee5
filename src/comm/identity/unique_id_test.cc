// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/unique_id.h"

#include <gtest/gtest.h>

#include <string>

#include "comm/identity/id_hash.h"
#include "sys/net/address.h"

namespace tutti {
namespace {

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(UniqueIdTest, FreshIdsDifferAndSurviveText) {
  const Result<UniqueId> a = CreateUniqueId();
  const Result<UniqueId> b = CreateUniqueId();
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->bytes, b->bytes);
  EXPECT_EQ(a->ToHex().size(), 256u);
  const Result<UniqueId> back = UniqueId::FromHex(a->ToHex());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->bytes, a->bytes);
  std::string upper = a->ToHex();
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(UniqueId::FromHex(upper)->bytes, a->bytes);
}

TEST(UniqueIdTest, SaysWhatIsWrongWithAText) {
  const std::string good = CreateUniqueId()->ToHex();
  const auto complaint = [](const std::string& hex) {
    const Result<UniqueId> id = UniqueId::FromHex(hex);
    EXPECT_FALSE(id.ok());
    EXPECT_EQ(id.status().code(), Code::kInvalidArgument);
    return id.status().message();
  };
  const auto with = [&good](std::size_t at, const char* text) { return std::string(good).replace(at, 2, text); };
  EXPECT_NE(complaint("").find("256"), std::string::npos);
  EXPECT_NE(complaint(good.substr(2)).find("254"), std::string::npos);
  EXPECT_NE(complaint(with(10, "0x")).find("character 12"), std::string::npos);
  EXPECT_NE(complaint(with(0, "00")).find("not one of Tutti's"), std::string::npos);
  EXPECT_NE(complaint(with(16, "09")).find("format 9"), std::string::npos);
  EXPECT_NE(complaint(with(18, "09")).find("damaged"), std::string::npos);
  EXPECT_NE(complaint(with(250, "01")).find("damaged"), std::string::npos);
  EXPECT_NE(complaint(std::string(256, '0')).find("empty"), std::string::npos);
}

TEST(UniqueIdTest, PartsSurvive) {
  const comm::IdParts parts = *comm::ReadId(*CreateUniqueId());
  EXPECT_EQ(parts.kind, comm::IdKind::kRandom);
  EXPECT_EQ(parts.Name().size(), 32u);
  const comm::IdParts again = *comm::ReadId(comm::MakeId(parts));
  EXPECT_EQ(again.secret, parts.secret);
  EXPECT_EQ(again.name, parts.name);
}

TEST(UniqueIdTest, AnIdMaySayThatRankZeroListens) {
  comm::IdParts parts = *comm::ReadId(*CreateUniqueId());
  parts.addresses = {{sys::IpAddress::V4(10, 0, 0, 1), 500}, {*sys::IpAddress::Parse("fd00::1"), 500}};
  parts.listener = comm::IdListener::kRankZero;
  parts.ports = 3;
  const UniqueId id = comm::MakeId(parts);
  const comm::IdParts again = *comm::ReadId(id);
  EXPECT_EQ(again.listener, comm::IdListener::kRankZero);
  EXPECT_EQ(sys::ListEndpoints(again.Endpoints()),
            "10.0.0.1:500, [fd00::1]:500, 10.0.0.1:501, [fd00::1]:501, 10.0.0.1:502, [fd00::1]:502");
  // What follows from an id depends on its place only where that is asked for.
  const UniqueId bare = comm::WithoutPlace(id);
  EXPECT_TRUE(comm::ReadId(bare)->Endpoints().empty());
  EXPECT_EQ(comm::FurtherId(id, "a", 1)->bytes, comm::FurtherId(bare, "a", 1)->bytes);
  EXPECT_EQ(comm::HashOf(id), comm::HashOf(bare));
  EXPECT_EQ(comm::WithPlaceOf(bare, id)->bytes, id.bytes);
  EXPECT_EQ(comm::ReadId(*comm::WithAddresses(id, parts.addresses))->listener, comm::IdListener::kMaker);
  // Ports that there are not, and a listener without an address, are damage.
  parts.addresses = {{sys::IpAddress::V4(10, 0, 0, 1), 65534}};
  EXPECT_FALSE(comm::ReadId(comm::MakeId(parts)).ok());
  UniqueId damaged = bare;
  damaged.bytes[10] = 1;
  EXPECT_FALSE(comm::ReadId(damaged).ok());
}

TEST(UniqueIdTest, DerivedIdsDependOnEveryFact) {
  const UniqueId id = comm::DeriveId({Bytes("a"), Bytes("bc")});
  EXPECT_EQ(id.bytes, comm::DeriveId({Bytes("a"), Bytes("bc")}).bytes);
  EXPECT_NE(id.bytes, comm::DeriveId({Bytes("ab"), Bytes("c")}).bytes);
  EXPECT_NE(id.bytes, comm::DeriveId({Bytes("a"), Bytes("bc"), {}}).bytes);
  EXPECT_EQ(comm::ReadId(id)->kind, comm::IdKind::kDerived);
}

TEST(UniqueIdTest, GenerationsDiffer) {
  const UniqueId id = *CreateUniqueId();
  EXPECT_EQ(comm::NextId(id, 0)->bytes, id.bytes);
  EXPECT_EQ(comm::NextId(id, 1)->bytes, comm::NextId(id, 1)->bytes);
  EXPECT_NE(comm::NextId(id, 1)->bytes, comm::NextId(id, 2)->bytes);
  EXPECT_NE(comm::NextId(id, 1)->bytes, id.bytes);
  EXPECT_FALSE(comm::NextId(UniqueId{}, 0).ok());
  EXPECT_FALSE(comm::NextId(UniqueId{}, 1).ok());
}

TEST(UniqueIdTest, PurposesDiffer) {
  const UniqueId id = *CreateUniqueId();
  EXPECT_EQ(comm::FurtherId(id, "a", 1)->bytes, comm::FurtherId(id, "a", 1)->bytes);
  EXPECT_NE(comm::FurtherId(id, "a", 1)->bytes, comm::FurtherId(id, "b", 1)->bytes);
  EXPECT_NE(comm::FurtherId(id, "a", 0)->bytes, id.bytes);
  EXPECT_NE(comm::FurtherId(id, "a", 1)->bytes, comm::FurtherId(*CreateUniqueId(), "a", 1)->bytes);
  EXPECT_FALSE(comm::FurtherId(UniqueId{}, "a", 1).ok());
}

}  // namespace
}  // namespace tutti
