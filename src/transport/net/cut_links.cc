// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/cut_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "proto/ll.h"
#include "proto/ll128.h"
#include "transport/net/frame.h"
#include "transport/net/wire.h"

namespace tutti::transport::net {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLandingGranule = 64;
// A peer that has not been told of so much of a ring is told.
constexpr std::uint64_t kDueParts = 4;
// Of posts whose sender does not wait for them it is told of so many together.
constexpr std::uint64_t kDuePosts = 4;
// A post of more holds so much of its sender's pool that its credit is told at once.
constexpr std::uint32_t kLargePostBytes = 16384;
// In FrameHeader::landing of a piece, above the offset: the sender waits until its buffer has been read.
constexpr std::uint64_t kPrompt = std::uint64_t{1} << 63;

std::size_t RoundUp(std::size_t value, std::size_t granule) { return (value + granule - 1) / granule * granule; }

std::size_t UnitBytes(const RingSizes& rings) { return rings.ll_units() * proto::kLlUnitBytes; }
std::size_t LineBytes(const RingSizes& rings) { return rings.ll128_lines() * sizeof(proto::Ll128Line); }
std::size_t RingBytes(const RingSizes& rings) {
  return RoundUp(UnitBytes(rings) + LineBytes(rings) + rings.posts() * sizeof(proto::Post), kPage);
}

std::uint64_t Load(const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_acquire); }

Status Senseless(const char* what, std::uint64_t index) {
  return Status(Code::kRemote, fmt::format("{} at {} have come, which nobody can have sent", what, index));
}

}  // namespace

std::size_t CutLinks::MemoryBytes(const RingSizes& rings) { return RingBytes(rings) + kLandingBytes; }

CutLinks::CutLinks(int channel, const RingSizes& rings, Outgoing& outgoing, Incoming& incoming, const std::byte* pool,
                   std::byte* memory)
    : channel_(static_cast<std::uint8_t>(channel)),
      rings_(rings),
      outgoing_(outgoing),
      incoming_(incoming),
      pool_(pool),
      places_(new Place[rings.posts()]),
      units_(reinterpret_cast<proto::LlLine*>(memory)),
      lines_(reinterpret_cast<proto::Ll128Line*>(memory + UnitBytes(rings))),
      posts_(reinterpret_cast<proto::Post*>(memory + UnitBytes(rings) + LineBytes(rings))),
      landing_(memory + RingBytes(rings)),
      arrivals_(new Arrival[rings.posts()]) {
  outgoing_.credit = &credit_;
  incoming_.ll = units_;
  incoming_.ll128 = lines_;
  incoming_.posts = posts_;
  incoming_.short_pool = incoming_.long_pool = landing_;
}

void CutLinks::NoteWritten() {
  written_.units = outgoing_.ll_head;
  written_.lines = outgoing_.ll128_head;
  written_.posts = outgoing_.post_head;
}

bool CutLinks::HasUnconsumed() const {
  return Load(credit_.ll_units) < written_.units || Load(credit_.ll128_lines) < written_.lines ||
         Load(credit_.posts) < written_.posts;
}

bool CutLinks::Owes(Credits credits) const {
  const std::uint64_t units = Load(incoming_.credit->ll_units) - told_.units;
  const std::uint64_t lines = Load(incoming_.credit->ll128_lines) - told_.lines;
  const std::uint64_t posts = Load(incoming_.credit->posts) - told_.posts;
  if (credits == Credits::kAll) return units > 0 || lines > 0 || posts > 0;
  return units >= rings_.ll_units() / kDueParts || lines >= rings_.ll128_lines() / kDueParts || posts >= kDuePosts ||
         (posts > 0 && told_.posts < prompt_posts_);
}

void CutLinks::ComposeCredits(Wire& wire) {
  const std::uint64_t units = Load(incoming_.credit->ll_units), lines = Load(incoming_.credit->ll128_lines),
                      posts = Load(incoming_.credit->posts);
  wire.Add({.kind = FrameKind::kCredit, .channel = channel_, .index = units, .mark = lines, .landing = posts}, {});
  told_.units = units;
  told_.lines = lines;
  told_.posts = posts;
}

// As many as follow each other in the ring and in a frame.
bool CutLinks::ComposeUnits(Wire& wire) {
  const std::uint64_t place = sent_.units & (rings_.ll_units() - 1);
  const std::uint64_t count = std::min(
      {written_.units - sent_.units, rings_.ll_units() - place, std::uint64_t{kMostStagedBytes / proto::kLlUnitBytes}});
  if (count == 0) return false;
  const proto::LlLine* first = outgoing_.ll + place * proto::kLlLinesPerUnit;
  wire.Add({.kind = FrameKind::kUnits, .channel = channel_, .index = sent_.units},
           std::as_bytes(std::span(first, count * proto::kLlLinesPerUnit)));
  sent_.units += count;
  return true;
}

