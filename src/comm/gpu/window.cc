// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "base/log.h"
#include "comm/gpu/copies.h"
#include "comm/gpu/core.h"
#include "comm/gpu/exchange.h"
#include "comm/gpu/planner.h"
#include "exec/gpu/lower/copies.h"
#include "sys/os/fork.h"
#include "sys/os/process.h"
#include "transport/p2p/fabric.h"
#include "transport/p2p/window.h"

namespace tutti::comm {
namespace {

using exec::gpu::PreparedPlan;
using transport::p2p::Window;
using transport::p2p::WindowOffer;

// An error by which ranks agree to do without something.
bool IsNo(const Status& s) { return s.code() == Code::kUnsupported; }

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

GpuWindows::GpuWindows(GpuCore& core, GpuExchange& exchange, GpuPlanner& planner, GpuCopies& copies)
    : core_(core), exchange_(exchange), planner_(planner), copies_(copies) {}

GpuWindows::~GpuWindows() {
  for (const auto& window : windows_) Forget(window.get());
}

Result<const Window*> GpuWindows::Register(const void* buffer, std::size_t bytes, Symmetry symmetry) {
  const auto none = [&](const Status& why) -> Result<const Window*> {
    TUTTI_INFO(log::kReg, "{} no window of {} bytes at {}: {}", core_.who, bytes, fmt::ptr(buffer), why.message());
    return nullptr;
  };
  const sys::ProcessId self = sys::Self();
  Status own;
  if (core_.fabric == nullptr || core_.fabric->staged())
    own = Status(Code::kUnsupported, "the GPUs do not reach each other's memory");
  Result<Window> made = own;
  if (own.ok()) {
    made = Window::Create({.driver = core_.driver,
                           .device = core_.device,
                           .rank = core_.rank,
                           .ranks = core_.ranks,
                           .process = self.pid,
                           .start = self.start_ticks,
                           .symmetric = symmetry == Symmetry::kSymmetric},
                          buffer, bytes);
  }
  Status agreed = exchange_.AgreeOnAll(made.status(), "has no memory for a window");
  if (agreed.ok() && core_.ranks > 1) agreed = exchange_.AgreeOnAll(Exchange(*made), "can not map a window");
  if (agreed.ok()) agreed = copies_.Decide();
  if (!agreed.ok()) return IsNo(agreed) ? none(agreed) : Result<const Window*>(agreed);
  made->CloseDescriptor();
  windows_.push_back(std::make_unique<Window>(std::move(*made)));
  const Window* window = windows_.back().get();
  Remember(window);
  TUTTI_INFO(log::kReg, "{} window of {} bytes at {}{}", core_.who, window->bytes(), fmt::ptr(buffer),
             !copies_.can()        ? ""
             : copies_.zero_ctas() ? ", copy engines where possible"
                                   : ", copy engines where they pay");
  return window;
}

// Hands this rank's buffer to all others and maps theirs.
Status GpuWindows::Exchange(Window& window) {
  return exchange_.HandAround(std::as_bytes(std::span(&window.offer(), 1)), window.descriptor(),
                              [&](int peer, const std::byte* offer, const sys::Fd& shared) {
                                WindowOffer theirs;
                                std::memcpy(&theirs, offer, sizeof(theirs));
                                return window.Connect(peer, theirs, shared);
                              });
}

const Window* GpuWindows::Find(const void* handle) const {
  const auto it = std::ranges::find_if(windows_, [&](const auto& w) { return w.get() == handle; });
  return it == windows_.end() ? nullptr : it->get();
}

void* GpuWindows::OwnBufferOf(const void* handle) const {
  const Window* window = Find(handle);
  return window == nullptr ? nullptr : window->own();
}

bool GpuWindows::Deregister(const void* window) {
  Forget(window);
  return std::erase_if(windows_, [&](const auto& w) { return w.get() == window; }) != 0;
}

const Window* GpuWindows::Holding(const PreparedPlan& plan, const Operation& o) const {
  const std::size_t bytes = exec::gpu::CopiedOutputBytes(plan, o);
  for (const auto& window : windows_) {
    if (window->symmetric() && !window->ordered_by_driver() && window->Holds(o.out, bytes)) return window.get();
  }
  return nullptr;
}

bool GpuWindows::Pays(const PreparedPlan& plan, const Operation& o) {
  return (copies_.zero_ctas() && exec::gpu::CopiesAll(plan)) || planner_.CopiesPay(o);
}

const PreparedPlan* GpuWindows::FindCopies(const Operation& o) {
  if (windows_.empty() || !copies_.can() || IsTransfer(o.kind)) return nullptr;
  const PreparedPlan* plan = planner_.CopiesOf(o);
  if (plan == nullptr || !exec::gpu::CanCopy(*plan, o) || Holding(*plan, o) == nullptr) return nullptr;
  return Pays(*plan, o) ? plan : nullptr;
}

std::span<std::byte* const> GpuWindows::OutputsOf(const PreparedPlan& plan, const Operation& o) {
  const Window* window = Holding(plan, o);
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(o.out) - window->own());
  outputs_.clear();
  for (int rank = 0; rank < core_.ranks; ++rank) outputs_.push_back(window->At(rank, offset));
  return outputs_;
}

Status GpuWindows::CanSignal(int peer, bool captured) const {
  if (peer < 0 || peer >= core_.ranks) {
    return Status(Code::kInvalidArgument, fmt::format("rank {} does not exist: there are {}", peer, core_.ranks));
  }
  if (!copies_.can() && core_.ranks > transport::p2p::kMostCopyRanks) {
    return Status(Code::kUnsupported,
                  fmt::format("signals are for communicators of up to {} ranks, and this one has {}",
                              transport::p2p::kMostCopyRanks, core_.ranks));
  }
  if (!copies_.can()) {
    return Status(Code::kUnsupported,
                  windows_.empty() ? "signals need a window: call ncclCommWindowRegister on all ranks first"
                                   : "signals need GPUs that can wait for words in memory, and a GPU or a process of "
                                     "its own for each of several ranks");
  }
  if (captured) {
    return Status(Code::kUnsupported,
                  "signals are counted, so they can not be captured in a graph: call them outside of the capture");
  }
  return copies_.FindBreak();
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
  return copies_.Put(put.peer, put.from, to, put.bytes, stream);
}

Status GpuWindows::AwaitSignals(std::span<const AwaitedSignals> awaited, sys::cuda::Stream stream, bool captured) {
  for (const AwaitedSignals& a : awaited) TUTTI_RETURN_IF_ERROR(CanSignal(a.peer, captured));
  if (awaited.empty()) return Status::Ok();
  return copies_.AwaitSignals(awaited, stream);
}

}  // namespace tutti::comm
