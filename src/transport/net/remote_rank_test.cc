// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Two ranks of different hosts whose flows deliver in parts, stop, break at any byte and come back, as a seed says: what one
// writes into its links the other reads, once, whole and in order.
#include "transport/net/remote_rank.h"
#include "transport/net/frame.h"
#include "transport/net/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "proto/ll.h"
#include "proto/ll128.h"
#include "sys/os/clock.h"
#include "sys/os/memory.h"
#include "tests/support/sanitizers.h"

namespace tutti::transport::net {
namespace {

using Random = std::mt19937;

std::size_t Below(Random& random, std::size_t limit) { return random() % limit; }

// What both ends of a scripted connection share.
struct Cable {
  explicit Cable(Random& random) : random(random) {}
  Random& random;
  bool broken = false;
  std::array<std::deque<std::byte>, 2> under_way;  // to end 0 and to end 1
};

class ScriptedWire final : public Wire {
 public:
  ScriptedWire(std::shared_ptr<Cable> cable, int end) : cable_(std::move(cable)), end_(end) {}
  ~ScriptedWire() override { cable_->broken = true; }

  std::string Name() const override { return "scripted"; }
  bool HasRoom() const override { return frames_ < 3; }
  bool busy() const override { return frames_ > 0; }
  bool unfinished() const override { return busy(); }
  void Add(FrameHeader header, std::span<const std::byte> payload) override {
    header.bytes = static_cast<std::uint32_t>(payload.size());
    const auto head = std::as_bytes(std::span(&header, 1));
    added_.insert(added_.end(), head.begin(), head.end());
    added_.insert(added_.end(), payload.begin(), payload.end());
    total_ += head.size() + payload.size();
    ++frames_;
  }
  void AddOwned(FrameHeader header, std::vector<std::byte> payload) override { Add(header, payload); }
  Result<bool> Send() override {
    if (cable_->broken) return Status(Code::kRemote, "broken");
    std::deque<std::byte>& out = cable_->under_way[1 - end_];
    const std::size_t bytes = Below(cable_->random, 4) == 0 ? Below(cable_->random, added_.size() + 1) : added_.size();
    out.insert(out.end(), added_.begin(), added_.begin() + static_cast<std::ptrdiff_t>(bytes));
    added_.erase(added_.begin(), added_.begin() + static_cast<std::ptrdiff_t>(bytes));
    if (added_.empty()) frames_ = 0;
    return bytes > 0;
  }
  std::uint64_t Added() const override { return total_; }
  std::size_t Backlog() const override { return added_.size() + cable_->under_way[1 - end_].size(); }
  std::optional<bool> WaitsForRoom() const override { return std::nullopt; }
  Result<bool> Receive(FrameSink& sink) override {
    std::deque<std::byte>& in = cable_->under_way[end_];
    if (in.empty() && cable_->broken) return Status(Code::kRemote, "broken");
    const std::size_t bytes = Below(cable_->random, 3) == 0 ? Below(cable_->random, in.size() + 1) : in.size();
    come_.insert(come_.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(bytes));
    in.erase(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(bytes));
    while (true) {
      if (!begun_) {
        if (come_.size() < kFrameHeaderBytes) return bytes > 0;
        std::memcpy(&header_, come_.data(), kFrameHeaderBytes);
        const Result<std::byte*> target = sink.Begin(header_);
        if (!target.ok()) return target.status();
        target_ = *target;
        begun_ = true;
      }
      // A place is written as far as the payload has come, like a socket does.
      const std::size_t there = std::min<std::size_t>(come_.size() - kFrameHeaderBytes, header_.bytes);
      if (target_ != nullptr) std::memcpy(target_, come_.data() + kFrameHeaderBytes, there);
      if (there < header_.bytes) return bytes > 0;
      const std::span<const std::byte> payload(come_.data() + kFrameHeaderBytes, target_ == nullptr ? there : 0);
      if (const Status ended = sink.End(header_, payload); !ended.ok()) return ended;
      come_.erase(come_.begin(), come_.begin() + static_cast<std::ptrdiff_t>(kFrameHeaderBytes + there));
      begun_ = false;
    }
  }
  void Divert(std::byte* instead) override { target_ = instead; }
  int fd() const override { return -1; }

