// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// How the kernels of a GpuCommunicator come to their end.
#include <algorithm>
#include <atomic>

#include "comm/gpu/copies.h"
#include "comm/gpu/faults.h"
#include "comm/gpu/hosts.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/submitter.h"
#include "sys/os/clock.h"
#include "transport/p2p/fabric.h"

namespace tutti {
namespace {

// How long kernels may take to end after an abort, and how often they are asked whether they have.
constexpr std::int64_t kAbortNs = 2 * sys::kNsPerSecond;
constexpr std::int64_t kShortestPauseNs = 20'000, kLongestPauseNs = sys::kNsPerMs;

}  // namespace

// Waits until this communicator's kernels have ended; false where some have not after `timeout_ns`. Asks by a copy on a
// stream of its own, since waiting for the context would wait for everybody's kernels.
bool GpuCommunicator::Impl::AwaitKernels(std::int64_t timeout_ns) {
  const transport::p2p::LaunchCounts* counts = words.counts(comm::GpuWords::Asks::kWhatHasEnded);
  const sys::cuda::Address to = words.counts_on_gpu(comm::GpuWords::Asks::kWhatHasEnded);
  const auto from = reinterpret_cast<sys::cuda::Address>(fabric->counts());
  const std::int64_t begin = sys::NowNs();
  std::int64_t pause_ns = kShortestPauseNs;
  while (true) {
    if (driver->MemcpyAsync(to, from, sizeof(*counts), inner) != 0) return true;
    if (driver->StreamSynchronize(inner) != 0) return true;
    const bool kernels_ended =
        counts->ended == submitter.ends_to_count() && counts->captured_begun == counts->captured_ended;
    if (kernels_ended && !copies.Pending()) return true;
    if (faults.ending()) copies.Release();
    if (sys::NowNs() - begin > timeout_ns) return false;
    sys::SleepNs(pause_ns);
    pause_ns = std::min(2 * pause_ns, kLongestPauseNs);
  }
}

bool GpuCommunicator::Impl::DrainAcrossHosts() {
  const sys::cuda::ScopedContext scope(driver, context.get());
  if (!faults.broken() && hosts->Drain(settings.timeout_ms * sys::kNsPerMs + kAbortNs)) return true;
  hosts->Release("this rank leaves");
  return hosts->Drain(kAbortNs);
}

bool GpuCommunicator::Impl::Drain() {
  if (hosts != nullptr) return DrainAcrossHosts();
  if (context.get() == nullptr || words.host() == nullptr || inner == nullptr || fabric == nullptr) return true;
  const sys::cuda::ScopedContext scope(driver, context.get());
  if (faults.broken()) faults.EndKernels();
  bool ended = AwaitKernels(settings.timeout_ms * sys::kNsPerMs + kAbortNs);
  if (!ended) {
    faults.EndKernels();
    ended = AwaitKernels(kAbortNs);
  }
  copies.Release();
  if (faults.broken()) copies.AwaitPeers();
  return ended;
}

}  // namespace tutti
