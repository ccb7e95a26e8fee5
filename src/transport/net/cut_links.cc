// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/cut_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "proto/ll.h"
#include "proto/ll128.h"

namespace tutti::transport::net {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLandingGranule = 64;
// A peer that has not been told of so much of a ring is told.
constexpr std::uint64_t kDueParts = 4;
// Of posts whose sender does not wait for them it is told of so many together.
constexpr std::uint64_t kDuePosts = 4;
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
      landing_(memory + RingBytes(rings)) {
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

bool CutLinks::Owes(Credits credits) const {
  const std::uint64_t units = Load(incoming_.credit->ll_units) - told_.units;
  const std::uint64_t lines = Load(incoming_.credit->ll128_lines) - told_.lines;
  const std::uint64_t posts = Load(incoming_.credit->posts) - told_.posts;
  if (credits == Credits::kAll) return units > 0 || lines > 0 || posts > 0;
  if (credits == Credits::kRest && posts > 0) return true;
  return units >= rings_.ll_units() / kDueParts || lines >= rings_.ll128_lines() / kDueParts || posts >= kDuePosts ||
         (posts > 0 && told_.posts < prompt_posts_);
}

void CutLinks::ComposeCredit(Wire& wire, Credits credits) {
  const std::uint64_t units = Load(incoming_.credit->ll_units), lines = Load(incoming_.credit->ll128_lines),
                      posts = Load(incoming_.credit->posts);
  if (!Owes(credits) || !wire.HasRoom()) return;
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

bool CutLinks::ComposePost(Wire& wire) {
  if (sent_.posts == written_.posts) return false;
  const proto::Post& post = outgoing_.posts[sent_.posts & (rings_.posts() - 1)];
  if (sent_.posts >= placed_ && !PlaceInLanding(post.bytes, sent_.posts)) return false;
  const bool reference = post.kind == proto::PostKind::kReference;
  const std::byte* data = reference ? reinterpret_cast<const std::byte*>(post.address) : pool_ + post.address;
  const std::uint64_t offset = places_[sent_.posts & (rings_.posts() - 1)].begin % kLandingBytes;
  wire.Add({.kind = FrameKind::kPiece,
            .channel = channel_,
            .index = sent_.posts,
            .mark = post.mark,
            .message = static_cast<std::uint32_t>(post.bytes),
            .landing = offset | (reference ? kPrompt : 0)},
           {data, post.bytes});
  ++sent_.posts;
  return true;
}

void CutLinks::Compose(Wire& wire, Credits credits) {
  ComposeCredit(wire, credits);
  bool more = true;
  while (more && wire.HasRoom()) {
    more = ComposeUnits(wire);
    if (wire.HasRoom()) more |= ComposeLines(wire);
    if (wire.HasRoom()) more |= ComposePost(wire);
  }
}

Result<std::byte*> CutLinks::Begin(const FrameHeader& header) {
  if (header.kind != FrameKind::kPiece) return static_cast<std::byte*>(nullptr);
  const std::uint64_t offset = header.landing & ~kPrompt;
  if (header.at != 0 || header.bytes != header.message || header.bytes > kMostMessageBytes ||
      offset > kLandingBytes - header.bytes) {
    return Senseless("data", header.index);
  }
  if (header.index != received_.posts ||
      header.index - Load(incoming_.credit->posts) >= static_cast<std::uint64_t>(rings_.posts())) {
    return Senseless("data", header.index);
  }
  return landing_ + offset;
}

Status CutLinks::End(const FrameHeader& header, std::span<const std::byte> payload) {
  switch (header.kind) {
    case FrameKind::kUnits:
      return TakeUnits(header, payload);
    case FrameKind::kLines:
      return TakeLines(header, payload);
    case FrameKind::kPiece:
      return TakePiece(header);
    case FrameKind::kCredit:
      return TakeCredit(header);
    default:
      return Senseless("frames of another kind", header.index);
  }
}

// The executor may be reading: each word of a unit arrives whole, with its flag.
Status CutLinks::TakeUnits(const FrameHeader& header, std::span<const std::byte> payload) {
  const std::uint64_t count = payload.size() / proto::kLlUnitBytes;
  const std::uint64_t place = header.index & (rings_.ll_units() - 1);
  if (header.index != received_.units || payload.size() % proto::kLlUnitBytes != 0 ||
      place + count > rings_.ll_units() ||
      header.index + count - Load(incoming_.credit->ll_units) > rings_.ll_units()) {
    return Senseless("units", header.index);
  }
  auto* words = reinterpret_cast<std::uint64_t*>(units_ + place * proto::kLlLinesPerUnit);
  for (std::size_t i = 0; i < payload.size() / sizeof(*words); ++i) {
    std::uint64_t word;
    std::memcpy(&word, payload.data() + i * sizeof(word), sizeof(word));
    __atomic_store_n(words + i, word, __ATOMIC_RELAXED);
  }
  received_.units += count;
  return Status::Ok();
}

Status CutLinks::TakeLines(const FrameHeader& header, std::span<const std::byte> payload) {
  const std::uint64_t count = payload.size() / sizeof(proto::Ll128Line);
  const std::uint64_t place = header.index & (rings_.ll128_lines() - 1);
  if (header.index != received_.lines || payload.size() % sizeof(proto::Ll128Line) != 0 ||
      place + count > rings_.ll128_lines() ||
      header.index + count - Load(incoming_.credit->ll128_lines) > rings_.ll128_lines()) {
    return Senseless("lines", header.index);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    proto::Ll128Line line;
    std::memcpy(&line, payload.data() + i * sizeof(line), sizeof(line));
    std::memcpy(lines_[place + i].data, line.data, sizeof(line.data));
    __atomic_store_n(&lines_[place + i].flag, line.flag, __ATOMIC_RELEASE);
  }
  received_.lines += count;
  return Status::Ok();
}

Status CutLinks::TakePiece(const FrameHeader& header) {
  proto::Post& post = posts_[header.index & (rings_.posts() - 1)];
  post.address = header.landing & ~kPrompt;
  post.bytes = header.message;
  post.kind = proto::PostKind::kPool;
  post.region = 0;
  post.mark = header.mark;
  post.help.store(0, std::memory_order_relaxed);
  post.readers = 1;
  post.sequence.store(header.index + 1, std::memory_order_release);
  if ((header.landing & kPrompt) != 0) prompt_posts_ = header.index + 1;
  ++received_.posts;
  return Status::Ok();
}

Status CutLinks::TakeCredit(const FrameHeader& header) {
  const auto raise = [](std::atomic<std::uint64_t>& counter, std::uint64_t to, std::uint64_t most) {
    if (to > most) return false;
    if (to > counter.load(std::memory_order_relaxed)) counter.store(to, std::memory_order_release);
    return true;
  };
  const bool sense = raise(credit_.ll_units, header.index, sent_.units) &&
                     raise(credit_.ll128_lines, header.mark, sent_.lines) &&
                     raise(credit_.posts, header.landing, sent_.posts);
  return sense ? Status::Ok() : Senseless("credits", header.index);
}

Positions CutLinks::Have() const {
  return {.units = received_.units,
          .lines = received_.lines,
          .posts = received_.posts,
          .units_consumed = Load(incoming_.credit->ll_units),
          .lines_consumed = Load(incoming_.credit->ll128_lines),
          .posts_consumed = Load(incoming_.credit->posts)};
}

Status CutLinks::Resume(const Positions& theirs) {
  if (theirs.units > written_.units || theirs.lines > written_.lines || theirs.posts > written_.posts ||
      theirs.units_consumed > theirs.units || theirs.lines_consumed > theirs.lines ||
      theirs.posts_consumed > theirs.posts) {
    return Senseless("positions", theirs.posts);
  }
  sent_.units = theirs.units;
  sent_.lines = theirs.lines;
  sent_.posts = theirs.posts;
  return TakeCredit({.index = theirs.units_consumed, .mark = theirs.lines_consumed, .landing = theirs.posts_consumed});
}

}  // namespace tutti::transport::net
