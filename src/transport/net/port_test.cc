// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/port.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "sys/net/proven_connection.h"
#include "sys/os/clock.h"

namespace tutti::transport::net {
namespace {

constexpr std::chrono::seconds kPatience(20);

// One whose Tend lasts until it is called, like that of a courier that calls others while it holds the port's tending thread.
class Waits : public Caller {
 public:
  void Called(sys::ProvenConnection&&) override { called_.set_value(); }
  Left Tend() override {
    if (!std::exchange(tended_, true)) {
      tending_.set_value();
      called_in_time_.set_value(called_.get_future().wait_for(kPatience) == std::future_status::ready);
    }
    return Left::kNothing;
  }
  // Once.
  bool IsTended() { return tending_.get_future().wait_for(kPatience) == std::future_status::ready; }
  bool WasCalledInTime() { return called_in_time_.get_future().get(); }

 private:
  bool tended_ = false;
  std::promise<void> tending_, called_;
  std::promise<bool> called_in_time_;
};

TEST(Port, HandsCallsOverWhileItTends) {
  Result<sys::TcpListener> listener = sys::TcpListener::Open({.addresses = {sys::IpAddress::V4(127, 0, 0, 1)}});
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  const std::vector<sys::Endpoint> endpoints = listener->endpoints();
  const Result<std::shared_ptr<Port>> port = Port::Open(std::move(*listener), {});
  ASSERT_TRUE(port.ok()) << port.status().message();
  const sys::HelloTerms terms{.version = {.number = 1, .name = "test"}};
  Waits waits;
  ASSERT_TRUE((*port)->Add(terms, &waits).ok());
  ASSERT_TRUE(waits.IsTended());
  const Result<sys::ProvenConnection> call =
      sys::ConnectProven(endpoints, terms, {}, sys::NowNs() + 10 * sys::kNsPerSecond);
  EXPECT_TRUE(call.ok()) << call.status().message();
  EXPECT_TRUE(waits.WasCalledInTime());
  (*port)->Remove(terms.id);
}

}  // namespace
}  // namespace tutti::transport::net
