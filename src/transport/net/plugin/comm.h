// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_PLUGIN_COMM_H_
#define TUTTI_TRANSPORT_NET_PLUGIN_COMM_H_

// Connections of a network plugin, which carry messages one way, and how they come about. These keep to what plugins rely on:
// handles stay where they are, one accept at a time is unfinished, only the oldest request is tested, memory is given back before
// its comm is closed. Nothing here waits, but Drain.
//
// Sentences name the plugin, and the peer as they are told.
// Threads: each object belongs to one thread at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/net/plugin/catalog.h"
#include "transport/net/plugin/net_plugin.h"
#include "tutti/status.h"

namespace tutti::transport::net::plugin {

// What both ends of a connection have: registered memory, and requests, oldest first.
class Comm {
 public:
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  // Memory of the host, for this comm, until it ends. REQUIRES: the memory lives as long.
  Result<void*> Register(std::span<std::byte> memory);

  std::size_t in_flight() const { return requests_.size() - first_; }
  bool HasRoom() const { return in_flight() < most_requests_; }
  // Whether the oldest request has ended; then it counts no more, and `bytes` is how many came, or -1 where the plugin does not say.
  // After an error the comm is good for nothing but to be destroyed.
  Result<bool> TestOldest(std::int64_t* bytes = nullptr);
  // Waits until no request is in flight. kTimeout: the deadline has passed.
  Status Drain(std::int64_t deadline_ns);

 protected:
  Comm(std::shared_ptr<Network> network, void* comm, std::string peer);
  ~Comm() = default;
  // Gives memory back; for the destructors of those that close.
  void GiveBack();
  NetPlugin& plugin() const { return network_->plugin(); }
  Result<bool> Took(const Result<void*>& request);

  const std::shared_ptr<Network> network_;
  void* const comm_;
  const std::string peer_;

 private:
  const std::size_t most_requests_;
  std::vector<void*> memory_;
  std::vector<void*> requests_;  // those before first_ have ended
  std::size_t first_ = 0;
};

class SendComm final : public Comm {
 public:
  SendComm(std::shared_ptr<Network> network, void* comm, std::string peer);
  ~SendComm();  // requests in flight are given up

  // False: not now, call again with the same. The data stay as they are until the request has ended. `memory`: of Register.
  // REQUIRES: HasRoom().
  Result<bool> Send(std::span<const std::byte> data, int tag, void* memory);
};

class ReceiveComm final : public Comm {
 public:
  ReceiveComm(std::shared_ptr<Network> network, void* comm, std::string peer);
  ~ReceiveComm();

  // False: not now, call again with the same. REQUIRES: HasRoom(), and the buffer is as large as the message that will come.
  Result<bool> Receive(std::span<std::byte> buffer, int tag, void* memory);
};

// Where a device can be called.
class Listener {
 public:
  static Result<std::unique_ptr<Listener>> Open(std::shared_ptr<Network> network, int device);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const Handle& handle() const { return handle_; }
  // The next caller; null: nobody has come. Who it is it must say itself.
  Result<std::unique_ptr<ReceiveComm>> TryAccept();

 private:
  Listener(std::shared_ptr<Network> network, void* listener, const Handle& handle);

  const std::shared_ptr<Network> network_;
  void* const listener_;
  const Handle handle_;
};

// A call of one listener.
class Connector {
 public:
  Connector(std::shared_ptr<Network> network, int device, const Handle& handle, std::string peer,
            std::int64_t deadline_ns);
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Null: not yet. kTimeout: the deadline has passed. After an error, or when it is done, it is not to be called again.
  Result<std::unique_ptr<SendComm>> TryConnect();

 private:
  const std::shared_ptr<Network> network_;
  const int device_;
  Handle handle_;  // the plugin's state, too
  const std::string peer_;
  const std::int64_t begin_ns_, deadline_ns_;
};

}  // namespace tutti::transport::net::plugin

#endif  // TUTTI_TRANSPORT_NET_PLUGIN_COMM_H_
