// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "comm/host/impl.h"
#include "comm/host/planner.h"
#include "comm/host/request.h"
#include "comm/host/standing.h"
#include "comm/host/validate.h"
#include "watch/terms.h"
#include "watch/watched.h"

namespace tutti {

Communicator::Communicator(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (impl_ != nullptr) impl_->Leave();
  impl_ = std::move(other.impl_);
  return *this;
}
Communicator::~Communicator() {
  if (impl_ != nullptr) impl_->Leave();
}

int Communicator::rank() const { return impl_->rank; }
int Communicator::ranks() const { return impl_->ranks; }

void Communicator::Abort(const std::string& reason) {
  TUTTI_INFO(log::kInit, "{} - Abort: {}", impl_->who, reason);
  impl_->Abort(fmt::format("rank {} aborted: {}", impl_->rank, reason));
}

Status Communicator::Run(const Operation& operation) { return impl_->submitter.Run(operation); }

Status Communicator::RunGroup(std::span<const Operation> operations) { return impl_->submitter.RunGroup(operations); }

Request Communicator::Start(const Operation& operation) { return StartGroup(std::span(&operation, 1)); }

Request Communicator::StartGroup(std::span<const Operation> operations) {
  comm::Submitter& submitter = impl_->submitter;
  auto request = std::make_unique<Request::Impl>();
  request->communicator = impl_;
  request->submitter = &submitter;
  const comm::Submitter::Place before = submitter.last();
  request->submitted = submitter.Submit(operations);
  request->place = submitter.last();
  if (request->place == before) {  // nothing has begun
    request->outcome = request->submitted;
    request->ended = true;
    return Request(std::move(request));
  }
  comm::RememberOnThread(std::shared_ptr<comm::Unfinished>(impl_, &submitter));
  submitter.MoveOn();
  return Request(std::move(request));
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

StandingVerdict comm::WhatStands(const Communicator::Impl& communicator) {
  if (communicator.watched == nullptr) return {};
  watch::Standing standing = communicator.watched->WhatStands();
  return {.kind = std::move(standing.kind),
          .sentence = std::move(standing.sentence),
          .exclude = std::move(standing.exclude)};
}

StandingVerdict Communicator::WhoHoldsItUp() const { return comm::WhatStands(*impl_); }

std::string Communicator::Explain(const Operation& o) const {
  if (Status s = comm::Validate(o, rank(), ranks()); !s.ok()) return s.ToString();
  return impl_->planner.Explain(o);
}

}  // namespace tutti
