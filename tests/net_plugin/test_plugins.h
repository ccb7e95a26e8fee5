// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_NET_PLUGIN_TEST_PLUGINS_H_
#define TUTTI_TESTS_NET_PLUGIN_TEST_PLUGINS_H_

// The plugins of this folder, for the tests that use them.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <utility>

#include "sys/net/interfaces.h"
#include "sys/os/clock.h"
#include "tests/net_plugin/script.h"
#include "transport/net/fabric/fabric.h"
#include "transport/net/plugin/catalog.h"
#include "transport/net/plugin/comm.h"

#ifndef TUTTI_TEST_PLUGINS
#define TUTTI_TEST_PLUGINS "."  // the folder of the plugins, which CMakeLists.txt names where a test is built
#endif

namespace tutti::tests {

namespace plugin = transport::net::plugin;
namespace fabric = transport::net::fabric;

// "tests-tcp-v6" and the like.
inline std::string PathOf(const std::string& name) {
  return std::string(TUTTI_TEST_PLUGINS) + "/libnccl-net-" + name + ".so";
}

// "libfabric tcp;ofi_rxm", "libfabric shm" and the like: libfabric with that provider, over lo.
// "libfabric+ ...": over all interfaces of IPv4, each a rail; what goes to an own address stays on this machine.
inline bool IsLibfabric(const std::string& name) { return name.starts_with("libfabric"); }
inline fabric::Options FabricOptions(const std::string& name) {
  fabric::Options options{
      .rails = {.interfaces = {{.name = "lo"}}}, .provider = name.substr(name.find(' ') + 1), .segment_bytes = 30'000};
  if (!name.starts_with("libfabric+")) return options;
  const auto interfaces = sys::ReadInterfaces();
  for (std::size_t i = 0; interfaces.ok() && i < interfaces->size(); ++i) {
    const sys::Interface& one = (*interfaces)[i];
    const bool v4 = std::ranges::any_of(one.addresses, [](auto& a) { return a.family() == sys::IpFamily::kV4; });
    if (v4 && one.running && one.name != "lo") options.rails.interfaces.push_back({.name = one.name});
  }
  return options;
}
// Why there is none; empty where there is.
inline std::string WhyNoLibfabric() {
  const auto opened = fabric::Open(FabricOptions("libfabric tcp;ofi_rxm"));
  return opened.ok() ? "" : opened.status().message();
}
inline plugin::Wishes WishesFor(const std::string& name) {
  if (!IsLibfabric(name)) return {.plugins = PathOf(name), .communicator = 77};
  return {.network = "ofi",
          .communicator = 77,
          .built_in = {.name = fabric::kName, .other_name = fabric::kOtherName, .find = [name] {
                         return fabric::Open(FabricOptions(name));
                       }}};
}
// For the name of a test.
inline std::string NameOfTest(std::string name) {
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : c == '+' ? 'S' : '_';
  return name;
}

inline std::string ScriptedPath(int version) { return PathOf("tests-scripted-v" + std::to_string(version)); }

// A new script for the scripted plugin of a version, or the one that there is; null after a failure.
inline Script* ScriptOf(int version, const char* function) {
  void* library = dlopen(ScriptedPath(version).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) return nullptr;
  using Get = Script* (*)();
  const auto get = reinterpret_cast<Get>(dlsym(library, function));
  return get != nullptr ? get() : nullptr;
}
inline Script* NewScript(int version) { return ScriptOf(version, "tutti_test_new_script"); }

inline std::int64_t SoonNs(std::int64_t ms = 20'000) { return sys::NowNs() + ms * sys::kNsPerMs; }

struct Pair {
  std::unique_ptr<plugin::Listener> listener;
  std::unique_ptr<plugin::SendComm> sender;
  std::unique_ptr<plugin::ReceiveComm> receiver;
};

// Both sides of a connection, each asked in turn.
inline Result<Pair> Connect(const std::shared_ptr<plugin::Network>& network, int device = 0,
                            std::int64_t deadline_ns = SoonNs()) {
  Pair pair;
  Result<std::unique_ptr<plugin::Listener>> listener = plugin::Listener::Open(network, device);
  if (!listener.ok()) return listener.status();
  pair.listener = std::move(*listener);
  plugin::Connector connector(network, device, pair.listener->handle(), "rank 1 on host b", deadline_ns);
  while (pair.sender == nullptr || pair.receiver == nullptr) {
    if (pair.sender == nullptr) {
      Result<std::unique_ptr<plugin::SendComm>> sender = connector.TryConnect();
      if (!sender.ok()) return sender.status();
      pair.sender = std::move(*sender);
    }
    if (pair.receiver == nullptr) {
      Result<std::unique_ptr<plugin::ReceiveComm>> receiver = pair.listener->TryAccept();
      if (!receiver.ok()) return receiver.status();
      pair.receiver = std::move(*receiver);
    }
    if (sys::NowNs() > deadline_ns + 10 * sys::kNsPerSecond) return Status(Code::kTimeout, "nobody was accepted");
  }
  return pair;
}

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_NET_PLUGIN_TEST_PLUGINS_H_
