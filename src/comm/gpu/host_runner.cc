// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/host_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <utility>

#include "comm/host/impl.h"
#include "sys/log/thread_name.h"
#include "sys/os/clock.h"
#include "sys/os/thread.h"

namespace tutti::comm {
namespace {

// After the last piece it polls for so long, at last with pauses; then it sleeps until something is added. Where captured calls may
// be replayed, or a stream has not come to a piece, it looks again after a part of the time for which nothing has come, within
// bounds: so what comes late is not held up much longer, and the thread takes less than 1 % of a core in the end.
constexpr std::int64_t kPollNs = sys::kNsPerMs, kPauseNs = 20'000;
constexpr std::int64_t kPartOfIdle = 128, kLeastSleepNs = 100'000, kMostSleepNs = 2 * sys::kNsPerMs;
// What streams wait for at most, so that they all go on (the comparison is modulo 2^32).
constexpr std::uint32_t kAllPieces = INT_MAX;

template <typename T>
std::atomic_ref<T> Word(T& word) {
  return std::atomic_ref<T>(word);
}

}  // namespace

Result<std::unique_ptr<HostRunner>> HostRunner::Start(Options options) {
  std::unique_ptr<HostRunner> runner(new HostRunner(std::move(options)));
  HostRunner* const self = runner.get();
  Result<std::unique_ptr<sys::Thread>> thread =
      sys::StartThread("operations on GPU memory between hosts", [self] { self->Run(); });
  if (!thread.ok()) return thread.status();
  runner->thread_ = std::move(*thread);
  return runner;
}

HostRunner::HostRunner(Options options) : options_(std::move(options)) {}

HostRunner::~HostRunner() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.reset();
}

std::uint32_t HostRunner::Add(Placed piece) {
  std::lock_guard lock(mutex_);
  pieces_.push_back(std::move(piece));
  active_ns_ = sys::NowNs();
  changed_.notify_all();
  return ++added_;
}

std::uint32_t HostRunner::AddCaptured(std::vector<Placed> pieces) {
  std::lock_guard lock(mutex_);
  calls_.push_back(std::make_unique<const std::vector<Placed>>(std::move(pieces)));
  changed_.notify_all();
  return static_cast<std::uint32_t>(calls_.size());
}

void HostRunner::Release(const std::string& why) {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(released_, true)) return;
  }
  for (RunnerCommunicator& one : options_.communicators) one.communicator.Abort(why);
  changed_.notify_all();
}

bool HostRunner::AwaitIdle(std::int64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns),
                           [&] { return Word(options_.words->done).load(std::memory_order_acquire) == added_; });
}

void HostRunner::RunPiece(const Placed& piece) {
  placed_.clear();
  for (const HostOperation& operation : piece.operations) placed_.push_back(operation.PlaceIn(piece.memory));
  RunnerCommunicator& over = options_.communicators[piece.communicator];
  const Status ran = placed_.size() == 1 ? over.communicator.Run(placed_[0]) : over.communicator.RunGroup(placed_);
  if (ran.ok()) return;
  std::unique_lock lock(mutex_);
  if (std::exchange(released_, true)) return;
  lock.unlock();
  const int peer = ran.peer();
  const bool renumbered = peer >= 0 && peer < static_cast<int>(over.in_parent.size());
  options_.broken(renumbered ? Status(ran.code(), ran.message(), over.in_parent[static_cast<std::size_t>(peer)]) : ran);
}

// Of what was enqueued, the next piece, if its stream has come there.
bool HostRunner::RunNext() {
  Placed piece;
  {
    std::lock_guard lock(mutex_);
    const std::uint32_t ready = Word(options_.words->ready).load(std::memory_order_acquire);
    if (pieces_.empty() || static_cast<std::int32_t>(ready - (ran_ + 1)) < 0) return false;
    piece = std::move(pieces_.front());
    pieces_.pop_front();
    running_ = {.communicator = piece.communicator, .calls = piece.calls};
  }
  RunPiece(piece);
  Word(options_.words->done).store(++ran_, std::memory_order_release);
  std::lock_guard lock(mutex_);
  running_.reset();
  active_ns_ = sys::NowNs();
  if (pieces_.empty()) changed_.notify_all();
  return true;
}

// Of the captured call that a stream is in, the next piece. The stream writes nothing more behind the last one, so its word
// can be taken back then, and the next replay is seen.
bool HostRunner::RunCaptured() {
  const std::uint64_t ready = Word(options_.words->captured_ready).load(std::memory_order_acquire);
  if (static_cast<std::uint32_t>(ready) <= ran_captured_) return false;
  const std::vector<Placed>* call = nullptr;
  {
    std::lock_guard lock(mutex_);
    call = calls_[(ready >> 32) - 1].get();
    running_ = {.communicator = (*call)[ran_captured_].communicator, .calls = (*call)[ran_captured_].calls};
  }
  RunPiece((*call)[ran_captured_]);
  const std::uint32_t ran = ++ran_captured_;
  if (ran == call->size()) {
    ran_captured_ = 0;
    Word(options_.words->captured_ready).store(0, std::memory_order_relaxed);
  }
  Word(options_.words->captured_done).store(ran, std::memory_order_release);
  std::lock_guard lock(mutex_);
  running_.reset();
  active_ns_ = sys::NowNs();
  return true;
}

void HostRunner::NoteCalls(const trace::View& whole) {
  std::optional<Running> running;
  {
    std::lock_guard lock(mutex_);
    running = running_;
  }
  for (std::size_t i = 0; i < options_.communicators.size(); ++i) {
    RunnerCommunicator& over = options_.communicators[i];
    Core& core = *over.communicator.impl();
    if (core.boxes.empty()) continue;  // it has one rank
    const trace::WaitView wait = core.boxes[static_cast<std::size_t>(core.rank)].wait();
    const bool waits = running && running->communicator == i && wait.kind != trace::WaitKind::kNothing;
    core.recorder.NoteWhole(waits ? CallThatWaits(whole, running->calls, wait, over.in_parent) : std::nullopt);
  }
}

void HostRunner::LetStreamsGo() {
  std::unique_lock lock(mutex_);
  pieces_.clear();
  ran_ = added_;
  Word(options_.words->done).store(added_, std::memory_order_release);
  Word(options_.words->captured_done).store(kAllPieces, std::memory_order_release);
  changed_.notify_all();
  changed_.wait_for(lock, std::chrono::nanoseconds(sys::kNsPerMs), [&] { return stop_; });
}

void HostRunner::Pause() {
  std::unique_lock lock(mutex_);
  if (stop_ || released_) return;
  const std::int64_t idle_ns = sys::NowNs() - active_ns_;
  if (pieces_.empty() && calls_.empty() && idle_ns > kPollNs) {
    changed_.wait(lock);
    return;
  }
  lock.unlock();
  if (idle_ns < std::min(options_.spin_ns, kPollNs)) {
    sys::CpuPause();
  } else {
    sys::SleepNs(idle_ns < kPollNs ? kPauseNs : std::clamp(idle_ns / kPartOfIdle, kLeastSleepNs, kMostSleepNs));
  }
}

void HostRunner::Run() {
  sys::SetThreadName("tutti-across");
  while (true) {
    if (!RunNext() && !RunCaptured()) Pause();
    std::unique_lock lock(mutex_);
    if (stop_) return;
    const bool released = released_;
    lock.unlock();
    if (released) LetStreamsGo();
  }
}

}  // namespace tutti::comm
