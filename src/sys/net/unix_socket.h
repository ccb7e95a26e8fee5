// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_UNIX_SOCKET_H_
#define TUTTI_SYS_NET_UNIX_SOCKET_H_

// Unix sockets in the abstract name space: names without files, which vanish with their last socket. Sockets
// made here are close-on-exec and non-blocking, never raise SIGPIPE, and go on after signals.
//
// Deadlines are points in time of NowNs(). Codes, everywhere below: kTimeout where the deadline passed,
// kRemote where the other side closed or died, kInProgress where an operation that does not wait has to be
// tried again later, kSystem for the rest.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sys/os/fd.h"
#include "tutti/status.h"

namespace tutti::sys {

enum class SocketKind : std::uint8_t {
  kStream,  // bytes
  kPacket,  // whole messages: one send is one receive (SOCK_SEQPACKET)
};

inline constexpr int kMostFdsPerMessage = 250;      // Linux allows 253
inline constexpr std::size_t kMostNameBytes = 107;  // of an abstract name

// Takes an abstract name and listens on it. kInvalidUsage where somebody has that name already.
Result<Fd> Listen(SocketKind kind, std::string_view name, int backlog = 4096);
// A waiting connection; kInProgress where there is none.
Result<Fd> Accept(const Fd& listener);
// One attempt. kInProgress where nobody listens on the name yet, or its queue is full.
Result<Fd> TryConnect(SocketKind kind, std::string_view name);
// Tries until the name appears, ever more rarely, at least every 10 ms.
Result<Fd> Connect(SocketKind kind, std::string_view name, std::int64_t deadline_ns);

// Two sockets connected to each other.
struct SocketPair {
  Fd a, b;
};
Result<SocketPair> MakeSocketPair(SocketKind kind);

// Wait until a call would not have to be tried again; errors of the socket also end the wait.
Status WaitReadable(const Fd& socket, std::int64_t deadline_ns);
Status WaitWritable(const Fd& socket, std::int64_t deadline_ns);

// One of several descriptors to wait on.
struct Watched {
  int fd = -1;  // negative: passed over
  enum class For : std::uint8_t { kReading, kReadingAndWriting } what = For::kReading;
  bool readable = false;  // set by WaitAny: something has come, or the connection has ended or failed
  bool writable = false;
};
// Waits until one of them is ready, a signal comes, or the deadline has passed. How many are ready: 0 or more.
Result<int> WaitAny(std::span<Watched> sockets, std::int64_t deadline_ns);

// All of `bytes`, or an error. For streams.
Status SendExact(const Fd& socket, std::span<const std::byte> bytes, std::int64_t deadline_ns);
Status ReceiveExact(const Fd& socket, std::span<std::byte> bytes, std::int64_t deadline_ns);

// Sends one message with copies of `fds` (at most kMostFdsPerMessage), without waiting. On a stream a part of
// `bytes` may be sent: the count says how many; the descriptors went with the first of them. A message
// without bytes carries no descriptors. kInProgress also where too many descriptors are under way between
// processes.
Result<std::size_t> SendMessage(const Fd& socket, std::span<const std::byte> bytes, std::span<const int> fds = {});

// Receives into `buffer`, without waiting. On a packet socket a message longer than the buffer is an error
// (kInvalidArgument).
struct Received {
  std::size_t bytes = 0;
  std::vector<Fd> fds;
  // More descriptors came than found room in this process, likely for its limit of open files: those in `fds`
  // may be others than the sender's first ones. See DescriptorsLost.
  bool fds_lost = false;
};
Result<Received> ReceiveMessage(const Fd& socket, std::span<std::byte> buffer);
// The error to make of Received::fds_lost; names `ulimit -n`.
Status DescriptorsLost();

// Who opened the other end, as the kernel saw it then. pid 0: a process of another pid name space.
struct PeerCredentials {
  std::int32_t pid = 0;
  std::uint32_t uid = 0;
};
Result<PeerCredentials> Credentials(const Fd& socket);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_UNIX_SOCKET_H_
