// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/watch_over.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sys/os/clock.h"
#include "trace/layout.h"
#include "transport/remote.h"
#include "transport/shm/fabric.h"
#include "watch/rank_pages.h"
#include "watch/terms.h"
#include "watch/watched.h"

namespace tutti::comm {
namespace {

watch::RankPages PagesOf(const transport::shm::Fabric& fabric, int rank) {
  const transport::shm::Segment& segment = fabric.segment(rank);
  watch::RankPages pages{
      .rank = rank, .begin = segment.box() - transport::shm::kBoxOffset, .box_bytes = segment.geometry().box_bytes};
  if (rank == fabric.rank()) {
    // What this rank says of itself was looked up a moment ago.
    const auto* own = reinterpret_cast<const trace::BoxHeader*>(segment.box());
    pages.process = {.pid = own->pid, .start_ticks = own->start_ticks};
    return pages;
  }
  pages.process = fabric.process(rank);
  pages.handle = fabric.HandleOf(rank);
  return pages;
}

}  // namespace

void BeginWatch(Communicator::Impl& made) {
  if (!made.settings.monitor) return;
  const std::int64_t abort_ms = made.settings.abort_after_ms;
  made.watched = std::make_unique<watch::Watched>(
      watch::Terms{.communicator = made.id_hash,
                   .rank = made.rank,
                   .ranks = made.ranks,
                   .box = made.fabric->own().box(),
                   .abort_after_ns = abort_ms < 0 ? -1 : abort_ms * sys::kNsPerMs,
                   .kernel_log = made.settings.kernel_log == "none" ? "" : made.settings.kernel_log,
                   .ras_address = made.settings.ras_enable ? made.settings.ras_addr : "",
                   .end = [impl = &made](const Status& why) { impl->Break(why); }},
      PagesOf(*made.fabric, made.rank));
}

void WatchPeers(Communicator::Impl& made) {
  if (made.watched == nullptr) return;
  std::vector<watch::RankPages> pages;
  pages.push_back(PagesOf(*made.fabric, made.rank));
  for (int rank = 0; rank < made.ranks; ++rank) {
    if (rank != made.rank && !made.fabric->IsRemote(rank)) pages.push_back(PagesOf(*made.fabric, rank));
  }
  made.watched->SetPages(std::move(pages));
}

void NoteMissing(Communicator::Impl& made, const std::vector<int>& ranks, const std::string& place) {
  if (made.watched != nullptr) made.watched->SetMissing(ranks, place);
}

void WatchPaces(Communicator::Impl& made) {
  if (made.watched == nullptr) return;
  made.watched->SetPaces([remote = made.fabric->remote()] { return remote->Paces(); });
}

void EndBeginning(Communicator::Impl& made) {
  if (made.watched != nullptr) made.watched->SetReady();
}

Status GivenUp(const Communicator::Impl& made) {
  return made.watched == nullptr ? Status::Ok() : made.watched->GivenUp();
}

}  // namespace tutti::comm
