// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/plugin/comm.h"

#include <fmt/format.h>

#include "base/log.h"
#include "sys/os/clock.h"
#include "transport/net/plugin/abi.h"

namespace tutti::transport::net::plugin {
namespace {

// What fails while something ends changes nothing any more, but is said.
void Note(const Status& status) {
  if (!status.ok()) TUTTI_INFO(log::kNet, "{}", status.message());
}

Status With(const std::string& peer, const Status& status) {
  return Status(status.code(), fmt::format("{}: {}", peer, status.message()));
}

}  // namespace

Comm::Comm(std::shared_ptr<Network> network, void* comm, std::string peer)
    : network_(std::move(network)),
      comm_(comm),
      peer_(std::move(peer)),
      most_requests_(static_cast<std::size_t>(network_->plugin().most_requests())) {
  requests_.reserve(2 * most_requests_);
}

void Comm::GiveBack() {
  for (void* memory : memory_) Note(plugin().Deregister(comm_, memory));
  memory_.clear();
}

Result<void*> Comm::Register(std::span<std::byte> memory) {
  const Result<void*> registered = plugin().Register(comm_, memory.data(), memory.size(), abi::kHostPointers);
  if (!registered.ok()) return With(peer_, registered.status());
  memory_.push_back(*registered);
  return *registered;
}

Result<bool> Comm::Took(const Result<void*>& request) {
  if (!request.ok()) return With(peer_, request.status());
  if (*request == nullptr) return false;
  if (first_ == requests_.size()) {
    requests_.clear();
    first_ = 0;
  } else if (requests_.size() == requests_.capacity()) {
    requests_.erase(requests_.begin(), requests_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  requests_.push_back(*request);
  return true;
}

Result<bool> Comm::TestOldest(std::int64_t* bytes) {
  if (in_flight() == 0) return false;
  const Result<bool> done = plugin().Test(requests_[first_], bytes);
  if (!done.ok()) return With(peer_, done.status());
  if (*done) ++first_;
  return done;
}

Status Comm::Drain(std::int64_t deadline_ns) {
  while (in_flight() > 0) {
    const Result<bool> done = TestOldest();
    if (!done.ok()) return done.status();
    if (*done) continue;
    if (sys::NowNs() >= deadline_ns) {
      return Status(Code::kTimeout, fmt::format("{}: {} requests of the network plugin {} have not ended in time",
                                                peer_, in_flight(), plugin().Title()));
    }
    sys::YieldCpu();
  }
  return Status::Ok();
}

SendComm::SendComm(std::shared_ptr<Network> network, void* comm, std::string peer)
    : Comm(std::move(network), comm, std::move(peer)) {}

SendComm::~SendComm() {
  GiveBack();
  Note(plugin().CloseSend(comm_));
}

Result<bool> SendComm::Send(std::span<const std::byte> data, int tag, void* memory) {
  return Took(plugin().Send(comm_, data.data(), data.size(), tag, memory));
}

ReceiveComm::ReceiveComm(std::shared_ptr<Network> network, void* comm, std::string peer)
    : Comm(std::move(network), comm, std::move(peer)) {}

ReceiveComm::~ReceiveComm() {
  GiveBack();
  Note(plugin().CloseReceive(comm_));
}

Result<bool> ReceiveComm::Receive(std::span<std::byte> buffer, int tag, void* memory) {
  return Took(plugin().Receive(comm_, buffer.data(), buffer.size(), tag, memory));
}

Listener::Listener(std::shared_ptr<Network> network, void* listener, const Handle& handle)
    : network_(std::move(network)), listener_(listener), handle_(handle) {}

Result<std::unique_ptr<Listener>> Listener::Open(std::shared_ptr<Network> network, int device) {
  Handle handle;
  const Result<void*> listener = network->plugin().Listen(network->context(), device, handle);
  if (!listener.ok()) return listener.status();
  return std::unique_ptr<Listener>(new Listener(std::move(network), *listener, handle));
}

Listener::~Listener() { Note(network_->plugin().CloseListener(listener_)); }

Result<std::unique_ptr<ReceiveComm>> Listener::TryAccept() {
  const Result<void*> comm = network_->plugin().Accept(listener_);
  if (!comm.ok()) return comm.status();
  if (*comm == nullptr) return std::unique_ptr<ReceiveComm>();
  return std::make_unique<ReceiveComm>(network_, *comm, "a caller");
}

Connector::Connector(std::shared_ptr<Network> network, int device, const Handle& handle, std::string peer,
                     std::int64_t deadline_ns)
    : network_(std::move(network)),
      device_(device),
      handle_(handle),
      peer_(std::move(peer)),
      begin_ns_(sys::NowNs()),
      deadline_ns_(deadline_ns) {}

Result<std::unique_ptr<SendComm>> Connector::TryConnect() {
  NetPlugin& plugin = network_->plugin();
  const Result<void*> comm = plugin.Connect(network_->context(), device_, network_->traffic_class(), handle_);
  if (!comm.ok()) return With(peer_, comm.status());
  if (*comm != nullptr) return std::make_unique<SendComm>(network_, *comm, peer_);
  if (const std::int64_t now_ns = sys::NowNs(); now_ns >= deadline_ns_) {
    return Status(
        Code::kTimeout,
        fmt::format("{}: the network plugin {} has made no connection within {} ms; look whether the other host can be "
                    "reached over the network of device {}",
                    peer_, plugin.Title(), (now_ns - begin_ns_) / sys::kNsPerMs,
                    network_->devices()[static_cast<std::size_t>(device_)].name));
  }
  return std::unique_ptr<SendComm>();
}

}  // namespace tutti::transport::net::plugin