bool CutLinks::ComposeLines(Wire& wire) {
  const std::uint64_t place = sent_.lines & (rings_.ll128_lines() - 1);
  const std::uint64_t count = std::min({written_.lines - sent_.lines, rings_.ll128_lines() - place,
                                        std::uint64_t{kMostStagedBytes / sizeof(proto::Ll128Line)}});
  if (count == 0) return false;
  wire.Add({.kind = FrameKind::kLines, .channel = channel_, .index = sent_.lines},
           std::as_bytes(std::span(outgoing_.ll128 + place, count)));
  sent_.lines += count;
  return true;
}

// Finds room for a message in the peer's landing, in one piece. Places are given in turn; where the peer has consumed
// everything it starts anew, so that few pages are used and stay in its cache.
bool CutLinks::PlaceInLanding(std::size_t bytes, std::uint64_t post) {
  const std::uint64_t consumed = Load(credit_.posts);
  const std::uint64_t mask = rings_.posts() - 1;
  const std::uint64_t tail = consumed < post ? places_[consumed & mask].begin : landing_head_;
  std::uint64_t begin = landing_head_;
  if (tail == begin) begin = (begin + kLandingBytes - 1) / kLandingBytes * kLandingBytes;
  if (begin % kLandingBytes + bytes > kLandingBytes) begin = (begin / kLandingBytes + 1) * kLandingBytes;
  const std::uint64_t end = begin + RoundUp(bytes, kLandingGranule);
  if (consumed < post && end - tail > kLandingBytes) return false;
  places_[post & mask] = {begin, end};
  landing_head_ = end;
  placed_ = post + 1;
  return true;
}

std::size_t CutLinks::DataWaiting() const {
  if (sent_.posts == written_.posts) return 0;
  const proto::Post& post = outgoing_.posts[sent_.posts & (rings_.posts() - 1)];
  const std::uint64_t behind = written_.posts - sent_.posts - 1;  // taken to be as long
  return std::max<std::size_t>(post.bytes - piece_at_ + behind * post.bytes, 1);
}

bool CutLinks::ComposePiece(Wire& wire, std::size_t most_bytes) {
  if (sent_.posts == written_.posts) return false;
  const proto::Post& post = outgoing_.posts[sent_.posts & (rings_.posts() - 1)];
  if (sent_.posts >= placed_ && !PlaceInLanding(post.bytes, sent_.posts)) return false;
  const bool reference = post.kind == proto::PostKind::kReference;
  const std::byte* data = reference ? reinterpret_cast<const std::byte*>(post.address) : pool_ + post.address;
  const std::uint64_t offset = places_[sent_.posts & (rings_.posts() - 1)].begin % kLandingBytes;
  const std::size_t bytes = std::min<std::size_t>(post.bytes - piece_at_, most_bytes);
  wire.Add({.kind = FrameKind::kPiece,
            .channel = channel_,
            .index = sent_.posts,
            .mark = post.mark,
            .message = static_cast<std::uint32_t>(post.bytes),
            .at = static_cast<std::uint32_t>(piece_at_),
            .landing = offset | (reference ? kPrompt : 0)},
           {data + piece_at_, bytes});
  piece_at_ += bytes;
  if (piece_at_ < post.bytes) return true;
  piece_at_ = 0;
  ++sent_.posts;
  return true;
}

void CutLinks::Compose(Wire& wire, Credits credits) {
  if (Owes(HasUnsent() ? Credits::kAll : credits) && wire.HasRoom()) ComposeCredits(wire);
  bool more = true;
  while (more && wire.HasRoom()) {
    more = ComposeUnits(wire);
    if (wire.HasRoom()) more |= ComposeLines(wire);
  }
}

std::string CutLinks::Describe() const {
  const auto half = [](const char* name, std::uint64_t units, std::uint64_t lines, std::uint64_t posts) {
    return fmt::format("{} {}/{}/{}", name, units, lines, posts);
  };
  const proto::Credit& consumed = *incoming_.credit;
  return fmt::format("units/lines/posts: {}, {}, {}; of the peer's: posts that came whole {}, {}, {}",
                     half("written", written_.units, written_.lines, written_.posts),
                     half("sent", sent_.units, sent_.lines, sent_.posts),
                     half("consumed there", Load(credit_.ll_units), Load(credit_.ll128_lines), Load(credit_.posts)),
                     received_posts_,
                     half("consumed", Load(consumed.ll_units), Load(consumed.ll128_lines), Load(consumed.posts)),
                     half("told", told_.units, told_.lines, told_.posts));
}

