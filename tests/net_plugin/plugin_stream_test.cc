// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Bytes that go over a network plugin, between two sides in one process.
#include "transport/net/plugin_stream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "sys/net/tcp.h"
#include "tests/net_plugin/test_plugins.h"
#include "tests/support/tcp_pair.h"
#include "transport/net/stream.h"

namespace tutti::tests {
namespace {

using plugin::Network;
using transport::net::OverPlugin;
using transport::net::Stream;

// Two ends of a TCP connection over lo.
std::array<sys::TcpConnection, 2> ControlPair() {
  Result<std::array<sys::TcpConnection, 2>> ends = tests::MakeTcpPair(SoonNs());
  EXPECT_TRUE(ends.ok()) << ends.status().message();
  return ends.ok() ? std::move(*ends) : std::array<sys::TcpConnection, 2>();
}

class PluginStreamTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    if (IsLibfabric(name) && !WhyNoLibfabric().empty()) GTEST_SKIP() << WhyNoLibfabric();
    if (name.find("scripted") != std::string::npos) {
      script_ = NewScript(std::stoi(name.substr(name.rfind('v') + 1)));
      ASSERT_NE(script_, nullptr);
      script_->not_yet = 2;
      script_->tells_sizes = false;
    }
    Result<std::shared_ptr<Network>> network = catalog_.Choose(WishesFor(name));
    ASSERT_TRUE(network.ok() && *network != nullptr);
    network_ = *network;
  }
  void TearDown() override {
    network_.reset();
    if (script_ == nullptr) return;
    EXPECT_EQ(script_->faults(), std::set<std::string>());
    EXPECT_EQ(script_->open_comms, 0);
    EXPECT_EQ(script_->open_memory, 0);
  }
  std::unique_ptr<Stream> Make(sys::TcpConnection control, bool called, std::byte key = std::byte{7}) {
    transport::net::PluginStreamOptions options{
        .network = network_, .called = called, .peer = called ? "caller" : "called"};
    options.session.fill(key);
    Result<std::unique_ptr<Stream>> stream = OverPlugin(std::move(options), std::move(control));
    EXPECT_TRUE(stream.ok()) << stream.status().message();
    return stream.ok() ? std::move(*stream) : nullptr;
  }