 private:
  const std::shared_ptr<Cable> cable_;
  const int end_;
  std::vector<std::byte> added_, come_;
  int frames_ = 0;
  std::uint64_t total_ = 0;
  FrameHeader header_;
  bool begun_ = false;
  std::byte* target_ = nullptr;
};

constexpr RingSizes kRings{.log2_ll_units = 3, .log2_ll128_lines = 3, .log2_posts = 3};

std::byte DataOf(int from, std::uint64_t post, std::size_t at) {
  return static_cast<std::byte>((at * 7 + post * 31 + static_cast<std::uint64_t>(from)) % 251);
}
std::uint64_t WordOf(int from, std::uint64_t unit, std::size_t word) {
  return (unit << 8 | word << 1) + static_cast<std::uint64_t>(from) + 1;
}

constexpr std::size_t kSizes[] = {0, 1, 1000, kPieceGranule, kPieceGranule + 5, 3 * kPieceGranule, 300'000};

// A rank with its rings, and what its executor does.
class End {
 public:
  End(int number, FlowCount flows, std::uint64_t count) : number_(number), count_(count) {
    out_.ll = ll_.data();
    out_.ll128 = ll128_.data();
    out_.posts = posts_.data();
    in_.credit = &credit_;
    memory_ = *sys::PrivatePages::Make(CutLinks::MemoryBytes(kRings));
    rank_ = std::make_unique<RemoteRank>(RemotePeer{.rank = 1 - number, .host = "other"}, flows, kRings, out_, in_,
                                         nullptr, memory_.data());
  }

  RemoteRank& rank() const { return *rank_; }
  int placed() const { return placed_; }
  // Nothing may be put there any more.
  void FillPlaces(std::byte value) {
    for (std::vector<std::byte>& place : places_) std::ranges::fill(place, value);
  }
  bool PlacesHold(std::byte value) const {
    return std::ranges::all_of(places_, [&](const std::vector<std::byte>& place) {
      return std::ranges::all_of(place, [&](std::byte byte) { return byte == value; });
    });
  }
  bool Done() const { return credit_.posts == count_ && credit_.ll_units == count_; }

  void Write(Random& random) {
    if (written_ < count_ && written_ - out_.credit->posts.load() < kRings.posts()) {
      std::vector<std::byte>& data = data_[written_ % kRings.posts()];
      data.resize(kSizes[Below(random, std::size(kSizes))]);
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = DataOf(number_, written_, i);
      proto::Post& post = posts_[written_ % kRings.posts()];
      post.address = reinterpret_cast<std::uint64_t>(data.data());
      post.bytes = data.size();
      post.kind = proto::PostKind::kReference;
      post.mark = written_ + 5;
      out_.post_head = ++written_;
    }
    if (units_written_ < count_ && units_written_ - out_.credit->ll_units.load() < kRings.ll_units()) {
      auto* words = reinterpret_cast<std::uint64_t*>(&ll_[units_written_ % kRings.ll_units() * proto::kLlLinesPerUnit]);
      for (std::size_t i = 0; i < proto::kLlUnitBytes / 8; ++i) words[i] = WordOf(number_, units_written_, i);
      out_.ll_head = ++units_written_;
    }
    rank_->NoteWritten();
  }

  // Says where some message may be put that has not been read: not of the right length, or of another call, now and then.
  void Await(Random& random) {
    const std::uint64_t post_number = credit_.posts.load() + Below(random, kRings.posts());
    std::vector<std::byte>& place = places_[post_number % kRings.posts()];
    if (place.empty()) place.resize(300'000);
    rank_->Await({.post = post_number,
                  .mark = post_number + 5 + (Below(random, 8) == 0 ? 1 : 0),
                  .where = place.data(),
                  .bytes = kSizes[Below(random, std::size(kSizes))]});
  }

  // An error in words, or nothing.
  std::string Read() {
    const std::uint64_t post_number = credit_.posts.load();
    const proto::Post& post = in_.posts[post_number % kRings.posts()];
    if (post.sequence.load() == post_number + 1) {
      if (post.mark != post_number + 5) return "a post of another mark";
      const bool placed = post.kind == proto::PostKind::kPlaced;
      const std::vector<std::byte>& place = places_[post_number % kRings.posts()];
      if (placed && reinterpret_cast<const std::byte*>(post.address) != place.data()) return "another place";
      placed_ += placed ? 1 : 0;
      const std::byte* const data = placed ? place.data() : in_.short_pool + post.address;
      for (std::size_t i = 0; i < post.bytes; ++i) {
        if (data[i] != DataOf(1 - number_, post_number, i)) {
          return "post " + std::to_string(post_number) + " is wrong at byte " + std::to_string(i);
        }
      }
      credit_.posts.store(post_number + 1);
    }
    const std::uint64_t unit = credit_.ll_units.load();
    const auto* words =
        reinterpret_cast<const std::uint64_t*>(&in_.ll[unit % kRings.ll_units() * proto::kLlLinesPerUnit]);
    for (std::size_t i = 0; i < proto::kLlUnitBytes / 8; ++i) {
      if (words[i] != WordOf(1 - number_, unit, i)) return "";  // has not come
    }
    credit_.ll_units.store(unit + 1);
    return "";
  }

 private:
  const int number_;
  const std::uint64_t count_;
  std::vector<proto::LlLine> ll_ = std::vector<proto::LlLine>(kRings.ll_units() * proto::kLlLinesPerUnit);
  std::vector<proto::Ll128Line> ll128_ = std::vector<proto::Ll128Line>(kRings.ll128_lines());
  std::vector<proto::Post> posts_ = std::vector<proto::Post>(kRings.posts());
  std::array<std::vector<std::byte>, 8> data_, places_;
  int placed_ = 0;
  Outgoing out_;
  Incoming in_;
  proto::Credit credit_{};
  sys::PrivatePages memory_;
  std::unique_ptr<RemoteRank> rank_;
  std::uint64_t written_ = 0, units_written_ = 0;
};

struct Script {
  int flows, first;
  std::size_t break_one_in;  // turns; 0: never
  bool awaits = true;
};

// `placed`: grows by the messages that were put where they were awaited.
std::string Play(unsigned seed, const Script& script, int& placed) {
  Random random(seed);
  constexpr std::uint64_t kCount = 60;
  std::array<std::unique_ptr<End>, 2> ends;
  for (int i : {0, 1})
    ends[static_cast<std::size_t>(i)] =
        std::make_unique<End>(i, FlowCount{.all = script.flows, .first = script.first}, kCount);
  std::vector<std::shared_ptr<Cable>> cables(static_cast<std::size_t>(script.flows));
  std::uint64_t names = 0;
  for (int turn = 0; turn < 1'000'000; ++turn) {
    const std::size_t flow = Below(random, cables.size());
    const bool away = cables[flow] == nullptr || cables[flow]->broken;
    if (away && Below(random, 8) == 0) {
      cables[flow] = std::make_shared<Cable>(random);
      ++names;
      for (int i : {0, 1}) {
        const auto side = i == 0 ? RemoteRank::Side::kCaller : RemoteRank::Side::kCalled;
        ends[static_cast<std::size_t>(i)]->rank().Join(static_cast<int>(flow), side,
                                                       std::make_unique<ScriptedWire>(cables[flow], i), names);
      }
    }
    if (script.break_one_in != 0 && !away && Below(random, script.break_one_in) == 0) {
      cables[flow]->broken = true;
      // What was under way may be lost in part.
      for (std::deque<std::byte>& way : cables[flow]->under_way) way.resize(Below(random, way.size() + 1));
    }
    End& end = *ends[Below(random, 2)];
    if (Below(random, 3) == 0) end.Write(random);
    if (script.awaits && Below(random, 2) == 0) end.Await(random);
    const auto credits = Below(random, 4) == 0 ? RemoteRank::Credits::kAll : RemoteRank::Credits::kDue;
    if (Below(random, 2) == 0) end.rank().ExchangeAll(credits);
    if (Below(random, 4) == 0) end.rank().ExchangeBy(0, 1);
    if (const std::string wrong = end.Read(); !wrong.empty()) return wrong;
    if (!ends[0]->Done() || !ends[1]->Done()) continue;
    placed += ends[0]->placed() + ends[1]->placed();
    return "";
  }
  return "not all has come";
}

TEST(RemoteRank, WhatIsWrittenIsRead) {
  int awaited = 0;
  for (const Script& script : {Script{1, 1, 0}, Script{3, 3, 0}, Script{4, 1, 0}, Script{1, 1, 40}, Script{2, 2, 40},
                               Script{3, 3, 15}, Script{4, 2, 30}, Script{3, 3, 15, false}}) {
    int placed = 0;
    for (unsigned seed = 0; seed < tests::Scaled(12); ++seed) {
      ASSERT_EQ(Play(seed, script, placed), "") << script.flows << " flows, " << script.first << " first, one break in "
                                                << script.break_one_in << ", seed " << seed;
    }
    if (!script.awaits) {
      EXPECT_EQ(placed, 0);
    }
    awaited += placed;
  }
  EXPECT_GT(awaited, 0);
}

// The user may free buffers once a rank has failed.
TEST(RemoteRank, NothingIsPutWhereItWasAwaitedAfterTheEnd) {
  constexpr std::byte kFreed{0xEE};
  int cut_short = 0;
  for (unsigned seed = 0; seed < tests::Scaled(40); ++seed) {
    Random random(seed);
    End a(0, {.all = 2, .first = 2}, 1000), b(1, {.all = 2, .first = 2}, 1000);
    for (int flow : {0, 1}) {
      const auto cable = std::make_shared<Cable>(random);
      a.rank().Join(flow, RemoteRank::Side::kCaller, std::make_unique<ScriptedWire>(cable, 0), 1);
      b.rank().Join(flow, RemoteRank::Side::kCalled, std::make_unique<ScriptedWire>(cable, 1), 1);
    }
    for (int turn = 0; turn < 200; ++turn) {
      if (turn == 100) {
        b.rank().Stop();
        b.FillPlaces(kFreed);
      }
      a.Write(random);
      b.Await(random);
      a.rank().ExchangeAll(RemoteRank::Credits::kAll);
      b.rank().ExchangeAll(RemoteRank::Credits::kAll);
      if (turn < 100) {
        ASSERT_EQ(b.Read(), "");
      }
    }
    EXPECT_TRUE(b.PlacesHold(kFreed)) << "seed " << seed;
    cut_short += b.placed() > 0 ? 1 : 0;
  }
  EXPECT_GT(cut_short, 0);
}

TEST(RemoteRank, ItsWordComesAfterAllItHasSent) {
  Random random(1);
  End a(0, {.all = 2, .first = 2}, 1), b(1, {.all = 2, .first = 2}, 1);
  std::array<std::shared_ptr<Cable>, 2> cables = {std::make_shared<Cable>(random), std::make_shared<Cable>(random)};
  for (int flow : {0, 1}) {
    const auto& cable = cables[static_cast<std::size_t>(flow)];
    a.rank().Join(flow, RemoteRank::Side::kCaller, std::make_unique<ScriptedWire>(cable, 0), 1);
    b.rank().Join(flow, RemoteRank::Side::kCalled, std::make_unique<ScriptedWire>(cable, 1), 1);
  }
  a.Write(random);
  a.rank().Tell({.state = RankState::kLeft, .collectives = 7});
  for (int turn = 0; turn < 1000 && b.rank().state() != RankState::kLeft; ++turn) {
    a.rank().ExchangeAll(RemoteRank::Credits::kAll);
    b.rank().ExchangeAll(RemoteRank::Credits::kAll);
  }
  EXPECT_EQ(b.rank().state(), RankState::kLeft);
  EXPECT_EQ(b.rank().said().collectives, 7U);
  EXPECT_EQ(b.Read(), "");
  EXPECT_TRUE(b.Done());
}

// Two ends that write and read over connection 0 for so long, or as long as one of them has its connection 1.
void WorkWhileConnected(End& a, End& b, const End& watched, std::int64_t most_ns, Random& random) {
  const std::int64_t end_ns = sys::NowNs() + most_ns;
  while (sys::NowNs() < end_ns && watched.rank().IsConnected(1)) {
    for (End* end : {&a, &b}) end->Write(random);
    for (End* end : {&a, &b}) end->rank().ExchangeAll(RemoteRank::Credits::kAll);
    ASSERT_EQ(a.Read(), "");
    ASSERT_EQ(b.Read(), "");
  }
}

void ConnectBoth(End& a, End& b, const std::shared_ptr<Cable>& cable) {
  a.rank().Join(0, RemoteRank::Side::kCaller, std::make_unique<ScriptedWire>(cable, 0), 1);
  b.rank().Join(0, RemoteRank::Side::kCalled, std::make_unique<ScriptedWire>(cable, 1), 1);
}

// Of two connections one has just been made, and the caller is slow to speak over it.
TEST(RemoteRank, AConnectionOverWhichNothingWasSaidHasNotStalled) {
  Random random(1);
  End a(0, {.all = 2, .first = 2}, 1U << 30), b(1, {.all = 2, .first = 2}, 1U << 30);
  ConnectBoth(a, b, std::make_shared<Cable>(random));
  const auto silent = std::make_shared<Cable>(random);
  b.rank().Join(1, RemoteRank::Side::kCalled, std::make_unique<ScriptedWire>(silent, 1), 2);
  WorkWhileConnected(a, b, b, 1500 * sys::kNsPerMs, random);
  EXPECT_TRUE(b.rank().IsConnected(1));
  EXPECT_TRUE(b.rank().IsConnected(0));
}

// And one over which data do not go on, while they do over the other.
TEST(RemoteRank, AConnectionOverWhichNothingArrivesAnyMoreIsGivenUp) {
  Random random(1);
  End a(0, {.all = 2, .first = 2}, 1U << 30), b(1, {.all = 2, .first = 2}, 1U << 30);
  ConnectBoth(a, b, std::make_shared<Cable>(random));
  const auto dead = std::make_shared<Cable>(random);
  a.rank().Join(1, RemoteRank::Side::kCaller, std::make_unique<ScriptedWire>(dead, 0), 2);
  WorkWhileConnected(a, b, a, 20 * sys::kNsPerSecond, random);
  EXPECT_FALSE(a.rank().IsConnected(1));
  EXPECT_TRUE(a.rank().IsConnected(0));
}

}  // namespace
}  // namespace tutti::transport::net
