// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/keep_for_ever.h"
#include "base/log.h"
#include "comm/progress.h"
#include "sys/clock.h"

namespace tutti::comm {
namespace {

using exec::cpu::Job;
using Kind = Operation::Kind;

constexpr log::Subsystems kLogged = log::kColl | log::kTuning;

// Queues that this thread left with unfinished operations; entries that have ended are dropped when next looked at.
thread_local std::vector<std::shared_ptr<Queue>> t_open;

bool IsTransfer(const Operation& o) { return o.kind == Kind::kSend || o.kind == Kind::kRecv; }

void RememberOnThread(const std::shared_ptr<Queue>& queue) {
  if (std::ranges::find(t_open, queue) != t_open.end()) return;
  std::erase_if(t_open, [](const std::shared_ptr<Queue>& q) { return q->idle(); });
  t_open.push_back(queue);
}

std::uint32_t CurrentGeneration() {
  sys::WatchForks();
  return sys::ForkGeneration();
}

}  // namespace

Status HasLeft(int rank) {
  return Status(Code::kInvalidUsage, fmt::format("rank {} has left this communicator: make no calls on it", rank));
}

void EngineLock::LockSlowly() {
  constexpr int kSpins = 200, kYields = 2000;
  constexpr std::int64_t kNapNs = 100'000;
  for (int turn = 0;; ++turn) {
    if (word_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
    if (turn < kSpins) {
      sys::CpuPause();
    } else if (turn < kYields) {
      sys::YieldCpu();
    } else {
      sys::SleepNs(kNapNs);
    }
  }
}

bool OthersOpenOnThread(const Communicator::Impl* self) {
  return std::ranges::any_of(t_open, [&](const auto& q) { return q->facts() != self && !q->idle(); });
}

void MoveOthersOnThread(const Communicator::Impl* self) {
  for (const std::shared_ptr<Queue>& queue : t_open) {
    if (queue->facts() != self && !queue->idle()) queue->MoveOn();
  }
}

Queue::Queue(Communicator communicator)
    : rank_(communicator.rank()),
      ranks_(communicator.ranks()),
      fork_generation_(CurrentGeneration()),
      communicator_(std::move(communicator)) {
  impl_ = breakable_ = communicator_->impl();
  facts_.store(impl_, std::memory_order_relaxed);
}

Queue::~Queue() = default;

Status Queue::Usable() const {
  if (impl_ == nullptr) [[unlikely]]
    return after_;
  if (impl_->broken.load(std::memory_order_relaxed)) [[unlikely]]
    return impl_->Broken();
  return Status::Ok();
}

Job* Queue::TakeJob() {
  if (run_job_taken_) return impl_->NewJob();
  run_job_taken_ = true;
  return &impl_->run_job;
}

void Queue::GiveBack(Job* job) {
  if (job == &impl_->run_job) {
    run_job_taken_ = false;
  } else {
    impl_->Release(job);
  }
}

Status Queue::SubmitOne(const Operation& o, Job** submitted) {
  *submitted = nullptr;
  if (o.count == 0 && o.kind != Kind::kBarrier && !IsTransfer(o)) {
    impl_->RecordEmpty(o);
    return Status::Ok();
  }
  Job* job = TakeJob();
  Status s = impl_->PrepareCall(o, *job);
  if (!s.ok()) [[unlikely]] {
    GiveBack(job);
    return s;
  }
  impl_->Submit(job);
  *submitted = job;
  return s;
}

Status Queue::SubmitTransfers(std::span<const Operation> operations) {
  Job* job = TakeJob();
  if (Status s = impl_->PrepareGroup(operations, *job); !s.ok()) {
    GiveBack(job);
    return s;
  }
  impl_->Submit(job);
  open_.push_back(job);
  return Status::Ok();
}

Status Queue::Post(const Operation& o) {
  std::lock_guard lock(lock_);
  if (Status s = Usable(); !s.ok()) [[unlikely]]
    return s;
  if (Status s = impl_->ValidateCall(o); !s.ok()) [[unlikely]]
    return s;
  if (log::Enabled(log::Level::kInfo, kLogged)) [[unlikely]]
    impl_->LogOperation(o);
  Job* job;
  if (Status s = SubmitOne(o, &job); !s.ok()) [[unlikely]]
    return s;
  if (job == nullptr) return Status::Ok();
  impl_->engine->Advance();
  if (job->done && job->status.ok() && open_.empty()) [[likely]] {
    GiveBack(job);
    return Status::Ok();
  }
  open_.push_back(job);
  LeftOpen();
  return Status::Ok();
}

Status Queue::Submit(std::span<const Operation> operations, Move move) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  std::size_t transfers = 0;
  for (const Operation& o : operations) {
    TUTTI_RETURN_IF_ERROR(impl_->Validate(o));
    if (log::Enabled(log::Level::kInfo, kLogged)) [[unlikely]]
      impl_->LogOperation(o);
    transfers += IsTransfer(o) ? 1 : 0;
  }
  if (transfers == operations.size()) {
    if (transfers > 0) TUTTI_RETURN_IF_ERROR(SubmitTransfers(operations));
  } else {
    if (transfers > 0) {
      std::vector<Operation> only_transfers;
      std::ranges::copy_if(operations, std::back_inserter(only_transfers), IsTransfer);
      TUTTI_RETURN_IF_ERROR(SubmitTransfers(only_transfers));
    }
    for (const Operation& o : operations) {
      if (IsTransfer(o)) continue;
      Job* job;
      const Status s = SubmitOne(o, &job);
      if (job != nullptr) open_.push_back(job);
      if (!s.ok()) {
        LeftOpen();
        return s;
      }
    }
  }
  if (move == Move::kNow) impl_->engine->Advance();
  LeftOpen();
  return Status::Ok();
}

Status Queue::Check(const Operation& operation) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  return impl_->Validate(operation);
}

