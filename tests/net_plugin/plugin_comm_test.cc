// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Connections of network plugins, over plugins of this folder: TCP and a scripted network, of several versions.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "tests/net_plugin/test_plugins.h"

namespace tutti::tests {
namespace {

using plugin::Network;

constexpr std::size_t kMostBytes = 200'000;

class EachPlugin : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (IsLibfabric(GetParam()) && !WhyNoLibfabric().empty()) GTEST_SKIP() << WhyNoLibfabric();
    if (const std::string name = GetParam(); name.find("scripted") != std::string::npos) {
      script_ = NewScript(std::stoi(name.substr(name.rfind('v') + 1)));
      ASSERT_NE(script_, nullptr);
    }
  }
  std::shared_ptr<Network> Start() {
    Result<std::shared_ptr<Network>> network = catalog_.Choose(WishesFor(GetParam()));
    EXPECT_TRUE(network.ok() && *network != nullptr) << network.status().message();
    return network.ok() ? *network : nullptr;
  }
  void TearDown() override {
    if (script_ == nullptr) return;
    EXPECT_EQ(script_->faults(), std::set<std::string>());
    EXPECT_EQ(script_->open_comms, 0);
    EXPECT_EQ(script_->open_memory, 0);
    EXPECT_EQ(script_->inits, catalog_starts_);
    EXPECT_EQ(script_->finalizes, has_context() ? 1 : 0);
  }
  bool has_context() const {
    const std::string name = GetParam();
    return std::stoi(name.substr(name.rfind('v') + 1)) >= 11;
  }

  static bool tells_sizes() { return !IsLibfabric(GetParam()); }

  plugin::Catalog catalog_;
  Script* script_ = nullptr;
  int catalog_starts_ = 1;
};

INSTANTIATE_TEST_SUITE_P(All, EachPlugin,
                         testing::Values("tests-tcp-v6", "tests-tcp-v8", "tests-tcp-v9", "tests-tcp-v11",
                                         "tests-tcp-v12", "tests-scripted-v6", "tests-scripted-v7",
                                         "tests-scripted-v10", "tests-scripted-v11", "tests-scripted-v12",
                                         "libfabric tcp;ofi_rxm", "libfabric+ tcp;ofi_rxm", "libfabric shm"),
                         [](const auto& info) { return NameOfTest(info.param); });

// Sends messages of many sizes, as many at a time as the interface allows, and checks every byte.
void Exchange(Pair& pair, std::size_t messages, unsigned seed, bool tells_sizes) {
  std::mt19937 random(seed);
  std::vector<std::size_t> sizes(messages);
  for (std::size_t& size : sizes) {
    const std::size_t most = std::array<std::size_t, 4>{1, 100, 70'000, kMostBytes}[random() % 4];
    size = random() % (most + 1);
  }
  std::vector<std::byte> out(32 * kMostBytes), in(32 * kMostBytes);
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const std::uint32_t number = static_cast<std::uint32_t>(random());
    std::memcpy(&out[i], &number, 4);
  }
  const Result<void*> out_memory = pair.sender->Register(out);
  const Result<void*> in_memory = pair.receiver->Register(in);
  ASSERT_TRUE(out_memory.ok() && in_memory.ok());
  const auto slot = [](std::vector<std::byte>& all, std::size_t i) { return all.data() + i % 32 * kMostBytes; };
  std::size_t sent = 0, out_ended = 0, posted = 0, in_ended = 0;
  bool was_full = false;
  const std::int64_t deadline_ns = SoonNs();
  while (in_ended < messages || out_ended < messages) {
    ASSERT_LT(sys::NowNs(), deadline_ns) << sent << " " << out_ended << " " << posted << " " << in_ended;
    if (posted < messages && pair.receiver->HasRoom()) {
      const Result<bool> took = pair.receiver->Receive({slot(in, posted), kMostBytes}, 5, *in_memory);
      ASSERT_TRUE(took.ok()) << took.status().message();
      posted += *took ? 1 : 0;
    }
    if (sent < messages && pair.sender->HasRoom()) {
      const Result<bool> took = pair.sender->Send({slot(out, sent), sizes[sent]}, 5, *out_memory);
      ASSERT_TRUE(took.ok()) << took.status().message();
      sent += *took ? 1 : 0;
      was_full = was_full || !pair.sender->HasRoom();
    }
    // A network without a thread of its own gets on only while both sides are asked.
    if (!was_full && pair.receiver->HasRoom()) continue;
    // Some are looked at late, so that much is in flight.
    if (random() % 3 != 0) continue;
    const Result<bool> gone = was_full ? pair.sender->TestOldest() : Result<bool>(false);
    ASSERT_TRUE(gone.ok()) << gone.status().message();
    out_ended += *gone ? 1 : 0;
    std::int64_t bytes = 0;
    const Result<bool> came = pair.receiver->TestOldest(&bytes);
    ASSERT_TRUE(came.ok()) << came.status().message();
    if (!*came) continue;
    EXPECT_EQ(bytes, tells_sizes ? static_cast<std::int64_t>(sizes[in_ended]) : -1);
    ASSERT_EQ(std::memcmp(slot(in, in_ended), slot(out, in_ended), sizes[in_ended]), 0)
        << "message " << in_ended << " of " << sizes[in_ended] << " bytes, seed " << seed;
    ++in_ended;
  }
  EXPECT_TRUE(was_full);
}

