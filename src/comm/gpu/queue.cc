// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "base/keep_for_ever.h"
#include "base/log.h"
#include "comm/agree/gpu_machine.h"
#include "comm/agree/machine_file.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/memory.h"
#include "comm/gpu/watch.h"
#include "comm/host/comparer.h"
#include "comm/host/ledger.h"
#include "sys/os/clock.h"
#include "trace/view.h"

namespace tutti::comm {
namespace {

using sys::cuda::CaptureOf;
using sys::cuda::Driver;
using sys::cuda::Event;
using sys::cuda::ScopedContext;
using sys::cuda::Stream;
using Kind = Collective;

constexpr log::Subsystems kLogged = log::kColl | log::kTuning;

// Makes a context current for a while, where it is not already.
class EnsureContext {
 public:
  EnsureContext(const Driver& driver, sys::cuda::Context context) : driver_(driver) {
    sys::cuda::Context current = nullptr;
    driver.CtxGetCurrent(&current);
    if (current == context) [[likely]]
      return;
    driver.CtxPushCurrent(context);
    pushed_ = true;
  }
  EnsureContext(const EnsureContext&) = delete;
  EnsureContext& operator=(const EnsureContext&) = delete;
  ~EnsureContext() {
    sys::cuda::Context mine = nullptr;
    if (pushed_) driver_.CtxPopCurrent(&mine);
  }

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

// The lesser of two limits, of which 0 is none.
int LeastSet(int a, int b, int if_none) {
  if (a == 0 || b == 0) return a + b == 0 ? if_none : a + b;
  return std::min(a, b);
}

// The most blocks of a communicator that is made beside others on its GPU: docs/decisions/0012-part-of-a-gpu.md.
int BlocksBesideOthers(const Communicator::Impl& host, sys::cuda::Device device) {
  const Result<tune::TuningFile> file = LoadTables(host.settings);  // read before, when `host` was made
  const tune::TuningFile stored = file.ok() ? *file : tune::TuningFile();
  const GpuProfile own = ProfileOf(**sys::cuda::OpenDriver(), device);
  tune::GpuSituation situation = SituationOf(std::span(&own, 1), false);
  situation.ranks = host.ranks;
  const tune::GpuMachine& machine = tune::FindGpuTable(stored.gpus, situation).machine;
  return tune::MostBlocks(machine, own.multiprocessors, machine.beside_parts);
}

// Why a communicator works on host memory only although this process has a GPU.
std::string WhyHostOnly(const Communicator::Impl& c) {
  if (!c.settings.gpu) return "TUTTI_GPU=0 switches the GPU off";
  if (c.ranks > transport::p2p::kMaxRanks) {
    return fmt::format(
        "it has {} ranks, and at most {} can use GPU memory on one host; copy to host memory first, or make "
        "smaller communicators",
        c.ranks, transport::p2p::kMaxRanks);
  }
  return "another rank has no GPU that it can use; give every rank one (CUDA_VISIBLE_DEVICES), or copy to host memory "
         "first";
}

}  // namespace

Result<GpuQueue::Side> GpuQueue::Create(const std::shared_ptr<Queue>& host, const Options& options) {
  Side made;
  const Status s = host->WithIdle([&](Communicator& communicator) -> Status {
    Communicator::Impl& c = *communicator.impl();
    const bool mine = c.settings.gpu && c.ranks <= transport::p2p::kMaxRanks && CanUseGpu();
    const bool beside = mine && options.beside_others && options.max_blocks == 0 && c.ranks > 1;
    const int wished = beside ? BlocksBesideOthers(c, options.device) : options.max_blocks;
    const int most = LeastSet(wished, options.shared_blocks, INT_MAX);
    // Whether this rank can use its GPU, and the most blocks that it wishes for; the least of all ranks holds.
    const int own[2] = {mine ? 1 : 0, most};
    int least[2] = {own[0], own[1]};
    if (c.ranks > 1) {
      TUTTI_RETURN_IF_ERROR(communicator.Run(AllReduce(std::span(own), std::span(least), ReduceOp::kMin)));
    }
    c.ledger.own_collectives = c.ledger.collectives();
    if (least[0] == 0) {
      if (mine) {
        TUTTI_WARN(
            "{} has a GPU, but another rank has none that it can use: the communicator works on host memory only",
            c.who);
      }
      if (CanUseGpu()) made.host_only = std::make_unique<HostOnly>(**sys::cuda::OpenDriver(), WhyHostOnly(c));
      return Status::Ok();
    }
    const std::int64_t begin_ns = sys::NowNs();
    GpuOptions gpu_options{.device = options.device};
    gpu_options.max_channels = std::min(gpu_options.max_channels, least[1]);
    constexpr int kZeroBlocks = 2;  // of NCCL_CTA_POLICY
    gpu_options.zero_ctas =
        c.settings.cta_policy >= 0 ? (c.settings.cta_policy & kZeroBlocks) != 0 : options.zero_blocks;
    Result<GpuCommunicator> gpu = GpuCommunicator::Create(communicator, gpu_options);
    if (!gpu.ok()) return gpu.status();
    c.ledger.own_collectives = c.ledger.collectives();
    const std::string over =
        gpu->host_bytes() == 0 ? "" : fmt::format(" over host memory ({} bytes)", gpu->host_bytes());
    TUTTI_INFO(log::kInit, "{} GPU {}{} device memory {} bytes, up to {} blocks{} - ready in {:.2f} ms", c.who,
               options.device, over, gpu->device_bytes(), gpu->impl()->most_blocks,
               beside ? ", beside other communicators" : "", static_cast<double>(sys::NowNs() - begin_ns) / 1e6);
    made.queue.reset(new GpuQueue(host, std::move(*gpu), options.shared_blocks));
    return Status::Ok();
  });
  if (!s.ok()) return s;
  return made;
}

GpuQueue::GpuQueue(std::shared_ptr<Queue> host, GpuCommunicator gpu, int shared_blocks)
    : host_(std::move(host)),
      driver_(*gpu.impl()->driver),
      device_bytes_(gpu.device_bytes()),
      shared_blocks_(LeastSet(shared_blocks, gpu.impl()->blocks_where_shared, 0)),
      reaches_peers_(!gpu.impl()->fabric->staged()),
      gpu_(std::move(gpu)),
      addresses_(driver_) {
  WatchGpu(*this);
}

void GpuQueue::Close() {
  std::lock_guard lock(lock_);
  if (!gpu_) return;
  gpu_->impl()->Drain();  // watched: a peer may die meanwhile
  UnwatchGpu(*this);
  std::lock_guard life(life_mutex_);
  if (order_ != nullptr) {
    const ScopedContext scope(&driver_, gpu_->impl()->context.get());
    driver_.EventDestroy(order_);
  }
  gpu_.reset();
}

void GpuQueue::Abandon() {
  // Nothing of it may be touched, locks included.
  if (gpu_) KeepForEver(std::move(*gpu_));
  gpu_.reset();
}

Status GpuQueue::Usable() const { return gpu_ ? Status::Ok() : HasLeft(host_->rank()); }

Status GpuQueue::Link(Stream before, Stream after) {
  if (order_ == nullptr) {
    TUTTI_RETURN_IF_ERROR(sys::cuda::Check(driver_, driver_.EventCreate(&order_, sys::cuda::kNoTiming), "an event"));
  }
  TUTTI_RETURN_IF_ERROR(
      sys::cuda::Check(driver_, driver_.EventRecord(order_, before), "ordering two streams of a communicator"));
  return sys::cuda::Check(driver_, driver_.StreamWaitEvent(after, order_, 0), "ordering two streams of a communicator");
}

// Lets what comes on `stream` take place after this communicator's last operation, where that was on another one. An
// operation in a graph under capture is ordered against those of the same capture only; graphs are ordered by whoever
// launches them.
Status GpuQueue::Follow(Stream stream) {
  if (stream == last_ && used_) [[likely]]
    return Status::Ok();
  if (used_) {
    const Result<unsigned long long> now = CaptureOf(driver_, stream);
    if (!now.ok()) return now.status();
    const Result<unsigned long long> then = CaptureOf(driver_, last_);  // fails where the stream is gone
    if (then.ok() && *then == *now) TUTTI_RETURN_IF_ERROR(Link(last_, stream));
  }
  used_ = true;
  last_ = stream;
  return Status::Ok();
}

Status GpuQueue::Check(const Operation& operation) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  return gpu_->impl()->Validate(operation);
}

Status GpuQueue::Prepare(std::span<const Call> calls) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  const EnsureContext context(driver_, gpu.context.get());
  operations_.clear();
  for (const Call& call : calls) operations_.push_back(call.operation);
  return gpu.PrepareGroup(operations_);
}

