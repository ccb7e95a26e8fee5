// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/copies.h"

#include <optional>

#include "comm/gpu/core.h"
#include "comm/gpu/one_sided.h"
#include "comm/host/core.h"
#include "exec/gpu/launch/copy_runner.h"
#include "exec/gpu/launch/failures.h"
#include "exec/gpu/lower/copies.h"
#include "sys/cuda/cuda_memory.h"
#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

using exec::gpu::CopyRunner;

// How long one look at a broken communicator ends operations that wait, and how long a rank that leaves one waits for
// peers to have ended theirs.
constexpr std::int64_t kReleaseNs = 20 * sys::kNsPerMs, kPeersNs = 500 * sys::kNsPerMs;
}  // namespace

GpuCopies::GpuCopies(GpuCore& core, GpuExchange& exchange, exec::gpu::Executor& executor, exec::gpu::Failures& failures)
    : core_(core), host_(core.host), exchange_(exchange), executor_(executor), failures_(failures) {}

GpuCopies::~GpuCopies() = default;

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

std::optional<exec::gpu::FailedWait> GpuCopies::Overdue() {
  CopyRunner* runner = runner_.load(std::memory_order_acquire);
  if (runner == nullptr) return std::nullopt;
  const std::optional<exec::gpu::CopyWait> wait = runner->Overdue(host_.settings.timeout_ms * sys::kNsPerMs);
  if (!wait) return std::nullopt;
  return failures_.Read(*wait);
}

}  // namespace tutti::comm
