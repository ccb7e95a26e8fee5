// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "profiler/session.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "profiler/names.h"

namespace tutti::profiler {
namespace {

using Lines = std::vector<std::string>;

// A plugin that writes down what it is told.
class Script final : public Interface {
 public:
  int version() const override { return 5; }
  std::string name() const override { return "Script"; }
  std::string Lacks() const override { return ""; }
  abi::Result Init(const Audience& audience, const char* name, int* mask, void** context) const override {
    *mask = wanted;
    if (listens) *context = &lines;
    lines.push_back(fmt::format("init {} {}", audience.rank, name != nullptr ? name : "-"));
    return result;
  }
  abi::Result Start(void* /*context*/, const Description& d, void** event) const override {
    lines.push_back(fmt::format("start {:x} of {}", d.type, reinterpret_cast<std::uintptr_t>(d.parent)));
    if (!drops) *event = reinterpret_cast<void*>(++handle);
    return abi::kSuccess;
  }
  abi::Result Stop(void* event) const override {
    lines.push_back(fmt::format("stop {}", reinterpret_cast<std::uintptr_t>(event)));
    return abi::kSuccess;
  }
  abi::Result Record(void* event, abi::State state, abi::StateArguments& /*arguments*/) const override {
    lines.push_back(fmt::format("state {} {}", reinterpret_cast<std::uintptr_t>(event), static_cast<int>(state)));
    return abi::kSuccess;
  }
  abi::Result Finalize(void* /*context*/) const override {
    lines.push_back("finalize");
    return abi::kSuccess;
  }

  int wanted = 0xfff;
  abi::Result result = abi::kSuccess;
  bool listens = true, drops = false;
  mutable Lines lines;
  mutable std::uintptr_t handle = 0;
};

class SessionTest : public testing::Test {
 protected:
  std::shared_ptr<Session> Begin() {
    Result<std::shared_ptr<Session>> session = Session::Begin(plugin_, {.name = "dp", .ranks = 4, .rank = 2}, &mask_);
    EXPECT_TRUE(session.ok());
    return *session;
  }
  static Event Start(Session& session, abi::EventType type, const Event& parent = {}) {
    Description d{.type = type};
    return session.Start(d, parent);
  }

  int mask_ = 0;
  const std::shared_ptr<Script> plugin_ = std::make_shared<Script>();
};

TEST_F(SessionTest, NamesTheEventAbove) {
  const std::shared_ptr<Session> session = Begin();
  const Event api = Start(*session, abi::kCollApi), coll = Start(*session, abi::kColl, api);
  session->Stop(api);
  const Event kernel = Start(*session, abi::kKernelCh, coll);
  session->Record(kernel, abi::kKernelChStop);
  session->Stop(kernel);
  session->Stop(coll);
  session->Finalize();
  EXPECT_EQ(plugin_->lines, (Lines{"init 2 dp", "start 200 of 0", "start 2 of 1", "stop 1", "start 40 of 2",
                                   "state 3 22", "stop 3", "stop 2", "finalize"}));
}

TEST_F(SessionTest, StopsWhatIsOpenBeforeItEnds) {
  std::shared_ptr<Session> session = Begin();
  const Event group = Start(*session, abi::kGroupApi), coll = Start(*session, abi::kColl);
  plugin_->lines.clear();
  session->Finalize();
  EXPECT_EQ(plugin_->lines, (Lines{"stop 2", "stop 1", "finalize"}));
  session->Stop(coll);
  session->Record(group, abi::kGroupEndApiStart);
  EXPECT_EQ(Start(*session, abi::kColl).handle, nullptr);
  session->Finalize();
  session.reset();
  EXPECT_EQ(plugin_->lines.size(), 3u) << "nothing comes after finalize";
}

TEST_F(SessionTest, EndsByItself) {
  Begin().reset();
  EXPECT_EQ(plugin_->lines.back(), "finalize");
}

TEST_F(SessionTest, AnEventIsSentWhereItsTypeOrOneBelowIsAskedFor) {
  const std::shared_ptr<Session> session = Begin();
  mask_ = abi::kKernelCh;
  for (const auto type :
       {abi::kGroupApi, abi::kCollApi, abi::kP2pApi, abi::kGroup, abi::kColl, abi::kP2p, abi::kKernelCh}) {
    EXPECT_TRUE(session->Wants(type)) << type;
  }
  for (const auto type : {abi::kProxyOp, abi::kProxyStep, abi::kKernelLaunch})
    EXPECT_FALSE(session->Wants(type)) << type;
  mask_ = abi::kColl;
  EXPECT_TRUE(session->Wants(abi::kCollApi));
  EXPECT_FALSE(session->Wants(abi::kP2pApi));
  EXPECT_FALSE(session->Wants(abi::kKernelCh));
  EXPECT_FALSE(session->AsksFor(abi::kCollApi));
  mask_ = 0;
  EXPECT_EQ(Start(*session, abi::kColl).handle, nullptr);
  EXPECT_EQ(plugin_->lines.size(), 1u);
}

TEST_F(SessionTest, AnEventThatThePluginDropsIsNeitherStoppedNorNamed) {
  const std::shared_ptr<Session> session = Begin();
  plugin_->drops = true;
  const Event dropped = Start(*session, abi::kCollApi);
  plugin_->drops = false;
  (void)Start(*session, abi::kColl, dropped);
  session->Stop(dropped);
  EXPECT_EQ(plugin_->lines, (Lines{"init 2 dp", "start 200 of 0", "start 2 of 0"}));
}

TEST_F(SessionTest, AForkedChildSaysNothing) {
  {
    const std::shared_ptr<Session> session = Begin();
    (void)Start(*session, abi::kColl);
    session->Abandon();
  }
  EXPECT_EQ(plugin_->lines.back(), "start 2 of 0");
}

TEST_F(SessionTest, AnInitThatFailsIsAnError) {
  plugin_->result = 3;
  const Result<std::shared_ptr<Session>> session = Session::Begin(plugin_, {}, &mask_);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().message(), "its init said ncclInternalError (3)");
}

TEST_F(SessionTest, WithoutAContextThePluginIsToldNothingMore) {
  plugin_->listens = false;
  EXPECT_EQ(Begin(), nullptr);
  EXPECT_EQ(plugin_->lines.size(), 1u);
}

TEST(Names, AreThoseOfNccl) {
  EXPECT_STREQ(FunctionName(Collective::kAllToAll), "AlltoAll");
  EXPECT_STREQ(TypeName(DataType::kBfloat16), "ncclBfloat16");
  EXPECT_STREQ(AlgorithmName({.algorithm = 2}), "RING");
  EXPECT_STREQ(AlgorithmName({}), "Unknown");
  EXPECT_STREQ(ProtocolName({.algorithm = 2, .protocol = 1}), "LL128");
  EXPECT_STREQ(ProtocolName({}), "Unknown");
}

}  // namespace
}  // namespace tutti::profiler
