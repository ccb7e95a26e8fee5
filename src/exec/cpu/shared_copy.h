// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_SHARED_COPY_H_
#define TUTTI_EXEC_CPU_SHARED_COPY_H_

// One copy by two cores. Where data goes one way and by reference, the receiver would copy while the sender only waits
// until its buffer has been read. So the receiver offers its buffer, then reads from the front, piece by piece; the sender,
// while it has nothing else to do, writes pieces from the back. Whoever is there does the work: no end waits for the other
// to begin, and an end that can not write leaves everything to the receiver. Of several receivers the sender helps the one that has most
// left, so that all finish together, whichever of them share a core with others.
//
//   0            front ->                     <- back                 bytes
//   +------------------+-----------------------+----------------------+
//   | receiver's       |        nobody's       | sender's             |
//   +------------------+-----------------------+----------------------+
//
// Every rank writes only to its own pages, so each end claims in a word of its own and then looks at the other's:
//
//   Offer::front  the receiver's  | post index + 1, modulo 2^40 | front, 24 bits |
//   Post::help    the sender's    | bytes claimed from the back | bytes copied   |
//
// Both are stored and loaded in sequentially consistent order, so of two claims at the same time at least one end sees the
// other's. A sender that finds its claim overlapped takes it back before it writes; a receiver cuts its own short. The
// receiver is done when the ends meet and `help` says that all that was claimed is copied. Then, and once it has revoked an
// offer, no sender writes any more: a claim made after that finds the front beyond it.
//
// The sender reads landing and mark after front, and looks at front again after its claim. They were stored with release
// order after the fronts of the offer before, so a sender that read a newer one's landing finds its claim overlapped.

// Whole outputs. A receiver may offer the output of an operation instead (OfferOutput). Then senders who have a value that it only has to
// store write that there at once. Such an offer belongs to no post. Who uses it claims with the post that will say so: in `help` of the
// next post of the link, before it is written.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "proto/simple.h"