  plugin::Catalog catalog_;
  std::shared_ptr<Network> network_;
  Script* script_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(All, PluginStreamTest,
                         testing::Values("tests-tcp-v6", "tests-tcp-v8", "tests-tcp-v9", "tests-tcp-v11",
                                         "tests-tcp-v12", "tests-scripted-v6", "tests-scripted-v11",
                                         "libfabric tcp;ofi_rxm"),
                         [](const auto& info) { return NameOfTest(info.param); });

// One direction, checked as it comes.
struct Flow {
  std::vector<std::byte> data;
  std::size_t sent = 0, came = 0;
  std::vector<std::byte> buffer = std::vector<std::byte>(200'000);

  explicit Flow(std::size_t bytes, unsigned seed) : data(bytes) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
      const auto number = static_cast<std::uint32_t>(random());
      std::memcpy(&data[i], &number, 4);
    }
  }
  Status Send(Stream& stream, std::mt19937& random) {
    if (sent == data.size()) {
      const Result<std::size_t> none = stream.TrySend({});
      return none.status();
    }
    const std::span<const std::byte> rest = std::span(data).subspan(sent);
    const std::size_t first = std::min<std::size_t>(rest.size(), random() % 41);
    const std::size_t second = std::min<std::size_t>(rest.size() - first, random() % 150'000);
    const std::span<const std::byte> pieces[] = {rest.first(first), rest.subspan(first, second)};
    const Result<std::size_t> took = stream.TrySend(pieces);
    if (took.ok()) sent += *took;
    return took.status();
  }
  Status Receive(Stream& stream, std::mt19937& random) {
    const std::size_t first = random() % 100 + 1, second = random() % 100'000 + 1;
    const std::span<std::byte> buffers[] = {std::span(buffer).first(first), std::span(buffer).subspan(first, second)};
    const Result<std::size_t> got = stream.TryReceive(buffers);
    if (!got.ok()) return got.status();
    if (*got > data.size() - came) return Status(Code::kInternal, "more has come than was sent");
    if (std::memcmp(buffer.data(), data.data() + came, *got) != 0) return Status(Code::kInternal, "wrong data");
    came += *got;
    return Status::Ok();
  }
};

void Exchange(Stream& a, Stream& b, std::size_t bytes, unsigned seed) {
  Flow there(bytes, seed), back(bytes, seed + 1);
  std::mt19937 random(seed);
  const std::int64_t deadline_ns = SoonNs(60'000);
  while (there.came < bytes || back.came < bytes || a.busy() || b.busy()) {
    ASSERT_LT(sys::NowNs(), deadline_ns) << there.sent << " " << there.came << " " << back.sent << " " << back.came;
    for (const Status& status :
         {there.Send(a, random), there.Receive(b, random), back.Send(b, random), back.Receive(a, random)}) {
      ASSERT_TRUE(status.ok()) << status.message() << ", seed " << seed;
    }
  }
  EXPECT_EQ(a.Unacknowledged(), 0u);
}

TEST_P(PluginStreamTest, BytesGoBothWaysInOrder) {
  auto ends = ControlPair();
  const auto a = Make(std::move(ends[0]), false), b = Make(std::move(ends[1]), true);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_TRUE(a->busy());
  EXPECT_NE(a->Name().find("NET/"), std::string::npos);
  Exchange(*a, *b, 6'000'000, 11);
}

TEST_P(PluginStreamTest, WhatWasSaidBeforeTheEndIsReadFirst) {
  auto ends = ControlPair();
  auto a = Make(std::move(ends[0]), false);
  const auto b = Make(std::move(ends[1]), true);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  Exchange(*a, *b, 1000, 12);
  Flow last(300'000, 13);
  std::mt19937 random(13);
  const std::int64_t deadline_ns = SoonNs();
  while (last.sent < last.data.size() || a->busy()) {
    ASSERT_LT(sys::NowNs(), deadline_ns);
    ASSERT_TRUE(last.Send(*a, random).ok());
    // Only so much is read that all of it fits. Over libfabric data arrive while the receiver looks for them.
    if (!IsLibfabric(GetParam()) && last.sent - last.came <= 100'000) continue;
    ASSERT_TRUE(last.Receive(*b, random).ok());
  }
  a.reset();
  Status status;
  while (status.ok()) {
    ASSERT_LT(sys::NowNs(), deadline_ns);
    status = last.Receive(*b, random);
  }
  EXPECT_EQ(status.code(), Code::kRemote) << status.message();
  EXPECT_EQ(last.came, last.data.size());
}

TEST_P(PluginStreamTest, AnotherKeyIsRefused) {
  auto ends = ControlPair();
  const auto a = Make(std::move(ends[0]), false, std::byte{1}), b = Make(std::move(ends[1]), true, std::byte{2});
  ASSERT_TRUE(a != nullptr && b != nullptr);
  Status status;
  const std::int64_t deadline_ns = SoonNs();
  while (status.ok()) {
    ASSERT_LT(sys::NowNs(), deadline_ns);
    (void)a->TrySend({}).ok();
    status = b->TrySend({}).status();
  }
  EXPECT_EQ(status.code(), Code::kRemote);
  EXPECT_NE(status.message().find("a place has come that is none"), std::string::npos) << status.message();
}

// Hands on what one end of a connection says to another.
void HandOn(sys::TcpConnection& from, sys::TcpConnection& to, std::vector<std::byte>& seen) {
  std::array<std::byte, 1000> buffer;
  const std::span<std::byte> whole(buffer);
  const Result<std::size_t> came = from.TryReceive(std::span(&whole, 1));
  if (!came.ok() || *came == 0) return;
  seen.insert(seen.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*came));
  const std::span<const std::byte> part = std::span(buffer).first(*came);
  EXPECT_EQ(*to.TrySend(std::span(&part, 1)), *came);
}

// Somebody overhears where the plugin listens, and calls it before the peer does: one says something wrong, one nothing.
TEST_P(PluginStreamTest, StrangersThatCallFirstAreDropped) {
  if (IsLibfabric(GetParam())) GTEST_SKIP() << "its calls wait for an answer, which nobody gives here";
  auto caller_ends = ControlPair(), called_ends = ControlPair();
  const auto a = Make(std::move(caller_ends[0]), false), b = Make(std::move(called_ends[1]), true);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  std::vector<std::byte> place, other_place;
  const std::int64_t deadline_ns = SoonNs();
  while (place.size() < 168) {
    ASSERT_LT(sys::NowNs(), deadline_ns);
    ASSERT_TRUE(a->TrySend({}).ok());
    HandOn(caller_ends[1], called_ends[0], place);
  }
  plugin::Handle handle;
  std::memcpy(handle.bytes.data(), place.data() + 8, handle.bytes.size());
  std::vector<std::unique_ptr<plugin::SendComm>> strangers;
  std::vector<std::byte> wrong(32, std::byte{9});
  for (int i = 0; i < 2; ++i) {
    plugin::Connector connector(network_, 0, handle, "a stranger", SoonNs());
    std::unique_ptr<plugin::SendComm> stranger;
    while (stranger == nullptr) {
      Result<std::unique_ptr<plugin::SendComm>> made = connector.TryConnect();
      ASSERT_TRUE(made.ok()) << made.status().message();
      stranger = std::move(*made);
    }
    strangers.push_back(std::move(stranger));
  }
  const Result<void*> memory = strangers[1]->Register(wrong);
  ASSERT_TRUE(memory.ok());
  Result<bool> took = false;
  while (took.ok() && !*took) took = strangers[1]->Send(wrong, 0, *memory);
  while (a->busy() || b->busy()) {
    ASSERT_LT(sys::NowNs(), deadline_ns);
    (void)strangers[1]->TestOldest().ok();
    ASSERT_TRUE(a->TrySend({}).ok());
    ASSERT_TRUE(b->TrySend({}).ok());
    HandOn(caller_ends[1], called_ends[0], place);
    HandOn(called_ends[0], caller_ends[1], other_place);
  }
  Exchange(*a, *b, 100'000, 14);
  strangers.clear();
}

}  // namespace
}  // namespace tutti::tests
