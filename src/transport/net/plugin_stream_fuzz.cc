// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Plays the peer of a stream over a network plugin: says arbitrary bytes on its control connection, and delivers arbitrary messages
// over a plugin that exists here only. As the input says, what it says proves that it knows the session's key, or does not. The stream
// must hand on the bytes of messages that are in order, and nothing else; without the proofs nothing at all.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (a message of 7 bytes of data "crashes") must be found within seconds.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sys/net/auth.h"
#include "sys/net/tcp.h"
#include "sys/os/clock.h"
#include "tests/support/tcp_pair.h"
#include "transport/net/plugin/abi.h"
#include "transport/net/plugin/catalog.h"
#include "transport/net/plugin/net_plugin.h"
#include "transport/net/plugin_stream.h"
#include "transport/net/stream.h"

namespace tutti::transport::net {
namespace {

constexpr std::size_t kHeaderBytes = 8;  // of a message: its bytes, its number
constexpr std::size_t kCodeAt = 136;     // in what a side says of where its plugin listens
constexpr std::size_t kMostData = 64 - kHeaderBytes;

void Require(bool condition) {
  if (!condition) std::abort();
}

// What is left of the input.
class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::uint8_t Next() {
    if (bytes_.empty()) return 0;
    const auto next = std::to_integer<std::uint8_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    return next;
  }
  std::vector<std::byte> Take(std::size_t most) {
    const std::span<const std::byte> part = bytes_.first(std::min(most, bytes_.size()));
    bytes_ = bytes_.subspan(part.size());
    return {part.begin(), part.end()};
  }

 private:
  std::span<const std::byte> bytes_;
};

// What the peer knows and says.
struct Peer {
  Input input;
  sys::Key session{};
  bool proves_place = false, proves_comm = false, calls = false;
  std::vector<std::byte> place;  // of the stream, as far as it has said so
  std::uint32_t number = 0;      // of messages
  std::vector<std::byte> expected;
  bool strange = false;  // a message was out of its order or length: no more are expected
};

sys::Mac CodeOf(const sys::Key& session, std::string_view purpose, std::span<const std::byte> place) {
  return sys::ComputeMac(session, {sys::Bytes(purpose), place.first(kCodeAt)});
}

// A plugin whose peer is `peer`.
class FuzzedPlugin final : public plugin::NetPlugin {
 public:
  explicit FuzzedPlugin(Peer& peer) : peer_(peer) {}
  std::string name() const override { return "fuzzed"; }
  std::string Title() const override { return "fuzzed"; }
  std::string LoadedLine() const override { return "fuzzed"; }
  int most_requests() const override { return 8; }
  Status Init(std::uint64_t, int, void**) override { return Status::Ok(); }
  void Finalize(void*) override {}
  Result<int> CountDevices() override { return 1; }
  Result<plugin::Device> Describe(int) override { return plugin::Device{}; }
  Result<void*> Listen(void*, int, plugin::Handle& handle) override {
    handle.bytes.fill(std::byte{9});
    return this;
  }
  Result<void*> Connect(void*, int, int, plugin::Handle&) override { return this; }
  Result<void*> Accept(void*) override { return this; }
  Result<void*> Register(void*, void*, std::size_t, int) override { return this; }
  Status Deregister(void*, void*) override { return Status::Ok(); }
  Result<void*> Send(void*, const void*, std::size_t, int, void*) override { return &sent_; }
  Result<void*> Receive(void*, void* data, std::size_t bytes, int, void*) override {
    posted_.emplace_back(static_cast<std::byte*>(data), bytes);
    return &posted_;
  }
  Result<void*> Flush(void*, void*, std::size_t, void*) override { return nullptr; }
  Result<bool> Test(void* request, std::int64_t* bytes) override {
    if (bytes != nullptr) *bytes = -1;
    return request == &sent_ || Deliver(bytes);
  }
  Status CloseSend(void*) override { return Status::Ok(); }
  Status CloseReceive(void*) override {
    posted_.clear();
    return Status::Ok();
  }
  Status CloseListener(void*) override { return Status::Ok(); }

 private:
  bool Deliver(std::int64_t* said) {
    if (posted_.empty()) return false;
    const std::span<std::byte> room = posted_.front();
    const bool introduces = room.size() == sizeof(sys::Mac);  // the first message of each connection
    if (peer_.input.empty() && !introduces) return false;
    posted_.pop_front();
    const std::vector<std::byte> message = introduces ? Introduction() : NextMessage(room.size());
    std::copy_n(message.begin(), std::min(message.size(), room.size()), room.begin());
    if (said != nullptr && peer_.number % 2 == 0) *said = static_cast<std::int64_t>(message.size());
    return true;
  }
  std::vector<std::byte> Introduction() {
    if (!peer_.proves_comm || peer_.place.size() < kCodeAt) return peer_.input.Take(sizeof(sys::Mac));
    const sys::Mac code = CodeOf(peer_.session, "tutti plugin comm", peer_.place);
    return {code.begin(), code.end()};
  }
  std::vector<std::byte> NextMessage(std::size_t room) {
    const std::uint8_t kind = peer_.input.Next();
    if (kind >= 200) {
      peer_.strange = true;  // as a rule; where it happens to be right what follows is not looked at
      return peer_.input.Take(std::min<std::size_t>(room, kind - 199));
    }
    std::vector<std::byte> data = peer_.input.Take(1 + kind % kMostData);
    if (data.empty()) data.push_back(std::byte{1});
#ifdef TUTTI_FUZZ_CANARY
    Require(data.size() != 7);
#endif
    const std::uint32_t header[2] = {static_cast<std::uint32_t>(data.size()), ++peer_.number};
    std::vector<std::byte> message(kHeaderBytes);
    std::memcpy(message.data(), header, kHeaderBytes);
    message.insert(message.end(), data.begin(), data.end());
    Require(message.size() <= room);
    if (!peer_.strange) peer_.expected.insert(peer_.expected.end(), data.begin(), data.end());
    return message;
  }

