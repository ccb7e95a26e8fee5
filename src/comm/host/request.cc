// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/request.h"

#include <utility>

namespace tutti {

Request::Request() = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(Request&&) noexcept = default;
Request::~Request() = default;
Request::Request(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// REQUIRES: its place has ended.
void Request::Impl::End() {
  ended = true;
  outcome = submitter->OutcomeOf(submitted, place);
  if (submitter->idle()) comm::ForgetOnThread(*submitter);
}

Request::Impl::~Impl() {
  if (ended) return;
  submitter->WaitFor(place);
  End();
}

Status Request::Test() {
  if (impl_ == nullptr) return Status::Ok();
  if (!impl_->ended) {
    impl_->submitter->Poll();
    if (!impl_->submitter->HasEnded(impl_->place)) {
      return Status(Code::kInProgress, "the operation is still running");
    }
    impl_->End();
  }
  return impl_->outcome;
}

Status Request::Wait() {
  if (impl_ == nullptr) return Status::Ok();
  if (!impl_->ended) {
    impl_->submitter->WaitFor(impl_->place);
    impl_->End();
  }
  return impl_->outcome;
}

}  // namespace tutti
