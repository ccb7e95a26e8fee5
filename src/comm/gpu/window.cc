// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "base/keep_for_ever.h"
#include "base/log.h"
#include "comm/gpu/impl.h"
#include "sys/os/clock.h"
#include "sys/os/fork.h"
#include "sys/os/memory.h"
#include "sys/os/process.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {
namespace {

using exec::gpu::CopyRunner;
using sys::cuda::SharedHostMemory;
using transport::p2p::CopyWords;
using transport::p2p::Window;
using transport::p2p::WindowOffer;
using Kind = Collective;

constexpr std::size_t kPageBytes = 4096;
// How long one look at a broken communicator ends operations that wait, and how long a rank that leaves one waits for
// peers to have ended theirs.
constexpr std::int64_t kReleaseNs = 20 * sys::kNsPerMs, kPeersNs = 500 * sys::kNsPerMs;
// How long the trial of words in host memory may take, and how often it is looked at.
constexpr std::int64_t kTrialNs = 2 * sys::kNsPerSecond, kTrialPauseNs = 10'000;

// Errors by which ranks agree to do without something.
bool IsNo(const Status& s) { return s.code() == Code::kUnsupported; }
Status AsNo(const Status& s) { return s.ok() ? s : Status(Code::kUnsupported, s.message()); }

// All windows of the process, since programs ask for addresses in them without naming a communicator.
struct AllWindows {
  std::mutex mutex;
  std::set<const void*> windows;  // guarded by mutex
};
AllWindows& TheWindows() {
  static AllWindows& all = *[] {
    auto* made = new AllWindows;  // never destroyed: calls may come until the very end of the process
    sys::FreeInForkedChildren(made->mutex);
    return made;
  }();
  return all;
}
void Remember(const void* window) {
  std::lock_guard lock(TheWindows().mutex);
  TheWindows().windows.insert(window);
}
void Forget(const void* window) {
  std::lock_guard lock(TheWindows().mutex);
  TheWindows().windows.erase(window);
}

Status NoSuchRank(int rank, int ranks) {
  return Status(Code::kInvalidArgument, fmt::format("rank {} is not among the {} of the window", rank, ranks));
}

Status OutsideOf(const Window& window, std::size_t offset, std::size_t bytes) {
  return Status(Code::kInvalidArgument, fmt::format("{} bytes at {} are not within the window, which has {} bytes",
                                                    bytes, offset, window.bytes()));
}

}  // namespace

Status NotAWindow() {
  return Status(Code::kInvalidArgument, "the window is not one of this communicator, or was given back before");
}

Result<void*> WindowAddress(const void* handle, int rank, std::size_t offset) {
  std::lock_guard lock(TheWindows().mutex);
  if (!TheWindows().windows.contains(handle)) return NotAWindow();
  const auto& window = *static_cast<const Window*>(handle);
  if (rank < 0 || rank >= window.ranks()) return NoSuchRank(rank, window.ranks());
  if (offset >= window.bytes()) return OutsideOf(window, offset, 1);
  return window.At(rank, offset);
}

GpuWindows::~GpuWindows() {
  for (const auto& window : windows_) Forget(window.get());
}

Result<const Window*> GpuWindows::Register(const void* buffer, std::size_t bytes, Symmetry symmetry) {
  const auto none = [&](const Status& why) -> Result<const Window*> {
    TUTTI_INFO(log::kReg, "{} no window of {} bytes at {}: {}", gpu_.host.who, bytes, fmt::ptr(buffer), why.message());
    return nullptr;
  };
  const sys::ProcessId self = sys::Self();
  Status own;
  if (gpu_.fabric->staged()) own = Status(Code::kUnsupported, "the GPUs do not reach each other's memory");
  Result<Window> made = own;
  if (own.ok()) {
    made = Window::Create({.driver = gpu_.driver,
                           .device = gpu_.options.device,
                           .rank = gpu_.host.rank,
                           .ranks = gpu_.host.ranks,
                           .process = self.pid,
                           .start = self.start_ticks,
                           .symmetric = symmetry == Symmetry::kSymmetric},
                          buffer, bytes);
  }
  Status agreed = gpu_.AgreeOnAll(made.status(), "has no memory for a window");
  if (agreed.ok() && gpu_.host.ranks > 1) agreed = gpu_.AgreeOnAll(Exchange(*made), "can not map a window");
  if (agreed.ok()) agreed = DecideOnCopies();
  if (!agreed.ok()) return IsNo(agreed) ? none(agreed) : Result<const Window*>(agreed);
  made->CloseDescriptor();
  windows_.push_back(std::make_unique<Window>(std::move(*made)));
  const Window* window = windows_.back().get();
  Remember(window);
  TUTTI_INFO(log::kReg, "{} window of {} bytes at {}{}", gpu_.host.who, window->bytes(), fmt::ptr(buffer),
             runner_.load() == nullptr ? ""
             : zero_ctas_              ? ", copy engines where possible"
                                       : ", copy engines where they pay");
  return window;
}