TEST_P(EachPlugin, MessagesArriveWholeAndInOrder) {
  const std::shared_ptr<Network> network = Start();
  ASSERT_NE(network, nullptr);
  Result<Pair> pair = Connect(network);
  ASSERT_TRUE(pair.ok()) << pair.status().message();
  Exchange(*pair, 200, 1, tells_sizes());
}

TEST_P(EachPlugin, SeveralConnectionsOfOneListener) {
  const std::shared_ptr<Network> network = Start();
  ASSERT_NE(network, nullptr);
  Result<Pair> first = Connect(network);
  ASSERT_TRUE(first.ok());
  Result<Pair> second = Connect(network);
  ASSERT_TRUE(second.ok());
  Exchange(*first, 70, 2, tells_sizes());
  Exchange(*second, 70, 3, tells_sizes());
}

TEST_P(EachPlugin, EachSideInAThreadOfItsOwn) {
  const std::shared_ptr<Network> network = Start();
  ASSERT_NE(network, nullptr);
  Result<Pair> pair = Connect(network);
  ASSERT_TRUE(pair.ok());
  constexpr std::uint32_t kMessages = 300;
  std::vector<std::uint32_t> out(1000), in(1000);
  std::thread sending([&] {
    const Result<void*> memory = pair->sender->Register(std::as_writable_bytes(std::span(out)));
    ASSERT_TRUE(memory.ok());
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      std::ranges::fill(out, i);
      Result<bool> took = false;
      while (!*took) {
        took = pair->sender->Send(std::as_bytes(std::span(out)), 1, *memory);
        ASSERT_TRUE(took.ok()) << took.status().message();
      }
      ASSERT_TRUE(pair->sender->Drain(SoonNs()).ok());
    }
  });
  const Result<void*> memory = pair->receiver->Register(std::as_writable_bytes(std::span(in)));
  ASSERT_TRUE(memory.ok());
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    Result<bool> took = false;
    while (took.ok() && !*took) took = pair->receiver->Receive(std::as_writable_bytes(std::span(in)), 1, *memory);
    const Status came = took.ok() ? pair->receiver->Drain(SoonNs()) : took.status();
    EXPECT_TRUE(came.ok()) << came.message();
    if (!came.ok()) break;
    EXPECT_EQ(std::ranges::count(in, i), 1000) << i;
  }
  sending.join();
  pair->sender.reset();
}

TEST_P(EachPlugin, ASenderThatIsGoneIsTold) {
  if (IsLibfabric(GetParam())) GTEST_SKIP() << "libfabric tells nobody; the connection beside a stream does";
  const std::shared_ptr<Network> network = Start();
  ASSERT_NE(network, nullptr);
  Result<Pair> pair = Connect(network);
  ASSERT_TRUE(pair.ok());
  std::vector<std::byte> buffer(100);
  const Result<void*> memory = pair->receiver->Register(buffer);
  ASSERT_TRUE(memory.ok());
  ASSERT_TRUE(*pair->receiver->Receive(buffer, 0, *memory));
  pair->sender.reset();
  const Status status = pair->receiver->Drain(SoonNs());
  EXPECT_EQ(status.code(), Code::kRemote) << status.message();
}

TEST_P(EachPlugin, WhatDoesNotEndHasADeadlineAndCanBeGivenUp) {
  if (GetParam() == std::string("libfabric shm")) {
    GTEST_SKIP() << "libfabric 1.17 itself crashes where both ends are in one process and one has gone";
  }
  const std::shared_ptr<Network> network = Start();
  ASSERT_NE(network, nullptr);
  Result<Pair> pair = Connect(network);
  ASSERT_TRUE(pair.ok());
  std::vector<std::byte> buffer(3 * kMostBytes);
  const Result<void*> memory = pair->receiver->Register(buffer);
  ASSERT_TRUE(memory.ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(*pair->receiver->Receive(
        std::span(buffer).subspan(static_cast<std::size_t>(i) * kMostBytes, kMostBytes), 0, *memory));
  }
  const std::int64_t begin_ns = sys::NowNs();
  const Status status = pair->receiver->Drain(begin_ns + 50 * sys::kNsPerMs);
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_NE(status.message().find("3 requests"), std::string::npos) << status.message();
  EXPECT_GE(sys::NowNs() - begin_ns, 50 * sys::kNsPerMs);
  EXPECT_EQ(pair->receiver->in_flight(), 3u);
  // Closing with these in flight, and with a sender that has some too.
  std::vector<std::byte> out(kMostBytes);
  const Result<void*> from = pair->sender->Register(out);
  ASSERT_TRUE(from.ok());
  pair->receiver.reset();
  ASSERT_TRUE(pair->sender->Send(out, 0, *from).ok());
  pair->sender.reset();
  if (script_ != nullptr) {
    EXPECT_EQ(script_->given_up, 4);
  }
}

