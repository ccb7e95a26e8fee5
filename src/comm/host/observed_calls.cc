// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/observed_calls.h"

#include <algorithm>
#include <utility>

#include "comm/host/call_observer.h"
#include "exec/cpu/job.h"
#include "sys/os/clock.h"

namespace tutti::comm {

using exec::cpu::Job;
using exec::cpu::JobWatcher;

class ObservedCalls::Watch final : public JobWatcher {
 public:
  explicit Watch(CallObserver& observer) : observer_(observer) {}

  const Job* job() const { return job_; }
  CallObserver::Token token() const { return token_; }
  void Take(Job& job, CallObserver::Token token) {
    job_ = &job;
    token_ = token;
    inner_ = std::exchange(job.calls.watcher, this);
  }
  void Leave(Job& job, std::int64_t now_ns) {
    observer_.Ends(token_, now_ns);
    job.calls.watcher = inner_;
    job_ = nullptr;
  }

  void Starts(Job& job) override {
    if (inner_ != nullptr) inner_->Starts(job);
    observer_.Starts(token_, sys::NowNs());
  }
  void Ended(Job& job) override {
    JobWatcher* const inner = inner_;
    Leave(job, job.status.ok() ? sys::NowNs() : 0);
    if (inner != nullptr) inner->Ended(job);
  }
  void Arrives(const Job& job, int step, const proto::Post& first) override {
    if (inner_ != nullptr) inner_->Arrives(job, step, first);
  }

 private:
  CallObserver& observer_;
  const Job* job_ = nullptr;  // null: the watch is free
  CallObserver::Token token_ = nullptr;
  JobWatcher* inner_ = nullptr;
};

ObservedCalls::ObservedCalls(CallObserver& observer) : observer_(observer) {}
ObservedCalls::~ObservedCalls() = default;

ObservedCalls::Watch* ObservedCalls::Find(const Job& job) {
  const auto found = std::ranges::find(watches_, &job, [](const auto& watch) { return watch->job(); });
  return found == watches_.end() ? nullptr : found->get();
}

void ObservedCalls::Begin(std::span<const Operation> operations, Job& job) {
  operations_.clear();
  for (const Operation& o : operations) operations_.push_back(&o);
  const bool transfers = job.collective == Collective::kSendRecv;
  const CallObserver::Token token =
      observer_.Begins({.operations = operations_,
                        .how = transfers ? trace::How() : trace::How::Unpack(job.calls.how),
                        .side = CallObserver::Side::kHost});
  if (token == nullptr) return;
  auto free = std::ranges::find(watches_, nullptr, [](const auto& watch) { return watch->job(); });
  if (free == watches_.end()) free = watches_.insert(free, std::make_unique<Watch>(observer_));
  (*free)->Take(job, token);
}

void ObservedCalls::End(Job& job) {
  if (Watch* watch = Find(job)) watch->Leave(job, 0);
}

void ObservedCalls::Waits(const Job& job, trace::WaitKind kind) {
  const Watch* watch = Find(job);
  // Who holds pages is not known.
  if (watch == nullptr || job.waits_for < 0 || kind == trace::WaitKind::kPages) return;
  observer_.Waits(
      watch->token(),
      {.kind = kind, .peer = job.waits_for, .channel = job.collective == Collective::kSendRecv ? 0 : job.waiting_part});
}

}  // namespace tutti::comm
