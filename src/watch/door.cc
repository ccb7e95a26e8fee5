// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/door.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "sys/net/proven_connection.h"
#include "sys/os/fork.h"
#include "transport/net/port.h"
#include "watch/desk.h"
#include "watch/ring.h"

namespace tutti::watch {
namespace {

constexpr std::size_t kMostCalls = 4096;

class Door final : public transport::net::Caller {
 public:
  Door() {
    sys::WatchForks();
    sys::FreeInForkedChildren(mutex_);
  }

  void Called(sys::ProvenConnection&& call) override {
    {
      std::lock_guard lock(mutex_);
      AfterFork();
      if (calls_.size() >= kMostCalls) calls_.erase(calls_.begin());
      calls_.push_back(std::move(call));
    }
    RingMonitor();
  }
  Left Tend() override { return Left::kNothing; }

  std::vector<sys::ProvenConnection> Take() {
    std::lock_guard lock(mutex_);
    AfterFork();
    return std::exchange(calls_, {});
  }

 private:
  // Forgets what belongs to the parent.
  void AfterFork() {
    if (generation_ == sys::ForkGeneration()) return;
    generation_ = sys::ForkGeneration();
    calls_.clear();
  }

  std::mutex mutex_;
  std::vector<sys::ProvenConnection> calls_;  // guarded by mutex_
  std::uint32_t generation_ = 0;              // guarded by mutex_: the process that they belong to
};

// Never destroyed: ports run until the very end of the process.
Door& TheOne() {
  static Door& door = *new Door;
  return door;
}

}  // namespace

transport::net::Caller& TheDoor() { return TheOne(); }

void BringCalls(Desk& desk) {
  for (sys::ProvenConnection& call : TheOne().Take()) desk.Add(std::move(call.connection));
}

}  // namespace tutti::watch
