// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/submitter.h"

#include <algorithm>
#include <iterator>

#include "comm/host/core.h"
#include "comm/host/jobs.h"
#include "comm/host/ledger.h"
#include "comm/host/log_operation.h"
#include "comm/host/observed_calls.h"
#include "comm/host/preparer.h"
#include "comm/host/validate.h"
#include "exec/cpu/engine.h"
#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

using exec::cpu::Job;

bool MovesNothing(const Operation& o) { return o.count == 0 && o.kind != Collective::kBarrier && !IsTransfer(o.kind); }

}  // namespace

Status Submitter::Admit(std::span<const Operation> operations) {
  if (core_.broken.load(std::memory_order_relaxed)) [[unlikely]]
    return core_.Broken();
  for (const Operation& o : operations) {
    TUTTI_RETURN_IF_ERROR(Validate(o, core_.rank, core_.ranks));
    if (LogsOperations()) [[unlikely]]
      LogOperation(core_, planner_, o, operations);
  }
  return Status::Ok();
}

Submitter::Submitter(Core& core, Jobs& jobs, Planner& planner, Preparer& preparer, Ledger& ledger, Waiter& waiter)
    : core_(core), jobs_(jobs), planner_(planner), preparer_(preparer), ledger_(ledger), waiter_(waiter) {}
Submitter::~Submitter() = default;

void Submitter::Observe(CallObserver& observer) {
  observed_ = std::make_unique<ObservedCalls>(observer);
  core_.observed = observed_.get();
}

void Submitter::Tell(std::span<const Operation> operations, Job& job) {
  if (observed_ != nullptr) [[unlikely]]
    observed_->Begin(operations, job);
}

template <typename Prepare, typename Record>
Status Submitter::BeginPrepared(Prepare prepare, Record record, Job** begun) {
  Job* job = jobs_.Take();
  if (Status s = prepare(*job); !s.ok()) [[unlikely]] {
    jobs_.GiveBack(job);
    return s;
  }
  record(*job);
  if (Job* ahead = preparer_.TakeAhead()) [[unlikely]] {
    ledger_.Accompany(*job, *ahead);
    core_.engine->Submit(ahead);
  }
  core_.engine->Submit(job);
  *begun = job;
  return Status::Ok();
}

Status Submitter::Begin(const Operation& o, Job** begun) {
  *begun = nullptr;
  if (MovesNothing(o)) [[unlikely]] {
    ledger_.RecordEmpty(o);
    return Status::Ok();
  }
  const auto record = [&](Job& job) {
    ledger_.Record(o, job);
    Tell(std::span(&o, 1), job);
  };
  return BeginPrepared([&](Job& job) { return preparer_.Prepare(o, job); }, record, begun);
}

Status Submitter::BeginTransfers(std::span<const Operation> operations, Job** begun) {
  const auto record = [&](Job& job) {
    ledger_.RecordGroup(operations, job);
    Tell(operations, job);
  };
  return BeginPrepared([&](Job& job) { return preparer_.PrepareGroup(operations, job); }, record, begun);
}

void Submitter::List(Job* job) {
  open_.push_back(job);
  ++begun_;
}

Status Submitter::Fault(const Status& status) {
  const Status cause = waiter_.CauseOf(status);
  core_.Break(cause);
  const Status told = core_.InParent(cause);
  core_.engine->Fail(told);
  return told;
}

void Submitter::Collect() {
  while (first_open_ < open_.size() && open_[first_open_]->done) {
    Job* job = open_[first_open_++];
    ++ended_;
    if (observed_ != nullptr) [[unlikely]]
      observed_->End(*job);
    if (!job->status.ok()) [[unlikely]] {
      const Status cause = Fault(job->status);
      if (failure_.ok()) {
        failure_ = cause;
        first_failed_ = ended_;
      }
    }
    jobs_.GiveBack(job);
  }
  if (first_open_ == open_.size()) {
    open_.clear();
    first_open_ = 0;
    waiter_.EndReport();
  }
}

Status Submitter::Finish(Job* job) {
  if (job->done && job->status.ok() && open_.empty()) [[likely]] {
    jobs_.GiveBack(job);
    return Status::Ok();
  }
  return AwaitEnd(job);
}

Status Submitter::AwaitEnd(Job* job) {
  core_.engine->Advance();
  Status s = job->done ? job->status : waiter_.WaitFor(*job);
  jobs_.GiveBack(job);
  if (!s.ok()) [[unlikely]]
    s = Fault(s);
  if (!open_.empty()) [[unlikely]]
    Collect();  // the engine keeps the order: all that was begun before has ended too
  return s;
}

Job* Submitter::BeginAgain(const Operation& o) {
  if (!jobs_.FirstIsFree()) [[unlikely]]
    return nullptr;
  Job* job = jobs_.TakeFirst();
  preparer_.Repeats();
  ledger_.Record(o, *job);
  core_.engine->SubmitAgain(job);
  return job;
}

