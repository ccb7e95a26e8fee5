// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/port.h"

#include <algorithm>
#include <utility>

#include "sys/log/thread_name.h"
#include "sys/net/proven_connection.h"
#include "sys/net/unix_socket.h"
#include "sys/os/clock.h"
#include "sys/os/thread.h"
#include "transport/net/connector.h"

namespace tutti::transport::net {
namespace {

constexpr std::int64_t kLookNs = 200 * sys::kNsPerMs;  // how often the accepting thread looks whether it shall stop
// From one round of the tending thread to the next: while something is unsent; while nothing is, but may be soon; and else.
constexpr std::int64_t kBusyNs = sys::kNsPerMs / 2, kActiveNs = 10 * sys::kNsPerMs, kIdleNs = 50 * sys::kNsPerMs;

}  // namespace

Port::Port(std::unique_ptr<sys::Acceptor> acceptor, std::vector<Card> cards)
    : cards_(std::move(cards)), acceptor_(std::move(acceptor)) {}

Result<std::shared_ptr<Port>> Port::Open(sys::TcpListener listener, std::vector<Card> cards) {
  Result<std::unique_ptr<sys::Acceptor>> acceptor =
      sys::Acceptor::Make(std::move(listener), {.patience = kFlowPatience});
  if (!acceptor.ok()) return acceptor.status();
  std::shared_ptr<Port> port(new Port(std::move(*acceptor), std::move(cards)));
  TUTTI_RETURN_IF_ERROR(port->Start());
  return port;
}

Status Port::Start() {
  Result<std::unique_ptr<sys::Thread>> accepting = sys::StartThread("calls of other hosts", [this] {
    sys::SetThreadName("tutti-accept");
    Accept();
  });
  if (!accepting.ok()) return accepting.status();
  accepting_ = std::move(*accepting);
  Result<std::unique_ptr<sys::Thread>> tending = sys::StartThread("data for other hosts", [this] {
    sys::SetThreadName("tutti-courier");
    Tend();
  });
  if (!tending.ok()) return tending.status();
  tending_ = std::move(*tending);
  return Status::Ok();
}

Port::~Port() {
  stop_ = true;
  accepting_.reset();
  tending_.reset();
}

Status Port::Add(const sys::HelloTerms& terms, Caller* caller) {
  std::lock_guard accept_lock(accept_mutex_);
  std::lock_guard lock(entries_mutex_);
  TUTTI_RETURN_IF_ERROR(acceptor_->Admit(terms));
  entries_.push_back({terms.id, caller});
  in_use_ = true;
  return Status::Ok();
}

void Port::Remove(const sys::HelloId& id) {
  std::lock_guard accept_lock(accept_mutex_);
  std::lock_guard lock(entries_mutex_);
  acceptor_->Dismiss(id);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.id == id; });
  in_use_ = !entries_.empty();
}

void Port::Accept() {
  while (!stop_) {
    sys::Watched watched{.fd = acceptor_->fd().get()};
    std::int64_t until_ns;
    {
      std::lock_guard lock(accept_mutex_);
      until_ns = std::min(acceptor_->NextLookNs(), sys::NowNs() + kLookNs);
    }
    (void)sys::WaitAny(std::span(&watched, 1), until_ns).ok();
    while (true) {
      std::lock_guard accept_lock(accept_mutex_);
      Result<sys::ProvenConnection> proven = acceptor_->TryAccept();
      if (!proven.ok() && proven.status().code() == Code::kInvalidUsage) continue;  // another version, which was told
      if (!proven.ok()) break;
      const auto entry = std::ranges::find(entries_, proven->outcome.id, &Entry::id);
      if (entry == entries_.end()) continue;
      entry->caller->Called(std::move(*proven));
    }
  }
}

void Port::Tend() {
  while (!stop_) {
    Caller::Left left = Caller::Left::kNothing;
    if (in_use_) {
      std::lock_guard lock(entries_mutex_);
      for (const Entry& entry : entries_) left = std::max(left, entry.caller->Tend());
    }
    sys::SleepNs(left == Caller::Left::kUnsent ? kBusyNs : left == Caller::Left::kActive ? kActiveNs : kIdleNs);
  }
}

}  // namespace tutti::transport::net
