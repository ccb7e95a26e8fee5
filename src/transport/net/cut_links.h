// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_CUT_LINKS_H_
#define TUTTI_TRANSPORT_NET_CUT_LINKS_H_

// The two links between this rank and one of another host, on one channel, as far as they lie in this host. The rings of a link
// are cut in two: one half where the sender writes, one where the receiver reads, and what is posted in the first is carried to
// the same places of the second (courier.h). So executors see links like all others.
//
//        this rank                                                    a rank of another host
//   executor -> ring ("outgoing", in the rank's segment) == network ==> ring (theirs) -> executor
//   executor <- ring ("incoming", here) + landing       <== network ==  ring (theirs) <- executor
//                        credits go the other way
//
// The data of a post lands in a landing, a buffer beside the incoming ring. The sender says where in it, as it knows what the
// receiver has consumed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/link.h"
#include "transport/net/frame.h"
#include "transport/net/wire.h"
#include "tutti/status.h"

namespace tutti::transport::net {

// Where a message of a post may be at most, and room for some of them.
inline constexpr std::size_t kMostMessageBytes = std::size_t{1} << 20;
inline constexpr std::size_t kLandingBytes = 4 * kMostMessageBytes;

// Threads: one at a time, except that the executor writes the outgoing and reads the incoming rings meanwhile.
class CutLinks final : public FrameSink {
 public:
  // What the incoming half takes, of which only what is used is touched.
  static std::size_t MemoryBytes(const RingSizes& rings);
  // `memory`: so many zeros, at the beginning of a page. Sets the pointers of `outgoing` (credit) and `incoming` (all but
  // credit). All of these, and the pool, outlive this object.
  CutLinks(int channel, const RingSizes& rings, Outgoing& outgoing, Incoming& incoming, const std::byte* pool,
           std::byte* memory);

  // Notes what the executor has written so far. Called by its thread.
  void NoteWritten();
  // Hands to the wire what has been written and there is room for, and credits.
  enum class Credits : std::uint8_t {
    kDue,   // of a good part of a ring, and where the sender is known to wait
    kRest,  // and of all posts, whose senders hold pages of their pools until then
    kAll,
  };
  void Compose(Wire& wire, Credits credits);
  // Whether Compose has something to hand over.
  bool HasUnsent() const {
    return sent_.units < written_.units || sent_.lines < written_.lines || sent_.posts < written_.posts;
  }
  // Whether there are credits that Compose would tell.
  bool Owes(Credits credits) const;

  // What comes from the peer.
  Result<std::byte*> Begin(const FrameHeader& header) override;
  Status End(const FrameHeader& header, std::span<const std::byte> payload) override;

  // After a connection broke: what this side has, and what the peer has: sending goes on from there.
  Positions Have() const;
  Status Resume(const Positions& theirs);

 private:
  bool ComposeUnits(Wire& wire);
  bool ComposeLines(Wire& wire);
  bool ComposePost(Wire& wire);
  void ComposeCredit(Wire& wire, Credits credits);
  bool PlaceInLanding(std::size_t bytes, std::uint64_t post);
  Status TakeUnits(const FrameHeader& header, std::span<const std::byte> payload);
  Status TakeLines(const FrameHeader& header, std::span<const std::byte> payload);
  Status TakePiece(const FrameHeader& header);
  Status TakeCredit(const FrameHeader& header);

  const std::uint8_t channel_;
  const RingSizes rings_;
  Outgoing& outgoing_;
  Incoming& incoming_;
  const std::byte* const pool_;

  // How far a link is, in each protocol's unit.
  struct Counters {
    std::uint64_t units = 0, lines = 0, posts = 0;
  };
  // Outgoing: written by the executor, as far as noted; handed to the wire; the peer's credit.
  Counters written_, sent_;
  proto::Credit credit_{};
  // Where in the peer's landing each post that it has not consumed lies: [begin, end) by running bytes.
  struct Place {
    std::uint64_t begin = 0, end = 0;
  };
  std::unique_ptr<Place[]> places_;  // by post, modulo the ring
  std::uint64_t landing_head_ = 0;
  std::uint64_t placed_ = 0;  // posts that have a place

  // Incoming: the rings and the landing; how much has been received; what credit the peer has been told.
  proto::LlLine* units_ = nullptr;
  proto::Ll128Line* lines_ = nullptr;
  proto::Post* posts_ = nullptr;
  std::byte* landing_ = nullptr;
  Counters received_, told_;
  std::uint64_t prompt_posts_ = 0;  // the sender of one of so many posts waits for its buffer
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_CUT_LINKS_H_