// The way of a single call: no allocation, no list, and for one like the last no question.
Status Submitter::BeginOne(const Operation& o, Job** begun) {
  if (preparer_.IsReadyFor(o) && !core_.broken.load(std::memory_order_relaxed) && !LogsOperations()) [[likely]] {
    if (*begun = BeginAgain(o); *begun != nullptr) [[likely]]
      return Status::Ok();
  }
  TUTTI_RETURN_IF_ERROR(Admit(std::span(&o, 1)));
  return Begin(o, begun);
}

Status Submitter::Run(const Operation& o) {
  Job* job;
  TUTTI_RETURN_IF_ERROR(BeginOne(o, &job));
  return job == nullptr ? Status::Ok() : Finish(job);
}

Status Submitter::RunGroup(std::span<const Operation> operations) {
  if (operations.size() == 1) return Run(operations[0]);
  const bool transfers = std::ranges::all_of(operations, [](const Operation& o) { return IsTransfer(o.kind); });
  if (!transfers || operations.empty()) {
    const Place before = begun_;
    const Status submitted = Submit(operations);
    if (begun_ == before) return submitted;
    WaitFor(begun_);
    return OutcomeOf(submitted, begun_);
  }
  TUTTI_RETURN_IF_ERROR(Admit(operations));
  Job* job;
  TUTTI_RETURN_IF_ERROR(BeginTransfers(operations, &job));
  return Finish(job);
}

Status Submitter::Post(const Operation& o) {
  Job* job;
  TUTTI_RETURN_IF_ERROR(BeginOne(o, &job));
  if (job == nullptr) return Status::Ok();
  core_.engine->Advance();
  if (job->done && job->status.ok() && open_.empty()) [[likely]] {
    jobs_.GiveBack(job);
    return Status::Ok();
  }
  List(job);
  Collect();
  return Status::Ok();
}

Status Submitter::Submit(std::span<const Operation> operations) {
  TUTTI_RETURN_IF_ERROR(Admit(operations));
  const auto transfers = static_cast<std::size_t>(
      std::ranges::count_if(operations, [](const Operation& o) { return IsTransfer(o.kind); }));
  Job* job;
  if (transfers > 0 && transfers == operations.size()) {
    TUTTI_RETURN_IF_ERROR(BeginTransfers(operations, &job));
    List(job);
    return Status::Ok();
  }
  if (transfers > 0) {
    std::vector<Operation> together;
    std::ranges::copy_if(operations, std::back_inserter(together), [](const auto& o) { return IsTransfer(o.kind); });
    TUTTI_RETURN_IF_ERROR(BeginTransfers(together, &job));
    List(job);
  }
  for (const Operation& o : operations) {
    if (IsTransfer(o.kind)) continue;
    TUTTI_RETURN_IF_ERROR(Begin(o, &job));
    if (job != nullptr) List(job);
  }
  return Status::Ok();
}

Status Submitter::Check(const Operation& operation) {
  if (core_.broken.load(std::memory_order_relaxed)) [[unlikely]]
    return core_.Broken();
  return Validate(operation, core_.rank, core_.ranks);
}

void Submitter::MoveOn() {
  if (open_.empty()) return;
  core_.engine->Advance();
  Collect();
}

Status Submitter::Wait() {
  if (!open_.empty()) {
    (void)waiter_.WaitFor(*open_.back());
    Collect();
  }
  return core_.Broken();
}

void Submitter::WaitFor(Place place) {
  if (HasEnded(place)) return;
  (void)waiter_.WaitFor(*open_[first_open_ + (place - ended_) - 1]);
  Collect();
}

Status Submitter::WaitFor(Stay& stay) {
  while (!HasEnded(stay.place)) {
    const Status s = waiter_.WaitFor(*open_[first_open_ + (stay.place - ended_) - 1], &stay);
    if (s.code() == Code::kInProgress) return s;
    Collect();
  }
  return OutcomeOf(stay.submitted, stay.place);
}

Status Submitter::OutcomeOf(const Status& submitted, Place place) {
  if (!submitted.ok()) return Fault(submitted);
  return place < first_failed_ ? Status::Ok() : failure_;
}

void Submitter::Poll() {
  MoveOn();
  if (open_.empty()) return;
  if (Status s = waiter_.TestPeers(); !s.ok()) {
    core_.Break(s);
    Fail();
  }
}

bool Submitter::Tend() {
  if (open_.empty()) return false;
  const std::int64_t now_ns = sys::NowNs();
  // The time from the last look to this one counts as waited only if nobody moved anything in between.
  if (tending_.since_ns == 0 || core_.engine->moves() != tending_.moves) {
    tending_.since_ns = now_ns;
    tending_.moves = core_.engine->moves();
  }
  core_.engine->Advance();
  const bool moved = core_.engine->moves() != tending_.moves || open_[first_open_]->done;
  Collect();
  if (open_.empty()) {
    tending_.since_ns = 0;
    return true;
  }
  if (moved) return true;
  tending_.waited_ns = now_ns - tending_.since_ns;
  if (core_.fabric != nullptr) waiter_.LookAround(tending_, now_ns);
  if (!core_.broken.load(std::memory_order_relaxed)) return false;
  Fail();
  return true;
}

void Submitter::Fail() {
  core_.engine->Fail(core_.Broken());
  Collect();
}

}  // namespace tutti::comm
