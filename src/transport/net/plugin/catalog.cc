// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/plugin/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/words.h"
#include "sys/os/fork.h"
#include "sys/os/process.h"
#include "transport/net/plugin/abi.h"
#include "transport/net/plugin/find_plugin.h"

namespace tutti::transport::net::plugin {
namespace {

constexpr const char* kDefaultLibrary = "libnccl-net.so";
constexpr std::string_view kOwnNetwork = "Socket";
constexpr std::size_t kMostNames = 14, kMostCharacters = 254;

// "NAME=value" of all variables that NCCL may read, sorted.
std::vector<std::string> NcclVariables() {
  std::vector<std::string> all = sys::Environment();
  std::erase_if(all, [](const std::string& variable) { return !variable.starts_with("NCCL_"); });
  std::ranges::sort(all);
  return all;
}

// Some plugins change settings of NCCL for the host that they think they are in.
void SayWhatChanged(const std::vector<std::string>& before, const std::string& plugin) {
  std::vector<std::string> set;
  std::ranges::set_difference(NcclVariables(), before, std::back_inserter(set));
  for (const std::string& variable : set) {
    TUTTI_INFO(log::kInit | log::kNet | log::kEnv,
               "the network plugin {} has set {} in the environment; communicators that exist do not heed it", plugin,
               variable);
  }
}

bool AsksForBuiltIn(const Wishes& wishes) {
  const BuiltIn& own = wishes.built_in;
  return !own.name.empty() &&
         (EqualIgnoringCase(wishes.network, own.name) || EqualIgnoringCase(wishes.network, own.other_name));
}

// Whether a device can carry what lies in host memory.
Status CheckDevice(const Device& device, int index) {
  if (device.type != abi::kHostDevice) {
    return Status(Code::kInvalidUsage,
                  fmt::format("its device {} ({}) needs code of type {} on the GPU, which Tutti does not have", index,
                              device.name, device.type));
  }
  if ((device.pointers & abi::kHostPointers) == 0) {
    return Status(Code::kInvalidUsage, fmt::format("its device {} ({}) takes no host memory", index, device.name));
  }
  if (device.max_bytes == 0 || device.max_bytes > abi::kMostBytes) {
    return Status(Code::kInvalidUsage,
                  fmt::format("its device {} ({}) says that messages may have {} bytes, which is out of range", index,
                              device.name, device.max_bytes));
  }
  return Status::Ok();
}

Result<std::vector<Device>> DevicesOf(NetPlugin& plugin) {
  const Result<int> count = plugin.CountDevices();
  if (!count.ok()) return count.status();
  if (*count <= 0) return Status(Code::kInvalidUsage, "it sees no network device on this host");
  std::vector<Device> devices;
  for (int i = 0; i < *count; ++i) {
    Result<Device> device = plugin.Describe(i);
    if (!device.ok()) return device.status();
    TUTTI_RETURN_IF_ERROR(CheckDevice(*device, i));
    devices.push_back(std::move(*device));
  }
  return devices;
}

}  // namespace

std::vector<std::string> PluginNames(std::string_view list) {
  std::vector<std::string> names;
  if (EqualIgnoringCase(list, "none")) return names;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (name.empty()) continue;
    if (names.size() == kMostNames) {
      TUTTI_WARN("NCCL_NET_PLUGIN lists more than {} plugins; the rest is ignored", kMostNames);
      return names;
    }
    if (name.size() > kMostCharacters) {
      TUTTI_WARN("NCCL_NET_PLUGIN: a name of {} characters is ignored; at most {} are possible", name.size(),
                 kMostCharacters);
      continue;
    }
    names.emplace_back(name);
  }
  return names;
}

Network::Network(std::shared_ptr<NetPlugin> plugin, void* context, const Wishes& wishes, std::vector<Device> devices,
                 std::mutex& mutex)
    : plugin_(std::move(plugin)),
      context_(context),
      traffic_class_(wishes.traffic_class),
      automatic_(wishes.network.empty() && plugin_->name() == wishes.built_in.name),
      devices_(std::move(devices)),
      mutex_(mutex) {}

Network::~Network() {
  std::lock_guard lock(mutex_);
  plugin_->Finalize(context_);
}

Catalog& Catalog::OfProcess() {
  // Never destroyed: networks of it may live until the very end of the process. A forked child has one of its own, since the
  // threads of plugins are not there. No lock that a fork would have to wait for: a plugin may fork while it starts.
  struct Made {
    Catalog catalog;
    const std::uint32_t generation = sys::ForkGeneration();
  };
  static std::atomic<Made*> current{nullptr};
  sys::WatchForks();
  Made* made = current.load(std::memory_order_acquire);
  if (made != nullptr && made->generation == sys::ForkGeneration()) return made->catalog;
  auto fresh = std::make_unique<Made>();
  if (current.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel)) made = fresh.release();
  return made->catalog;
}

