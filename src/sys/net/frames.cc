// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace tutti::sys {
namespace {

constexpr std::array<std::byte, 4> kMark = {std::byte{'T'}, std::byte{'U'}, std::byte{'T'}, std::byte{'F'}};
constexpr std::size_t kPieceBytes = 16 << 10;  // of one receive
constexpr std::size_t kShownBytes = 24;        // of what is no frame

// What somebody sent, fit for one line.
std::string Show(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes.first(std::min(bytes.size(), kShownBytes))) {
    const auto c = static_cast<char>(byte);
    if (c >= 32 && c < 127) {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned>(byte));
    }
  }
  return text;
}

// In words of its own, so that it can follow the name of who sent it.
Status NoFrame(std::span<const std::byte> bytes) {
  return Status(
      Code::kInvalidArgument,
      fmt::format("speaks another protocol than Tutti's (it began with \"{}\"): another program has this port, "
                  "or connects to ports that it finds",
                  Show(bytes)));
}

}  // namespace

NetMessage MakeFrame(std::span<const std::byte> message) {
  NetMessage frame;
  frame.reserve(kFrameHeaderBytes + message.size());
  frame.assign(kMark.begin(), kMark.end());
  for (int i = 0; i < 4; ++i) frame.push_back(static_cast<std::byte>(message.size() >> (8 * i) & 0xff));
  frame.resize(kFrameHeaderBytes + message.size());
  if (!message.empty()) std::memcpy(frame.data() + kFrameHeaderBytes, message.data(), message.size());
  return frame;
}

void FrameReader::Feed(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (taken_ > 0) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }
  const std::size_t before = bytes_.size();
  bytes_.resize(before + bytes.size());
  std::memcpy(bytes_.data() + before, bytes.data(), bytes.size());
}

Result<NetMessage> FrameReader::Next() {
  const std::span<const std::byte> here = rest();
  if (!std::equal(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(std::min(here.size(), kMark.size())),
                  kMark.begin())) {
    return NoFrame(here);
  }
  if (here.size() < kFrameHeaderBytes) return Status(Code::kInProgress, "no whole frame has come");
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 4; ++i) bytes |= std::to_integer<std::size_t>(here[4 + i]) << (8 * i);
  if (bytes > most_bytes_) {
    return Status(Code::kInvalidArgument,
                  fmt::format("sends a message of {} bytes, where at most {} are expected", bytes, most_bytes_));
  }
  if (here.size() < kFrameHeaderBytes + bytes) return Status(Code::kInProgress, "no whole frame has come");
  const std::span<const std::byte> message = here.subspan(kFrameHeaderBytes, bytes);
  taken_ += kFrameHeaderBytes + bytes;
  return NetMessage(message.begin(), message.end());
}

FramedConnection::FramedConnection(TcpConnection connection, std::size_t most_bytes)
    : tcp_(std::move(connection)), most_bytes_(most_bytes), reader_(most_bytes) {}

void FramedConnection::set_most_bytes(std::size_t most_bytes) {
  most_bytes_ = most_bytes;
  reader_.set_most_bytes(most_bytes);
}

Status FramedConnection::Post(std::span<const std::byte> message) {
  if (message.size() > most_bytes_) {
    return Status(Code::kInternal, fmt::format("a message of {} bytes is for a connection that carries at most {}",
                                               message.size(), most_bytes_));
  }
  if (sent_ == outgoing_.size()) {
    outgoing_.clear();
    sent_ = 0;
  }
  const NetMessage frame = MakeFrame(message);
  outgoing_.insert(outgoing_.end(), frame.begin(), frame.end());
  const Status status = Flush();
  return status.code() == Code::kInProgress ? Status::Ok() : status;
}

Status FramedConnection::Flush() {
  while (sent_ < outgoing_.size()) {
    const Result<std::size_t> sent = tcp_.Send(std::span(outgoing_).subspan(sent_));
    if (!sent.ok()) return sent.status();
    sent_ += *sent;
  }
  outgoing_.clear();
  sent_ = 0;
  return Status::Ok();
}

Status FramedConnection::Send(std::span<const std::byte> message, std::int64_t deadline_ns) {
  TUTTI_RETURN_IF_ERROR(Post(message));
  while (wants_to_send()) {
    TUTTI_RETURN_IF_ERROR(tcp_.WaitWritable(deadline_ns));
    const Status status = Flush();
    if (!status.ok() && status.code() != Code::kInProgress) return status;
  }
  return Status::Ok();
}

Result<NetMessage> FramedConnection::TryReceive() {
  while (true) {
    Result<NetMessage> message = reader_.Next();
    if (message.ok()) return message;
    if (message.status().code() != Code::kInProgress) {
      return Status(message.status().code(),
                    fmt::format("{} {}", tcp_.remote().ToString(), message.status().message()));
    }
    std::array<std::byte, kPieceBytes> piece;
    const Result<std::size_t> got = tcp_.Receive(piece);
    if (!got.ok()) {
      if (got.status().code() != Code::kRemote || reader_.rest().empty()) return got.status();
      return Status(Code::kRemote, fmt::format("{} (in the middle of a message, after {} bytes of it)",
                                               got.status().message(), reader_.rest().size()));
    }
    reader_.Feed(std::span(piece).first(*got));
  }
}

Result<NetMessage> FramedConnection::Receive(std::int64_t deadline_ns) {
  while (true) {
    Result<NetMessage> message = TryReceive();
    if (message.ok() || message.status().code() != Code::kInProgress) return message;
    TUTTI_RETURN_IF_ERROR(tcp_.WaitReadable(deadline_ns));
  }
}

TcpConnection FramedConnection::Release() { return std::move(tcp_); }

}  // namespace tutti::sys
