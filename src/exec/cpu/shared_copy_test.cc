// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/shared_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <random>
#include <thread>
#include <vector>

namespace tutti::exec::cpu {
namespace {

constexpr std::uint64_t kMark = 77;

// A post and an offer, as the two ends of a link see them, and the buffers at both ends.
struct Copy {
  explicit Copy(std::size_t bytes) : source(bytes), landing(bytes), written(bytes) {
    for (std::size_t i = 0; i < bytes; ++i) source[i] = static_cast<std::byte>(i * 7 + i / 251);
    post.bytes = bytes;
    post.mark = kMark;
  }
  void Move(const Piece& piece) {
    std::memcpy(landing.data() + piece.begin, source.data() + piece.begin, piece.bytes);
    for (std::size_t i = 0; i < piece.bytes; ++i) ++written[piece.begin + i];
  }
  // The receiver: until everything is there.
  void Receive(std::uint64_t index) {
    std::size_t front = 0;
    while (!AllCopied(post, front, post.bytes)) {
      const Piece piece = ClaimFront(credit.offer, post, index, front, post.bytes);
      Move(piece);
      front += piece.bytes;
    }
  }
  // The sender: one piece, if there is one to take.
  bool HelpOnce(std::uint64_t index, Outcome outcome = Outcome::kCopied) {
    std::byte* to;
    const Piece piece = ClaimBack(credit.offer, post, index, &to);
    if (piece.bytes == 0) return false;
    EXPECT_EQ(to, landing.data());
    if (outcome == Outcome::kCopied) Move(piece);
    EndClaim(post, piece, outcome);
    return true;
  }
  void ExpectComplete() const {
    EXPECT_EQ(source, landing);
    EXPECT_EQ(std::ranges::count(written, 1), static_cast<std::ptrdiff_t>(post.bytes));
  }

