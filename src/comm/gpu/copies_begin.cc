// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// How GpuCopies begin: whether copy engines can be used, and the words of all ranks.
#include <fmt/format.h>

#include <utility>

#include "base/keep_for_ever.h"
#include "base/log.h"
#include "comm/gpu/copies.h"
#include "comm/gpu/core.h"
#include "comm/gpu/exchange.h"
#include "exec/gpu/launch/copy_runner.h"
#include "exec/gpu/launch/executor.h"
#include "sys/cuda/cuda_memory.h"
#include "sys/os/clock.h"
#include "transport/p2p/fabric.h"

namespace tutti::comm {
namespace {

using exec::gpu::CopyRunner;
using sys::cuda::SharedHostMemory;
using transport::p2p::CopyWords;

constexpr std::size_t kPageBytes = 4096;
// How long the trial of words in host memory may take, and how often it is looked at.
constexpr std::int64_t kTrialNs = 2 * sys::kNsPerSecond, kTrialPauseNs = 10'000;

// Errors by which ranks agree to do without something.
bool IsNo(const Status& s) { return s.code() == Code::kUnsupported; }
Status AsNo(const Status& s) { return s.ok() ? s : Status(Code::kUnsupported, s.message()); }

}  // namespace

Status GpuCopies::Decide() {
  if (tried_) return Status::Ok();
  int supported = 0;
  core_.driver->DeviceGetAttribute(&supported, sys::cuda::kMemoryOperationsSupported, core_.device);
  // Ranks that share a context share the GPU's few hardware queues too: what waits for one could hold up the other.
  const bool few = core_.ranks <= transport::p2p::kMostCopyRanks;
  const bool can = supported != 0 && core_.ranks > 1 && few && !core_.fabric->SomeShareAContext();
  const int own[2] = {can ? 1 : 0, core_.zero_ctas ? 1 : 0};
  int all[2];
  TUTTI_RETURN_IF_ERROR(exchange_.FindLeast(own, all));
  tried_ = true;
  if (all[0] == 0) return Status::Ok();
  zero_ctas_ = all[1] != 0;
  const Status made = MakeRunner();
  if (made.ok()) {
    executor_.UseCopies(owner_.get());
    runner_.store(owner_.get(), std::memory_order_release);
    return made;
  }
  TUTTI_INFO(log::kReg, "{} operations on windows run in kernels: {}", core_.who, made.message());
  KeepForEver(std::move(owner_));  // what it has enqueued may be there still
  KeepForEver(std::move(pages_));
  return IsNo(made) ? Status::Ok() : made;
}

// The words of all ranks, and a trial of them. The same on all ranks; kUnsupported where a rank can not.
Status GpuCopies::MakeRunner() {
  SharedHostMemory::ReleaseUnused();
  Result<sys::Fd> page = sys::CreateSharedMemory("tutti-copy-words", kPageBytes);
  TUTTI_RETURN_IF_ERROR(exchange_.AgreeOnAll(AsNo(page.status()), "could not share a page of memory"));
  TUTTI_RETURN_IF_ERROR(exchange_.AgreeOnAll(SharePages(*page), "could not map a peer's page"));
  CopyRunner::Options options{.driver = core_.driver, .rank = core_.rank, .ranks = core_.ranks};
  for (int peer = 0; peer < core_.ranks; ++peer) {
    options.words[peer] = reinterpret_cast<sys::cuda::Address>(pages_[peer].device());
    options.peers[peer] = reinterpret_cast<const CopyWords*>(pages_[peer].host());
  }
  options.own = reinterpret_cast<CopyWords*>(pages_[core_.rank].host());
  owner_ = std::make_unique<CopyRunner>(options);
  return exchange_.AgreeOnAll(TryRunner(), "can not use copy engines");
}

// Hands this rank's page to all others and maps theirs.
Status GpuCopies::SharePages(const sys::Fd& own) {
  pages_.resize(core_.ranks);
  return exchange_.HandAround({}, own, [&](int peer, const std::byte* /*offer*/, const sys::Fd& shared) {
    Result<SharedHostMemory> words = SharedHostMemory::Register(core_.driver, core_.device, shared, kPageBytes);
    if (words.ok()) pages_[peer] = std::move(*words);
    return AsNo(words.status());
  });
}

// An operation of all ranks that copies nothing: only this shows that streams can exchange words.
Status GpuCopies::TryRunner() {
  const std::int64_t begin = sys::NowNs();
  const Status s = owner_->Start({.list = exec::gpu::ListBarrier(core_.rank, core_.ranks)}, core_.inner, false);
  if (!s.ok()) return AsNo(s);
  while (owner_->Pending() && sys::NowNs() - begin < kTrialNs) sys::SleepNs(kTrialPauseNs);
  if (!owner_->Pending()) return Status::Ok();
  owner_->Release(kTrialNs);
  return Status(Code::kUnsupported, "streams of the GPUs do not see each other's words in host memory");
}

}  // namespace tutti::comm
