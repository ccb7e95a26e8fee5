// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/unix_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sys/os/clock.h"
#include "sys/os/error.h"

namespace tutti::sys {
namespace {

constexpr std::int64_t kLongestPauseNs = 10 * kNsPerMs;

Result<Fd> MakeSocket(SocketKind kind) {
  const int type = kind == SocketKind::kStream ? SOCK_STREAM : SOCK_SEQPACKET;
  Fd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return SystemError(errno, "cannot make a unix socket");
  return fd;
}

struct Address {
  sockaddr_un storage{};
  socklen_t bytes = 0;
};

Result<Address> AbstractAddress(std::string_view name) {
  if (name.empty() || name.size() > kMostNameBytes) {
    return Status(Code::kInvalidArgument, fmt::format("the name of a unix socket has {} bytes; 1 to {} are possible",
                                                      name.size(), kMostNameBytes));
  }
  Address address;
  address.storage.sun_family = AF_UNIX;
  std::memcpy(address.storage.sun_path + 1, name.data(), name.size());  // the leading zero makes it abstract
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

// For poll: rounded up, so as not to wake up too early and poll in vain.
int MsUntil(std::int64_t deadline_ns) {
  const std::int64_t left_ns = deadline_ns - NowNs();
  return static_cast<int>(std::clamp<std::int64_t>((left_ns + kNsPerMs - 1) / kNsPerMs, 0, 1'000'000));
}

Status WaitFor(const Fd& socket, short events, std::int64_t deadline_ns) {
  while (true) {
    pollfd entry = {.fd = socket.get(), .events = events, .revents = 0};
    const bool late = NowNs() >= deadline_ns;
    const int ready = poll(&entry, 1, MsUntil(deadline_ns));
    if (ready > 0) return Status::Ok();
    if (ready < 0 && errno != EINTR) return SystemError(errno, "poll on a unix socket failed");
    if (ready == 0 && late) {
      return Status(Code::kTimeout, events == POLLIN ? "nothing came from the other side before the deadline"
                                                     : "the other side took nothing before the deadline");
    }
  }
}

Status SendError(int error) {
  // Linux says ETOOMANYREFS where a user has more descriptors under way than one process may have open.
  if (error == EAGAIN || error == ENOBUFS || error == ETOOMANYREFS)
    return Status(Code::kInProgress, "the socket is full");
  if (error == EPIPE || error == ECONNRESET) return Status(Code::kRemote, "the other side closed the connection");
  return SystemError(error, "cannot send on a unix socket");
}

Status ReceiveError(int error) {
  if (error == EAGAIN) return Status(Code::kInProgress, "nothing has come yet");
  if (error == ECONNRESET) return Status(Code::kRemote, "the other side closed the connection");
  return SystemError(error, "cannot receive on a unix socket");
}

void TakeFds(msghdr& header, std::vector<Fd>& fds) {
  for (cmsghdr* entry = CMSG_FIRSTHDR(&header); entry != nullptr; entry = CMSG_NXTHDR(&header, entry)) {
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (entry->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(entry) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
}

}  // namespace

Result<Fd> Listen(SocketKind kind, std::string_view name, int backlog) {
  Result<Address> address = AbstractAddress(name);
  if (!address.ok()) return address.status();
  Result<Fd> fd = MakeSocket(kind);
  if (!fd.ok()) return fd;
  if (bind(fd->get(), reinterpret_cast<const sockaddr*>(&address->storage), address->bytes) != 0) {
    if (errno == EADDRINUSE) return Status(Code::kInvalidUsage, "another process listens on that unix socket name");
    return SystemError(errno, "cannot bind a unix socket");
  }
  if (listen(fd->get(), backlog) != 0) return SystemError(errno, "cannot listen on a unix socket");
  return fd;
}

Result<Fd> Accept(const Fd& listener) {
  while (true) {
    Fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.valid()) return fd;
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return Status(Code::kInProgress, "nobody waits for a connection");
    return SystemError(errno, "cannot accept a connection on a unix socket");
  }
}

Result<Fd> TryConnect(SocketKind kind, std::string_view name) {
  Result<Address> address = AbstractAddress(name);
  if (!address.ok()) return address.status();
  Result<Fd> fd = MakeSocket(kind);
  if (!fd.ok()) return fd;
  while (connect(fd->get(), reinterpret_cast<const sockaddr*>(&address->storage), address->bytes) != 0) {
    if (errno == EINTR) continue;
    if (errno == ECONNREFUSED || errno == ENOENT) return Status(Code::kInProgress, "nobody listens on that name");
    if (errno == EAGAIN) return Status(Code::kInProgress, "too many connections wait on that name");
    return SystemError(errno, "cannot connect a unix socket");
  }
  return fd;
}

Result<Fd> Connect(SocketKind kind, std::string_view name, std::int64_t deadline_ns) {
  for (std::int64_t pause_ns = 50'000;; pause_ns = std::min(pause_ns * 2, kLongestPauseNs)) {
    Result<Fd> fd = TryConnect(kind, name);
    if (fd.ok() || fd.status().code() != Code::kInProgress) return fd;
    const std::int64_t left_ns = deadline_ns - NowNs();
    if (left_ns <= 0) {
      return Status(Code::kTimeout, fmt::format("cannot connect before the deadline: {}", fd.status().message()));
    }
    SleepNs(std::min(pause_ns, left_ns));
  }
}

Result<SocketPair> MakeSocketPair(SocketKind kind) {
  int fds[2];
  const int type = kind == SocketKind::kStream ? SOCK_STREAM : SOCK_SEQPACKET;
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) {
    return SystemError(errno, "cannot make a pair of unix sockets");
  }
  return SocketPair{Fd(fds[0]), Fd(fds[1])};
}

Status WaitReadable(const Fd& socket, std::int64_t deadline_ns) { return WaitFor(socket, POLLIN, deadline_ns); }
Status WaitWritable(const Fd& socket, std::int64_t deadline_ns) { return WaitFor(socket, POLLOUT, deadline_ns); }

Result<int> WaitAny(std::span<Watched> sockets, std::int64_t deadline_ns) {
  std::vector<pollfd> entries;
  entries.reserve(sockets.size());
  for (const Watched& watched : sockets) {
    const short events = watched.what == Watched::For::kReading ? POLLIN : POLLIN | POLLOUT;
    entries.push_back({.fd = watched.fd, .events = events, .revents = 0});
  }
  const int ready = poll(entries.data(), entries.size(), MsUntil(deadline_ns));
  if (ready < 0 && errno != EINTR) {
    return SystemError(errno, fmt::format("cannot wait on {} unix sockets", sockets.size()));
  }
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    sockets[i].readable = ready > 0 && (entries[i].revents & ~POLLOUT) != 0;
    sockets[i].writable = ready > 0 && (entries[i].revents & POLLOUT) != 0;
  }
  return std::max(ready, 0);
}

Status SendExact(const Fd& socket, std::span<const std::byte> bytes, std::int64_t deadline_ns) {
  while (!bytes.empty()) {
    const Result<std::size_t> sent = SendMessage(socket, bytes);
    if (sent.ok()) {
      bytes = bytes.subspan(*sent);
    } else if (sent.status().code() == Code::kInProgress) {
      TUTTI_RETURN_IF_ERROR(WaitWritable(socket, deadline_ns));
    } else {
      return sent.status();
    }
  }
  return Status::Ok();
}

Status ReceiveExact(const Fd& socket, std::span<std::byte> bytes, std::int64_t deadline_ns) {
  while (!bytes.empty()) {
    const Result<Received> got = ReceiveMessage(socket, bytes);
    if (got.ok()) {
      bytes = bytes.subspan(got->bytes);
    } else if (got.status().code() == Code::kInProgress) {
      TUTTI_RETURN_IF_ERROR(WaitReadable(socket, deadline_ns));
    } else {
      return got.status();
    }
  }
  return Status::Ok();
}

Result<std::size_t> SendMessage(const Fd& socket, std::span<const std::byte> bytes, std::span<const int> fds) {
  if (fds.size() > static_cast<std::size_t>(kMostFdsPerMessage) || (bytes.empty() && !fds.empty())) {
    return Status(Code::kInvalidArgument,
                  fmt::format("a message of {} bytes cannot carry {} file descriptors", bytes.size(), fds.size()));
  }
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostFdsPerMessage)];
  iovec data = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    std::memset(control, 0, header.msg_controllen);
    cmsghdr* entry = CMSG_FIRSTHDR(&header);
    entry->cmsg_level = SOL_SOCKET;
    entry->cmsg_type = SCM_RIGHTS;
    entry->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(entry), fds.data(), fds.size_bytes());
  }
  ssize_t n;
  do {
    n = sendmsg(socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return SendError(errno);
  return static_cast<std::size_t>(n);
}

Result<Received> ReceiveMessage(const Fd& socket, std::span<std::byte> buffer) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 253)];
  iovec data = {buffer.data(), buffer.size()};
  msghdr header{};
  ssize_t n;
  // Two things may be said ahead of what a peer sent before it closed, so each is believed the second time only: ECONNRESET,
  // where it left bytes of ours unread; and the end of a packet socket, where Linux finds no message, then a message and the
  // end come, and it looks for the end (unix_dgram_recvmsg).
  for (int resets = 0, ends = 0;;) {
    header = {};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    n = recvmsg(socket.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const bool reset = n < 0 && errno == ECONNRESET && resets++ == 0;
    const bool end = n == 0 && !buffer.empty() && ends++ == 0;
    if (!reset && !end && (n >= 0 || errno != EINTR)) break;
  }
  if (n < 0) return ReceiveError(errno);
  Received received{.bytes = static_cast<std::size_t>(n)};
  TakeFds(header, received.fds);
  received.fds_lost = (header.msg_flags & MSG_CTRUNC) != 0;
  if ((header.msg_flags & MSG_TRUNC) != 0) {
    return Status(Code::kInvalidArgument, fmt::format("a message of more than {} bytes came", buffer.size()));
  }
  if (n == 0 && !buffer.empty()) return Status(Code::kRemote, "the other side closed the connection");
  return received;
}

Status DescriptorsLost() {
  return SystemError(EMFILE, "cannot receive file descriptors: they find no room in this process");
}

Result<PeerCredentials> Credentials(const Fd& socket) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
    return SystemError(errno, "cannot ask who is at the other end of a unix socket");
  }
  return PeerCredentials{.pid = peer.pid, .uid = peer.uid};
}

}  // namespace tutti::sys
