// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_FRAMES_H_
#define TUTTI_SYS_NET_FRAMES_H_

// Whole messages over TCP: each travels in a frame, so that one send is one receive.
//
//   byte 0        4               8
//        +--------+---------------+----------------------
//        | "TUTF" | bytes, little | that many bytes
//        |        | endian        |
//        +--------+---------------+----------------------

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sys/net/tcp.h"
#include "tutti/status.h"

namespace tutti::sys {

using NetMessage = std::vector<std::byte>;

inline constexpr std::size_t kFrameHeaderBytes = 8;

// A message in its frame. REQUIRES: less than 4 GiB.
NetMessage MakeFrame(std::span<const std::byte> message);

// Takes frames out of a stream of bytes. Trusts nothing: what cannot be the beginning of a frame is refused at its first
// wrong byte, a length is compared with the bound before anything else, and memory grows only with what has come.
class FrameReader {
 public:
  explicit FrameReader(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // The largest message that is accepted, from the next one on.
  void set_most_bytes(std::size_t most_bytes) { most_bytes_ = most_bytes; }
  void Feed(std::span<const std::byte> bytes);
  // The next whole message; kInProgress where it has not all come; kInvalidArgument where it is none, for ever.
  Result<NetMessage> Next();
  // Bytes that have come and belong to no message that Next has returned.
  std::span<const std::byte> rest() const { return std::span(bytes_).subspan(taken_); }

 private:
  std::size_t most_bytes_;
  NetMessage bytes_;
  std::size_t taken_ = 0;  // of them, by messages that Next has returned
};

// A connection that carries whole messages. Codes as in tcp.h; besides, kInvalidArgument where the other side sends what is
// no frame or a message longer than the bound, which ends the connection's use.
class FramedConnection {
 public:
  FramedConnection() = default;
  FramedConnection(TcpConnection connection, std::size_t most_bytes);

  bool valid() const { return tcp_.valid(); }
  const TcpConnection& tcp() const { return tcp_; }
  // The largest message that comes in or goes out.
  void set_most_bytes(std::size_t most_bytes);

  // With a deadline. A message of which a part was sent when the deadline passed goes on with the next call.
  Status Send(std::span<const std::byte> message, std::int64_t deadline_ns);
  Result<NetMessage> Receive(std::int64_t deadline_ns);

  // Without waiting. Post takes over the message and sends what can be sent; Flush goes on with that, kInProgress while
  // something is left, which has to be tried again when the socket is writable.
  Status Post(std::span<const std::byte> message);
  Status Flush();
  bool wants_to_send() const { return sent_ < outgoing_.size(); }
  std::size_t unsent_bytes() const { return outgoing_.size() - sent_; }
  // kInProgress where no whole message has come. It may have come although the socket is not readable: a poll set is waited
  // on only after this has said kInProgress.
  Result<NetMessage> TryReceive();

  // Gives the connection up, for something else to go on with it. REQUIRES: nothing has come or is unsent beyond the last
  // message, as where the two sides agree in it what comes next.
  TcpConnection Release();

 private:
  TcpConnection tcp_;
  std::size_t most_bytes_ = 0;
  FrameReader reader_{0};
  NetMessage outgoing_;   // frames
  std::size_t sent_ = 0;  // bytes of them
};

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_FRAMES_H_
