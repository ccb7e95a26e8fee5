// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_STREAM_WIRE_H_
#define TUTTI_TRANSPORT_NET_STREAM_WIRE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/net/frame.h"
#include "transport/net/stream.h"
#include "transport/net/wire.h"
#include "tutti/status.h"

namespace tutti::transport::net {

// A wire over a stream. Payloads that a sink has a place for are not copied here, but for what comes with a header.
class StreamWire final : public Wire {
 public:
  explicit StreamWire(std::unique_ptr<Stream> stream);

  std::string Name() const override { return stream_->Name(); }
  bool HasRoom() const override { return count_ < kMostFrames; }
  bool busy() const override { return count_ > 0; }
  bool unfinished() const override { return busy() || stream_->busy(); }
  void Add(FrameHeader header, std::span<const std::byte> payload) override;
  void AddOwned(FrameHeader header, std::vector<std::byte> payload) override;
  Result<bool> Send() override;
  std::uint64_t Added() const override { return added_; }
  std::size_t Backlog() const override;
  std::optional<bool> WaitsForRoom() const override { return stream_->WaitsForRoom(); }
  std::optional<transport::Traffic> Traffic() const override { return stream_->Traffic(); }
  Result<bool> Receive(FrameSink& sink) override;
  void Divert(std::byte* instead) override {
    if (direct_ != nullptr) direct_ = instead;
  }
  int fd() const override { return stream_->fd(); }

 private:
  struct Frame {
    FrameHeader header;
    std::span<const std::byte> payload;
    std::vector<std::byte> owned;
  };
  static constexpr std::size_t kMostFrames = 7;  // twice as many pieces go into one system call
  static constexpr std::size_t kStagingBytes = 2 * (kMostStagedBytes + kFrameHeaderBytes);
  // What is taken behind the rest of a payload: the next header and little of its payload, which is copied.
  static constexpr std::size_t kBehindBytes = 4096;

  std::size_t Collect(std::array<std::span<const std::byte>, 2 * kMostFrames>& pieces) const;
  void Drop(std::size_t bytes);
  Result<std::size_t> Fill();
  Status Parse(FrameSink& sink, bool& ended);

  std::unique_ptr<Stream> stream_;
  std::array<Frame, kMostFrames> frames_;  // a ring
  std::size_t first_ = 0, count_ = 0;
  std::size_t sent_ = 0;  // bytes of the first
  std::uint64_t added_ = 0;

  std::vector<std::byte> staging_;
  std::size_t begin_ = 0, end_ = 0;  // what of it has come and was not looked at
  FrameHeader current_;
  bool in_frame_ = false;
  std::byte* direct_ = nullptr;  // where the rest of the current frame goes, unless staged
  std::size_t direct_left_ = 0;
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_STREAM_WIRE_H_
