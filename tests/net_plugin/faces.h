// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_NET_PLUGIN_FACES_H_
#define TUTTI_TESTS_NET_PLUGIN_FACES_H_

// One implementation of a network as plugins of several versions: Face<Network, N> is the table ncclNetPlugin_v<N>. A Network has
// static functions in the shape of the newest version; see tcp_plugin.cc.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "transport/net/plugin/abi.h"
#include "tutti/export.h"

namespace tutti::tests {

namespace abi = transport::net::abi;

template <typename Network, int kVersion>
abi::Result DescribeAs(int device, abi::Properties<kVersion>* out) {
  abi::Properties<12> p{};
  const abi::Result result = Network::Describe(device, &p);
  out->name = p.name, out->pciPath = p.pciPath, out->guid = p.guid, out->ptrSupport = p.ptrSupport;
  out->speed = p.speed, out->port = p.port, out->latency = p.latency;
  out->maxComms = p.maxComms, out->maxRecvs = p.maxRecvs;
  if constexpr (kVersion >= 7) out->netDeviceType = p.netDeviceType, out->netDeviceVersion = p.netDeviceVersion;
  if constexpr (kVersion >= 8) out->regIsGlobal = p.regIsGlobal;
  if constexpr (kVersion >= 9) {
    out->forceFlush = p.forceFlush, out->maxP2pBytes = p.maxP2pBytes, out->maxCollBytes = p.maxCollBytes;
    out->vProps.ndevs = 1, out->vProps.devs[0] = device;
  }
  if constexpr (kVersion >= 11) out->maxMultiRequestSize = 1;
  if constexpr (kVersion >= 12) out->railId = p.railId, out->planeId = p.planeId;
  return result;
}

template <typename Network, int kVersion>
void FillSetUp(abi::Net<kVersion>& net) {
  if constexpr (kVersion >= 11) {
    net.listen = [](void* context, int device, void* handle, void** comm) {
      return Network::Listen(context, device, handle, comm);
    };
    net.connect = [](void* context, int device, void* handle, void** comm, abi::DeviceHandle**) {
      return Network::Connect(context, device, handle, comm);
    };
    net.finalize = &Network::Finalize;
  } else {
    net.listen = [](int device, void* handle, void** comm) { return Network::Listen(nullptr, device, handle, comm); };
  }
  if constexpr (kVersion == 10) {
    net.connect = [](int device, abi::Config*, void* handle, void** comm, abi::DeviceHandle**) {
      return Network::Connect(nullptr, device, handle, comm);
    };
  } else if constexpr (kVersion < 10 && kVersion > 6) {
    net.connect = [](int device, void* handle, void** comm, abi::DeviceHandle**) {
      return Network::Connect(nullptr, device, handle, comm);
    };
  } else if constexpr (kVersion == 6) {
    net.connect = [](int device, void* handle, void** comm) { return Network::Connect(nullptr, device, handle, comm); };
  }
  if constexpr (kVersion >= 7) {
    net.accept = [](void* listener, void** comm, abi::DeviceHandle**) { return Network::Accept(listener, comm); };
  } else {
    net.accept = &Network::Accept;
  }
}

// All but name and init.
template <typename Network, int kVersion>
void Fill(abi::Net<kVersion>& net) {
  using Size = std::conditional_t<(kVersion >= 8), std::size_t, int>;
  net.devices = &Network::Devices;
  net.getProperties = &DescribeAs<Network, kVersion>;
  FillSetUp<Network, kVersion>(net);
  net.regMr = [](void* comm, void* data, Size bytes, int type, void** memory) {
    return Network::Register(comm, data, static_cast<std::size_t>(bytes), type, memory);
  };
  net.deregMr = &Network::Deregister;
  if constexpr (kVersion >= 10) {
    net.isend = [](void* comm, void* data, std::size_t bytes, int tag, void* memory, void*, void** request) {
      return Network::Send(comm, data, bytes, tag, memory, request);
    };
    net.irecv = [](void* comm, int count, void** data, std::size_t* bytes, int* tags, void** memory, void**,
                   void** request) { return Network::Receive(comm, count, data, bytes, tags, memory, request); };
  } else if constexpr (kVersion == 9) {
    net.isend = &Network::Send;
    net.irecv = &Network::Receive;
  } else {
    net.isend = [](void* comm, void* data, int bytes, int tag, void* memory, void** request) {
      return Network::Send(comm, data, static_cast<std::size_t>(bytes), tag, memory, request);
    };
    net.irecv = [](void* comm, int count, void** data, int* bytes, int* tags, void** memory, void** request) {
      auto size = static_cast<std::size_t>(bytes[0]);
      return Network::Receive(comm, count, data, &size, tags, memory, request);
    };
  }
  net.iflush = &Network::Flush;
  net.test = &Network::Test;
  net.closeSend = &Network::CloseSend;
  net.closeRecv = &Network::CloseReceive;
  net.closeListen = &Network::CloseListener;
}

// Name and init; init calls Network::Init, which may do the rest.
template <typename Network, int kVersion>
abi::Net<kVersion> Begin(const char* name) {
  abi::Net<kVersion> net{};
  net.name = name;
  if constexpr (kVersion >= 11) {
    net.init = [](void** context, std::uint64_t communicator, abi::Config*, abi::Log log, abi::Profile) {
      return Network::Init(context, communicator, log);
    };
  } else if constexpr (kVersion == 10) {
    net.init = [](abi::Log log, abi::Profile) {
      void* context = nullptr;
      return Network::Init(&context, 0, log);
    };
  } else {
    net.init = [](abi::Log log) {
      void* context = nullptr;
      return Network::Init(&context, 0, log);
    };
  }
  return net;
}

template <typename Network, int kVersion>
abi::Net<kVersion> Face(const char* name) {
  abi::Net<kVersion> net = Begin<Network, kVersion>(name);
  Fill<Network, kVersion>(net);
  return net;
}

}  // namespace tutti::tests

// The symbol that hosts look for.
#define TUTTI_PLUGIN_SYMBOL_OF(version) ncclNetPlugin_v##version
#define TUTTI_PLUGIN_SYMBOL(version) TUTTI_PLUGIN_SYMBOL_OF(version)

#endif  // TUTTI_TESTS_NET_PLUGIN_FACES_H_
