// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Two couriers over the loopback interface; the tests are their executors.
#include "transport/net/courier.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "proto/ll.h"
#include "proto/ll128.h"
#include "tests/support/child_process.h"
#include "transport/link.h"

namespace tutti::transport::net {
namespace {

constexpr RingSizes kRings{.log2_ll_units = 3, .log2_ll128_lines = 3, .log2_posts = 3};
constexpr std::chrono::seconds kPatience(20);
constexpr std::int64_t kPatienceNs = std::chrono::nanoseconds(kPatience).count();

// A rank of two, which is alone on its host.
class Side {
 public:
  explicit Side(int rank) : rank_(rank) {
    Result<sys::TcpListener> listener = sys::TcpListener::Open({.addresses = {sys::IpAddress::V4(127, 0, 0, 1)}});
    if (!listener.ok()) throw std::runtime_error(listener.status().message());
    card_.endpoints = listener->endpoints();
    port_ = *Port::Open(std::move(*listener), {card_});
    outgoing_[1 - rank].ll = ll_.data();
    outgoing_[1 - rank].ll128 = ll128_.data();
    outgoing_[1 - rank].posts = posts_.data();
    incoming_[1 - rank].credit = &credit_;
  }

  void Meet(const Side& other) {
    CourierOptions options{.rank = rank_,
                           .ranks = 2,
                           .rings = kRings,
                           .outgoing = outgoing_,
                           .incoming = incoming_,
                           .version = "test",
                           .cards = {card_},
                           .peers = {{.rank = other.rank_, .host = "other", .cards = {other.card_}}}};
    links_ = *OpenCourier(std::move(options), port_);
    links_->Open(1 - rank_);
  }

  RemoteLinks& links() { return *links_; }
  std::uint16_t port() const { return card_.endpoints.front().port; }

  void Post(std::vector<std::byte>& data) {
    proto::Post& post = posts_[0];
    post.address = reinterpret_cast<std::uint64_t>(data.data());
    post.bytes = data.size();
    post.kind = proto::PostKind::kReference;
    outgoing_[1 - rank_].post_head = 1;
    links_->Written(1 - rank_);
  }
  bool PostIsConsumed() const { return outgoing_[1 - rank_].credit->posts.load() == 1; }
  bool PostHasCome() const { return incoming_[1 - rank_].posts[0].sequence.load() == 1; }
  void Consume() { credit_.posts.store(1); }

  void Leave() {
    links_->Flush(kPatienceNs);
    links_->Tell({.state = RankState::kLeft, .culprit = rank_});
    links_->Flush(kPatienceNs);
    links_.reset();
  }

 private:
  const int rank_;
  Card card_;
  std::vector<proto::LlLine> ll_ = std::vector<proto::LlLine>(kRings.ll_units() * proto::kLlLinesPerUnit);
  std::vector<proto::Ll128Line> ll128_ = std::vector<proto::Ll128Line>(kRings.ll128_lines());
  std::vector<proto::Post> posts_ = std::vector<proto::Post>(kRings.posts());
  std::vector<Outgoing> outgoing_ = std::vector<Outgoing>(2);
  std::vector<Incoming> incoming_ = std::vector<Incoming>(2);
  proto::Credit credit_{};
  std::shared_ptr<Port> port_;
  std::shared_ptr<RemoteLinks> links_;
};

// Ends what this process has connected with one of its own ports. How many ends that were.
int EndConnectionsWith(std::uint16_t port) {
  int ended = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    sockaddr_in peer{};
    socklen_t bytes = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) != 0) continue;
    if (peer.sin_family != AF_INET || ntohs(peer.sin_port) != port) continue;
    if (::shutdown(fd, SHUT_RDWR) == 0) ++ended;
  }
  return ended;
}

// While `side` takes what comes and sends what there is.
bool Comes(const std::function<bool()>& condition, Side& side) {
  const auto comes = [&] {
    (void)side.links().Turn(-1);
    return condition();
  };
  return tests::WaitUntil(comes, kPatience);
}

TEST(Courier, WhoLeavesSaysWhatItHasConsumedThoughTheConnectionHasEnded) {
  Side sender(0), receiver(1);
  sender.Meet(receiver);
  receiver.Meet(sender);
  std::vector<std::byte> data(100'000, std::byte{7});
  sender.Post(data);
  ASSERT_TRUE(Comes([&] { return receiver.PostHasCome(); }, receiver));
  ASSERT_GT(EndConnectionsWith(receiver.port()) + EndConnectionsWith(sender.port()), 0);
  receiver.Consume();
  ASSERT_FALSE(sender.PostIsConsumed());
  receiver.Leave();
  EXPECT_TRUE(Comes([&] { return sender.links().StateOf(1) == RankState::kLeft; }, sender));
  EXPECT_TRUE(sender.PostIsConsumed());
  sender.Leave();
}

}  // namespace
}  // namespace tutti::transport::net
