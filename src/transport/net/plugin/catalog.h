// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_PLUGIN_CATALOG_H_
#define TUTTI_TRANSPORT_NET_PLUGIN_CATALOG_H_

// Which network plugin carries a communicator's data. Found, chosen and refused as NCCL does it:
//
//   * NCCL_NET_PLUGIN lists them; each entry V is tried as a file and then as libnccl-net-V.so. Unset: libnccl-net.so
//     where NCCL_NET names a network other than TCP, else none. "none":
//     none. A beginning of STATIC_PLUGIN: what is linked into the program.
//   * The newest ncclNetPlugin_v<N> of a library counts, from version 12 down to 6.
//   * The first that starts and sees a device is chosen; NCCL_NET asks for one by its name, in any case. "Socket" is Tutti's own
//     TCP, as is what nobody asks to be otherwise where there is no plugin.
//   * A network that is built in, libfabric, takes part by its names, and without being asked for where it says so.
//   * What fails once is not tried again in this process. Once one is chosen the others are out.
//
// Each refusal is one line of the log: INFO where the default file is not there, else WARN.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "transport/net/plugin/net_plugin.h"
#include "tutti/status.h"

namespace tutti::transport::net::plugin {

// A network that needs no library of NCCL's.
struct BuiltIn {
  std::string name, other_name;  // that NCCL_NET may ask for
  bool automatic = false;        // used where nothing is asked for, too
  std::function<Result<std::shared_ptr<NetPlugin>>()> find;
};

struct Wishes {
  std::string plugins;             // NCCL_NET_PLUGIN; empty: not set
  std::string network;             // NCCL_NET; empty: not set
  std::uint64_t communicator = 0;  // the same number on all its ranks
  int traffic_class = -1;          // -1: not set
  BuiltIn built_in;                // without a name: none
};

// A plugin that was chosen for one communicator, and its devices. Threads: any; for what it leads to see NetPlugin.
class Network {
 public:
  Network(std::shared_ptr<NetPlugin> plugin, void* context, const Wishes& wishes, std::vector<Device> devices,
          std::mutex& mutex);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  NetPlugin& plugin() const { return *plugin_; }
  void* context() const { return context_; }
  int traffic_class() const { return traffic_class_; }
  const std::vector<Device>& devices() const { return devices_; }
  // Nobody has asked for it, so TCP may take its place.
  bool automatic() const { return automatic_; }

 private:
  const std::shared_ptr<NetPlugin> plugin_;
  void* const context_;
  const int traffic_class_;
  const bool automatic_;
  const std::vector<Device> devices_;
  std::mutex& mutex_;
};

// Threads: any. It outlives the networks that were chosen from it.
class Catalog {
 public:
  Catalog() = default;
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Null: Tutti's TCP carries the data. kInvalidUsage: NCCL_NET asks for a network that is not there.
  Result<std::shared_ptr<Network>> Choose(const Wishes& wishes);

  // The one of this process.
  static Catalog& OfProcess();

 private:
  struct Entry {
    std::string name;
    bool asked_for = false;  // by a setting
    bool tried = false;      // to load it
    bool out = false;
    std::string why_out;
    std::shared_ptr<NetPlugin> plugin;
    std::vector<Device> devices;
  };

  using Finder = std::function<Result<std::shared_ptr<NetPlugin>>()>;

  // Null: it is not used.
  std::shared_ptr<Network> Try(const std::string& name, bool asked_for, const Finder& find, const Wishes& wishes);
  Entry& EntryOf(const std::string& name, bool asked_for);
  std::shared_ptr<Network> Start(Entry& entry, const Wishes& wishes);
  void Refuse(Entry& entry, const Status& why);
  std::string Offers() const;

  std::mutex mutex_;
  std::deque<Entry> entries_;
  Entry* chosen_ = nullptr;
};

// The entries of NCCL_NET_PLUGIN's list, those that are too many or too long left out.
std::vector<std::string> PluginNames(std::string_view list);

}  // namespace tutti::transport::net::plugin

#endif  // TUTTI_TRANSPORT_NET_PLUGIN_CATALOG_H_