  proto::Post post{};
  proto::Credit credit{};
  std::vector<std::byte> source, landing;
  std::vector<std::uint8_t> written;  // how often, of each byte
};

TEST(SharedCopy, ReceiverAloneCopiesAll) {
  Copy copy(1'000'003);
  OpenOffer(copy.credit.offer, 5, kMark, copy.landing.data());
  copy.Receive(5);
  copy.ExpectComplete();
  EXPECT_FALSE(copy.HelpOnce(5));
}

TEST(SharedCopy, SenderAloneCopiesAll) {
  Copy copy(1'000'003);
  OpenOffer(copy.credit.offer, 5, kMark, copy.landing.data());
  while (copy.HelpOnce(5)) {
  }
  EXPECT_TRUE(AllCopied(copy.post, 0, copy.post.bytes));
  copy.Receive(5);
  copy.ExpectComplete();
}

TEST(SharedCopy, BothTogetherCopyEveryByteOnce) {
  std::mt19937 random(20);
  for (int round = 0; round < 300; ++round) {
    const auto index = static_cast<std::uint64_t>(round);
    Copy copy(kLeastSharedBytes + random() % 400'000);
    std::thread sender([&] {
      while (copy.credit.posts.load() == 0) copy.HelpOnce(index);
    });
    OpenOffer(copy.credit.offer, index, kMark, copy.landing.data());
    copy.Receive(index);
    copy.credit.posts.store(1);
    sender.join();
    copy.ExpectComplete();
  }
}

TEST(SharedCopy, ReceiverCopiesWhatSenderCouldNot) {
  Copy copy(kLeastSharedBytes * 4);
  OpenOffer(copy.credit.offer, 1, kMark, copy.landing.data());
  EXPECT_TRUE(copy.HelpOnce(1));
  EXPECT_TRUE(copy.HelpOnce(1, Outcome::kFailed));
  copy.Receive(1);
  copy.ExpectComplete();
}

TEST(SharedCopy, ReceiverWaitsForWhatSenderHasClaimed) {
  Copy copy(kLeastSharedBytes);
  OpenOffer(copy.credit.offer, 1, kMark, copy.landing.data());
  std::byte* to;
  const Piece back = ClaimBack(copy.credit.offer, copy.post, 1, &to);
  ASSERT_GT(back.bytes, 0u);
  const Piece front = ClaimFront(copy.credit.offer, copy.post, 1, 0, copy.post.bytes);
  EXPECT_EQ(front.bytes, back.begin);
  EXPECT_FALSE(AllCopied(copy.post, front.bytes, copy.post.bytes));
  EXPECT_FALSE(Settled(copy.post));
  EndClaim(copy.post, back, Outcome::kCopied);
  EXPECT_TRUE(AllCopied(copy.post, front.bytes, copy.post.bytes));
  EXPECT_TRUE(Settled(copy.post));
}

// Each piece costs a system call.
TEST(SharedCopy, PiecesAreFewAndNoneLeavesAnEndMuchToWaitFor) {
  for (const std::size_t bytes : {kLeastSharedBytes, std::size_t{300'000}, std::size_t{1} << 20, kMostSharedBytes}) {
    std::size_t rest = bytes, last = 0;
    int pieces = 0;
    for (; rest > 0; rest -= last, ++pieces) {
      last = PieceBytes(rest, bytes);
      ASSERT_LE(last, rest);
      EXPECT_TRUE(last % 4096 == 0 || last == rest);
    }
    EXPECT_LE(pieces, 8) << bytes;
    EXPECT_LE(last, kMostLeastBytes) << bytes;
    EXPECT_LE(last, bytes / 2) << bytes;
  }
}

TEST(SharedCopy, ASenderThatComesLateFindsSomethingLeft) {
  Copy copy(8 << 20);
  OpenOffer(copy.credit.offer, 1, kMark, copy.landing.data());
  std::size_t front = 0;
  for (int pieces = 0; pieces < 3; ++pieces) {
    front += ClaimFront(copy.credit.offer, copy.post, 1, front, copy.post.bytes).bytes;
  }
  EXPECT_GT(front, 0u);
  std::byte* to;
  EXPECT_GE(ClaimBack(copy.credit.offer, copy.post, 1, &to).bytes, (copy.post.bytes - front) / 2);
}

TEST(SharedCopy, UnclaimedIsWhatBothEndsHaveLeft) {
  Copy copy(8 << 20);
  EXPECT_EQ(Unclaimed(copy.credit.offer, copy.post, 4), 0u);  // no offer yet
  OpenOffer(copy.credit.offer, 4, kMark, copy.landing.data());
  EXPECT_EQ(Unclaimed(copy.credit.offer, copy.post, 3), 0u);
  EXPECT_EQ(Unclaimed(copy.credit.offer, copy.post, 4), copy.post.bytes);
  const Piece front = ClaimFront(copy.credit.offer, copy.post, 4, 0, copy.post.bytes);
  std::byte* to;
  const Piece back = ClaimBack(copy.credit.offer, copy.post, 4, &to, 4);
  EXPECT_EQ(back.bytes, (copy.post.bytes - front.bytes) / 4);
  EXPECT_EQ(Unclaimed(copy.credit.offer, copy.post, 4), copy.post.bytes - front.bytes - back.bytes);
  EndClaim(copy.post, back, Outcome::kCopied);
  copy.Receive(4);
  EXPECT_EQ(Unclaimed(copy.credit.offer, copy.post, 4), 0u);
  RevokeOffer(copy.credit.offer, 4);
  EXPECT_EQ(Unclaimed(copy.credit.offer, copy.post, 4), 0u);
}

// A receiver of one message, at so many bytes a tick, and the sender of all of them at its own speed. No data are moved.
struct TimedReceiver {
  TimedReceiver(int peer, double speed, std::size_t bytes) : peer(peer), speed(speed) {
    post.bytes = bytes;
    post.mark = kMark;
    OpenOffer(credit.offer, 1, kMark, nullptr);
  }
  int peer;
  double speed, free_at = 0;
  std::size_t front = 0;
  proto::Post post{};
  proto::Credit credit{};
};

// Ticks until all have all, as the first end that is free takes its next piece.
double TimeToShare(const std::vector<double>& speeds, double sender_speed, std::size_t bytes) {
  std::deque<TimedReceiver> receivers;
  for (std::size_t i = 0; i < speeds.size(); ++i) receivers.emplace_back(static_cast<int>(i) + 1, speeds[i], bytes);
  const auto left = [](const TimedReceiver& r) { return Unclaimed(r.credit.offer, r.post, 1); };
  double sender_free_at = 0, end = 0;
  while (MostLeft(receivers, left) != receivers.end()) {
    TimedReceiver* first = nullptr;
    for (TimedReceiver& r : receivers) {
      if (left(r) > 0 && (first == nullptr || r.free_at < first->free_at)) first = &r;
    }
    if (first->free_at <= sender_free_at) {
      const std::size_t piece = ClaimFront(first->credit.offer, first->post, 1, first->front, bytes).bytes;
      first->front += piece;
      first->free_at += static_cast<double>(piece) / first->speed;
      end = std::max(end, first->free_at);
      continue;
    }
    auto& slowest = receivers[static_cast<std::size_t>(MostLeft(receivers, left)->peer) - 1];
    std::byte* to;
    const Piece piece = ClaimBack(slowest.credit.offer, slowest.post, 1, &to, EndsOf(receivers));
    EndClaim(slowest.post, piece, Outcome::kCopied);
    sender_free_at += static_cast<double>(piece.bytes) / sender_speed;
    end = std::max(end, sender_free_at);
  }
  return end;
}

// Three messages by four ends take three quarters of one. A sender that helped the first receiver until that had all, then the next, would
// need seven eighths.
TEST(SharedCopy, ReceiversOfOneSenderFinishTogether) {
  constexpr std::size_t kBytes = 8 << 20;
  EXPECT_NEAR(TimeToShare({1, 1, 1}, 1, kBytes) / kBytes, 0.75, 0.05);
  EXPECT_NEAR(TimeToShare({1, 1, 1, 1, 1, 1, 1}, 1, kBytes) / kBytes, 0.875, 0.05);
  EXPECT_NEAR(TimeToShare({1}, 1, kBytes) / kBytes, 0.5, 0.05);
  // Whoever of them is slow.
  for (std::size_t slow = 0; slow < 3; ++slow) {
    std::vector<double> speeds(3, 1.0);
    speeds[slow] = 0.5;
    EXPECT_NEAR(TimeToShare(speeds, 1, kBytes) / kBytes, 3 / 3.5, 0.1) << slow;
  }
}

TEST(SharedCopy, SeveralMessagesToOnePeerHaveItAsOneEnd) {
  struct Message {
    int peer;
  };
  EXPECT_EQ(EndsOf(std::vector<Message>{}), 1u);
  EXPECT_EQ(EndsOf(std::vector<Message>{{3}, {3}}), 2u);
  EXPECT_EQ(EndsOf(std::vector<Message>{{3}, {1}, {3}, {2}}), 4u);
}

TEST(SharedCopy, SenderTakesNothingOfAnotherPostOrCallOrRevokedOffer) {
  Copy copy(kLeastSharedBytes);
  EXPECT_FALSE(copy.HelpOnce(0));  // no offer yet
  OpenOffer(copy.credit.offer, 3, kMark, copy.landing.data());
  EXPECT_FALSE(copy.HelpOnce(2));
  EXPECT_FALSE(copy.HelpOnce(4));
  OpenOffer(copy.credit.offer, 3, kMark + 1, copy.landing.data());
  EXPECT_FALSE(copy.HelpOnce(3));
  OpenOffer(copy.credit.offer, 3, kMark, copy.landing.data());
  RevokeOffer(copy.credit.offer, 3);
  EXPECT_FALSE(copy.HelpOnce(3));
  OpenOffer(copy.credit.offer, 3, kMark, copy.landing.data());
  EXPECT_TRUE(copy.HelpOnce(3));
}

// After Revoke and Settled the landing belongs to the receiver again; ThreadSanitizer sees it if not.
TEST(SharedCopy, NothingIsWrittenOnceARevokedOfferHasSettled) {
  for (int round = 0; round < 300; ++round) {
    const auto index = static_cast<std::uint64_t>(round);
    Copy copy(kLeastSharedBytes * 8);
    std::thread sender([&] {
      while (copy.credit.posts.load() == 0) copy.HelpOnce(index);
    });
    OpenOffer(copy.credit.offer, index, kMark, copy.landing.data());
    if (round % 2 == 0) std::this_thread::yield();
    RevokeOffer(copy.credit.offer, index);
    while (!Settled(copy.post)) {
    }
    std::ranges::fill(copy.landing, std::byte{0});
    copy.credit.posts.store(1);
    sender.join();
    for (const std::byte b : copy.landing) ASSERT_EQ(b, std::byte{0});
  }
}

TEST(WholeOutput, IsForItsCallUntilItIsRevoked) {
  Copy copy(kLeastSharedBytes);
  proto::Offer& offer = copy.credit.offer;
  EXPECT_EQ(ClaimOutput(offer, copy.post, kMark), nullptr);  // no offer yet
  EXPECT_FALSE(OffersOutput(offer, kMark));
  OpenOffer(offer, 3, kMark, copy.landing.data());
  EXPECT_EQ(ClaimOutput(offer, copy.post, kMark), nullptr);  // of one post
  EXPECT_FALSE(OffersOutput(offer, kMark));
  OfferOutput(offer, 3, kMark, copy.landing.data());
  EXPECT_EQ(ClaimOutput(offer, copy.post, kMark + 1), nullptr);
  EXPECT_FALSE(OffersOutput(offer, kMark + 1));
  EXPECT_TRUE(OffersOutput(offer, kMark));
  EXPECT_TRUE(Settled(copy.post));
  for (int turn = 0; turn < 2; ++turn) {  // message by message
    EXPECT_EQ(ClaimOutput(offer, copy.post, kMark), copy.landing.data());
    EXPECT_FALSE(Settled(copy.post));
    EndOutput(copy.post);
    EXPECT_TRUE(Settled(copy.post));
  }
  RevokeOffer(offer, 3 + kOutputBit);
  EXPECT_EQ(ClaimOutput(offer, copy.post, kMark), nullptr);
  EXPECT_FALSE(OffersOutput(offer, kMark));
  EXPECT_TRUE(Settled(copy.post));
}

// The sender's inputs are messages of the same link and call, and must not be copied into the output.
TEST(WholeOutput, IsNoPlaceToCopyPostsTo) {
  Copy copy(kLeastSharedBytes);
  OfferOutput(copy.credit.offer, 3, kMark, copy.landing.data());
  for (std::uint64_t index = 0; index < 8; ++index) EXPECT_FALSE(copy.HelpOnce(index));
}

// As above, of outputs.
TEST(WholeOutput, NothingIsWrittenOnceARevokedOfferHasSettled) {
  std::size_t written = 0;
  for (int round = 0; round < 300; ++round) {
    const auto index = static_cast<std::uint64_t>(round);
    Copy copy(kLeastSharedBytes);
    std::atomic<std::size_t> claims = 0;
    std::thread sender([&] {
      while (copy.credit.posts.load() == 0) {
        std::byte* const out = ClaimOutput(copy.credit.offer, copy.post, kMark);
        if (out == nullptr) continue;
        std::memcpy(out, copy.source.data(), copy.source.size());
        EndOutput(copy.post);
        ++claims;
      }
    });
    OfferOutput(copy.credit.offer, index, kMark, copy.landing.data());
    if (round % 2 == 0) {
      while (claims.load() == 0) std::this_thread::yield();
    }
    RevokeOffer(copy.credit.offer, index + kOutputBit);
    while (!Settled(copy.post)) {
    }
    std::ranges::fill(copy.landing, std::byte{0});
    copy.credit.posts.store(1);
    sender.join();
    for (const std::byte b : copy.landing) ASSERT_EQ(b, std::byte{0});
    written += claims.load();
  }
  EXPECT_GE(written, 150u);
}

}  // namespace
}  // namespace tutti::exec::cpu
