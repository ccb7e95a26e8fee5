// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to a wire, in pieces of any size, as a stream may deliver them. What the wire makes of them must be the same
// frames, whatever the pieces; no payload may be longer than its frame says, and none that has no place longer than is allowed.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (a frame of channel 7 "crashes") must be found within seconds.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/net/frame.h"
#include "transport/net/stream.h"
#include "transport/net/stream_wire.h"
#include "transport/net/wire.h"

namespace tutti::transport::net {
namespace {

constexpr std::size_t kMostPlaced = 3000;  // of a payload that the sink has a place for

void Require(bool condition) {
  if (!condition) std::abort();
}

// Delivers its input, at most so many bytes at a time, and takes nothing.
class FuzzedStream final : public Stream {
 public:
  FuzzedStream(std::span<const std::byte> in, std::size_t most) : in_(in), most_(most) {}
  std::string Name() const override { return "fuzzed"; }
  Result<std::size_t> TrySend(std::span<const std::span<const std::byte>>) override { return std::size_t{0}; }
  Result<std::size_t> TryReceive(std::span<const std::span<std::byte>> buffers) override {
    if (in_.empty()) return Status(Code::kRemote, "the end");
    std::size_t came = 0;
    for (const std::span<std::byte> buffer : buffers) {
      const std::size_t part = std::min({buffer.size(), most_ - came, in_.size()});
      if (part > 0) std::memcpy(buffer.data(), in_.data(), part);
      in_ = in_.subspan(part);
      came += part;
    }
    return came;
  }
  bool busy() const override { return false; }
  std::size_t Unacknowledged() const override { return 0; }
  std::optional<bool> WaitsForRoom() const override { return std::nullopt; }
  int fd() const override { return -1; }

 private:
  std::span<const std::byte> in_;
  const std::size_t most_;
};

// Keeps the frames that came whole.
class KeepingSink final : public FrameSink {
 public:
  Result<std::byte*> Begin(const FrameHeader& header) override {
#ifdef TUTTI_FUZZ_CANARY
    Require(header.channel != 7);
#endif
    if (header.kind != FrameKind::kPiece || header.bytes > kMostPlaced) return nullptr;
    // Of its size exactly, so that the sanitizer sees what lies beyond.
    place_ = std::make_unique<std::byte[]>(header.bytes);
    return place_.get();
  }
  Status End(const FrameHeader& header, std::span<const std::byte> payload) override {
    Require(payload.empty() || (payload.size() == header.bytes && payload.size() <= kMostStagedBytes));
    std::vector<std::byte> frame(sizeof(header));
    std::memcpy(frame.data(), &header, sizeof(header));
    if (place_ != nullptr) frame.insert(frame.end(), place_.get(), place_.get() + header.bytes);
    frame.insert(frame.end(), payload.begin(), payload.end());
    place_.reset();
    frames.push_back(std::move(frame));
    return Status::Ok();
  }

  std::vector<std::vector<std::byte>> frames;

 private:
  std::unique_ptr<std::byte[]> place_;
};

std::vector<std::vector<std::byte>> Frames(std::span<const std::byte> in, std::size_t most) {
  StreamWire wire(std::make_unique<FuzzedStream>(in, most));
  KeepingSink sink;
  while (wire.Receive(sink).ok()) {
  }
  return std::move(sink.frames);
}

}  // namespace
}  // namespace tutti::transport::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::transport::net;
  if (size == 0) return 0;
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  Require(Frames(input, 1U + data[0]) == Frames(input, std::size_t{1} << 20));
  return 0;
}
