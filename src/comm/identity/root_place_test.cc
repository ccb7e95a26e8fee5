// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/root_place.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "comm/identity/unique_id.h"

namespace tutti::comm {
namespace {

TEST(RootPlaceTest, TheFirstOfANodeList) {
  EXPECT_EQ(FirstOfNodeList("node"), "node");
  EXPECT_EQ(FirstOfNodeList("node1,node2"), "node1");
  EXPECT_EQ(FirstOfNodeList("node[007-012,20],login"), "node007");
  EXPECT_EQ(FirstOfNodeList("node[3],login"), "node3");
  EXPECT_EQ(FirstOfNodeList("rack[1-2]-n[03,04].site"), "rack1-n03.site");
  EXPECT_EQ(FirstOfNodeList("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(FirstOfNodeList(""), "");
  EXPECT_EQ(FirstOfNodeList("node["), "node");
  EXPECT_EQ(FirstOfNodeList("[]"), "");
}

UniqueId Derived(int number) { return DeriveId({sys::Bytes(std::to_string(number))}); }

Result<std::vector<sys::IpAddress>> Resolve(const std::string& host) {
  if (host == "nowhere") return Status(Code::kInvalidUsage, "no such host");
  return std::vector<sys::IpAddress>{*sys::IpAddress::Parse(host)};
}

TEST(RootPlaceTest, PortsFollowFromTheId) {
  const std::vector<std::string> hosts = {"10.0.0.1", "nowhere", "fd00::1", "10.0.0.1"};
  std::set<std::uint16_t> ports;
  for (int job = 0; job < 50; ++job) {
    const UniqueId placed = *WithRootPlace(Derived(job), hosts, &Resolve, {});
    EXPECT_EQ(placed.bytes, WithRootPlace(Derived(job), hosts, &Resolve, {})->bytes);
    const IdParts parts = *ReadId(placed);
    EXPECT_EQ(parts.name, ReadId(Derived(job))->name);
    EXPECT_EQ(parts.listener, IdListener::kRankZero);
    EXPECT_EQ(parts.addresses.size(), 2u);
    EXPECT_EQ(parts.Endpoints().size(), 2u * static_cast<unsigned>(parts.ports));
    for (const sys::Endpoint& endpoint : parts.Endpoints()) {
      EXPECT_GE(endpoint.port, 10240);
      EXPECT_LT(endpoint.port, 32768);
    }
    ports.insert(parts.addresses[0].port);
  }
  EXPECT_GT(ports.size(), 40u);
}

TEST(RootPlaceTest, PortsAreThoseThatAreAllowed) {
  const std::vector<std::string> hosts = {"10.0.0.1"};
  for (int job = 0; job < 50; ++job) {
    EXPECT_EQ(sys::ListEndpoints(ReadId(*WithRootPlace(Derived(job), hosts, &Resolve, {4000, 4000}))->Endpoints()),
              "10.0.0.1:4000");
    for (const sys::Endpoint& endpoint :
         ReadId(*WithRootPlace(Derived(job), hosts, &Resolve, {65500, 65535}))->Endpoints()) {
      EXPECT_GE(endpoint.port, 65500);
    }
  }
  EXPECT_EQ(WithRootPlace(Derived(0), std::vector<std::string>{"nowhere"}, &Resolve, {}).status().message(),
            "no such host");
}

}  // namespace
}  // namespace tutti::comm