void CutLinks::GoBack() {
  sent_ = {.units = Load(credit_.ll_units), .lines = Load(credit_.ll128_lines), .posts = Load(credit_.posts)};
  piece_at_ = 0;
  told_ = {};
}

CutLinks::Granules CutLinks::BitsOf(const FrameHeader& header) {
  const std::size_t first = header.at / kPieceGranule;
  const std::size_t last = (header.at + std::max<std::size_t>(header.bytes, 1) - 1) / kPieceGranule;
  const std::uint32_t up_to_last = (std::uint32_t{2} << last) - 1, before_first = (std::uint32_t{1} << first) - 1;
  return static_cast<Granules>(up_to_last & ~before_first);
}

Result<CutLinks::Target> CutLinks::Begin(const FrameHeader& header, int flow) {
  static_assert(kMostMessageBytes / kPieceGranule <= 8 * sizeof(Granules));
  if (header.kind != FrameKind::kPiece) return Target{};
  const std::uint64_t offset = header.landing & ~kPrompt, index = header.index;
  const std::uint64_t end = std::uint64_t{header.at} + header.bytes;
  if (header.message > kMostMessageBytes || end > header.message || header.at % kPieceGranule != 0 ||
      (end < header.message && (header.bytes == 0 || header.bytes % kPieceGranule != 0)) ||
      (header.at != 0 && header.bytes == 0) || offset > kLandingBytes - header.message) {
    return Senseless("data", index);
  }
  if (index < received_posts_) return Target{.kind = Target::Kind::kNowhere};
  if (index - Load(incoming_.credit->posts) >= rings_.posts()) return Senseless("data", index);
  Arrival& arrival = arrivals_[index & (rings_.posts() - 1)];
  const FrameHeader whole{.bytes = header.message};
  if (arrival.all == 0) {
    const Awaited& awaited = arrival.awaited;
    arrival.away = awaited.where != nullptr && awaited.post == index && awaited.mark == header.mark &&
                   awaited.bytes == header.message;
    arrival.mark = header.mark;
    arrival.landing = header.landing;
    arrival.message = header.message;
    arrival.all = BitsOf(whole);
  }
  if (arrival.mark != header.mark || arrival.landing != header.landing || arrival.message != header.message) {
    return Senseless("other data", index);
  }
  const Granules bits = BitsOf(header);
  bool comes = (arrival.bits & bits) != 0;
  for (const UnderWay& other : under_way_) comes = comes || (other.post == index && (other.bits & bits) != 0);
  // Where it is on its way over a flow that will end, it comes once more after that.
  if (comes) return Target{.kind = Target::Kind::kNowhere};
  under_way_[static_cast<std::size_t>(flow)] = {.post = index, .bits = bits, .away = arrival.away};
  std::byte* const begin = arrival.away ? arrival.awaited.where : landing_ + offset;
  return Target{.kind = Target::Kind::kThere, .where = begin + header.at};
}

void CutLinks::Await(const Awaited& message) {
  if (message.post < received_posts_) return;
  Arrival& arrival = arrivals_[message.post & (rings_.posts() - 1)];
  if (arrival.all == 0) arrival.awaited = message;
}

void CutLinks::AwaitNothing() {
  for (std::size_t i = 0; i < rings_.posts(); ++i) {
    if (arrivals_[i].away) arrivals_[i] = {};
    arrivals_[i].awaited = {};
  }
}

Status CutLinks::End(const FrameHeader& header, std::span<const std::byte> payload, int flow) {
  switch (header.kind) {
    case FrameKind::kUnits:
      return TakeUnits(header, payload);
    case FrameKind::kLines:
      return TakeLines(header, payload);
    case FrameKind::kPiece:
      return TakePiece(header, flow);
    case FrameKind::kCredit:
      return TakeCredit(header);
    default:
      return Senseless("frames of another kind", header.index);
  }
}

// Of `count` slots of a ring from `index` on, those that are not consumed: what lies before them was sent twice, and their places
// may belong to others by now. An error where nobody can have sent them.
Result<std::uint64_t> CutLinks::Overtaken(std::uint64_t index, std::uint64_t count, std::uint64_t slots,
                                          std::uint64_t consumed, const char* what) {
  const bool one_piece = (index & (slots - 1)) + count <= slots;
  if (count == 0 || !one_piece || index + count > consumed + slots) return Senseless(what, index);
  return index >= consumed ? 0 : std::min(count, consumed - index);
}