// Hands this rank's buffer to all others and maps theirs.
Status GpuWindows::Exchange(Window& window) {
  return gpu_.HandAround(std::as_bytes(std::span(&window.offer(), 1)), window.descriptor(),
                         [&](int peer, const std::byte* offer, const sys::Fd& shared) {
                           WindowOffer theirs;
                           std::memcpy(&theirs, offer, sizeof(theirs));
                           return window.Connect(peer, theirs, shared);
                         });
}

// With the first window: whether copy engines are to be used at all. Ok where they are not.
Status GpuWindows::DecideOnCopies() {
  if (tried_) return Status::Ok();
  int supported = 0;
  gpu_.driver->DeviceGetAttribute(&supported, sys::cuda::kMemoryOperationsSupported, gpu_.options.device);
  // Ranks that share a context share the GPU's few hardware queues too: what waits for one could hold up the other.
  const bool few = gpu_.host.ranks <= transport::p2p::kMostCopyRanks;
  const bool can = supported != 0 && gpu_.host.ranks > 1 && few && !gpu_.fabric->SomeShareAContext();
  const int own[2] = {can ? 1 : 0, gpu_.options.zero_ctas ? 1 : 0};
  int all[2] = {own[0], own[1]};
  if (gpu_.host.ranks > 1) {
    TUTTI_RETURN_IF_ERROR(gpu_.communicator.Run(AllReduce(std::span(own), std::span(all), ReduceOp::kMin)));
  }
  tried_ = true;
  if (all[0] == 0) return Status::Ok();
  zero_ctas_ = all[1] != 0;
  const Status made = MakeRunner();
  if (made.ok()) {
    runner_.store(owner_.get(), std::memory_order_release);
    return made;
  }
  TUTTI_INFO(log::kReg, "{} operations on windows run in kernels: {}", gpu_.host.who, made.message());
  KeepForEver(std::move(owner_));  // what it has enqueued may be there still
  KeepForEver(std::move(pages_));
  return IsNo(made) ? Status::Ok() : made;
}

// The words of all ranks, and a trial of them. The same on all ranks; kUnsupported where a rank can not.
Status GpuWindows::MakeRunner() {
  SharedHostMemory::ReleaseUnused();
  Result<sys::Fd> page = sys::CreateSharedMemory("tutti-copy-words", kPageBytes);
  TUTTI_RETURN_IF_ERROR(gpu_.AgreeOnAll(AsNo(page.status()), "could not share a page of memory"));
  TUTTI_RETURN_IF_ERROR(gpu_.AgreeOnAll(SharePages(*page), "could not map a peer's page"));
  const Communicator::Impl& host = gpu_.host;
  CopyRunner::Options options{.driver = gpu_.driver, .rank = host.rank, .ranks = host.ranks};
  for (int peer = 0; peer < host.ranks; ++peer) {
    options.words[peer] = reinterpret_cast<sys::cuda::Address>(pages_[peer].device());
    options.peers[peer] = reinterpret_cast<const CopyWords*>(pages_[peer].host());
  }
  options.own = reinterpret_cast<CopyWords*>(pages_[host.rank].host());
  owner_ = std::make_unique<CopyRunner>(options);
  return gpu_.AgreeOnAll(TryRunner(), "can not use copy engines");
}

// Hands this rank's page to all others and maps theirs.
Status GpuWindows::SharePages(const sys::Fd& own) {
  pages_.resize(gpu_.host.ranks);
  return gpu_.HandAround({}, own, [&](int peer, const std::byte* /*offer*/, const sys::Fd& shared) {
    Result<SharedHostMemory> words = SharedHostMemory::Register(gpu_.driver, gpu_.options.device, shared, kPageBytes);
    if (words.ok()) pages_[peer] = std::move(*words);
    return AsNo(words.status());
  });
}

