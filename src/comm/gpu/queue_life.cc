// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// How a GpuQueue begins and ends, and how the process's thread looks after it.
#include <utility>

#include "base/keep_for_ever.h"
#include "comm/gpu/faults.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/queue.h"
#include "comm/gpu/side.h"
#include "comm/gpu/watch.h"
#include "comm/host/queue.h"

namespace tutti::comm {

struct GpuQueue::Watch final : Watched {
  explicit Watch(GpuQueue& queue) : queue(queue) {}
  Status Look() override { return queue.Look(); }
  GpuQueue& queue;
};

GpuQueue::~GpuQueue() = default;

Result<GpuQueue::Side> GpuQueue::Create(const std::shared_ptr<Queue>& host, const Options& options) {
  Side made;
  const Status s = host->WithIdle([&](Communicator& communicator) -> Status {
    Result<GpuSide> side = MakeGpuSide(communicator, {.device = options.device,
                                                      .max_blocks = options.max_blocks,
                                                      .zero_blocks = options.zero_blocks,
                                                      .shared_blocks = options.shared_blocks,
                                                      .beside_others = options.beside_others});
    if (!side.ok()) return side.status();
    made.host_only = std::move(side->host_only);
    if (side->gpu) made.queue.reset(new GpuQueue(host, std::move(*side->gpu), options.shared_blocks));
    return Status::Ok();
  });
  if (!s.ok()) return s;
  return made;
}

GpuQueue::GpuQueue(std::shared_ptr<Queue> host, GpuCommunicator gpu, int shared_blocks)
    : host_(std::move(host)),
      rank_(host_->rank()),
      driver_(*gpu.impl()->driver),
      device_bytes_(gpu.device_bytes()),
      shared_blocks_(LeastSet(shared_blocks, gpu.impl()->limits.blocks_where_shared, 0)),
      reaches_peers_(gpu.host_bytes() == 0),
      watch_(std::make_unique<Watch>(*this)),
      gpu_(std::move(gpu)),
      runner_(&gpu_->impl()->runner),
      addresses_(driver_) {
  comm::Watch(*watch_);
}

void GpuQueue::Close() {
  std::lock_guard lock(lock_);
  if (!gpu_) return;
  gpu_->impl()->Drain();  // watched: a peer may die meanwhile
  Unwatch(*watch_);
  gpu_->impl()->faults.CloseEvidence();
  std::lock_guard life(life_mutex_);
  if (order_ != nullptr) {
    const sys::cuda::ScopedContext scope(&driver_, gpu_->impl()->context.get());
    driver_.EventDestroy(order_);
  }
  gpu_->impl()->EndObserved();
  gpu_.reset();
}

void GpuQueue::Abandon() {
  // Nothing of it may be touched, locks included.
  if (gpu_) KeepForEver(std::move(*gpu_));
  gpu_.reset();
}

Status GpuQueue::Look() {
  std::lock_guard life(life_mutex_);
  if (!gpu_) return Status::Ok();
  gpu_->impl()->TellWhatHasEnded();
  gpu_->impl()->faults.NoteEvidence(gpu_->impl()->words);
  (void)host_->TryCommunicator([&](Communicator&) {
    TUTTI_RETURN_IF_ERROR(gpu_->Check());
    return gpu_->impl()->faults.CompareWhenQuiet();
  });
  return gpu_->impl()->faults.EndIfBroken();
}

}  // namespace tutti::comm