class ScriptedPlugin : public EachPlugin {};
INSTANTIATE_TEST_SUITE_P(Scripted, ScriptedPlugin,
                         testing::Values("tests-scripted-v6", "tests-scripted-v7", "tests-scripted-v10",
                                         "tests-scripted-v11", "tests-scripted-v12"),
                         [](const auto& info) { return std::string(info.param).substr(15); });

TEST_P(ScriptedPlugin, NotYetIsAskedAgain) {
  script_->not_yet = 3;
  const std::shared_ptr<Network> network = Start();
  ASSERT_NE(network, nullptr);
  Result<Pair> pair = Connect(network, 1);
  ASSERT_TRUE(pair.ok()) << pair.status().message();
  Exchange(*pair, 150, 4, true);
}

TEST_P(ScriptedPlugin, SizesMayBeMissing) {
  script_->tells_sizes = false;
  const std::shared_ptr<Network> network = Start();
  ASSERT_NE(network, nullptr);
  Result<Pair> pair = Connect(network);
  ASSERT_TRUE(pair.ok());
  Exchange(*pair, 100, 5, false);
}

TEST_P(ScriptedPlugin, ACallThatNobodyTakesHasADeadline) {
  script_->nobody_comes = true;
  const std::shared_ptr<Network> network = Start();
  ASSERT_NE(network, nullptr);
  const std::int64_t begin_ns = sys::NowNs();
  const Result<Pair> pair = Connect(network, 0, begin_ns + 80 * sys::kNsPerMs);
  ASSERT_FALSE(pair.ok());
  EXPECT_EQ(pair.status().code(), Code::kTimeout) << pair.status().message();
  EXPECT_GE(sys::NowNs() - begin_ns, 80 * sys::kNsPerMs);
  EXPECT_NE(pair.status().message().find("rank 1 on host b"), std::string::npos);
  EXPECT_NE(pair.status().message().find("scripted0"), std::string::npos);
}

TEST_P(ScriptedPlugin, ErrorsOfEachCallAreHandedOn) {
  for (const char* function : {"listen", "connect", "accept", "regMr", "isend", "irecv", "test"}) {
    script_ = NewScript(std::stoi(std::string(GetParam()).substr(16)));
    script_->fails = function;
    script_->works = std::string(function) == "test" ? 2 : 0;
    script_->error = 6;
    plugin::Catalog catalog;
    Result<std::shared_ptr<Network>> network = catalog.Choose({.plugins = PathOf(GetParam())});
    ASSERT_TRUE(network.ok() && *network != nullptr);
    Status status;
    {
      Result<Pair> pair = Connect(*network);
      status = pair.status();
      std::vector<std::byte> out(1000), in(1000);
      const auto step = [&](const Status& next) { status = status.ok() ? next : status; };
      Result<void*> from = nullptr, to = nullptr;
      if (status.ok()) step((from = pair->sender->Register(out)).status());
      if (status.ok()) step((to = pair->receiver->Register(in)).status());
      for (int i = 0; i < 3 && status.ok(); ++i) {
        step(pair->receiver->Receive(in, 0, *to).status());
        if (status.ok()) step(pair->sender->Send(out, 0, *from).status());
        if (status.ok()) step(pair->sender->Drain(SoonNs()));
        if (status.ok()) step(pair->receiver->Drain(SoonNs()));
      }
    }
    network = std::shared_ptr<Network>();
    EXPECT_EQ(status.code(), Code::kRemote) << function;
    EXPECT_NE(status.message().find(std::string(function) + " with ncclRemoteError"), std::string::npos)
        << status.message();
    EXPECT_EQ(script_->open_comms, 0) << function;
    EXPECT_EQ(script_->open_memory, 0) << function;
  }
}

TEST_P(ScriptedPlugin, ErrorsWhileClosingHarmNobody) {
  for (const char* function : {"deregMr", "closeSend", "closeRecv", "closeListen"}) {
    script_ = NewScript(std::stoi(std::string(GetParam()).substr(16)));
    script_->fails = function;
    plugin::Catalog catalog;
    Result<std::shared_ptr<Network>> network = catalog.Choose({.plugins = PathOf(GetParam())});
    ASSERT_TRUE(network.ok() && *network != nullptr);
    Result<Pair> pair = Connect(*network);
    ASSERT_TRUE(pair.ok());
    Exchange(*pair, 50, 6, true);
  }
}

}  // namespace
}  // namespace tutti::tests
