// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/resolve.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "sys/os/clock.h"
#include "sys/os/thread.h"

namespace tutti::sys {
namespace {

using Addresses = Result<std::vector<IpAddress>>;

Addresses Ask(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return Status(Code::kInvalidUsage,
                  fmt::format("host \"{}\" has no address that this host knows ({}): correct the name, enter it in "
                              "/etc/hosts or DNS, or write an address instead",
                              host, gai_strerror(error)));
  }
  std::vector<IpAddress> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    const Result<Endpoint> endpoint = Endpoint::FromSockaddr(entry->ai_addr, entry->ai_addrlen);
    if (endpoint.ok() && std::ranges::count(addresses, endpoint->address) == 0) addresses.push_back(endpoint->address);
  }
  freeaddrinfo(list);
  return addresses;
}

struct Question {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Addresses> answer;  // guarded by it
};

}  // namespace

Result<std::vector<IpAddress>> ResolveHost(const std::string& host, std::int64_t deadline_ns) {
  if (const Result<IpAddress> address = IpAddress::Parse(host); address.ok()) return std::vector<IpAddress>{*address};
  const Status late(Code::kTimeout,
                    fmt::format("the system does not say what addresses host \"{}\" has: likely a DNS server does not "
                                "answer; enter the name in /etc/hosts, or write an address instead",
                                host));
  if (NowNs() >= deadline_ns) return late;
  const auto question = std::make_shared<Question>();
  const Status started = StartDetachedThread("asking for a host's addresses", [question, host] {
    Addresses answer = Ask(host);
    std::lock_guard lock(question->mutex);
    question->answer = std::move(answer);
    question->answered.notify_all();
  });
  if (!started.ok()) return started;
  std::unique_lock lock(question->mutex);
  const auto patience = std::chrono::nanoseconds(std::max<std::int64_t>(deadline_ns - NowNs(), 0));
  question->answered.wait_for(lock, patience, [&] { return question->answer.has_value(); });
  return question->answer ? *question->answer : late;
}

}  // namespace tutti::sys
