// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/stream_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tutti::transport::net {

StreamWire::StreamWire(std::unique_ptr<Stream> stream) : stream_(std::move(stream)), staging_(kStagingBytes) {}

void StreamWire::Add(FrameHeader header, std::span<const std::byte> payload) {
  Frame& frame = frames_[(first_ + count_++) % kMostFrames];
  header.bytes = static_cast<std::uint32_t>(payload.size());
  frame.header = header;
  frame.payload = payload;
  added_ += kFrameHeaderBytes + payload.size();
}

void StreamWire::AddOwned(FrameHeader header, std::vector<std::byte> payload) {
  Frame& frame = frames_[(first_ + count_) % kMostFrames];
  frame.owned = std::move(payload);
  Add(header, frame.owned);
}

std::size_t StreamWire::Collect(std::array<std::span<const std::byte>, 2 * kMostFrames>& pieces) const {
  std::size_t pieces_count = 0;
  std::size_t skip = sent_;
  const auto add = [&](std::span<const std::byte> piece) {
    const std::size_t skipped = std::min(skip, piece.size());
    skip -= skipped;
    piece = piece.subspan(skipped);
    if (!piece.empty()) pieces[pieces_count++] = piece;
  };
  for (std::size_t i = 0; i < count_; ++i) {
    const Frame& frame = frames_[(first_ + i) % kMostFrames];
    add(std::as_bytes(std::span(&frame.header, 1)));
    add(frame.payload);
  }
  return pieces_count;
}

void StreamWire::Drop(std::size_t bytes) {
  sent_ += bytes;
  while (count_ > 0) {
    const std::size_t whole = kFrameHeaderBytes + frames_[first_].payload.size();
    if (sent_ < whole) return;
    sent_ -= whole;
    frames_[first_].owned.clear();
    first_ = (first_ + 1) % kMostFrames;
    --count_;
  }
}

Result<bool> StreamWire::Send() {
  if (!unfinished()) return false;
  std::array<std::span<const std::byte>, 2 * kMostFrames> pieces;
  const std::size_t pieces_count = Collect(pieces);
  const Result<std::size_t> sent = stream_->TrySend(std::span(pieces).first(pieces_count));
  if (!sent.ok()) return sent.status();
  Drop(*sent);
  return *sent > 0;
}

std::size_t StreamWire::Backlog() const {
  std::size_t bytes = stream_->Unacknowledged();
  for (std::size_t i = 0; i < count_; ++i) {
    bytes += kFrameHeaderBytes + frames_[(first_ + i) % kMostFrames].payload.size();
  }
  return bytes - sent_;
}

// Receives into the payload that is under way and what lies behind it into the staging buffer.
Result<std::size_t> StreamWire::Fill() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (staging_.size() - end_ < kMostStagedBytes + kFrameHeaderBytes) {
    std::memmove(staging_.data(), staging_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const std::size_t behind = direct_left_ > 0 ? std::min(staging_.size() - end_, kBehindBytes) : staging_.size() - end_;
  const std::span<std::byte> room(staging_.data() + end_, behind);
  const std::span<std::byte> buffers[] = {{direct_, direct_left_}, room};
  const Result<std::size_t> came = stream_->TryReceive(std::span(buffers).subspan(direct_left_ > 0 ? 0 : 1));
  if (!came.ok()) return came;
  const std::size_t into_direct = std::min(*came, direct_left_);
  direct_ += into_direct;
  direct_left_ -= into_direct;
  end_ += *came - into_direct;
  return came;
}

// Looks at what is in the staging buffer. `ended`: a piece has come whole.
Status StreamWire::Parse(FrameSink& sink, bool& ended) {
  while (true) {
    if (!in_frame_) {
      if (end_ - begin_ < kFrameHeaderBytes) return Status::Ok();
      std::memcpy(&current_, staging_.data() + begin_, kFrameHeaderBytes);
      begin_ += kFrameHeaderBytes;
      const Result<std::byte*> target = sink.Begin(current_);
      if (!target.ok()) return target.status();
      if (*target == nullptr && current_.bytes > kMostStagedBytes) {
        return Status(Code::kRemote, fmt::format("a frame of {} bytes has come, where at most {} are possible",
                                                 current_.bytes, kMostStagedBytes));
      }
      direct_ = *target;
      direct_left_ = direct_ == nullptr ? 0 : current_.bytes;
      in_frame_ = true;
    }
    if (direct_ == nullptr) {
      if (end_ - begin_ < current_.bytes) return Status::Ok();
      TUTTI_RETURN_IF_ERROR(sink.End(current_, std::span(staging_.data() + begin_, current_.bytes)));
      begin_ += current_.bytes;
      in_frame_ = false;
      continue;
    }
    if (const std::size_t part = std::min(direct_left_, end_ - begin_); part > 0) {
      std::memcpy(direct_, staging_.data() + begin_, part);
      begin_ += part;
      direct_ += part;
      direct_left_ -= part;
    }
    if (direct_left_ > 0) return Status::Ok();
    TUTTI_RETURN_IF_ERROR(sink.End(current_, {}));
    direct_ = nullptr;
    in_frame_ = false;
    ended = true;
  }
}

Result<bool> StreamWire::Receive(FrameSink& sink) {
  bool any = false;
  bool ended = false;
  while (!ended) {
    const Result<std::size_t> came = Fill();
    if (!came.ok()) {
      // What came before is whole and good.
      if (any) return true;
      return came.status();
    }
    if (*came == 0) return any;
    any = true;
    TUTTI_RETURN_IF_ERROR(Parse(sink, ended));
    if (direct_left_ == 0) return true;  // the socket held less than there was room for, as a rule
  }
  return any;
}

}  // namespace tutti::transport::net
