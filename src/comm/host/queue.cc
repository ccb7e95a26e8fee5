// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/queue.h"

#include <fmt/format.h>

#include "base/keep_for_ever.h"
#include "comm/host/impl.h"
#include "comm/host/planner.h"
#include "comm/host/submitter.h"
#include "comm/host/validate.h"

namespace tutti::comm {
namespace {

std::uint32_t CurrentGeneration() {
  sys::WatchForks();
  return sys::ForkGeneration();
}

}  // namespace

Queue::Queue(Communicator communicator)
    : rank_(communicator.rank()),
      ranks_(communicator.ranks()),
      id_hash_(communicator.impl()->id_hash),
      fork_generation_(CurrentGeneration()),
      communicator_(std::move(communicator)) {
  breakable_ = communicator_->impl();
  submitter_ = &breakable_->submitter;
  facts_.store(breakable_, std::memory_order_relaxed);
}

Queue::~Queue() = default;

void Queue::Observe(CallObserver& observer) {
  std::lock_guard lock(lock_);
  submitter_->Observe(observer);
}

Status Queue::Post(const Operation& o) {
  std::lock_guard lock(lock_);
  if (submitter_ == nullptr) [[unlikely]]
    return after_;
  Status s = submitter_->Post(o);
  if (!submitter_->idle()) LeftOpen();
  return s;
}

Status Queue::Submit(std::span<const Operation> operations, Move move) {
  std::lock_guard lock(lock_);
  if (submitter_ == nullptr) return after_;
  const Status s = submitter_->Submit(operations);
  if (move == Move::kNow) submitter_->MoveOn();
  LeftOpen();
  return s;
}

Status Queue::Check(const Operation& operation) {
  std::lock_guard lock(lock_);
  return submitter_ == nullptr ? after_ : submitter_->Check(operation);
}

Result<double> Queue::PredictUs(std::span<const Operation> operations) {
  std::lock_guard lock(lock_);
  for (const Operation& o : operations) {
    if (Status s = submitter_ == nullptr ? after_ : submitter_->Check(o); !s.ok()) return s;
  }
  if (operations.empty()) return 0.0;
  return communicator_->impl()->planner.PredictUs(operations);
}

void Queue::MoveOn() {
  if (!lock_.try_lock()) return;  // then somebody does
  std::lock_guard lock(lock_, std::adopt_lock);
  if (submitter_ == nullptr) return;
  submitter_->MoveOn();
  Note();
}

void Queue::Note() {
  const std::size_t unfinished = submitter_ == nullptr ? 0 : submitter_->unfinished();
  open_count_.store(static_cast<std::uint32_t>(unfinished), std::memory_order_release);
}

void Queue::LeftOpen() {
  if (submitter_->idle()) {
    Note();
    return;
  }
  visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  RememberOnThread(shared_from_this());
  // Sequentially consistent with Progress::LookAtAll, which unlists a task and then looks whether it is idle.
  open_count_.exchange(static_cast<std::uint32_t>(submitter_->unfinished()), std::memory_order_seq_cst);
  if (!listed()) Progress::Get().Add(shared_from_this());
}

Status Queue::WaitLocked() {
  if (submitter_ == nullptr) return after_;
  if (!submitter_->idle()) {
    visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    Status s = submitter_->Wait();
    Note();
    return s;
  }
  return submitter_->Wait();
}

Status Queue::Wait() {
  std::lock_guard lock(lock_);
  return WaitLocked();
}

Status Queue::Poll() {
  if (lock_.try_lock()) {
    std::lock_guard lock(lock_, std::adopt_lock);
    if (submitter_ == nullptr) return after_;
    if (!submitter_->idle()) {
      visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      submitter_->Poll();
      Note();
    }
    TUTTI_RETURN_IF_ERROR(communicator_->impl()->Broken());
  }
  if (!idle()) return Status(Code::kInProgress, "operations are still running");
  return Status::Ok();
}

void Queue::Break(const Status& status) {
  BreakBy([&](Communicator::Impl& c) { c.Break(status); });
}

void Queue::Abort(const std::string& sentence) {
  BreakBy([&](Communicator::Impl& c) { c.Abort(sentence); });
}

void Queue::BreakBy(const std::function<void(Communicator::Impl&)>& how) {
  {
    std::lock_guard life(life_mutex_);
    if (breakable_ == nullptr) return;
    how(*breakable_);
  }
  // A waiting thread sees that the communicator is broken and gives the lock back.
  std::lock_guard lock(lock_);
  if (submitter_ == nullptr) return;
  submitter_->Fail();
  Note();
}

void Queue::Close() {
  std::lock_guard lock(lock_);
  if (submitter_ == nullptr) return;
  (void)WaitLocked();
  after_ = communicator_->impl()->Broken();
  if (after_.ok()) {
    after_ = HasLeft(rank_);
  }
  {
    std::lock_guard life(life_mutex_);
    breakable_ = nullptr;
  }
  submitter_ = nullptr;
  facts_.store(nullptr, std::memory_order_relaxed);
  communicator_.reset();
  Note();
}

void Queue::Abandon() {
  // Nothing of it may be touched, locks included: another thread of the parent may have been in the middle of it.
  submitter_ = nullptr;
  facts_.store(nullptr, std::memory_order_relaxed);
  if (communicator_) KeepForEver(std::move(*communicator_));
  communicator_.reset();
  open_count_.store(0, std::memory_order_relaxed);
}

Progress::Task::Need Queue::Look() {
  if (idle()) return Need::kNothing;
  const std::uint32_t visits = visits_.load(std::memory_order_relaxed);
  if (visits == seen_visits_) return Need::kAttention;
  seen_visits_ = visits;
  return Need::kCaller;
}

bool Queue::Tend() {
  if (!lock_.try_lock()) return false;
  std::lock_guard lock(lock_, std::adopt_lock);
  if (submitter_ == nullptr) return false;
  const bool moved = submitter_->Tend();
  Note();
  return moved;
}

bool Queue::IsOf(const Core& core) const { return facts() == &core; }

}  // namespace tutti::comm