// An operation of all ranks that copies nothing: only this shows that streams can exchange words.
Status GpuWindows::TryRunner() {
  const std::int64_t begin = sys::NowNs();
  const Status s = owner_->Run(exec::gpu::ListBarrier(gpu_.host.rank, gpu_.host.ranks), {}, gpu_.inner, false);
  if (!s.ok()) return AsNo(s);
  while (owner_->Pending() && sys::NowNs() - begin < kTrialNs) sys::SleepNs(kTrialPauseNs);
  if (!owner_->Pending()) return Status::Ok();
  owner_->Release(kTrialNs);
  return Status(Code::kUnsupported, "streams of the GPUs do not see each other's words in host memory");
}

const Window* GpuWindows::Find(const void* handle) const {
  const auto it = std::ranges::find_if(windows_, [&](const auto& w) { return w.get() == handle; });
  return it == windows_.end() ? nullptr : it->get();
}

bool GpuWindows::Deregister(const void* window) {
  Forget(window);
  return std::erase_if(windows_, [&](const auto& w) { return w.get() == window; }) != 0;
}

const Window* GpuWindows::Holding(const Operation& o) const {
  const std::size_t bytes = exec::gpu::CopiedOutputBytes(o, gpu_.host.ranks);
  for (const auto& window : windows_) {
    if (window->symmetric() && !window->ordered_by_driver() && window->Holds(o.out, bytes)) return window.get();
  }
  return nullptr;
}

// An operation of `bytes` bytes (count * element size) as far as copy engines can do it.
double GpuWindows::PredictCopiesUs(Collective collective, std::size_t bytes) {
  if (collective == Collective::kAllReduce) return gpu_.chooser.PredictShotsUs(bytes);
  return tune::PredictCopiesUs(gpu_.machine, bytes * static_cast<std::size_t>(gpu_.host.ranks - 1));
}

bool GpuWindows::Pays(const Operation& o) {
  if (zero_ctas_ && o.kind != Kind::kAllReduce) return true;  // which needs a kernel anyway
  if (o.kind == Kind::kGather || o.kind == Kind::kScatter) return false;
  if (!gpu_.host.settings.algo.empty() || !gpu_.host.settings.proto.empty()) return false;  // the user wants kernels
  const auto collective = o.kind;
  const int size_class = SizeClass(o.count * SizeOf(o.type));
  std::uint8_t& known = pays_[static_cast<int>(collective)][size_class];
  if (known == kUnknown) {
    const std::size_t bytes = SmallestOfClass(size_class);
    const std::vector<tune::GpuChoice> choices = gpu_.chooser.Candidates(collective, bytes);
    const bool sooner = !choices.empty() && PredictCopiesUs(collective, bytes) < choices.front().predicted_us;
    known = sooner ? kYes : kNo;
  }
  return known == kYes;
}

const exec::gpu::PreparedPlan* GpuWindows::PlanOf(const Operation& o) {
  const Collective collective = o.kind;
  if (Reduces(collective)) return nullptr;
  const std::size_t root = HasRoot(collective) ? static_cast<std::size_t>(o.root) : 0;
  std::vector<const exec::gpu::PreparedPlan*>& known = plans_[static_cast<std::size_t>(collective)];
  if (known.size() <= root) known.resize(static_cast<std::size_t>(gpu_.host.ranks));
  if (known[root] == nullptr) {
    const Result<const exec::gpu::PreparedPlan*> plan = gpu_.FindMoves(collective, static_cast<int>(root));
    if (plan.ok()) known[root] = *plan;
  }
  return known[root];
}

bool GpuWindows::CanWrite(const Operation& o) {
  return !windows_.empty() && owner_ != nullptr && Holding(o) != nullptr && Pays(o);
}

bool GpuWindows::Takes(const Operation& o) {
  if (windows_.empty() || owner_ == nullptr || IsTransfer(o.kind)) return false;
  return PlanOf(o) != nullptr && !exec::gpu::ScattersInPlace(o, gpu_.host.rank) && CanWrite(o);
}

bool GpuWindows::TakesSecondShot(const Operation& o) {
  const bool even = o.count % static_cast<std::size_t>(gpu_.host.ranks) == 0;
  return o.kind == Kind::kAllReduce && even && CanWrite(o);
}

Status GpuWindows::Run(const Operation& o, sys::cuda::Stream stream, bool captured) {
  const Window* window = Holding(o);
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(o.out) - window->own());
  exec::gpu::CopyOutputs outputs{};
  for (int rank = 0; rank < gpu_.host.ranks; ++rank) outputs[rank] = window->At(rank, offset);
  const Status s = owner_->Run(exec::gpu::ListCopies(*PlanOf(o), comm::WorkOf(o)), outputs, stream, captured);
  if (!s.ok()) gpu_.host.Break(s);  // peers wait for what is missing
  return s;
}

