// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/log.h"
#include "comm/host/comparer.h"
#include "comm/host/impl.h"
#include "comm/host/ledger.h"
#include "comm/host/submitter.h"
#include "sys/os/clock.h"
#include "transport/remote.h"
#include "transport/shm/fabric.h"

namespace tutti {

using transport::RankState;

namespace {

// What this rank has sent must leave its host before the process may end, and its word after that.
void TellHosts(const Communicator::Impl& c) {
  transport::RemoteLinks& remote = *c.fabric->remote();
  const std::int64_t patience_ns = c.settings.timeout_ms * sys::kNsPerMs;
  remote.Flush(patience_ns);
  remote.Tell({.state = RankState::kLeft,
               .culprit = c.rank,
               .collectives = c.ledger.collectives(),
               .mark = c.ledger.mark_of_all()});
  remote.Flush(patience_ns);
}

}  // namespace

void Communicator::Impl::Leave() {
  if (left) return;
  left = true;
  (void)submitter.Wait();
  comm::ForgetOnThread(submitter);
  TUTTI_INFO(log::kInit | log::kDestroy, "{} commId 0x{:x} - Destroy COMPLETE", who, id_hash);
  if (fabric == nullptr) return;
  transport::shm::Header& header = *fabric->own().header();
  header.collectives = ledger.collectives();
  header.mark = ledger.mark_of_all();
  RankState ready = RankState::kReady;
  header.state.compare_exchange_strong(ready, RankState::kLeft, std::memory_order_release, std::memory_order_relaxed);
  if (fabric->remote() != nullptr && ready == RankState::kReady) TellHosts(*this);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // of two ranks that leave at once, one sees the other
  if (const Status s = comparer.CompareAtEnd(); !s.ok()) {
    TUTTI_WARN("{} has ended with results that are likely wrong: {}", who, InParent(s).message());
  }
}

}  // namespace tutti
