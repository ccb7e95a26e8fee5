// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Every version of the interface as a NetPlugin. Where versions differ, `if constexpr` says how.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/plugin_names.h"
#include "transport/net/plugin/abi.h"
#include "transport/net/plugin/net_plugin.h"
#include "transport/net/plugin/plugin_log.h"

namespace tutti::transport::net::plugin {
namespace {

static_assert(sizeof(Handle) == abi::kHandleBytes);

constexpr std::size_t kOldMostBytes = std::size_t{1} << 30;  // of versions that say nothing of it
constexpr std::size_t kMostSizes = 32;                       // that a plugin may write for one receive

template <int kVersion>
class Adapter final : public NetPlugin {
 public:
  Adapter(const abi::Net<kVersion>* net, std::string library) : net_(net), library_(std::move(library)) {}

  std::string name() const override { return net_->name != nullptr ? net_->name : "a network without a name"; }
  std::string Title() const override { return fmt::format("{} ({}, version {})", name(), library_, kVersion); }
  std::string LoadedLine() const override {
    return fmt::format("NET/Plugin: Loaded net plugin {} (v{}) from {}", name(), kVersion, library_);
  }
  std::string LibraryName() const override { return library_.starts_with('/') ? library_ : "STATIC_PLUGIN"; }
  int most_requests() const override { return abi::MostRequests(kVersion); }

  Status Init(std::uint64_t communicator, int traffic_class, void** context) override {
    *context = nullptr;
    if (net_->init == nullptr) return Lacks("init");
    abi::Result result = abi::kSuccess;
    if constexpr (kVersion >= 11) {
      abi::Config config{traffic_class};
      result = net_->init(context, communicator, &config, &LogLine, &TellNoProfiler);
    } else if (!begun_) {
      if constexpr (kVersion == 10) result = net_->init(&LogLine, &TellNoProfiler);
      if constexpr (kVersion < 10) result = net_->init(&LogLine);
    }
    if (result != abi::kSuccess) return Answer("init", result);
    begun_ = true;
    return CheckFunctions();
  }

  void Finalize(void* context) override {
    if constexpr (kVersion >= 11) {
      if (net_->finalize != nullptr) (void)net_->finalize(context);
    }
  }

  Result<int> CountDevices() override {
    int count = 0;
    if (const abi::Result result = net_->devices(&count); result != abi::kSuccess) return Answer("devices", result);
    return count;
  }

  Result<Device> Describe(int device) override {
    abi::Properties<kVersion> p{};
    if (const abi::Result result = net_->getProperties(device, &p); result != abi::kSuccess) {
      return Answer("getProperties", result);
    }
    Device d{.name = p.name != nullptr ? p.name : "",
             .pci_path = p.pciPath != nullptr ? p.pciPath : "",
             .guid = p.guid,
             .pointers = p.ptrSupport,
             .speed_mbps = p.speed,
             .port = p.port,
             .latency_us = p.latency,
             .max_comms = p.maxComms,
             .max_receives = p.maxRecvs,
             .max_bytes = kOldMostBytes};
    if constexpr (kVersion >= 7) d.type = p.netDeviceType, d.version = p.netDeviceVersion;
    if constexpr (kVersion >= 8) d.reg_is_global = p.regIsGlobal != 0;
    if constexpr (kVersion >= 9) d.force_flush = p.forceFlush != 0, d.max_bytes = p.maxP2pBytes;
    if constexpr (kVersion >= 12) d.rail = p.railId, d.plane = p.planeId;
    return d;
  }

  Result<void*> Listen(void* context, int device, Handle& handle) override {
    void* comm = nullptr;
    abi::Result result;
    if constexpr (kVersion >= 11) {
      result = net_->listen(context, device, handle.bytes.data(), &comm);
    } else {
      result = net_->listen(device, handle.bytes.data(), &comm);
    }
    return Made("listen", result, comm);
  }

  Result<void*> Connect(void* context, int device, int traffic_class, Handle& handle) override {
    void* comm = nullptr;
    [[maybe_unused]] abi::DeviceHandle* of_device = nullptr;
    void* bytes = handle.bytes.data();
    abi::Result result;
    if constexpr (kVersion >= 11) {
      result = net_->connect(context, device, bytes, &comm, &of_device);
    } else if constexpr (kVersion == 10) {
      abi::Config config{traffic_class};
      result = net_->connect(device, &config, bytes, &comm, &of_device);
    } else if constexpr (kVersion >= 7) {
      result = net_->connect(device, bytes, &comm, &of_device);
    } else {
      result = net_->connect(device, bytes, &comm);
    }
    return Made("connect", result, comm);
  }

  Result<void*> Accept(void* listener) override {
    void* comm = nullptr;
    abi::Result result;
    if constexpr (kVersion >= 7) {
      abi::DeviceHandle* of_device = nullptr;
      result = net_->accept(listener, &comm, &of_device);
    } else {
      result = net_->accept(listener, &comm);
    }
    return Made("accept", result, comm);
  }

  Result<void*> Register(void* comm, void* data, std::size_t bytes, int pointers) override {
    TUTTI_RETURN_IF_ERROR(CheckBytes("regMr", bytes));
    void* memory = nullptr;
    abi::Result result;
    if constexpr (kVersion >= 8) {
      result = net_->regMr(comm, data, bytes, pointers, &memory);
    } else {
      result = net_->regMr(comm, data, static_cast<int>(bytes), pointers, &memory);
    }
    return Made("regMr", result, memory);
  }

  Status Deregister(void* comm, void* memory) override { return Answer("deregMr", net_->deregMr(comm, memory)); }

