// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a courier leaves to threads of its own, and how its rank hears of it.
#include <utility>

#include "sys/os/clock.h"
#include "transport/net/courier.h"
#include "transport/net/movers.h"

namespace tutti::transport::net {

// They start with the first rank that has flows for them. Where there are no threads to be had, the thread that waits does all.
void Courier::LetMoversHelp(RemoteRank& rank) {
  const bool has_more_flows = rank.connected() > 0 && rank.flows() > rank.first_flows();
  if (options_.movers == 0 || !has_more_flows || !rank.WantsMoreFlows()) return;
  if (movers_ == nullptr) {
    Result<std::shared_ptr<Movers>> started = Movers::Start(options_.movers);
    if (!started.ok()) return;
    movers_ = std::move(*started);
  }
  movers_->Serve(rank);
  if (rank.IsBusy()) movers_->Wake();
}

bool Courier::TakeNewsOfMovers() { return movers_ != nullptr && movers_->TakeNews(); }

void Courier::WaitForNews(std::int64_t timeout_ns) {
  std::shared_ptr<Movers> movers;
  {
    std::lock_guard lock(mutex_);
    movers = movers_;
    if (movers != nullptr && !movers->BeginSleep(watched_)) return;
  }
  if (watched_.empty()) return sys::SleepNs(timeout_ns);
  (void)sys::WaitAny(watched_, sys::NowNs() + timeout_ns).ok();
  if (movers != nullptr) movers->EndSleep();
}

}  // namespace tutti::transport::net