// The executor may be reading: each word of a unit arrives whole, with its flag.
Status CutLinks::TakeUnits(const FrameHeader& header, std::span<const std::byte> payload) {
  const std::uint64_t count = payload.size() / proto::kLlUnitBytes;
  const Result<std::uint64_t> overtaken = Overtaken(header.index, payload.size() % proto::kLlUnitBytes == 0 ? count : 0,
                                                    rings_.ll_units(), Load(incoming_.credit->ll_units), "units");
  if (!overtaken.ok()) return overtaken.status();
  const std::uint64_t place = header.index & (rings_.ll_units() - 1);
  auto* words = reinterpret_cast<std::uint64_t*>(units_ + place * proto::kLlLinesPerUnit);
  constexpr std::size_t kWordsPerUnit = proto::kLlUnitBytes / sizeof(*words);
  for (std::size_t i = *overtaken * kWordsPerUnit; i < payload.size() / sizeof(*words); ++i) {
    std::uint64_t word;
    std::memcpy(&word, payload.data() + i * sizeof(word), sizeof(word));
    __atomic_store_n(words + i, word, __ATOMIC_RELAXED);
  }
  return Status::Ok();
}

Status CutLinks::TakeLines(const FrameHeader& header, std::span<const std::byte> payload) {
  const std::uint64_t count = payload.size() / sizeof(proto::Ll128Line);
  const Result<std::uint64_t> overtaken =
      Overtaken(header.index, payload.size() % sizeof(proto::Ll128Line) == 0 ? count : 0, rings_.ll128_lines(),
                Load(incoming_.credit->ll128_lines), "lines");
  if (!overtaken.ok()) return overtaken.status();
  const std::uint64_t place = header.index & (rings_.ll128_lines() - 1);
  for (std::uint64_t i = *overtaken; i < count; ++i) {
    proto::Ll128Line line;
    std::memcpy(&line, payload.data() + i * sizeof(line), sizeof(line));
    // The same line a second time, which the executor may be reading.
    if (__atomic_load_n(&lines_[place + i].flag, __ATOMIC_RELAXED) == line.flag) continue;
    std::memcpy(lines_[place + i].data, line.data, sizeof(line.data));
    __atomic_store_n(&lines_[place + i].flag, line.flag, __ATOMIC_RELEASE);
  }
  return Status::Ok();
}

Status CutLinks::TakePiece(const FrameHeader& header, int flow) {
  UnderWay& under_way = under_way_[static_cast<std::size_t>(flow)];
  const Granules bits = std::exchange(under_way.bits, Granules{0});
  if (bits == 0 || under_way.post != header.index) return Status::Ok();  // it was there already
  Arrival& arrival = arrivals_[header.index & (rings_.posts() - 1)];
  if (arrival.all == 0) return Status::Ok();  // AwaitNothing was called meanwhile
  arrival.bits |= bits;
  PublishPosts();
  return Status::Ok();
}

// Shows the executor what has come whole, in order.
void CutLinks::PublishPosts() {
  while (true) {
    Arrival& arrival = arrivals_[received_posts_ & (rings_.posts() - 1)];
    if (arrival.all == 0 || arrival.bits != arrival.all) return;
    proto::Post& post = posts_[received_posts_ & (rings_.posts() - 1)];
    post.address = arrival.away ? reinterpret_cast<std::uint64_t>(arrival.awaited.where) : arrival.landing & ~kPrompt;
    post.bytes = arrival.message;
    post.kind = arrival.away ? proto::PostKind::kPlaced : proto::PostKind::kPool;
    post.region = 0;
    post.mark = arrival.mark;
    post.help.store(0, std::memory_order_relaxed);
    post.readers = 1;
    post.sequence.store(received_posts_ + 1, std::memory_order_release);
    ++received_posts_;
    if ((arrival.landing & kPrompt) != 0 || arrival.message > kLargePostBytes) prompt_posts_ = received_posts_;
    arrival = {};
  }
}

// Credits may come in any order, and more than was sent anew since GoBack.
Status CutLinks::TakeCredit(const FrameHeader& header) {
  const auto raise = [](std::atomic<std::uint64_t>& counter, std::uint64_t to, std::uint64_t written,
                        std::uint64_t& sent) {
    if (to > written) return false;
    if (to > counter.load(std::memory_order_relaxed)) counter.store(to, std::memory_order_release);
    sent = std::max(sent, to);
    return true;
  };
  const std::uint64_t sent_posts = sent_.posts;
  const bool sense = raise(credit_.ll_units, header.index, written_.units, sent_.units) &&
                     raise(credit_.ll128_lines, header.mark, written_.lines, sent_.lines) &&
                     raise(credit_.posts, header.landing, written_.posts, sent_.posts);
  if (sent_.posts != sent_posts) piece_at_ = 0;
  return sense ? Status::Ok() : Senseless("credits", header.index);
}

}  // namespace tutti::transport::net