Catalog::Entry& Catalog::EntryOf(const std::string& name, bool asked_for) {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  if (found != entries_.end()) return *found;
  return entries_.emplace_back(Entry{.name = name, .asked_for = asked_for});
}

void Catalog::Refuse(Entry& entry, const Status& why) {
  entry.out = true;
  entry.why_out = why.message();
  const bool nothing_is_there = why.code() == Code::kUnsupported && !entry.asked_for;
  if (nothing_is_there) {
    TUTTI_INFO(log::kInit | log::kNet, "NET/Plugin: there is no {}: {}", entry.name, why.message());
  } else {
    TUTTI_WARN("the network plugin {} is not used: {}", entry.name, why.message());
  }
}

// Null: it is not used.
std::shared_ptr<Network> Catalog::Start(Entry& entry, const Wishes& wishes) {
  NetPlugin& plugin = *entry.plugin;
  const std::vector<std::string> variables = NcclVariables();
  void* context = nullptr;
  const Status started = plugin.Init(wishes.communicator, wishes.traffic_class, &context);
  if (!started.ok()) {
    Refuse(entry, started);
    return nullptr;
  }
  SayWhatChanged(variables, plugin.name());
  if (entry.devices.empty()) {
    TUTTI_INFO(log::kInit | log::kNet, "{}", plugin.LoadedLine());
    Result<std::vector<Device>> devices = DevicesOf(plugin);
    if (!devices.ok()) {
      plugin.Finalize(context);
      Refuse(entry, devices.status());
      return nullptr;
    }
    entry.devices = std::move(*devices);
  }
  // Some plugins have their right name only now.
  const bool other_name = plugin.name() == wishes.built_in.name && AsksForBuiltIn(wishes);
  if (!wishes.network.empty() && !EqualIgnoringCase(wishes.network, plugin.name()) && !other_name) {
    plugin.Finalize(context);
    TUTTI_INFO(log::kInit | log::kNet, "NET/Plugin: {} is not NCCL_NET={}", plugin.name(), wishes.network);
    return nullptr;
  }
  return std::make_shared<Network>(entry.plugin, context, wishes, entry.devices, mutex_);
}

std::string Catalog::Offers() const {
  std::string offers = fmt::format("{}, which is Tutti's TCP", kOwnNetwork);
  for (const Entry& entry : entries_) {
    if (entry.plugin != nullptr && !entry.out)
      offers += fmt::format(", and {} of {}", entry.plugin->name(), entry.name);
    if (entry.out) offers += fmt::format("; not {}: {}", entry.name, entry.why_out);
  }
  return offers;
}

std::shared_ptr<Network> Catalog::Try(const std::string& name, bool asked_for, const Finder& find,
                                      const Wishes& wishes) {
  Entry& entry = EntryOf(name, asked_for);
  if (chosen_ != nullptr && chosen_ != &entry) return nullptr;
  if (!std::exchange(entry.tried, true)) {
    Result<std::shared_ptr<NetPlugin>> found = find();
    if (found.ok()) {
      entry.plugin = std::move(*found);
    } else {
      Refuse(entry, found.status());
    }
  }
  if (entry.out) return nullptr;
  std::shared_ptr<Network> network = Start(entry, wishes);
  if (network == nullptr) return nullptr;
  chosen_ = &entry;
  TUTTI_INFO(log::kInit | log::kNet, "Assigned NET plugin {} to comm", network->plugin().name());
  return network;
}

Result<std::shared_ptr<Network>> Catalog::Choose(const Wishes& wishes) {
  if (EqualIgnoringCase(wishes.network, kOwnNetwork)) return std::shared_ptr<Network>();
  std::lock_guard lock(mutex_);
  const bool asked_for = !wishes.plugins.empty(), asks_for_built_in = AsksForBuiltIn(wishes);
  std::vector<std::string> names;
  if (!asks_for_built_in && (asked_for || !wishes.network.empty())) {
    names = PluginNames(asked_for ? wishes.plugins : kDefaultLibrary);
  }
  for (const std::string& name : names) {
    std::shared_ptr<Network> network = Try(
        name, asked_for, [&] { return FindPlugin(name); }, wishes);
    if (network != nullptr) return network;
  }
  if (asks_for_built_in || (wishes.network.empty() && wishes.built_in.automatic)) {
    const BuiltIn& own = wishes.built_in;
    std::shared_ptr<Network> network = Try(own.name, asks_for_built_in, own.find, wishes);
    if (network != nullptr) return network;
  }
  if (wishes.network.empty()) return std::shared_ptr<Network>();
  return Status(Code::kInvalidUsage,
                fmt::format("NCCL_NET={}: there is no such network here; there is {}", wishes.network, Offers()));
}

}  // namespace tutti::transport::net::plugin
