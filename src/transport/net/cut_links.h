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
// The data of a post lands in a landing, a buffer beside the incoming ring, unless the executor has said where else it may. The
// sender says where in the landing, as it knows what the receiver has consumed. It may come in pieces, over several flows (flow.h), of
// which each may end at any time: then both sides send once more what is not known to be consumed, and what has come already is
// passed over.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "transport/link.h"
#include "tutti/status.h"

namespace tutti::transport::net {

struct FrameHeader;
class Wire;

// Where a message of a post may be at most, and room for some of them.
inline constexpr std::size_t kMostMessageBytes = std::size_t{1} << 20;
inline constexpr std::size_t kLandingBytes = 4 * kMostMessageBytes;
// Flows of a pair of ranks.
inline constexpr int kMostFlows = 16;

// Threads: one at a time, except that the executor writes the outgoing and reads the incoming rings meanwhile.
class CutLinks {
 public:
  // What the incoming half takes, of which only what is used is touched.
  static std::size_t MemoryBytes(const RingSizes& rings);
  // `memory`: so many zeros, at the beginning of a page. Sets the pointers of `outgoing` (credit) and `incoming` (all but
  // credit). All of these, and the pool, outlive this object.
  CutLinks(int channel, const RingSizes& rings, Outgoing& outgoing, Incoming& incoming, const std::byte* pool,
           std::byte* memory);

  // Notes what the executor has written so far. Called by its thread.
  void NoteWritten();
  // Which credits are told.
  enum class Credits : std::uint8_t {
    kDue,  // of a good part of a ring, and where the sender waits for them or lacks the room
    kAll,
  };
  // Hands to a wire units and lines that have been written, and credits. Where there is data to go, all credits go with it.
  void Compose(Wire& wire, Credits credits);
  // All credits, even if they are none. REQUIRES: wire.HasRoom().
  void ComposeCredits(Wire& wire);
  // Hands to a wire the next piece of data, of at most so many bytes; false where there is none, or no room in the landing.
  // REQUIRES: wire.HasRoom(), and `most_bytes` is a multiple of kPieceGranule.
  bool ComposePiece(Wire& wire, std::size_t most_bytes);
  // Bytes of data that are written and wait for ComposePiece, roughly; 0 only where there are none.
  std::size_t DataWaiting() const;
  // Whether Compose or ComposePiece has something to hand over, credits apart.
  bool HasUnsent() const {
    return sent_.units < written_.units || sent_.lines < written_.lines || sent_.posts < written_.posts;
  }
  // Whether something was written that the peer is not known to have consumed.
  bool HasUnconsumed() const;
  // Whether there are credits that Compose would tell.
  bool Owes(Credits credits) const;
  // Begins anew with all that the peer is not known to have consumed, and with all credits.
  void GoBack();

  // Where the data of a message may be put instead of the landing, if nothing of it has come yet.
  void Await(const Awaited& message);
  // No data are put into such places any more, but for those under way over flows of which PutsAway is true.
  void AwaitNothing();
  bool PutsAway(int flow) const {
    const UnderWay& under_way = under_way_[static_cast<std::size_t>(flow)];
    return under_way.bits != 0 && under_way.away;
  }

  // How far both halves are, for the log.
  std::string Describe() const;

  // What comes from the peer over flow `flow`.
  struct Target {
    enum class Kind : std::uint8_t { kStaged, kThere, kNowhere } kind = Kind::kStaged;  // kNowhere: it is there already
    std::byte* where = nullptr;
  };
  Result<Target> Begin(const FrameHeader& header, int flow);
  Status End(const FrameHeader& header, std::span<const std::byte> payload, int flow);
  // The flow has ended: what was under way on it does not come.
  void Abandon(int flow) { under_way_[static_cast<std::size_t>(flow)].bits = 0; }

 private:
  bool ComposeUnits(Wire& wire);
  bool ComposeLines(Wire& wire);
  bool PlaceInLanding(std::size_t bytes, std::uint64_t post);
  Status TakeUnits(const FrameHeader& header, std::span<const std::byte> payload);
  Status TakeLines(const FrameHeader& header, std::span<const std::byte> payload);
  Status TakePiece(const FrameHeader& header, int flow);
  void PublishPosts();
  static Result<std::uint64_t> Overtaken(std::uint64_t index, std::uint64_t count, std::uint64_t slots,
                                         std::uint64_t consumed, const char* what);
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
  // Outgoing: written by the executor, as far as noted; handed to wires; the peer's credit.
  Counters written_, sent_;
  std::size_t piece_at_ = 0;  // of the post sent_.posts: how many of its bytes have been handed over
  proto::Credit credit_{};
  // Where in the peer's landing each post that it has not consumed lies: [begin, end) by running bytes.
  struct Place {
    std::uint64_t begin = 0, end = 0;
  };
  std::unique_ptr<Place[]> places_;  // by post, modulo the ring
  std::uint64_t landing_head_ = 0;
  std::uint64_t placed_ = 0;  // posts that have a place

  // Incoming: the rings and the landing; what credit the peer has been told.
  proto::LlLine* units_ = nullptr;
  proto::Ll128Line* lines_ = nullptr;
  proto::Post* posts_ = nullptr;
  std::byte* landing_ = nullptr;
  Counters told_;
  // A post that has not come whole, by granules (kPieceGranule), and what of it is on its way over each flow.
  using Granules = std::uint16_t;
  struct Arrival {
    std::uint64_t mark = 0, landing = 0;
    std::uint32_t message = 0;
    Granules bits = 0;
    Granules all = 0;   // 0: nothing of it has come
    bool away = false;  // it is put into `awaited`, not into the landing
    Awaited awaited;    // where: null: it is not awaited
  };
  struct UnderWay {
    std::uint64_t post = 0;
    Granules bits = 0;  // 0: nothing
    bool away = false;
  };
  static Granules BitsOf(const FrameHeader& header);
  std::unique_ptr<Arrival[]> arrivals_;  // by post, modulo the ring
  std::array<UnderWay, kMostFlows> under_way_{};
  std::uint64_t received_posts_ = 0;  // that the executor can see
  std::uint64_t prompt_posts_ =
      0;  // the sender of one of so many posts waits for its buffer, or holds much of its pool
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_CUT_LINKS_H_
