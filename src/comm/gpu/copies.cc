// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "comm/gpu/core.h"
#include "comm/gpu/one_sided.h"
#include "comm/host/core.h"
#include "exec/gpu/launch/copy_runner.h"
#include "sys/cuda/cuda_memory.h"
#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

using exec::gpu::CopyRunner;

// How long one look at a broken communicator ends operations that wait, and how long a rank that leaves one waits for
// peers to have ended theirs.
constexpr std::int64_t kReleaseNs = 20 * sys::kNsPerMs, kPeersNs = 500 * sys::kNsPerMs;
}  // namespace

GpuCopies::GpuCopies(GpuCore& core, GpuExchange& exchange) : core_(core), host_(core.host), exchange_(exchange) {}

GpuCopies::~GpuCopies() = default;

Status GpuCopies::Run(const exec::gpu::CopyList& list, std::span<std::byte* const> outputs, sys::cuda::Stream stream,
                      bool captured) {
  exec::gpu::CopyOutputs all{};
  std::ranges::copy(outputs, all.begin());
  const Status s = owner_->Run(list, all, stream, captured);
  if (!s.ok()) host_.Break(s);  // peers wait for what is missing
  return s;
}

Status GpuCopies::Put(int peer, const void* from, std::byte* to, std::size_t bytes, sys::cuda::Stream stream) {
  const Status s = owner_->Put(peer, from, to, bytes, stream);
  if (!s.ok()) host_.Break(s);
  return s;
}

Status GpuCopies::AwaitSignals(std::span<const AwaitedSignals> awaited, sys::cuda::Stream stream) {
  std::vector<CopyRunner::Awaited> of_peers;
  for (const AwaitedSignals& a : awaited) of_peers.push_back({a.peer, a.count});
  const Status s = owner_->AwaitSignals(of_peers, stream);
  if (!s.ok()) host_.Break(s);
  return s;
}

Status GpuCopies::FindBreak() const {
  return host_.broken.load(std::memory_order_relaxed) ? host_.Broken() : Status::Ok();
}

bool GpuCopies::Pending() const {
  const CopyRunner* runner = runner_.load(std::memory_order_acquire);
  return runner != nullptr && runner->Pending();
}

void GpuCopies::Release() {
  CopyRunner* runner = runner_.load(std::memory_order_acquire);
  if (runner != nullptr) runner->Release(kReleaseNs);
}

void GpuCopies::AwaitPeers() const {
  const CopyRunner* runner = runner_.load(std::memory_order_acquire);
  if (runner == nullptr) return;
  const std::int64_t begin = sys::NowNs();
  for (int peer = 0; peer < host_.ranks; ++peer) {
    while (!runner->Drained(peer) && !host_.ProcessIsDead(peer) && sys::NowNs() - begin < kPeersNs) {
      sys::SleepNs(sys::kNsPerMs);
    }
  }
}

Status GpuCopies::Overdue() {
  CopyRunner* runner = runner_.load(std::memory_order_acquire);
  if (runner == nullptr) return Status::Ok();
  const std::int64_t timeout_ms = host_.settings.timeout_ms;
  const std::optional<CopyRunner::Wait> wait = runner->Overdue(timeout_ms * sys::kNsPerMs);
  if (!wait) return Status::Ok();
  const char* what = wait->stage == transport::p2p::kEntering  ? "for the window of rank {}"
                     : wait->stage == transport::p2p::kLeaving ? "for data from rank {}"
                                                               : "for a signal of rank {}";
  return Status(Code::kTimeout,
                fmt::format("rank {} gave up an operation on its GPU: copy engines waited {} for TUTTI_TIMEOUT_MS={}; "
                            "raise it if that rank may be so late, else find out what holds it up",
                            host_.rank, fmt::format(fmt::runtime(what), wait->peer), timeout_ms),
                wait->peer);
}

}  // namespace tutti::comm
