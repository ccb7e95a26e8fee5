// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/log.h"
#include "comm/host/comparer.h"
#include "comm/host/impl.h"
#include "comm/host/ledger.h"
#include "comm/host/submitter.h"
#include "transport/shm/fabric.h"

namespace tutti {

using transport::shm::RankState;

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
  std::atomic_thread_fence(std::memory_order_seq_cst);  // of two ranks that leave at once, one sees the other
  if (const Status s = comparer.CompareAtEnd(); !s.ok()) {
    TUTTI_WARN("{} has ended with results that are likely wrong: {}", who, InParent(s).message());
  }
}

}  // namespace tutti
