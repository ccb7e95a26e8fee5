// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_WIRE_H_
#define TUTTI_TRANSPORT_NET_WIRE_H_

// A connection that carries frames (frame.h) both ways, without waiting and without copying what is large.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sys/net/tcp.h"
#include "transport/net/frame.h"
#include "tutti/status.h"

namespace tutti::transport::net {

// Takes what comes over a wire. An error ends the wire.
class FrameSink {
 public:
  // A frame has begun. Where its payload shall go; null: it is handed to End as a whole.
  virtual Result<std::byte*> Begin(const FrameHeader& header) = 0;
  // All of it has come.
  virtual Status End(const FrameHeader& header, std::span<const std::byte> payload) = 0;

 protected:
  ~FrameSink() = default;
};

// Threads: one at a time.
class Wire {
 public:
  explicit Wire(sys::TcpConnection connection);

  const sys::TcpConnection& connection() const { return connection_; }

  // Whether another frame can be added; and whether something of those added has not been handed to the system.
  bool HasRoom() const { return count_ < kMostFrames; }
  bool busy() const { return count_ > 0; }
  // REQUIRES: HasRoom(), and the payload stays where it is and as it is until it is sent.
  void Add(FrameHeader header, std::span<const std::byte> payload);
  // The same for a payload that the wire keeps.
  void AddOwned(FrameHeader header, std::vector<std::byte> payload);
  // Sends as much as can be sent now. Whether that was anything.
  Result<bool> Send();

  // Takes what has come, up to the end of a piece of data. Whether that was anything.
  Result<bool> Receive(FrameSink& sink);

 private:
  struct Frame {
    FrameHeader header;
    std::span<const std::byte> payload;
    std::vector<std::byte> owned;
  };
  static constexpr std::size_t kMostFrames = 7;  // twice as many pieces go into one system call
  static constexpr std::size_t kStagingBytes = 2 * (kMostStagedBytes + kFrameHeaderBytes);

  std::size_t Collect(std::array<std::span<const std::byte>, 2 * kMostFrames>& pieces) const;
  void Drop(std::size_t bytes);
  Result<std::size_t> Fill();
  Status Parse(FrameSink& sink, bool& ended);

  sys::TcpConnection connection_;
  std::array<Frame, kMostFrames> frames_;  // a ring
  std::size_t first_ = 0, count_ = 0;
  std::size_t sent_ = 0;  // bytes of the first

  std::vector<std::byte> staging_;
  std::size_t begin_ = 0, end_ = 0;  // what of it has come and was not looked at
  FrameHeader current_;
  bool in_frame_ = false;
  std::byte* direct_ = nullptr;  // where the rest of the current frame goes, unless staged
  std::size_t direct_left_ = 0;
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_WIRE_H_