  Peer& peer_;
  std::deque<std::span<std::byte>> posted_;
  int sent_ = 0;
};

// The two ends of one connection, which all inputs use.
std::array<sys::TcpConnection, 2> MakePair() {
  Result<std::array<sys::TcpConnection, 2>> ends = tests::MakeTcpPair(sys::NowNs() + 10 * sys::kNsPerSecond);
  Require(ends.ok());
  return std::move(*ends);
}

std::vector<std::byte> Drain(sys::TcpConnection& end) {
  std::vector<std::byte> all;
  std::array<std::byte, 4096> buffer;
  const std::span<std::byte> whole(buffer);
  while (true) {
    const Result<std::size_t> came = end.TryReceive(std::span(&whole, 1));
    if (!came.ok() || *came == 0) return all;
    all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*came));
  }
}

void Say(sys::TcpConnection& end, const std::vector<std::byte>& bytes) {
  const std::span<const std::byte> piece(bytes);
  if (!bytes.empty()) (void)end.TrySend(std::span(&piece, 1)).ok();
}

std::vector<std::byte> PlaceOf(Peer& peer) {
  if (!peer.proves_place) return peer.input.Take(kCodeAt + sizeof(sys::Mac));
  std::vector<std::byte> place(kCodeAt);
  const std::uint32_t form = 0x31505454, message_bytes = peer.input.Next() % 2 == 0 ? 64 : peer.input.Next();
  std::memcpy(place.data(), &form, sizeof(form));
  std::memcpy(place.data() + sizeof(form), &message_bytes, sizeof(message_bytes));
  const sys::Mac code = CodeOf(peer.session, "tutti plugin place", place);
  place.insert(place.end(), code.begin(), code.end());
  return place;
}

}  // namespace
}  // namespace tutti::transport::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  using namespace tutti::transport::net;
  if (size < 2) return 0;
  static std::array<sys::TcpConnection, 2> pair = MakePair();
  for (sys::TcpConnection& end : pair) (void)Drain(end);
  const std::uint8_t flags = data[0];
  Peer peer{.input = Input(std::as_bytes(std::span(data + 1, size - 1))),
            .proves_place = (flags & 1) != 0,
            .proves_comm = (flags & 2) != 0,
            .calls = (flags & 4) != 0};
  peer.session.fill(std::byte{3});
  static std::mutex mutex;
  const auto network = std::make_shared<plugin::Network>(
      std::make_shared<FuzzedPlugin>(peer), nullptr, plugin::Wishes{},
      std::vector<plugin::Device>{{.pointers = abi::kHostPointers, .max_bytes = 64}}, mutex);
  Result<sys::Fd> own = pair[0].socket().Duplicate();
  Require(own.ok());
  Result<sys::TcpConnection> control = sys::TcpConnection::Adopt(std::move(*own));
  Require(control.ok());
  Result<std::unique_ptr<Stream>> stream = OverPlugin(
      {.network = network, .called = (flags & 8) != 0, .session = peer.session, .peer = "rank 1"}, std::move(*control));
  Require(stream.ok());

  std::vector<std::byte> came;
  std::array<std::byte, 100> buffer;
  const std::span<std::byte> whole(buffer);
  bool said_place = false, said_call = false;
  for (int turn = 0; turn < 24; ++turn) {
    const std::byte one{1};
    const std::span<const std::byte> piece(&one, 1);
    const Result<std::size_t> sent = (*stream)->TrySend(std::span(&piece, 1));
    if (!sent.ok()) Require(sent.status().message().size() < 400);
    const std::vector<std::byte> heard = Drain(pair[1]);
    peer.place.insert(peer.place.end(), heard.begin(), heard.end());
    if (!std::exchange(said_place, true)) {
      Say(pair[1], PlaceOf(peer));
    } else if (!std::exchange(said_call, true)) {
      Say(pair[1], peer.calls ? std::vector{std::byte{1}} : peer.input.Take(3));
    }
    const Result<std::size_t> got = (*stream)->TryReceive(std::span(&whole, 1));
    if (!got.ok()) {
      Require(got.status().message().size() < 400);
      break;
    }
    came.insert(came.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got));
    Require(came.empty() || (peer.proves_place && peer.proves_comm));
    if (peer.strange) continue;
    Require(came.size() <= peer.expected.size() &&
            std::ranges::equal(came, std::span(peer.expected).first(came.size())));
  }
  return 0;
}