  Result<void*> Send(void* comm, const void* data, std::size_t bytes, int tag, void* memory) override {
    TUTTI_RETURN_IF_ERROR(CheckBytes("isend", bytes));
    void* request = nullptr;
    void* from = const_cast<void*>(data);
    abi::Result result;
    if constexpr (kVersion >= 10) {
      result = net_->isend(comm, from, bytes, tag, memory, nullptr, &request);
    } else if constexpr (kVersion == 9) {
      result = net_->isend(comm, from, bytes, tag, memory, &request);
    } else {
      result = net_->isend(comm, from, static_cast<int>(bytes), tag, memory, &request);
    }
    return Made("isend", result, request);
  }

  Result<void*> Receive(void* comm, void* data, std::size_t bytes, int tag, void* memory) override {
    TUTTI_RETURN_IF_ERROR(CheckBytes("irecv", bytes));
    // Null on entry: the plugin may not finish early because somebody looks for flags in the data.
    void* request = nullptr;
    [[maybe_unused]] void* profile = nullptr;
    abi::Result result;
    if constexpr (kVersion >= 10) {
      result = net_->irecv(comm, 1, &data, &bytes, &tag, &memory, &profile, &request);
    } else if constexpr (kVersion == 9) {
      result = net_->irecv(comm, 1, &data, &bytes, &tag, &memory, &request);
    } else {
      int size = static_cast<int>(bytes);
      result = net_->irecv(comm, 1, &data, &size, &tag, &memory, &request);
    }
    return Made("irecv", result, request);
  }

  Result<void*> Flush(void* comm, void* data, std::size_t bytes, void* memory) override {
    if (net_->iflush == nullptr) return static_cast<void*>(nullptr);
    int size = static_cast<int>(std::min(bytes, kMostBytesOfCall));
    void* request = nullptr;
    return Made("iflush", net_->iflush(comm, 1, &data, &size, &memory, &request), request);
  }

  Result<bool> Test(void* request, std::int64_t* bytes) override {
    int done = 0;
    int sizes[kMostSizes];
    sizes[0] = -1;
    if (const abi::Result result = net_->test(request, &done, sizes); result != abi::kSuccess) {
      return Answer("test", result);
    }
    if (bytes != nullptr) *bytes = sizes[0];
    return done != 0;
  }

  Status CloseSend(void* comm) override { return Answer("closeSend", net_->closeSend(comm)); }
  Status CloseReceive(void* comm) override { return Answer("closeRecv", net_->closeRecv(comm)); }
  Status CloseListener(void* listener) override { return Answer("closeListen", net_->closeListen(listener)); }

 private:
  // The most bytes of a message or of registered memory that its calls can name.
  static constexpr std::size_t kMostBytesOfCall = kVersion >= 9 ? abi::kMostBytes : kOldMostBytes;

  Status Answer(const char* function, abi::Result result) const {
    if (result == abi::kSuccess) return Status::Ok();
    const Code code = result == abi::kRemoteError ? Code::kRemote : Code::kSystem;
    return Status(
        code, fmt::format("the network plugin {} has answered {} with {}; what it says itself stands in the log, at "
                          "NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=NET",
                          Title(), function, NcclResultName(result)));
  }

  Result<void*> Made(const char* function, abi::Result result, void* what) const {
    if (result != abi::kSuccess) return Answer(function, result);
    return what;
  }

  // Those who send messages cut them.
  Status CheckBytes(const char* function, std::size_t bytes) const {
    if (bytes <= kMostBytesOfCall) return Status::Ok();
    return Status(Code::kInternal, fmt::format("{} of {} bytes, where version {} of network plugins has at most {}",
                                               function, bytes, kVersion, kMostBytesOfCall));
  }

  Status CheckFunctions() const {
    const std::pair<const char*, bool> needed[] = {{"devices", net_->devices != nullptr},
                                                   {"getProperties", net_->getProperties != nullptr},
                                                   {"listen", net_->listen != nullptr},
                                                   {"connect", net_->connect != nullptr},
                                                   {"accept", net_->accept != nullptr},
                                                   {"regMr", net_->regMr != nullptr},
                                                   {"deregMr", net_->deregMr != nullptr},
                                                   {"isend", net_->isend != nullptr},
                                                   {"irecv", net_->irecv != nullptr},
                                                   {"test", net_->test != nullptr},
                                                   {"closeSend", net_->closeSend != nullptr},
                                                   {"closeRecv", net_->closeRecv != nullptr},
                                                   {"closeListen", net_->closeListen != nullptr}};
    for (const auto& [function, is_there] : needed) {
      if (!is_there) return Lacks(function);
    }
    return Status::Ok();
  }

  Status Lacks(const char* function) const {
    return Status(
        Code::kInvalidUsage,
        fmt::format("the network plugin {} has no function {}; it was built for something else than NCCL's interface "
                    "of version {}",
                    Title(), function, kVersion));
  }

  const abi::Net<kVersion>* const net_;
  const std::string library_;
  bool begun_ = false;
};

template <int kVersion>
std::shared_ptr<NetPlugin> Make(const void* table, std::string library) {
  return std::make_shared<Adapter<kVersion>>(static_cast<const abi::Net<kVersion>*>(table), std::move(library));
}

}  // namespace

std::shared_ptr<NetPlugin> Adapt(int version, const void* table, std::string library) {
  constexpr std::shared_ptr<NetPlugin> (*kMakers[])(const void*, std::string) = {
      &Make<6>, &Make<7>, &Make<8>, &Make<9>, &Make<10>, &Make<11>, &Make<12>};
  return kMakers[version - abi::kOldest](table, std::move(library));
}

}  // namespace tutti::transport::net::plugin
