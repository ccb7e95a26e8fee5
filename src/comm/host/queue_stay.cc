// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of Queue for callers that wait for their own operations alone, and may leave the wait.
#include "comm/host/impl.h"
#include "comm/host/queue.h"
#include "comm/host/submitter.h"
#include "comm/host/waiter.h"
#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

constexpr int kYields = 200;
constexpr int kMostTurns = 2000;
constexpr std::int64_t kNapNs = 20'000;

}  // namespace

// One operation moves on at once: where its peers have been there before, that is all of it.
Status Queue::BeginLocked(std::span<const Operation> operations, Stay& stay) {
  if (submitter_ == nullptr) return after_;
  const Submitter::Place before = submitter_->last();
  if (operations.size() == 1) {
    TUTTI_RETURN_IF_ERROR(submitter_->Post(operations[0]));
  } else {
    stay.submitted = submitter_->Submit(operations);
    if (submitter_->last() == before) return stay.submitted;
    submitter_->MoveOn();
  }
  stay.place = submitter_->last();
  stay.wanted = &lock_.wanting();
  return Status::Ok();
}

Status Queue::StayLocked(Stay& stay) {
  if (submitter_ == nullptr) return after_;
  const Status s = submitter_->WaitFor(stay);
  if (s.code() == Code::kInProgress) {
    LeftOpen();
  } else {
    Note();
  }
  return s;
}

void Queue::GiveWay() const {
  for (int turn = 0; turn < kMostTurns && lock_.wanting().load(std::memory_order_relaxed) != 0; ++turn) {
    if (turn < kYields) {
      sys::YieldCpu();
    } else {
      sys::SleepNs(kNapNs);
    }
  }
}

Status Queue::Begin(std::span<const Operation> operations, Stay& stay) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(BeginLocked(operations, stay));
  LeftOpen();
  return Status::Ok();
}

Status Queue::Run(std::span<const Operation> operations, Stay& stay) {
  {
    std::lock_guard lock(lock_);
    TUTTI_RETURN_IF_ERROR(BeginLocked(operations, stay));
    const Status s = StayLocked(stay);
    if (s.code() != Code::kInProgress) return s;
  }
  return WaitFor(stay);
}

Status Queue::WaitFor(Stay& stay) {
  for (;;) {
    GiveWay();
    {
      std::lock_guard lock(lock_);
      const Status s = StayLocked(stay);
      if (s.code() != Code::kInProgress) return s;
      if (sys::NowNs() >= stay.until_ns) return s;
    }
  }
}

Status Queue::Test(Stay& stay) {
  std::lock_guard lock(lock_);
  if (submitter_ == nullptr) return after_;
  if (!submitter_->HasEnded(stay.place)) {
    visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    submitter_->Poll();
    Note();
    if (!submitter_->HasEnded(stay.place)) return Status(Code::kInProgress, "operations are still running");
  }
  return submitter_->OutcomeOf(stay.submitted, stay.place);
}

}  // namespace tutti::comm
