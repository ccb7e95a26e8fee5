// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/tcp.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sys/net/tcp_window.h"
#include "sys/os/clock.h"
#include "sys/os/error.h"

namespace tutti::sys {
namespace {

constexpr int kEphemeralTries = 16;  // ports that are tried where several addresses need one port

// SystemError with the likely cause of a network's error behind it.
Status NetworkError(int error, const std::string& what) { return SystemError(error, what, LikelyCause(error)); }

Result<Fd> MakeSocket(IpFamily family) {
  Fd fd(socket(family == IpFamily::kV4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (fd.valid()) return fd;
  const int error = errno;
  const std::string what = fmt::format("cannot make an {} socket", family == IpFamily::kV4 ? "IPv4" : "IPv6");
  if (error != EAFNOSUPPORT) return NetworkError(error, what);
  return SystemError(error, what, "This host has that family switched off; NCCL_SOCKET_FAMILY chooses the other");
}

// An error that stays as long as nobody changes what was asked for is kInvalidUsage.
Status Refusal(int error, const std::string& what) {
  const Status status = NetworkError(error, what);
  const bool lasting = error == EADDRNOTAVAIL || error == EACCES || error == EINVAL || error == EAFNOSUPPORT;
  return lasting ? Status(Code::kInvalidUsage, status.message()) : status;
}

bool SetOption(const Fd& socket, int level, int name, int value) {
  return setsockopt(socket.get(), level, name, &value, sizeof(value)) == 0;
}

// kSystem: which option the system did not take.
Status SetOptions(const Fd& socket, const TcpPatience& patience) {
  const struct {
    int level, name, value;
    const char* text;
  } options[] = {
      {IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY"},
      {SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE"},
      {IPPROTO_TCP, TCP_KEEPIDLE, patience.idle_s, "TCP_KEEPIDLE"},
      {IPPROTO_TCP, TCP_KEEPINTVL, patience.interval_s, "TCP_KEEPINTVL"},
      {IPPROTO_TCP, TCP_KEEPCNT, patience.probes, "TCP_KEEPCNT"},
      {IPPROTO_TCP, TCP_USER_TIMEOUT, patience.unacknowledged_ms, "TCP_USER_TIMEOUT"},
  };
  for (const auto& option : options) {
    if (!SetOption(socket, option.level, option.name, option.value)) {
      return SystemError(errno, fmt::format("cannot set {}={} on a TCP socket", option.text, option.value));
    }
  }
  return Status::Ok();
}

Result<Endpoint> NameOf(const Fd& socket, int (*get)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(storage);
  if (get(socket.get(), reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) {
    return SystemError(errno, "cannot read the address of a TCP socket");
  }
  return Endpoint::FromSockaddr(reinterpret_cast<const sockaddr*>(&storage), bytes);
}

int Bind(const Fd& socket, const Endpoint& local) {
  sockaddr_storage storage;
  const auto bytes = static_cast<socklen_t>(local.ToSockaddr(storage));
  return bind(socket.get(), reinterpret_cast<const sockaddr*>(&storage), bytes) == 0 ? 0 : errno;
}

// A listener, or kInProgress where the port is taken.
Result<Fd> ListenOn(const Endpoint& local, int backlog) {
  Result<Fd> fd = MakeSocket(local.address.family());
  if (!fd.ok()) return fd;
  const bool v6 = local.address.family() == IpFamily::kV6;
  if (!SetOption(*fd, SOL_SOCKET, SO_REUSEADDR, 1) || (v6 && !SetOption(*fd, IPPROTO_IPV6, IPV6_V6ONLY, 1))) {
    return SystemError(errno, "cannot set SO_REUSEADDR or IPV6_V6ONLY on a TCP socket");
  }
  int error = Bind(*fd, local);
  if (error == 0 && listen(fd->get(), backlog) != 0) error = errno;
  if (error == 0) return fd;
  if (error == EADDRINUSE) return Status(Code::kInProgress, "the port is taken");
  return Refusal(error, fmt::format("cannot listen on {}", local.ToString()));
}

// Whether accept says something of a connection that ended while it waited, and not of the listener.
bool IsOfTheCaller(int error) {
  switch (error) {
    case ECONNABORTED:
    case ENETDOWN:
    case EPROTO:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case EPERM:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view LikelyCause(int error_number) {
  switch (error_number) {
    case ECONNREFUSED:
      return "Nothing listens there: that process has ended, or the address belongs to another machine or container, "
             "or a firewall answers for it";
    case ETIMEDOUT:
      return "The other host does not answer: it is off or cut off, or a firewall drops what is sent there; allow TCP "
             "between all hosts of the job";
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
      return "No way leads there from here: look at the routes of this host, and choose an interface that both hosts "
             "share with NCCL_SOCKET_IFNAME";
    case ECONNRESET:
    case EPIPE:
      return "The other process has ended, or a firewall has cut the connection";
    case EADDRNOTAVAIL:
      return "This host has no such address, or no local port is left (sysctl net.ipv4.ip_local_port_range)";
    case EADDRINUSE:
      return "Another process uses that port; `ss -ltnp` shows which";
    case EACCES:
    case EPERM:
      return "A rule of this host forbids it; ports below 1024 are root's";
    case EINVAL:
      return "A link-local address needs an interface after it, as in fe80::1%eth0";
    case ENOBUFS:
    case ENOMEM:
      return "The system is out of memory for sockets";
    default:
      return "";
  }
}

Result<TcpConnection> TcpConnection::Adopt(Fd socket, const TcpPatience& patience) {
  TcpConnection made;
  const Result<Endpoint> remote = NameOf(socket, &getpeername);
  if (!remote.ok()) return Status(Code::kRemote, "the other side closed the connection as soon as it was made");
  made.remote_ = *remote;
  const Result<Endpoint> local = NameOf(socket, &getsockname);
  if (!local.ok()) return local.status();
  made.local_ = *local;
  if (made.local_ == made.remote_) {
    return Status(Code::kRemote, fmt::format("nothing listens on {}: the system has connected this socket to itself",
                                             made.remote_.ToString()));
  }
  TUTTI_RETURN_IF_ERROR(SetOptions(socket, patience));
  made.socket_ = std::move(socket);
  return made;
}

std::string TcpConnection::Name() const { return fmt::format("{} to {}", local_.ToString(), remote_.ToString()); }

Status TcpConnection::Broken(const char* what, int error) const {
  const Status status = NetworkError(error, fmt::format("cannot {} on the connection from {}", what, Name()));
  switch (error) {
    case ECONNRESET:
    case EPIPE:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
    case ECONNABORTED:
      return Status(Code::kRemote, status.message());
    case ETIMEDOUT:
      return Status(Code::kTimeout, status.message());
    default:
      return status;
  }
}

Result<std::size_t> TcpConnection::TrySend(std::span<const std::span<const std::byte>> pieces) {
  iovec vectors[kMostPieces];
  msghdr header{};
  header.msg_iov = vectors;
  std::size_t bytes = 0;
  for (const std::span<const std::byte> piece : pieces.first(std::min(pieces.size(), kMostPieces))) {
    vectors[header.msg_iovlen++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    bytes += piece.size();
  }
  // The system takes one piece in less time than several.
  std::byte small[kSmallBytes];
  if (header.msg_iovlen > 1 && bytes <= kSmallBytes) {
    std::byte* end = small;
    for (const std::span<const std::byte> piece : pieces.first(header.msg_iovlen))
      end = std::ranges::copy(piece, end).out;
    vectors[0] = {small, bytes};
    header.msg_iovlen = 1;
  }
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  while (true) {
    const ssize_t n = header.msg_iovlen == 1 ? send(socket_.get(), vectors[0].iov_base, vectors[0].iov_len, kFlags)
                                             : sendmsg(socket_.get(), &header, kFlags);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    if (errno != EINTR) return Broken("send", errno);
  }
}

Result<std::size_t> TcpConnection::TryReceive(std::span<const std::span<std::byte>> buffers) {
  iovec vectors[kMostPieces];
  msghdr header{};
  header.msg_iov = vectors;
  for (const std::span<std::byte> buffer : buffers.first(std::min(buffers.size(), kMostPieces))) {
    vectors[header.msg_iovlen++] = {buffer.data(), buffer.size()};
  }
  while (true) {
    const ssize_t n = header.msg_iovlen == 1
                          ? recv(socket_.get(), vectors[0].iov_base, vectors[0].iov_len, MSG_DONTWAIT)
                          : recvmsg(socket_.get(), &header, MSG_DONTWAIT);
    if (n > 0) return static_cast<std::size_t>(n);
    if (n == 0)
      return Status(Code::kRemote, fmt::format("{} closed the connection from {}", remote_.ToString(), Name()));
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    if (errno != EINTR) return Broken("receive", errno);
  }
}

Result<std::size_t> TcpConnection::Send(std::span<const std::span<const std::byte>> pieces) {
  Result<std::size_t> sent = TrySend(pieces);
  if (sent.ok() && *sent == 0) return Status(Code::kInProgress, "the socket is full");
  return sent;
}

Result<std::size_t> TcpConnection::Send(std::span<const std::byte> bytes) { return Send(std::span(&bytes, 1)); }

Result<std::size_t> TcpConnection::Receive(std::span<std::byte> buffer) {
  Result<std::size_t> received = TryReceive(std::span(&buffer, 1));
  if (received.ok() && *received == 0) return Status(Code::kInProgress, "nothing has come yet");
  return received;
}

std::size_t TcpConnection::Unacknowledged() const {
  int bytes = 0;
  return ioctl(socket_.get(), TIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

std::optional<bool> TcpConnection::PeerIsFull() const {
  const std::optional<TcpWindow> window = FindTcpWindow(socket_.get());
  if (!window) return std::nullopt;
  return window->bytes < window->packet_bytes;
}

std::optional<TcpTraffic> TcpConnection::Traffic() const { return FindTcpTraffic(socket_.get()); }

Status TcpConnection::WaitFor(short events, std::int64_t deadline_ns) const {
  while (true) {
    pollfd entry = {.fd = socket_.get(), .events = events, .revents = 0};
    const std::int64_t left_ns = deadline_ns - NowNs();
    const auto left_ms = std::clamp<std::int64_t>((left_ns + kNsPerMs - 1) / kNsPerMs, 0, 1'000'000);
    const int ready = poll(&entry, 1, static_cast<int>(left_ms));
    if (ready > 0) return Status::Ok();
    if (ready < 0 && errno != EINTR) return Broken("wait", errno);
    if (ready == 0 && left_ns <= 0) {
      return Status(Code::kTimeout,
                    fmt::format("{} {} before the deadline on the connection from {}", remote_.ToString(),
                                events == POLLIN ? "sent nothing" : "took nothing", Name()));
    }
  }
}

void TcpConnection::EndSending() { (void)shutdown(socket_.get(), SHUT_WR); }

Status TcpConnection::WaitReadable(std::int64_t deadline_ns) const { return WaitFor(POLLIN, deadline_ns); }
Status TcpConnection::WaitWritable(std::int64_t deadline_ns) const { return WaitFor(POLLOUT, deadline_ns); }

Result<TcpListener> TcpListener::Open(const ListenOptions& options) {
  if (options.addresses.empty() || options.ports.first > options.ports.last) {
    return Status(Code::kInvalidArgument,
                  fmt::format("cannot listen on {} addresses and ports {} to {}", options.addresses.size(),
                              options.ports.first, options.ports.last));
  }
  const bool any = options.ports.last == 0;
  const int tries = any ? kEphemeralTries : options.ports.last - options.ports.first + 1;
  for (int i = 0; i < tries; ++i) {
    TcpListener made;
    auto port = static_cast<std::uint16_t>(any ? 0 : options.ports.first + i);
    for (const IpAddress& address : options.addresses) {
      Result<Fd> fd = ListenOn({address, port}, options.backlog);
      if (!fd.ok() && fd.status().code() != Code::kInProgress) return fd.status();
      if (!fd.ok()) break;
      const Result<Endpoint> local = NameOf(*fd, &getsockname);
      if (!local.ok()) return local.status();
      port = local->port;  // where any would do, the system has chosen it now
      made.sockets_.push_back(std::move(*fd));
      made.endpoints_.push_back(*local);
    }
    if (made.sockets_.size() == options.addresses.size()) return made;
  }
  const std::string ports =
      any          ? fmt::format("no port is free on all of them ({} were tried)", tries)
      : tries == 1 ? fmt::format("port {} is taken", options.ports.first)
                   : fmt::format("each port from {} to {} is taken", options.ports.first, options.ports.last);
  return Status(
      Code::kInvalidUsage,
      fmt::format("cannot listen on {}: {}. `ss -ltnp` shows who has a port; end that process or allow more ports",
                  ListAddresses(options.addresses), ports));
}

Result<TcpListener> TcpListener::Adopt(Fd socket) {
  int listens = 0;
  socklen_t bytes = sizeof(listens);
  const bool knows = getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0;
  const Result<Endpoint> local = NameOf(socket, &getsockname);
  if (!knows || listens == 0 || !local.ok())
    return Status(Code::kInvalidArgument, "a descriptor that was handed on is no TCP listener");
  TcpListener made;
  made.sockets_.push_back(std::move(socket));
  made.endpoints_.push_back(*local);
  return made;
}

Result<TcpConnection> TcpListener::Accept(const TcpPatience& patience) {
  for (std::size_t idle = 0; idle < sockets_.size();) {
    const std::size_t place = next_ % sockets_.size();
    Fd fd(accept4(sockets_[place].get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.valid()) {
      next_ = place + 1;
      Result<TcpConnection> connection = TcpConnection::Adopt(std::move(fd), patience);
      if (connection.ok() || connection.status().code() != Code::kRemote) return connection;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      next_ = place + 1;
      ++idle;
    } else if (errno != EINTR && !IsOfTheCaller(errno)) {
      return NetworkError(errno, fmt::format("cannot accept a connection on {}", endpoints_[place].ToString()));
    }
  }
  return Status(Code::kInProgress, "nobody waits for a connection");
}

Result<Fd> StartConnect(const Endpoint& remote, const std::optional<IpAddress>& from, const std::string& interface,
                        int segment_bytes) {
  Result<Fd> fd = MakeSocket(remote.address.family());
  if (!fd.ok()) return fd;
  if (segment_bytes > 0) SetOption(*fd, IPPROTO_TCP, TCP_MAXSEG, segment_bytes);
  if (!interface.empty()) {
    // Where the system does not allow it, the routes decide.
    (void)setsockopt(fd->get(), SOL_SOCKET, SO_BINDTODEVICE, interface.data(),
                     static_cast<socklen_t>(interface.size()));
  }
  const std::string source = from ? fmt::format(" from {}", from->ToString()) : "";
  if (from) {
    // The port is chosen when connecting, so that many connections to different places may share one.
    SetOption(*fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    if (const int error = Bind(*fd, {*from, 0}); error != 0) {
      return Refusal(error, fmt::format("cannot connect{} to {}", source, remote.ToString()));
    }
  }
  sockaddr_storage storage;
  const auto bytes = static_cast<socklen_t>(remote.ToSockaddr(storage));
  while (connect(fd->get(), reinterpret_cast<const sockaddr*>(&storage), bytes) != 0) {
    if (errno == EINPROGRESS || errno == EALREADY || errno == EISCONN) break;
    if (errno == EINTR) continue;
    return Refusal(errno, fmt::format("cannot connect{} to {}", source, remote.ToString()));
  }
  return fd;
}

std::optional<int> ConnectError(const Fd& socket) {
  pollfd entry = {.fd = socket.get(), .events = POLLOUT, .revents = 0};
  if (poll(&entry, 1, 0) == 0) return std::nullopt;
  int error = 0;
  socklen_t bytes = sizeof(error);
  return getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

Result<TcpConnection> FinishConnect(Fd& socket, const Endpoint& remote, const TcpPatience& patience) {
  const Result<Endpoint> local = NameOf(socket, &getsockname);
  const std::optional<int> error = ConnectError(socket);
  if (!error) return Status(Code::kInProgress, "not connected yet");
  if (*error == 0) return TcpConnection::Adopt(std::move(socket), patience);
  const std::string from = local.ok() && !local->address.IsUnspecified() ? " from " + local->address.ToString() : "";
  return NetworkError(*error, fmt::format("cannot connect{} to {}", from, remote.ToString()));
}

}  // namespace tutti::sys
