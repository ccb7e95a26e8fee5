// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_NET_PLUGIN_TEST_PLUGINS_H_
#define TUTTI_TESTS_NET_PLUGIN_TEST_PLUGINS_H_

// The plugins of this folder, for the tests that use them.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "sys/os/clock.h"
#include "tests/net_plugin/script.h"
#include "transport/net/plugin/catalog.h"
#include "transport/net/plugin/comm.h"

#ifndef TUTTI_TEST_PLUGINS
#define TUTTI_TEST_PLUGINS "."  // the folder of the plugins, which CMakeLists.txt names where a test is built
#endif

namespace tutti::tests {

namespace plugin = transport::net::plugin;

// "tests-tcp-v6" and the like.
inline std::string PathOf(const std::string& name) {
  return std::string(TUTTI_TEST_PLUGINS) + "/libnccl-net-" + name + ".so";
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
