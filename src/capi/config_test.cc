// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Configs as clients of many versions of NCCL lay them out. The structs are written down here as those versions'
// headers have them, because a client is compiled with its own.
#include "capi/config.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstddef>
#include <cstring>

namespace tutti::capi {
namespace {

struct Header {
  std::size_t size;
  unsigned magic, version;
};
struct V214 : Header {
  int blocking;
};
struct V217 : V214 {
  int cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
};
// From here on flat, as a derived struct would not fill its base's padding.
struct V218 {
  std::size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
  int splitShare;
};
struct V226 {
  std::size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
  int splitShare, trafficClass;
};
struct V227 {
  std::size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
  int splitShare, trafficClass;
  const char* commName;
  int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs;
};
struct V228 {
  std::size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
  int splitShare, trafficClass;
  const char* commName;
  int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs, nChannelsPerNetPeer, nvlinkCentricSched;
};
struct V229 {
  std::size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
  int splitShare, trafficClass;
  const char* commName;
  int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs, nChannelsPerNetPeer, nvlinkCentricSched;
  int graphUsageMode, numRmaCtx;
};
struct V230 {
  std::size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
  int splitShare, trafficClass;
  const char* commName;
  int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs, nChannelsPerNetPeer, nvlinkCentricSched;
  int graphUsageMode, numRmaCtx, maxP2pPeers, graphStreamOrdering;
};
// A version yet to come.
struct Later {
  V230 known;
  int unknown[8];
};
static_assert(sizeof(V218) == 48 && sizeof(V226) == 48 && sizeof(V227) == 72 && sizeof(V228) == 80);
static_assert(sizeof(V229) == 88 && sizeof(V230) == 96);
static_assert(sizeof(V230) == sizeof(ncclConfig_t));

// All undefined, but pointers, which are null. What lies beyond `size` is garbage: it must not be read.
template <typename V>
struct Client {
  explicit Client(unsigned version) {
    std::memset(this, 0x5a, sizeof(*this));
    int* words = reinterpret_cast<int*>(&config);
    for (std::size_t i = 0; i < sizeof(V) / sizeof(int); ++i) words[i] = INT_MIN;
    auto* head = reinterpret_cast<Header*>(&config);
    *head = {sizeof(V), 0xcafebeef, version};
    std::memset(reinterpret_cast<char*>(&config) + 32, 0, sizeof(V) > 32 ? 8 : 0);
    if (sizeof(V) >= 56) std::memset(reinterpret_cast<char*>(&config) + 48, 0, 8);
  }
  Result<Config> Read() { return ReadConfig(reinterpret_cast<ncclConfig_t*>(&config)); }
  V config;
  unsigned char beyond[64];
};

void ExpectError(const Result<Config>& read, std::string_view words) {
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
  EXPECT_NE(read.status().message().find(words), std::string::npos) << read.status().message();
}

template <typename V>
void ExpectDefaults(unsigned version) {
  Client<V> client(version);
  const Result<Config> read = client.Read();
  ASSERT_TRUE(read.ok()) << version << ": " << read.status().message();
  EXPECT_TRUE(read->blocking);
  EXPECT_FALSE(read->split_share);
  EXPECT_FALSE(read->shrink_share);
  EXPECT_EQ(read->name, "");
}

TEST(ReadConfig, UndefinedFieldsOfEveryVersion) {
  ExpectDefaults<V214>(21400);
  ExpectDefaults<V217>(21701);
  ExpectDefaults<V218>(21803);
  ExpectDefaults<V218>(22203);
  ExpectDefaults<V226>(22602);
  ExpectDefaults<V227>(22703);
  ExpectDefaults<V228>(22809);
  ExpectDefaults<V229>(22907);
  ExpectDefaults<V230>(23003);
  ExpectDefaults<V230>(23007);
  ExpectDefaults<Later>(23200);
}

TEST(ReadConfig, EachVersionsLastFields) {
  Client<V214> v214(21400);
  v214.config.blocking = 0;
  EXPECT_FALSE(v214.Read()->blocking);
  Client<V218> v218(21803);
  v218.config.splitShare = 1;
  EXPECT_TRUE(v218.Read()->split_share);
  Client<V227> v227(22703);
  v227.config.commName = "a name";
  v227.config.shrinkShare = 1;
  EXPECT_EQ(v227.Read()->name, "a name");
  EXPECT_TRUE(v227.Read()->shrink_share);
  Client<V228> v228(22809);
  v228.config.nvlinkCentricSched = 2;
  ExpectError(v228.Read(), "nvlinkCentricSched is 2; it must be from 0 to 1");
  Client<V229> v229(22907);
  v229.config.graphUsageMode = 3;
  ExpectError(v229.Read(), "graphUsageMode is 3");
  Client<V230> v230(23007);
  v230.config.graphStreamOrdering = -1;
  ExpectError(v230.Read(), "graphStreamOrdering is -1");
}

// 2.26 put a field where 2.18 to 2.25 had padding: the size is the same, only the version tells.
TEST(ReadConfig, PaddingIsNoTrafficClass) {
  Client<V226> old(21803), newer(22602);
  old.config.trafficClass = newer.config.trafficClass = -7;
  EXPECT_TRUE(old.Read().ok());
  ExpectError(newer.Read(), "trafficClass is -7");
}

// A client may say a version that knows more fields than its size has.
TEST(ReadConfig, NothingBeyondTheSizeIsRead) {
  Client<V218> client(23007);
  EXPECT_TRUE(client.Read().ok());
  client.config.size = 17;  // ends inside `blocking`
  client.config.blocking = 99;
  EXPECT_TRUE(client.Read().ok());
  client.config.size = 20;
  ExpectError(client.Read(), "blocking is 99");
}

TEST(ReadConfig, FieldsThatTheVersionDoesNotKnowAreNotRead) {
  Client<V230> client(22809);
  client.config.graphUsageMode = 77;
  EXPECT_TRUE(client.Read().ok());
}

TEST(ReadConfig, RejectsWhatWasNotInitialised) {
  Client<V228> client(22809);
  client.config.magic = 0;
  ExpectError(client.Read(), "NCCL_CONFIG_INITIALIZER");
  client.config.magic = 0xcafebeef;
  client.config.size = 8;
  ExpectError(client.Read(), "8 bytes");
  client.config.size = std::size_t{1} << 40;
  ExpectError(client.Read(), "which cannot be");
}

TEST(ReadConfig, RangesAndContradictions) {
  Client<V228> client(22809);
  client.config.minCTAs = 0;
  ExpectError(client.Read(), "minCTAs is 0; it must be 1 or more");
  client.config.minCTAs = 8;
  client.config.maxCTAs = 4;
  ExpectError(client.Read(), "must not be larger");
  client.config.maxCTAs = 8;
  EXPECT_TRUE(client.Read().ok());
  client.config.blocking = 2;
  ExpectError(client.Read(), "blocking is 2");
}

TEST(ReadConfig, TakesTheParentsWhereUndefined) {
  Client<V228> client(22809);
  const Config parent{.blocking = false, .split_share = true};
  const auto read = ReadConfig(reinterpret_cast<ncclConfig_t*>(&client.config), parent);
  EXPECT_FALSE(read->blocking);
  EXPECT_TRUE(read->split_share);
  EXPECT_FALSE(ReadConfig(nullptr, parent)->blocking);
}

TEST(WriteSimInfo, BySizeAndMagic) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  EXPECT_TRUE(WriteSimInfo(&info, 12.5).ok());
  EXPECT_EQ(info.estimatedTime, 12.5f);
  info.size = 16;  // an older struct, without the field
  EXPECT_TRUE(WriteSimInfo(&info, 1).ok());
  EXPECT_EQ(info.estimatedTime, 12.5f);
  info.magic = 0xcafebeef;
  EXPECT_EQ(WriteSimInfo(&info, 1).code(), Code::kInvalidArgument);
  EXPECT_TRUE(WriteSimInfo(nullptr, 1).ok());
}

}  // namespace
}  // namespace tutti::capi