Status GpuWindows::CanSignal(int peer, bool captured) const {
  if (peer < 0 || peer >= gpu_.host.ranks) {
    return Status(Code::kInvalidArgument, fmt::format("rank {} does not exist: there are {}", peer, gpu_.host.ranks));
  }
  if (owner_ == nullptr && gpu_.host.ranks > transport::p2p::kMostCopyRanks) {
    return Status(Code::kUnsupported,
                  fmt::format("signals are for communicators of up to {} ranks, and this one has {}",
                              transport::p2p::kMostCopyRanks, gpu_.host.ranks));
  }
  if (owner_ == nullptr) {
    return Status(Code::kUnsupported,
                  windows_.empty() ? "signals need a window: call ncclCommWindowRegister on all ranks first"
                                   : "signals need GPUs that can wait for words in memory, and a GPU or a process of "
                                     "its own for each of several ranks");
  }
  if (captured) {
    return Status(Code::kUnsupported,
                  "signals are counted, so they can not be captured in a graph: call them outside of the capture");
  }
  return gpu_.host.broken.load(std::memory_order_relaxed) ? gpu_.host.Broken() : Status::Ok();
}

Status GpuWindows::RunPut(const Put& put, sys::cuda::Stream stream, bool captured) {
  TUTTI_RETURN_IF_ERROR(CanSignal(put.peer, captured));
  std::byte* to = nullptr;
  if (put.bytes > 0) {
    const Window* window = Find(put.window);
    if (window == nullptr) return NotAWindow();
    if (put.offset > window->bytes() || put.bytes > window->bytes() - put.offset) {
      return OutsideOf(*window, put.offset, put.bytes);
    }
    to = window->At(put.peer, put.offset);
  }
  const Status s = owner_->Put(put.peer, put.from, to, put.bytes, stream);
  if (!s.ok()) gpu_.host.Break(s);
  return s;
}

Status GpuWindows::AwaitSignals(std::span<const CopyRunner::Awaited> awaited, sys::cuda::Stream stream, bool captured) {
  for (const CopyRunner::Awaited& a : awaited) TUTTI_RETURN_IF_ERROR(CanSignal(a.peer, captured));
  if (awaited.empty()) return Status::Ok();
  const Status s = owner_->AwaitSignals(awaited, stream);
  if (!s.ok()) gpu_.host.Break(s);
  return s;
}

bool GpuWindows::Pending() const {
  const CopyRunner* runner = runner_.load(std::memory_order_acquire);
  return runner != nullptr && runner->Pending();
}

void GpuWindows::Release() {
  CopyRunner* runner = runner_.load(std::memory_order_acquire);
  if (runner != nullptr) runner->Release(kReleaseNs);
}

void GpuWindows::AwaitPeers() const {
  const CopyRunner* runner = runner_.load(std::memory_order_acquire);
  if (runner == nullptr) return;
  const std::int64_t begin = sys::NowNs();
  for (int peer = 0; peer < gpu_.host.ranks; ++peer) {
    while (!runner->Drained(peer) && !gpu_.host.fabric->ProcessIsDead(peer) && sys::NowNs() - begin < kPeersNs) {
      sys::SleepNs(sys::kNsPerMs);
    }
  }
}

Status GpuWindows::Overdue() {
  CopyRunner* runner = runner_.load(std::memory_order_acquire);
  if (runner == nullptr) return Status::Ok();
  const std::int64_t timeout_ms = gpu_.host.settings.timeout_ms;
  const std::optional<CopyRunner::Wait> wait = runner->Overdue(timeout_ms * sys::kNsPerMs);
  if (!wait) return Status::Ok();
  const char* what = wait->stage == transport::p2p::kEntering  ? "for the window of rank {}"
                     : wait->stage == transport::p2p::kLeaving ? "for data from rank {}"
                                                               : "for a signal of rank {}";
  return Status(Code::kTimeout,
                fmt::format("rank {} gave up an operation on its GPU: copy engines waited {} for TUTTI_TIMEOUT_MS={}; "
                            "raise it if that rank may be so late, else find out what holds it up",
                            gpu_.host.rank, fmt::format(fmt::runtime(what), wait->peer), timeout_ms),
                wait->peer);
}

}  // namespace tutti::comm