Status GpuQueue::Post(const Operation& operation, Stream stream) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  const EnsureContext context(driver_, gpu.context.get());
  TUTTI_RETURN_IF_ERROR(Follow(stream));
  if (log::Enabled(log::Level::kInfo, kLogged)) [[unlikely]]
    gpu.LogOperation(operation);
  return gpu.Run(operation, stream);
}

Status GpuQueue::Submit(std::span<const Call> calls) {
  if (calls.empty()) return Status::Ok();
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  if (gpu.host.broken.load(std::memory_order_relaxed)) [[unlikely]]
    return gpu.host.Broken();
  const EnsureContext context(driver_, gpu.context.get());
  const Stream stream = calls[0].stream;
  TUTTI_RETURN_IF_ERROR(Follow(stream));
  std::vector<Stream> others;
  operations_.clear();
  for (const Call& call : calls) {
    operations_.push_back(call.operation);
    if (log::Enabled(log::Level::kInfo, kLogged)) [[unlikely]]
      gpu.LogOperation(call.operation);
    if (call.stream != stream && std::ranges::find(others, call.stream) == others.end()) others.push_back(call.stream);
  }
  for (const Stream other : others) TUTTI_RETURN_IF_ERROR(Link(other, stream));
  TUTTI_RETURN_IF_ERROR(gpu.RunValidGroup(operations_, stream));
  for (const Stream other : others) TUTTI_RETURN_IF_ERROR(Link(stream, other));
  return Status::Ok();
}