Result<double> Queue::PredictUs(std::span<const Operation> operations) {
  std::lock_guard lock(lock_);
  if (Status s = Usable(); !s.ok()) return s;
  double sum_us = 0;
  for (const Operation& o : operations) {
    if (Status s = impl_->Validate(o); !s.ok()) return s;
    const Result<double> us = impl_->PredictUs(o);
    if (!us.ok()) return us.status();
    sum_us += *us;
  }
  return sum_us;
}

void Queue::MoveOn() {
  if (!lock_.try_lock()) return;  // then somebody does
  std::lock_guard lock(lock_, std::adopt_lock);
  if (impl_ == nullptr || open_.empty()) return;
  impl_->engine->Advance();
  Collect();
}

// Takes the operations that have ended off the list. A failure breaks the communicator and ends the rest.
void Queue::Collect() {
  while (first_open_ < open_.size() && open_[first_open_]->done) {
    Job* job = open_[first_open_++];
    if (!job->status.ok()) [[unlikely]] {
      const Status failure = impl_->CauseOf(job->status);
      impl_->Break(failure);
      impl_->engine->Fail(failure);
    }
    GiveBack(job);
  }
  if (first_open_ == open_.size()) {
    open_.clear();
    first_open_ = 0;
    impl_->EndReport();
  }
  open_count_.store(static_cast<std::uint32_t>(open_.size() - first_open_), std::memory_order_release);
}

// Makes sure that somebody moves the unfinished operations on.
void Queue::LeftOpen() {
  Collect();
  if (open_.empty()) return;
  visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (t_open.size() != 1 || t_open[0].get() != this) RememberOnThread(shared_from_this());
  // Sequentially consistent with Progress::LookAtAll, which unlists a queue and then looks whether it is idle.
  open_count_.exchange(static_cast<std::uint32_t>(open_.size() - first_open_), std::memory_order_seq_cst);
  if (!listed_.load(std::memory_order_seq_cst)) Progress::Get().Add(shared_from_this());
}

Status Queue::WaitLocked() {
  if (impl_ == nullptr) return after_;
  if (!open_.empty()) {
    visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    (void)impl_->WaitFor(*open_.back());
    Collect();
  }
  return Usable();
}

Status Queue::Wait() {
  std::lock_guard lock(lock_);
  return WaitLocked();
}

Status Queue::Poll() {
  if (lock_.try_lock()) {
    std::lock_guard lock(lock_, std::adopt_lock);
    if (impl_ == nullptr) return after_;
    if (!open_.empty()) {
      visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      impl_->engine->Advance();
      Collect();
      if (!open_.empty()) {
        if (Status s = impl_->TestPeers(); !s.ok()) {
          impl_->Break(s);
          impl_->engine->Fail(s);
          Collect();
        }
      }
    }
    TUTTI_RETURN_IF_ERROR(Usable());
  }
  if (!idle()) return Status(Code::kInProgress, "operations are still running");
  return Status::Ok();
}

void Queue::Break(const Status& status) {
  {
    std::lock_guard life(life_mutex_);
    if (breakable_ == nullptr) return;
    breakable_->Break(status);
  }
  // A waiting thread sees that the communicator is broken and gives the lock back.
  std::lock_guard lock(lock_);
  if (impl_ == nullptr) return;
  impl_->engine->Fail(impl_->Broken());
  Collect();
}

void Queue::Close() {
  std::lock_guard lock(lock_);
  if (impl_ == nullptr) return;
  (void)WaitLocked();
  after_ = impl_->Broken();
  if (after_.ok()) {
    after_ = HasLeft(rank_);
  }
  {
    std::lock_guard life(life_mutex_);
    breakable_ = nullptr;
  }
  impl_ = nullptr;
  facts_.store(nullptr, std::memory_order_relaxed);
  communicator_.reset();
  open_.clear();
  open_.shrink_to_fit();
}

void Queue::Abandon() {
  // Nothing of it may be touched, locks included: another thread of the parent may have been in the middle of it.
  impl_ = nullptr;
  facts_.store(nullptr, std::memory_order_relaxed);
  if (communicator_) KeepForEver(std::move(*communicator_));
  communicator_.reset();
  open_count_.store(0, std::memory_order_relaxed);
}

Queue::Need Queue::Look() {
  if (idle()) return Need::kNothing;
  const std::uint32_t visits = visits_.load(std::memory_order_relaxed);
  if (visits == seen_visits_) return Need::kAttention;
  seen_visits_ = visits;
  return Need::kCaller;
}

bool Queue::Tend() {
  if (!lock_.try_lock()) return false;
  std::lock_guard lock(lock_, std::adopt_lock);
  if (impl_ == nullptr || open_.empty()) return false;
  Communicator::Impl& c = *impl_;
  const std::int64_t now_ns = sys::NowNs();
  // The time from the last look to this one counts as waited only if nobody moved anything in between.
  if (wait_.since_ns == 0 || c.engine->moves() != wait_.moves) {
    wait_.since_ns = now_ns;
    wait_.moves = c.engine->moves();
  }
  c.engine->Advance();
  const bool moved = c.engine->moves() != wait_.moves || open_[first_open_]->done;
  Collect();
  if (open_.empty()) {
    wait_.since_ns = 0;
    return true;
  }
  if (moved) return true;
  wait_.waited_ns = now_ns - wait_.since_ns;
  if (c.fabric != nullptr) c.LookAround(wait_, now_ns);
  if (c.broken.load(std::memory_order_relaxed)) {
    c.engine->Fail(c.Broken());
    Collect();
    return true;
  }
  return false;
}

}  // namespace tutti::comm
