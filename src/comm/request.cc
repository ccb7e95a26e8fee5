// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/request.h"

#include <algorithm>

#include "base/log.h"

namespace tutti {

using exec::cpu::Job;

Request::Request() = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(Request&&) noexcept = default;
Request::~Request() = default;
Request::Request(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

bool Request::Impl::AllDone() const {
  return std::ranges::all_of(jobs, [](const Job* job) { return job->done; });
}

void Request::Impl::End() {
  if (ended) return;
  ended = true;
  for (Job* job : jobs) {
    if (outcome.ok()) outcome = job->status;
    communicator->Release(job);
  }
  if (!outcome.ok() && !jobs.empty()) {
    outcome = communicator->CauseOf(outcome);
    communicator->Break(outcome);
  }
  communicator->EndReport();
  if (communicator->engine->idle()) communicator->LeaveThread();
}

Request::Impl::~Impl() {
  if (ended) return;
  for (Job* job : jobs) (void)communicator->WaitFor(*job);
  End();
}

Status Request::Test() {
  if (impl_ == nullptr || impl_->ended) return impl_ == nullptr ? Status::Ok() : impl_->outcome;
  Communicator::Impl& c = *impl_->communicator;
  c.engine->Advance();
  if (!impl_->AllDone()) {
    if (Status s = c.TestPeers(); !s.ok()) {
      c.Break(s);
      c.engine->Fail(s);
    } else {
      return Status(Code::kInProgress, "the operation is still running");
    }
  }
  impl_->End();
  return impl_->outcome;
}

Status Request::Wait() {
  if (impl_ == nullptr) return Status::Ok();
  for (Job* job : impl_->jobs) {
    if (!impl_->ended) (void)impl_->communicator->WaitFor(*job);
  }
  impl_->End();
  return impl_->outcome;
}

Request Communicator::Start(const Operation& operation) { return StartGroup(std::span(&operation, 1)); }

Request Communicator::StartGroup(std::span<const Operation> operations) {
  auto request = std::make_unique<Request::Impl>();
  request->communicator = impl_;
  request->outcome = impl_->SubmitAll(operations, request->jobs);
  if (!request->jobs.empty()) {
    impl_->JoinThread();
    impl_->engine->Advance();
  }
  if (!request->outcome.ok() && request->jobs.empty()) request->ended = true;
  return Request(std::move(request));
}

Status Communicator::RunGroup(std::span<const Operation> operations) {
  if (operations.size() == 1) return Run(operations[0]);
  Impl& c = *impl_;
  const bool only_transfers = std::ranges::all_of(operations, [](const Operation& o) {
    return o.kind == Operation::Kind::kSend || o.kind == Operation::Kind::kRecv;
  });
  if (!only_transfers) return StartGroup(operations).Wait();
  TUTTI_RETURN_IF_ERROR(c.Broken());
  for (const Operation& o : operations) {
    TUTTI_RETURN_IF_ERROR(c.Validate(o));
    if (log::Enabled(log::Level::kInfo, log::kColl | log::kTuning)) [[unlikely]]
      c.LogOperation(o);
  }
  TUTTI_RETURN_IF_ERROR(c.PrepareGroup(operations, c.run_job));
  return c.RunPrepared();
}

Status RunGroup(std::span<const GroupItem> items) {
  std::vector<Communicator*> communicators;
  for (const GroupItem& item : items) {
    if (std::ranges::find(communicators, item.communicator) == communicators.end()) {
      communicators.push_back(item.communicator);
    }
  }
  std::vector<Request> requests;
  for (Communicator* communicator : communicators) {
    std::vector<Operation> operations;
    for (const GroupItem& item : items) {
      if (item.communicator == communicator) operations.push_back(item.operation);
    }
    requests.push_back(communicator->StartGroup(operations));
  }
  Status outcome;
  for (Request& request : requests) {
    if (Status s = request.Wait(); outcome.ok()) outcome = s;
  }
  return outcome;
}

}  // namespace tutti