Result<const transport::p2p::Window*> GpuQueue::RegisterWindow(const void* buffer, std::size_t bytes,
                                                               WindowSymmetry symmetry) {
  std::lock_guard lock(lock_);
  if (Status s = Usable(); !s.ok()) return s;
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  const ScopedContext scope(&driver_, gpu.context.get());
  const transport::p2p::Window* window = nullptr;
  const Status s = host_->WithIdle([&](Communicator&) -> Status {
    const Result<const transport::p2p::Window*> made = gpu.windows->Register(buffer, bytes, symmetry);
    if (made.ok()) window = *made;
    return made.status();
  });
  if (!s.ok()) return s;
  return window;
}

Status GpuQueue::DeregisterWindow(const void* handle) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  if (gpu.windows->Find(handle) == nullptr) {
    return NotAWindow();
  }
  const ScopedContext scope(&driver_, gpu.context.get());
  const std::int64_t timeout_ms = gpu.host.settings.timeout_ms;
  if (!gpu.AwaitKernels(timeout_ms * sys::kNsPerMs)) {
    return Status(Code::kTimeout, fmt::format("the window is still in use: operations of rank {} have not ended within "
                                              "TUTTI_TIMEOUT_MS={}",
                                              gpu.host.rank, timeout_ms));
  }
  gpu.windows->Deregister(handle);
  return Status::Ok();
}

Status GpuQueue::Put(const WindowPut& put, Stream stream) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  const EnsureContext context(driver_, gpu.context.get());
  TUTTI_RETURN_IF_ERROR(Follow(stream));
  return gpu.windows->RunPut(put, stream, gpu.IsCaptured(stream));
}

Status GpuQueue::AwaitSignals(std::span<const AwaitedSignals> awaited, Stream stream) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  const EnsureContext context(driver_, gpu.context.get());
  TUTTI_RETURN_IF_ERROR(Follow(stream));
  std::vector<exec::gpu::CopyRunner::Awaited> of_peers;
  for (const AwaitedSignals& a : awaited) of_peers.push_back({a.peer, a.count});
  return gpu.windows->AwaitSignals(of_peers, stream, gpu.IsCaptured(stream));
}

void* GpuQueue::OwnBufferOf(const void* handle) {
  std::lock_guard lock(lock_);
  const transport::p2p::Window* window = gpu_ ? gpu_->impl()->windows->Find(handle) : nullptr;
  return window == nullptr ? nullptr : window->own();
}

Result<double> GpuQueue::PredictUs(std::span<const Call> calls) {
  std::lock_guard lock(lock_);
  if (Status s = Usable(); !s.ok()) return s;
  std::size_t sent = 0, received = 0;  // at the same time
  operations_.clear();
  for (const auto& [o, stream] : calls) {
    const std::size_t bytes = o.count * SizeOf(o.type);
    if (o.kind == Kind::kSend) sent += bytes;
    if (o.kind == Kind::kRecv) received += bytes;
    operations_.push_back(o);
  }
  const Result<double> collectives_us = gpu_->impl()->PredictCollectivesUs(operations_);
  if (!collectives_us.ok()) return collectives_us;
  const std::size_t most = std::max(sent, received);
  return *collectives_us + (most > 0 ? tune::PredictTransferUs(gpu_->impl()->machine, most) : 0);
}

Status GpuQueue::CompareWhenQuiet(Communicator::Impl& c) {
  if (c.boxes.empty()) return Status::Ok();
  std::uint64_t calls = 0;  // of all ranks: what a peer calls later is compared too
  for (const trace::View& box : c.boxes) calls += box.newest();
  const bool quiet = calls == seen_calls_;
  if (!quiet) compared_ = false;
  seen_calls_ = calls;
  if (!quiet || compared_) return Status::Ok();
  compared_ = true;
  const Status s = c.comparer.CompareGpuCalls();
  if (!s.ok()) c.Break(s);
  return s;
}

Status GpuQueue::Look() {
  std::lock_guard life(life_mutex_);
  if (!gpu_) return Status::Ok();
  (void)host_->TryCommunicator([&](Communicator& communicator) {
    TUTTI_RETURN_IF_ERROR(gpu_->Check());
    return CompareWhenQuiet(*communicator.impl());
  });
  return gpu_->impl()->EndIfBroken();
}

}  // namespace tutti::comm
