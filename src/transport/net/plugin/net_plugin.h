// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_PLUGIN_NET_PLUGIN_H_
#define TUTTI_TRANSPORT_NET_PLUGIN_NET_PLUGIN_H_

// A network other than Tutti's own TCP, in the shape of NCCL's newest network plugins. It is a plugin of any version (abi.h), where
// what older versions lack is made up, or libfabric (transport/net/fabric). What Tutti does not use, such as receives into several
// buffers and devices that need code on a GPU, is left out.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tutti/status.h"

namespace tutti::transport::net::plugin {

// Where a listener can be called. The caller's plugin keeps its state in it too: it stays at one place, and no second call is
// made from the same one.
struct alignas(8) Handle {
  std::array<std::byte, 128> bytes{};
};

struct Device {
  std::string name;      // "mlx5_0"; may be empty
  std::string pci_path;  // empty: it has none
  std::uint64_t guid = 0;
  int pointers = 0;            // abi::kHostPointers and the like
  bool reg_is_global = false;  // memory that one comm registered serves all
  bool force_flush = false;
  int speed_mbps = 0;  // often a guess
  int port = 0;
  float latency_us = 0;
  int max_comms = 0;
  int max_receives = 1;       // buffers of one receive
  int type = 0, version = 0;  // of what runs on a GPU; 0: nothing
  std::size_t max_bytes = 0;  // of a message
  int rail = -1, plane = -1;  // -1: not known
};

// Comms, memory and requests are the network's own pointers. Errors say what the plugin was asked and what it answered; kRemote
// where it said ncclRemoteError, kSystem else.
// Threads: Init, Finalize and CountDevices one at a time. A comm, and what was made from it, belongs to one thread at a time.
class NetPlugin {
 public:
  virtual ~NetPlugin() = default;

  // The network's name for itself, after Init. Before it only what it says then.
  virtual std::string name() const = 0;
  // "AWS Libfabric (libnccl-net.so, version 9)".
  virtual std::string Title() const = 0;
  // What the log says of it once it has started: "NET/Plugin: Loaded net plugin AWS Libfabric (v9) from libnccl-net.so".
  virtual std::string LoadedLine() const = 0;
  // What both ends of a connection must have alike.
  virtual std::string Protocol() const { return name(); }
  // Of one comm at a time.
  virtual int most_requests() const = 0;

  // Before all else, once for each communicator; versions before 11 hear of the first one only, and have no context.
  // kInvalidUsage: the plugin has started but lacks a function that is needed.
  virtual Status Init(std::uint64_t communicator, int traffic_class, void** context) = 0;
  virtual void Finalize(void* context) = 0;
  virtual Result<int> CountDevices() = 0;
  virtual Result<Device> Describe(int device) = 0;

  virtual Result<void*> Listen(void* context, int device, Handle& handle) = 0;
  // Null: not yet, call again with the same handle. At most one Accept of a listener may be unfinished.
  virtual Result<void*> Connect(void* context, int device, int traffic_class, Handle& handle) = 0;
  virtual Result<void*> Accept(void* listener) = 0;

  // `pointers`: abi::kHostPointers or the like. What is registered must be deregistered before the comm is closed.
  virtual Result<void*> Register(void* comm, void* data, std::size_t bytes, int pointers) = 0;
  virtual Status Deregister(void* comm, void* memory) = 0;

  // Requests; null: not now, call again with the same. Messages arrive in order; one that is received into fewer bytes than were
  // sent is an error of the caller. Tags of the two sides must be equal.
  virtual Result<void*> Send(void* comm, const void* data, std::size_t bytes, int tag, void* memory) = 0;
  virtual Result<void*> Receive(void* comm, void* data, std::size_t bytes, int tag, void* memory) = 0;
  // Makes received data visible in a GPU's memory. Null: nothing needs to be waited for.
  virtual Result<void*> Flush(void* comm, void* data, std::size_t bytes, void* memory) = 0;
  // Whether a request has ended; it is gone then. REQUIRES: it is the oldest of its comm. `bytes`: how many came, or -1 where the
  // plugin does not say.
  virtual Result<bool> Test(void* request, std::int64_t* bytes) = 0;

  // Requests in flight are given up.
  virtual Status CloseSend(void* comm) = 0;
  virtual Status CloseReceive(void* comm) = 0;
  virtual Status CloseListener(void* listener) = 0;

  // By what name it can be loaded again: its file, or STATIC_PLUGIN of what is linked into the program. Empty: it is no library
  // of NCCL's.
  virtual std::string LibraryName() const { return ""; }
};

// `table`: the library's ncclNetPlugin_v<version>, which stays where it is. REQUIRES: a version that abi.h knows.
std::shared_ptr<NetPlugin> Adapt(int version, const void* table, std::string library);

}  // namespace tutti::transport::net::plugin

#endif  // TUTTI_TRANSPORT_NET_PLUGIN_NET_PLUGIN_H_