namespace tutti::exec::cpu {

using proto::kLeastSharedBytes;

inline constexpr int kFrontBits = 24;
inline constexpr std::uint64_t kRevoked = (std::uint64_t{1} << kFrontBits) - 1;
inline constexpr std::size_t kMostSharedBytes = std::size_t{1} << 23;
// The receiver claims at most so much at once, so that a sender that comes late finds something left.
inline constexpr std::size_t kMostClaimedBytes = std::size_t{1} << 20;

inline std::uint64_t OfferWord(std::uint64_t post_index, std::uint64_t front) {
  return (post_index + 1) << kFrontBits | front;
}
inline std::uint64_t HelpWord(std::uint64_t claimed, std::uint64_t copied) { return claimed << 32 | copied; }
inline std::uint64_t Claimed(std::uint64_t help) { return help >> 32; }
inline std::uint64_t Copied(std::uint64_t help) { return help & 0xffffffff; }

// Some bytes of a message. Empty: nothing.
struct Piece {
  std::size_t begin = 0;
  std::size_t bytes = 0;
};

// The least that is claimed at once of a message of four times as much or more. A piece costs a system call of about a microsecond, in which
// 50 KiB are copied.
inline constexpr std::size_t kMostLeastBytes = std::size_t{128} << 10;

// How much to claim of the `rest` of a message of `bytes`: half, so that the ends finish together however late one of them
// begins, but little of it in small pieces, because each costs a system call. Whole pages. `ends`: a sender that shares copies with
// several receivers claims one part in as many as they are together.
inline std::size_t PieceBytes(std::size_t rest, std::size_t bytes, std::size_t ends = 2) {
  constexpr std::size_t kPage = 4096;
  const std::size_t least = std::max(std::clamp(bytes / 2 / kPage * kPage, kLeastSharedBytes / 2, kLeastSharedBytes),
                                     std::min(bytes / 4 / kPage * kPage, kMostLeastBytes));
  return rest <= least ? rest : std::max(least, rest / ends / kPage * kPage);
}

// The receiver's side.

// Lets the sender of post `post_index` of the link, if that carries `mark`, write to `landing`. REQUIRES: no earlier offer
// of the link is open.
inline void OpenOffer(proto::Offer& offer, std::uint64_t post_index, std::uint64_t mark, std::byte* landing) {
  offer.landing.store(reinterpret_cast<std::uint64_t>(landing), std::memory_order_release);
  offer.mark.store(mark, std::memory_order_release);
  offer.front.store(OfferWord(post_index, 0), std::memory_order_seq_cst);
}

// After this the sender claims nothing more; what it has claimed it may still be copying (Settled).
inline void RevokeOffer(proto::Offer& offer, std::uint64_t post_index) {
  offer.front.store(OfferWord(post_index, kRevoked), std::memory_order_seq_cst);
}
inline bool Settled(const proto::Post& post) {
  const std::uint64_t help = post.help.load(std::memory_order_seq_cst);
  return Claimed(help) == Copied(help);
}

// Claims the receiver's next piece of a message of `bytes` of which it has copied the first `front`. Empty where nothing is
// left or a claim of the sender's came first: look again.
inline Piece ClaimFront(proto::Offer& offer, const proto::Post& post, std::uint64_t post_index, std::size_t front,
                        std::size_t bytes) {
  const std::uint64_t help = post.help.load(std::memory_order_seq_cst);
  if (front + Claimed(help) >= bytes) return {front, 0};
  const std::size_t rest = bytes - Claimed(help) - front;
  // A sender that has not come while the first piece was copied is busy elsewhere, and may come late.
  const std::size_t wanted = std::min(front > 0 && help == 0 ? rest : PieceBytes(rest, bytes), kMostClaimedBytes);
  offer.front.store(OfferWord(post_index, front + wanted), std::memory_order_seq_cst);
  const std::size_t back = bytes - Claimed(post.help.load(std::memory_order_seq_cst));
  return {front, back > front ? std::min(wanted, back - front) : 0};
}

// Whether all of a message is there, of which the receiver has copied the first `front` bytes.
inline bool AllCopied(const proto::Post& post, std::size_t front, std::size_t bytes) {
  const std::uint64_t help = post.help.load(std::memory_order_seq_cst);
  return front + Claimed(help) >= bytes && Claimed(help) == Copied(help);
}

// The sender's side.

// The word by which the receiver offers to share post `post_index`; 0: it does not.
inline std::uint64_t Offered(const proto::Offer& offer, const proto::Post& post, std::uint64_t post_index) {
  const std::uint64_t word = offer.front.load(std::memory_order_acquire);
  if (word >> kFrontBits != OfferWord(post_index, 0) >> kFrontBits) return 0;
  return offer.mark.load(std::memory_order_acquire) == post.mark ? word : 0;
}

// How many bytes of post `post_index` nobody has claimed; 0 where there is no offer.
inline std::size_t Unclaimed(const proto::Offer& offer, const proto::Post& post, std::uint64_t post_index) {
  const std::uint64_t word = Offered(offer, post, post_index);
  const std::uint64_t taken = (word & kRevoked) + Claimed(post.help.load(std::memory_order_relaxed));
  return word != 0 && taken < post.bytes ? post.bytes - taken : 0;
}

// Claims a piece from the back of post `post_index`, and says where it goes; the caller copies it, then calls EndClaim. Empty where there is
// no offer or nothing left. `ends`: as of PieceBytes.
inline Piece ClaimBack(const proto::Offer& offer, proto::Post& post, std::uint64_t post_index, std::byte** landing,
                       std::size_t ends = 2) {
  const std::uint64_t word = Offered(offer, post, post_index);
  if (word == 0) return {};
  *landing = reinterpret_cast<std::byte*>(offer.landing.load(std::memory_order_acquire));
  const std::size_t front = word & kRevoked;
  const std::uint64_t claimed = Claimed(post.help.load(std::memory_order_relaxed));
  if (front + claimed >= post.bytes) return {};
  const std::size_t back = post.bytes - claimed;
  const std::size_t bytes = PieceBytes(back - front, post.bytes, ends);
  post.help.store(HelpWord(claimed + bytes, claimed), std::memory_order_seq_cst);
  const std::uint64_t now = offer.front.load(std::memory_order_seq_cst);
  if (now >> kFrontBits == word >> kFrontBits && (now & kRevoked) <= back - bytes) return {back - bytes, bytes};
  post.help.store(HelpWord(claimed, claimed), std::memory_order_seq_cst);
  return {};
}

// Of messages that a sender shares with their receivers: the one of which most is left, so that all receivers finish together; the end
// where nothing is. `left`: of one message, bytes.
template <typename Messages, typename Left>
auto MostLeft(const Messages& messages, Left left) {
  auto found = messages.end();
  std::size_t most = 0;
  for (auto message = messages.begin(); message != messages.end(); ++message) {
    const std::size_t bytes = left(*message);
    if (bytes > most) found = message;
    most = std::max(most, bytes);
  }
  return found;
}

// How many ends these messages have together: their receivers (`peer`), and the sender.
template <typename Messages>
std::size_t EndsOf(const Messages& messages) {
  std::size_t ends = 1;
  for (auto message = messages.begin(); message != messages.end(); ++message) {
    const auto first = std::ranges::find(messages, message->peer, [](const auto& m) { return m.peer; });
    ends += first == message ? 1 : 0;
  }
  return ends;
}

enum class Outcome : std::uint8_t { kCopied, kFailed };

// Ends a claim: what was claimed is there, or the receiver must copy it.
inline void EndClaim(proto::Post& post, const Piece& piece, Outcome outcome) {
  const std::uint64_t claimed = Claimed(post.help.load(std::memory_order_relaxed));
  const std::uint64_t rest = outcome == Outcome::kCopied ? claimed : claimed - piece.bytes;
  post.help.store(HelpWord(rest, rest), std::memory_order_seq_cst);
}

// Whole outputs. No post has so high a number, so that ClaimBack finds none that belongs to the offer.
inline constexpr std::uint64_t kOutputBit = std::uint64_t{1} << (63 - kFrontBits);

// As OpenOffer; any message of the call `mark` may be written to its place in `out`. RevokeOffer ends it with the post index plus kOutputBit.
inline void OfferOutput(proto::Offer& offer, std::uint64_t post_index, std::uint64_t mark, std::byte* out) {
  OpenOffer(offer, post_index + kOutputBit, mark, out);
}

// The word by which the receiver offers its output for the call `mark`; 0: it does not. It may end that at any time.
inline std::uint64_t OutputOffered(const proto::Offer& offer, std::uint64_t mark) {
  const std::uint64_t word = offer.front.load(std::memory_order_acquire);
  if ((word >> kFrontBits & kOutputBit) == 0 || (word & kRevoked) == kRevoked) return 0;
  return offer.mark.load(std::memory_order_acquire) == mark ? word : 0;
}
inline bool OffersOutput(const proto::Offer& offer, std::uint64_t mark) { return OutputOffered(offer, mark) != 0; }

// Where the receiver has its output for the call `mark`, if it offers that; null otherwise. The caller may write there until it calls
// EndOutput. `next` is the link's next post, and its place is free.
inline std::byte* ClaimOutput(const proto::Offer& offer, proto::Post& next, std::uint64_t mark) {
  const std::uint64_t word = OutputOffered(offer, mark);
  if (word == 0) return nullptr;
  auto* const out = reinterpret_cast<std::byte*>(offer.landing.load(std::memory_order_acquire));
  next.help.store(HelpWord(1, 0), std::memory_order_seq_cst);
  if (offer.front.load(std::memory_order_seq_cst) == word) return out;
  next.help.store(0, std::memory_order_seq_cst);
  return nullptr;
}
inline void EndOutput(proto::Post& next) { next.help.store(0, std::memory_order_seq_cst); }

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_SHARED_COPY_H_
