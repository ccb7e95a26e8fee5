// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary frames to the links with a rank of another host, over two flows of which one may be lost in between. No frame may
// write outside the memory that is there for it, and nothing counts as come that has not come whole. The executor reads what it is
// shown. At some point the rank may stop, and then what its executor awaited data in is freed.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (a credit for a line "crashes") must be found within seconds.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "proto/ll.h"
#include "proto/ll128.h"
#include "sys/os/memory.h"
#include "transport/net/frame.h"
#include "transport/net/remote_rank.h"
#include "transport/net/wire.h"

namespace tutti::transport::net {
namespace {

constexpr RingSizes kRings{.log2_ll_units = 3, .log2_ll128_lines = 3, .log2_posts = 3};
constexpr int kFlows = 2;
constexpr std::size_t kAwaitedBytes = kPieceGranule + 100;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Delivers the frames of its input, and sends nothing.
class FuzzedWire final : public Wire {
 public:
  explicit FuzzedWire(std::span<const std::byte> in) : in_(in) {}
  std::string Name() const override { return "fuzzed"; }
  bool HasRoom() const override { return false; }
  bool busy() const override { return false; }
  bool unfinished() const override { return false; }
  void Add(FrameHeader, std::span<const std::byte>) override {}
  void AddOwned(FrameHeader, std::vector<std::byte>) override {}
  Result<bool> Send() override { return false; }
  std::uint64_t Added() const override { return 0; }
  std::size_t Backlog() const override { return 0; }
  std::optional<bool> WaitsForRoom() const override { return std::nullopt; }
  int fd() const override { return -1; }
  // A payload comes in two halves, of which the second comes with the next call.
  Result<bool> Receive(FrameSink& sink) override {
    if (!begun_) return Begin(sink);
    begun_ = false;
    Put(payload_.size() / 2, payload_.size());
    const Status ended = sink.End(header_, target_ != nullptr ? std::span<const std::byte>() : payload_);
    if (!ended.ok()) return ended;
    return true;
  }
  void Divert(std::byte* instead) override {
    Require(begun_ && target_ != nullptr);
    target_ = instead;
  }

 private:
  Result<bool> Begin(FrameSink& sink) {
    if (in_.size() < sizeof(header_)) return Status(Code::kRemote, "the end");
    std::memcpy(&header_, in_.data(), sizeof(header_));
    in_ = in_.subspan(sizeof(header_));
#ifdef TUTTI_FUZZ_CANARY
    Require(header_.kind != FrameKind::kCredit || header_.mark != 1);
#endif
    const Result<std::byte*> target = sink.Begin(header_);
    if (!target.ok()) return target.status();
    if (*target == nullptr && header_.bytes > kMostStagedBytes) return Status(Code::kRemote, "too long");
    target_ = *target;
    begun_ = true;
    // Of large payloads the input holds the beginning, and the rest is what that is made to: so that inputs stay small.
    const std::span<const std::byte> there = in_.first(std::min<std::size_t>(in_.size(), header_.bytes % 4096));
    in_ = in_.subspan(there.size());
    payload_.assign(header_.bytes, std::byte{0});
    std::ranges::copy(there, payload_.begin());
    Put(0, payload_.size() / 2);
    return true;
  }
  void Put(std::size_t from, std::size_t to) {
    if (target_ != nullptr && from < to) std::memcpy(target_ + from, payload_.data() + from, to - from);
  }

  std::span<const std::byte> in_;
  FrameHeader header_{};
  std::vector<std::byte> payload_;
  std::byte* target_ = nullptr;
  bool begun_ = false;
};

void Read(Incoming& in) {
  const std::uint64_t number = in.credit->posts.load();
  const proto::Post& post = in.posts[number % kRings.posts()];
  if (post.sequence.load() != number + 1) return;
  const bool placed = post.kind == proto::PostKind::kPlaced;
  Require(placed ? post.bytes == kAwaitedBytes : post.address + post.bytes <= kLandingBytes);
  const std::byte* const there =
      placed ? reinterpret_cast<const std::byte*>(post.address) : in.short_pool + post.address;
  unsigned sum = 0;
  for (std::size_t i = 0; i < post.bytes; i += 512) sum += std::to_integer<unsigned>(there[i]);
  in.credit->posts.store(number + 1 + (sum & 0U));
}

}  // namespace
}  // namespace tutti::transport::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::transport;
  using namespace tutti::transport::net;
  if (size < 2) return 0;
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(data) + 2, size - 2);
  std::vector<tutti::proto::LlLine> ll(kRings.ll_units() * tutti::proto::kLlLinesPerUnit);
  std::vector<tutti::proto::Ll128Line> ll128(kRings.ll128_lines());
  std::vector<tutti::proto::Post> posts(kRings.posts());
  tutti::proto::Credit credit{};
  // Of its size exactly, so that the sanitizer sees what lies beyond. Made once: that takes longer than a run.
  static const std::size_t bytes = CutLinks::MemoryBytes(kRings);
  static const std::unique_ptr<std::byte, void (*)(void*)> memory(
      static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), &std::free);
  std::memset(memory.get(), 0, bytes - kLandingBytes);
  Outgoing out{.ll = ll.data(), .ll128 = ll128.data(), .posts = posts.data()};
  Incoming in{.credit = &credit};
  RemoteRank rank({.rank = 1, .host = "other"}, {.all = kFlows, .first = kFlows}, kRings, out, in, nullptr,
                  memory.get());
  const std::size_t cut = data[0] * input.size() / 255;
  rank.Join(0, RemoteRank::Side::kCaller, std::make_unique<FuzzedWire>(input.first(cut)), 1);
  rank.Join(1, RemoteRank::Side::kCalled, std::make_unique<FuzzedWire>(input.subspan(cut)), 2);
  auto place = std::make_unique<std::byte[]>(kAwaitedBytes);
  const int stops_at = data[1];
  for (int turn = 0; turn < 64 && rank.connected() > 0; ++turn) {
    if (turn == stops_at) {
      rank.Stop();
      place.reset();
    }
    if (place != nullptr) {
      const std::uint64_t mark = data[0] % 4;
      rank.Await({.post = credit.posts.load(), .mark = mark, .where = place.get(), .bytes = kAwaitedBytes});
    }
    (void)rank.ExchangeAll(RemoteRank::Credits::kDue);
    if (place != nullptr) Read(in);
  }
  return 0;
}
