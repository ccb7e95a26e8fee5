// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/movers.h"

#include <cstddef>
#include <span>
#include <utility>

#include "sys/log/thread_name.h"
#include "sys/os/clock.h"
#include "sys/os/thread.h"
#include "transport/net/remote_rank.h"

namespace tutti::transport::net {
namespace {

// A mover polls for so long after the last news: about as long as an operation that follows at once takes to come, from a GPU too.
constexpr std::int64_t kSpinNs = 200'000;
constexpr std::int64_t kSleepNs = sys::kNsPerSecond;  // then it looks once

void Ring(const sys::Fd& bell) {
  constexpr std::byte kRing{1};
  (void)sys::SendMessage(bell, std::span(&kRing, 1)).ok();
}
void Silence(const sys::Fd& bell) {
  std::byte rung;
  while (sys::ReceiveMessage(bell, std::span(&rung, 1)).ok()) {
  }
}

}  // namespace

Result<std::shared_ptr<Movers>> Movers::Start(int threads) {
  std::shared_ptr<Movers> made(new Movers);
  Result<sys::SocketPair> bell = sys::MakeSocketPair(sys::SocketKind::kPacket);
  if (!bell.ok()) return bell.status();
  made->bell_ = std::move(*bell);
  for (int number = 0; number < threads; ++number) {
    auto mover = std::make_unique<Mover>();
    mover->number = number;
    Result<sys::SocketPair> alarm = sys::MakeSocketPair(sys::SocketKind::kPacket);
    if (!alarm.ok()) return alarm.status();
    mover->alarm = std::move(*alarm);
    made->movers_.push_back(std::move(mover));
  }
  Movers* const self = made.get();
  for (const auto& mover : made->movers_) {
    Result<std::unique_ptr<sys::Thread>> thread =
        sys::StartThread("large data for other hosts", [self, mover = mover.get()] { self->Run(*mover); });
    if (!thread.ok()) return thread.status();
    mover->thread = std::move(*thread);
  }
  return made;
}

Movers::~Movers() {
  stop_ = true;
  Wake();
  for (const auto& mover : movers_) mover->thread.reset();
}

void Movers::Serve(RemoteRank& rank) {
  if (!rank.LeaveToMovers(count())) return;
  {
    std::lock_guard lock(mutex_);
    ranks_.push_back(&rank);
    served_.store(static_cast<std::uint32_t>(ranks_.size()), std::memory_order_release);
  }
  Wake();
}

void Movers::Wake() {
  for (const auto& mover : movers_) {
    if (mover->sleeps.exchange(false)) Ring(mover->alarm.a);
  }
}

bool Movers::TakeNews() {
  news_before_ = std::exchange(news_taken_, news_.load(std::memory_order_acquire));
  return news_taken_ != news_before_;
}

bool Movers::BeginSleep(std::vector<sys::Watched>& watched) {
  asker_sleeps_ = true;
  if (news_.load() != news_before_) {
    asker_sleeps_ = false;
    return false;
  }
  watched.push_back({.fd = bell_.b.get()});
  return true;
}

void Movers::EndSleep() {
  asker_sleeps_ = false;
  Silence(bell_.b);
}

void Movers::TellNews() {
  news_.fetch_add(1);
  if (asker_sleeps_.exchange(false)) Ring(bell_.a);
}

bool Movers::Move(Mover& mover) {
  if (served_.load(std::memory_order_acquire) != mover.ranks.size()) {
    std::lock_guard lock(mutex_);
    mover.ranks = ranks_;
  }
  bool moved = false;
  for (RemoteRank* rank : mover.ranks) moved = rank->ExchangeBy(mover.number, count()) || moved;
  return moved;
}

// What is written after the look below finds `sleeps` set, and rings.
bool Movers::Sleep(Mover& mover) {
  std::vector<sys::Watched> watched = {{.fd = mover.alarm.b.get()}};
  mover.sleeps = true;
  if (Move(mover) || stop_) {
    mover.sleeps = false;
    TellNews();
    return true;
  }
  for (RemoteRank* rank : mover.ranks) rank->AddWatched(watched, mover.number, count());
  const std::int64_t until_ns = sys::NowNs() + kSleepNs;
  (void)sys::WaitAny(watched, until_ns).ok();
  mover.sleeps = false;
  Silence(mover.alarm.b);
  return sys::NowNs() < until_ns;
}

void Movers::Run(Mover& mover) {
  sys::SetThreadName("tutti-mover");
  std::int64_t news_ns = sys::NowNs();
  while (!stop_) {
    if (Move(mover)) {
      TellNews();
      news_ns = sys::NowNs();
    } else if (sys::NowNs() - news_ns < kSpinNs) {
      sys::CpuPause();
    } else {
      const bool woken = Sleep(mover);
      news_ns = woken ? sys::NowNs() : news_ns;
    }
  }
}

}  // namespace tutti::transport::net
