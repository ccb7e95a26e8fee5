// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "ras/door.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/words.h"
#include "sys/net/resolve.h"
#include "sys/net/unix_socket.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"

namespace tutti::ras {
namespace {

constexpr std::int64_t kLookUpNs = 2 * sys::kNsPerSecond;
constexpr std::int64_t kAnswerNs = sys::kNsPerSecond / 2;
constexpr int kClientsThatWait = 128;

// Of this user: another user's process could not be given the socket, nor trusted to hand on the right one.
std::string NameOf(const sys::Endpoint& endpoint) {
  return fmt::format("tutti-ras-{}-{}", sys::UserId(), endpoint.ToString());
}

bool IsOfThisUser(const sys::Fd& socket) {
  const Result<sys::PeerCredentials> peer = sys::Credentials(socket);
  return peer.ok() && peer->uid == sys::UserId();
}

}  // namespace

Result<std::vector<sys::Endpoint>> EndpointsOf(const std::string& address, std::int64_t deadline_ns) {
  if (const Result<sys::Endpoint> literal = sys::Endpoint::Parse(address); literal.ok() && literal->port != 0)
    return std::vector<sys::Endpoint>{*literal};
  const std::size_t colon = address.rfind(':');
  const std::optional<std::uint16_t> port =
      colon == std::string::npos ? std::nullopt
                                 : ParseNumber<std::uint16_t>(std::string_view(address).substr(colon + 1));
  if (colon == 0 || !port || *port == 0)
    return Status(Code::kInvalidArgument, fmt::format("'{}' is no host and port, as localhost:28028", address));
  const std::string host = address.substr(0, colon);
  std::vector<sys::Endpoint> endpoints;
  // Known without asking anybody, which a thread at the end of a process should not do.
  if (EqualIgnoringCase(host, "localhost")) {
    endpoints.push_back({sys::IpAddress::V4(127, 0, 0, 1), *port});
    if (const auto v6 = sys::IpAddress::Parse("::1"); v6.ok()) endpoints.push_back({*v6, *port});
    return endpoints;
  }
  const Result<std::vector<sys::IpAddress>> addresses = sys::ResolveHost(host, deadline_ns);
  if (!addresses.ok()) return addresses.status();
  for (const sys::IpAddress& one : *addresses) endpoints.push_back({one, *port});
  return endpoints;
}

Status Door::Seek() {
  if (endpoints_.empty()) {
    Result<std::vector<sys::Endpoint>> found = EndpointsOf(address_, sys::NowNs() + kLookUpNs);
    if (!found.ok()) return found.status();
    endpoints_ = std::move(*found);
  }
  if (!open()) {
    const Status opened = OpenAny();
    if (!opened.ok()) return opened;
    listener_guard_ = sys::ClosedInForkedChildren(listener().get());
  }
  if (!is_porter()) TakeName();
  return Status::Ok();
}

Status Door::OpenAny() {
  Status why = Status(Code::kSystem, fmt::format("no address is known of '{}'", address_));
  for (const sys::Endpoint& endpoint : endpoints_) {
    Result<sys::TcpListener> opened = sys::TcpListener::Open(
        {.addresses = {endpoint.address}, .ports = {endpoint.port, endpoint.port}, .backlog = kClientsThatWait});
    if (!opened.ok() && opened.status().code() == Code::kInvalidUsage) {
      why = opened.status();
      opened = AskFor(endpoint);
      // Somebody else's: another address of the same host would confuse its clients.
      if (!opened.ok()) return why;
    }
    if (opened.ok()) {
      listener_ = std::move(*opened);
      return Status::Ok();
    }
    why = opened.status();
  }
  return why;
}

Result<sys::TcpListener> Door::AskFor(const sys::Endpoint& endpoint) const {
  const Result<sys::Fd> porter = sys::TryConnect(sys::SocketKind::kPacket, NameOf(endpoint));
  if (!porter.ok()) return porter.status();
  if (!IsOfThisUser(*porter)) return Status(Code::kInvalidUsage, "another user's process has the port's name");
  const Status answered = sys::WaitReadable(*porter, sys::NowNs() + kAnswerNs);
  if (!answered.ok()) return answered;
  std::array<std::byte, 1> byte{};
  Result<sys::Received> received = sys::ReceiveMessage(*porter, byte);
  if (!received.ok()) return received.status();
  if (received->fds.size() != 1) return Status(Code::kRemote, "the process with the port did not hand it on");
  Result<sys::TcpListener> listener = sys::TcpListener::Adopt(std::move(received->fds.front()));
  if (listener.ok() && listener->endpoints().front() != endpoint)
    return Status(Code::kInvalidArgument, "the port that was handed on is another one");
  return listener;
}

void Door::TakeName() {
  Result<sys::Fd> name = sys::Listen(sys::SocketKind::kPacket, NameOf(endpoint()));
  if (!name.ok()) return;  // somebody has it, which is as well
  name_ = std::move(*name);
  name_guard_ = sys::ClosedInForkedChildren(name_.get());
}

void Door::HandOn() {
  while (true) {
    const Result<sys::Fd> asks = sys::Accept(name_);
    if (!asks.ok()) return;
    if (!IsOfThisUser(*asks)) continue;
    const std::array<std::byte, 1> byte{};
    const std::array<int, 1> fds = {listener().get()};
    (void)sys::SendMessage(*asks, byte, fds);  // who does not get it asks again
  }
}

}  // namespace tutti::ras
