// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tutti::sys {
namespace {

Endpoint At(std::string_view text) {
  const Result<Endpoint> endpoint = Endpoint::Parse(text);
  EXPECT_TRUE(endpoint.ok()) << text << ": " << endpoint.status().message();
  return endpoint.ok() ? *endpoint : Endpoint();
}

TEST(AddressTest, ReadsWhatPeopleWrite) {
  struct Row {
    const char* text;
    const char* printed;
    IpFamily family;
    std::uint16_t port;
  };
  constexpr Row kRows[] = {
      {"10.0.0.1:500", "10.0.0.1:500", IpFamily::kV4, 500},
      {"0.0.0.0:0", "0.0.0.0:0", IpFamily::kV4, 0},
      {"255.255.255.255:65535", "255.255.255.255:65535", IpFamily::kV4, 65535},
      {"10.0.0.1:00080", "10.0.0.1:80", IpFamily::kV4, 80},
      {"[::]:1", "[::]:1", IpFamily::kV6, 1},
      {"[::1]:1", "[::1]:1", IpFamily::kV6, 1},
      {"[FD00:0:0::2]:29500", "[fd00::2]:29500", IpFamily::kV6, 29500},
      {"[fe80::1%lo]:500", "[fe80::1%lo]:500", IpFamily::kV6, 500},
      {"[fe80::1%1]:500", "[fe80::1%lo]:500", IpFamily::kV6, 500},
      {"[fe80::1%4294967295]:500", "[fe80::1%4294967295]:500", IpFamily::kV6, 500},
      {"[::ffff:10.0.0.1]:7", "10.0.0.1:7", IpFamily::kV4, 7},
  };
  for (const Row& row : kRows) {
    const Endpoint endpoint = At(row.text);
    EXPECT_EQ(endpoint.ToString(), row.printed);
    EXPECT_EQ(endpoint.address.family(), row.family) << row.text;
    EXPECT_EQ(endpoint.port, row.port) << row.text;
    EXPECT_EQ(At(row.printed), endpoint);
  }
}

TEST(AddressTest, RefusesTheRestAndSaysWhatWouldDo) {
  using namespace std::string_literals;
  const std::string kWrong[] = {"",
                                ":",
                                ":500",
                                "10.0.0.1",
                                "10.0.0.1:",
                                "10.0.0.1:65536",
                                "10.0.0.1:-1",
                                "10.0.0.1:+1",
                                "10.0.0.1: 1",
                                "10.0.0.1:1 ",
                                " 10.0.0.1:1",
                                "10.0.0.1:0x50",
                                "10.0.0.1.:1",
                                "10.0.0:1",
                                "10.0.0.256:1",
                                "010.0.0.1:1",
                                "10.0.0.1:99999999999999999999",
                                "::1:500",
                                "fd00::2:500",
                                "[::1]",
                                "[::1]500",
                                "[::1:500",
                                "::1]:500",
                                "[10.0.0.1]:500",
                                "[]:500",
                                "[fe80::1%]:500",
                                "[fe80::1%nosuchinterface]:500",
                                "[fe80::1%0]:500",
                                "[fe80::1%99999999999]:500",
                                "[fe80::1%lo%lo]:500",
                                "[fd00::1%lo]:500",
                                "10.0.0.1%lo:500",
                                "[1:2:3:4:5:6:7:8:9]:1",
                                "[12345::]:1",
                                "host:500",
                                "[::g]:1",
                                "10.0.0.1\0:500"s,
                                "[::1\0]:500"s,
                                "[fe80::1%l\0]:1"s,
                                std::string(1000, '1') + ":1",
                                "[fe80::1%" + std::string(1000, 'x') + "]:1"};
  for (const std::string& text : kWrong) {
    const Result<Endpoint> endpoint = Endpoint::Parse(text);
    EXPECT_FALSE(endpoint.ok()) << text;
    if (endpoint.ok()) continue;
    EXPECT_EQ(endpoint.status().code(), Code::kInvalidArgument);
    EXPECT_NE(endpoint.status().message().find("write 10.0.0.1"), std::string::npos) << endpoint.status().message();
    EXPECT_EQ(endpoint.status().message().find('\0'), std::string::npos);
    EXPECT_LT(endpoint.status().message().size(), 300u);
  }
}

TEST(AddressTest, KnowsKindsByTheirBorders) {
  const auto is = [](const char* text, bool (IpAddress::*kind)() const) {
    const Result<IpAddress> address = IpAddress::Parse(text);
    return address.ok() && ((*address).*kind)();
  };
  for (const char* text : {"127.0.0.0", "127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is(text, &IpAddress::IsLoopback)) << text;
  for (const char* text : {"126.255.255.255", "128.0.0.0", "::", "::2", "fd00::1", "127::1"})
    EXPECT_FALSE(is(text, &IpAddress::IsLoopback)) << text;
  for (const char* text : {"169.254.0.0", "169.254.255.255", "fe80::1", "febf:ffff::", "fe80::1%lo"})
    EXPECT_TRUE(is(text, &IpAddress::IsLinkLocal)) << text;
  for (const char* text : {"169.253.255.255", "169.255.0.0", "fe7f::", "fec0::", "fd00::1", "10.0.0.1"})
    EXPECT_FALSE(is(text, &IpAddress::IsLinkLocal)) << text;
  for (const char* text : {"224.0.0.0", "239.255.255.255", "ff02::1"})
    EXPECT_TRUE(is(text, &IpAddress::IsMulticast)) << text;
  for (const char* text : {"223.255.255.255", "240.0.0.0", "fe80::1", "::1"})
    EXPECT_FALSE(is(text, &IpAddress::IsMulticast)) << text;
  EXPECT_TRUE(is("0.0.0.0", &IpAddress::IsUnspecified));
  EXPECT_TRUE(is("::", &IpAddress::IsUnspecified));
  EXPECT_FALSE(is("0.0.0.1", &IpAddress::IsUnspecified));
  // An interface belongs to link-local addresses of IPv6 alone.
  for (const char* text : {"10.0.0.1", "169.254.0.1", "fd00::1"}) {
    EXPECT_EQ(IpAddress(IpAddress::Parse(text)->bytes(), 7), *IpAddress::Parse(text)) << text;
  }
  EXPECT_EQ(IpAddress(IpAddress::Parse("fe80::1")->bytes(), 7).scope(), 7u);
  EXPECT_EQ(IpAddress::Any(IpFamily::kV4).ToString(), "0.0.0.0");
  EXPECT_EQ(IpAddress::Any(IpFamily::kV6).ToString(), "::");
}

TEST(AddressTest, SurvivesTheSystemsForm) {
  for (const char* text : {"10.0.0.1:500", "[fd00::2]:29500", "[fe80::1%lo]:65535", "0.0.0.0:0", "[::]:0"}) {
    sockaddr_storage storage;
    const std::size_t bytes = At(text).ToSockaddr(storage);
    const auto* address = reinterpret_cast<const sockaddr*>(&storage);
    EXPECT_EQ(bytes, At(text).address.family() == IpFamily::kV4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const Result<Endpoint> back = Endpoint::FromSockaddr(address, bytes);
    ASSERT_TRUE(back.ok()) << text;
    EXPECT_EQ(*back, At(text));
    for (std::size_t few = 0; few < bytes; ++few) EXPECT_FALSE(Endpoint::FromSockaddr(address, few).ok()) << few;
  }
  sockaddr_storage storage{};
  storage.ss_family = AF_UNIX;
  EXPECT_FALSE(Endpoint::FromSockaddr(reinterpret_cast<const sockaddr*>(&storage), sizeof(storage)).ok());
  // What a socket for both families says of a caller by IPv4.
  sockaddr_in6 mapped{};
  mapped.sin6_family = AF_INET6;
  mapped.sin6_port = htons(9);
  const IpAddress v4 = IpAddress::V4(10, 1, 2, 3);
  std::memcpy(&mapped.sin6_addr, v4.bytes().data(), 16);
  EXPECT_EQ(Endpoint::FromSockaddr(reinterpret_cast<const sockaddr*>(&mapped), sizeof(mapped))->ToString(),
            "10.1.2.3:9");
}

TEST(AddressTest, SurvivesEighteenBytes) {
  const EndpointBytes bytes = ToBytes(At("10.1.2.3:258"));
  constexpr unsigned char kExpected[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3, 1, 2};
  EXPECT_EQ(std::memcmp(bytes.data(), kExpected, sizeof(kExpected)), 0);
  EXPECT_EQ(EndpointFromBytes(bytes), At("10.1.2.3:258"));
  EXPECT_EQ(EndpointFromBytes(ToBytes(At("[fd00::2]:65535"))), At("[fd00::2]:65535"));
  EXPECT_EQ(EndpointFromBytes(ToBytes(At("[fe80::1%lo]:1"))), At("[fe80::1]:1"));  // the scope stays at home
  // Any bytes are an endpoint, and come back.
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    EndpointBytes any;
    for (std::byte& byte : any) byte = static_cast<std::byte>(random());
    EXPECT_EQ(ToBytes(EndpointFromBytes(any)), any) << "round " << i;
  }
}

TEST(AddressTest, ListsThem) {
  const std::vector<Endpoint> endpoints = {At("10.0.0.1:5"), At("[::1]:6")};
  EXPECT_EQ(ListEndpoints(endpoints), "10.0.0.1:5, [::1]:6");
  EXPECT_EQ(ListEndpoints({}), "none");
  EXPECT_EQ(ListAddresses(std::vector{endpoints[0].address, endpoints[1].address}), "10.0.0.1, ::1");
}

}  // namespace
}  // namespace tutti::sys
