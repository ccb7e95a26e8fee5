// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "python/src/group.h"

#include <algorithm>
#include <utility>

#include "comm/host/impl.h"
#include "comm/life/subset.h"
#include "python/src/buffers.h"
#include "python/src/errors.h"
#include "python/src/main_thread.h"
#include "sys/os/clock.h"

namespace tutti::python {
namespace {

namespace nb = nanobind;

constexpr std::int64_t kNsBetweenSignals = 20 * sys::kNsPerMs;

bool HoldsRanksInputs(Collective kind) {
  return kind == Collective::kReduceScatter || kind == Collective::kScatter || kind == Collective::kAllToAll;
}
bool HoldsRanksOutputs(Collective kind) {
  return kind == Collective::kAllGather || kind == Collective::kGather || kind == Collective::kAllToAll;
}

Operation OperationOf(const RawCall& call) {
  return {.kind = static_cast<Collective>(call.kind),
          .in = reinterpret_cast<const void*>(call.in),
          .out = reinterpret_cast<void*>(call.out),
          .count = call.count,
          .type = static_cast<DataType>(call.type),
          .op = static_cast<ReduceOp>(call.op),
          .root = call.root,
          .scalar = call.scale,
          .integer_scalar = call.integer_scale};
}

std::vector<Operation> OperationsOf(const std::vector<RawCall>& calls) {
  std::vector<Operation> operations;
  operations.reserve(calls.size());
  for (const RawCall& call : calls) operations.push_back(OperationOf(call));
  return operations;
}

std::ptrdiff_t Collectives(std::span<const Operation> operations) {
  return std::ranges::count_if(operations, [](const Operation& o) { return !IsTransfer(o.kind); });
}

}  // namespace

// The first part of a wait ends as soon as a peer has kept it waiting for two milliseconds (Stay in comm/host/waiter.h), so short waits need not
// ask the clock.
Status WaitInterruptibly(comm::Queue& queue, comm::Stay& stay, std::int64_t until_ns, bool& interrupted) {
  const bool signals = OnMainThread();
  stay.until_ns = signals ? 0 : until_ns;
  for (;;) {
    const Status s = queue.WaitFor(stay);
    if (s.code() != Code::kInProgress) return s;
    const std::int64_t now_ns = sys::NowNs();
    if (signals) {
      nb::gil_scoped_acquire gil;
      interrupted = PyErr_CheckSignals() != 0;
      if (interrupted) return s;
    }
    if (now_ns >= until_ns) return s;
    stay.until_ns = signals ? std::min(until_ns, now_ns + kNsBetweenSignals) : until_ns;
  }
}

bool Request::Finish(const Status& outcome) {
  if (outcome.code() == Code::kInProgress) return false;
  ended_ = true;
  outcome_ = outcome;
  pending_->keep.reset();
  if (!outcome_.ok()) Raise(outcome_, communicator_);
  return true;
}

bool Request::Wait(double timeout_s) {
  if (ended_) return Finish(outcome_);
  constexpr double kLongestS = 1e9;
  const std::int64_t until_ns = timeout_s < 0 || timeout_s > kLongestS
                                    ? comm::Stay::kForEver
                                    : sys::NowNs() + static_cast<std::int64_t>(timeout_s * 1e9);
  bool interrupted = false;
  Status outcome;
  {
    nb::gil_scoped_release release;
    comm::Stay stay = pending_->stay;  // other threads may wait too
    outcome = WaitInterruptibly(*queue_, stay, until_ns, interrupted);
  }
  if (interrupted) throw nb::python_error();
  return Finish(outcome);
}

bool Request::Test() {
  if (ended_) return Finish(outcome_);
  Status outcome;
  {
    nb::gil_scoped_release release;
    comm::Stay stay = pending_->stay;
    outcome = queue_->Test(stay);
  }
  return Finish(outcome);
}

Group::Group(Made made)
    : rank_(made.communicator.rank()),
      ranks_(made.communicator.ranks()),
      queue_(std::make_shared<comm::Queue>(std::move(made.communicator))),
      sites_(std::move(made.sites)) {}

Group::~Group() {
  if (queue_->foreign()) {
    Abandon();
    return;
  }
  nb::gil_scoped_release release;
  if (queue_->facts() == nullptr) return;
  if (!queue_->idle()) queue_->Abort("its Python object was deleted while operations were running");
  queue_->Close();
}

void Group::CheckOpen(nb::handle self) const {
  if (queue_->foreign()) [[unlikely]] {
    Raise(Status(
              Code::kInvalidUsage,
              "this communicator was made by the process that this one was forked from, and works only there; make one "
              "in each child, by tutti.init() or tutti.Communicator"),
          self);
  }
}

bool Group::broken() const {
  const Communicator::Impl* facts = queue_->foreign() ? nullptr : queue_->facts();
  return facts == nullptr || facts->broken.load(std::memory_order_acquire);
}

std::string Group::LastError() {
  if (!open()) return "";
  nb::gil_scoped_release release;
  const Status s = queue_->WithCommunicator([](Communicator& c) { return c.impl()->Broken(); });
  return s.ok() ? "" : s.ToString();
}

void Group::NoteSites(std::span<const Operation> operations) {
  PyObject* frame = frame_.is_valid() ? frame_.ptr() : reinterpret_cast<PyObject*>(PyEval_GetFrame());
  for (std::ptrdiff_t i = Collectives(operations); i > 0; --i) sites_.Note(frame);
  if (frame_.is_valid()) frame_.reset();
}

void Group::TakeBackSites(std::span<const Operation> operations) {
  for (std::ptrdiff_t i = Collectives(operations); i > 0; --i) sites_.TakeBack();
}

void Group::RunOrRaise(nb::handle self, std::span<const Operation> operations) {
  CheckOpen(self);
  NoteSites(operations);
  comm::Stay stay;
  bool interrupted = false;
  Status outcome;
  {
    nb::gil_scoped_release release;
    stay.until_ns = OnMainThread() ? 0 : comm::Stay::kForEver;
    outcome = queue_->Run(operations, stay);
    if (outcome.code() == Code::kInProgress) {
      outcome = WaitInterruptibly(*queue_, stay, comm::Stay::kForEver, interrupted);
    }
    // The buffers are the caller's again when this returns.
    if (interrupted)
      queue_->Abort("rank " + std::to_string(rank_) + " was interrupted by a signal while it waited (Ctrl-C?)");
  }
  if (interrupted) throw nb::python_error();
  if (outcome.ok()) [[likely]]
    return;
  if (outcome.code() == Code::kInvalidArgument) TakeBackSites(operations);
  Raise(outcome, self);
}

bool Group::TryRun(nb::handle self, Collective kind, nb::handle in, nb::handle out, ReduceOp op, int root) {
  Buffer input, output;
  if (!output.Open(out.ptr(), Buffer::For::kWriting)) return false;
  const bool same = in.is(out);
  if (!same && !input.Open(in.ptr(), Buffer::For::kReading)) return false;
  const Buffer& from = same ? output : input;
  const auto n = static_cast<std::size_t>(ranks_);
  const std::size_t in_pieces = HoldsRanksInputs(kind) ? n : 1, out_pieces = HoldsRanksOutputs(kind) ? n : 1;
  const std::size_t count = from.count() / in_pieces;
  // What does not fit is explained where it is slow.
  if (from.type() != output.type() || count * in_pieces != from.count() || count * out_pieces != output.count())
    return false;
  const Operation operation{.kind = kind,
                            .in = from.data(),
                            .out = output.data(),
                            .count = count,
                            .type = from.type(),
                            .op = op,
                            .root = root};
  RunOrRaise(self, std::span(&operation, 1));
  return true;
}

void Group::RunRaw(nb::handle self, const RawCall& call) {
  const Operation operation = OperationOf(call);
  RunOrRaise(self, std::span(&operation, 1));
}

void Group::RunGroup(nb::handle self, const std::vector<RawCall>& calls) { RunOrRaise(self, OperationsOf(calls)); }

void Group::ForgetEnded() {
  while (!pending_.empty()) {
    const std::shared_ptr<Pending> first = pending_.front();
    if (first->keep.is_valid()) {
      Status s;
      {
        nb::gil_scoped_release release;
        comm::Stay stay = first->stay;
        s = queue_->Test(stay);
      }
      if (s.code() == Code::kInProgress) return;
    }
    if (pending_.empty() || pending_.front() != first) return;  // another thread was here meanwhile
    pending_.pop_front();
  }
}

Request Group::BeginOrRaise(nb::handle self, std::span<const Operation> operations, nb::object keep) {
  CheckOpen(self);
  if (!pending_.empty()) ForgetEnded();
  NoteSites(operations);
  auto pending = std::make_shared<Pending>();
  Status begun;
  {
    nb::gil_scoped_release release;
    begun = queue_->Begin(operations, pending->stay);
  }
  if (!begun.ok()) {
    if (begun.code() == Code::kInvalidArgument) TakeBackSites(operations);
    Raise(begun, self);
  }
  pending->keep = std::move(keep);
  pending_.push_back(pending);
  return Request(queue_, std::move(pending), nb::borrow(self));
}

Request Group::BeginRaw(nb::handle self, const RawCall& call, nb::object keep) {
  const Operation operation = OperationOf(call);
  return BeginOrRaise(self, std::span(&operation, 1), std::move(keep));
}

Request Group::BeginGroup(nb::handle self, const std::vector<RawCall>& calls, nb::object keep) {
  return BeginOrRaise(self, OperationsOf(calls), std::move(keep));
}

std::optional<Recipe> Group::Split(nb::handle self, std::optional<int> color, int key, std::string name) {
  CheckOpen(self);
  sites_.Note(nullptr);  // ranks exchange their colours by a collective
  Result<std::optional<CommunicatorOptions>> child = std::optional<CommunicatorOptions>();
  {
    nb::gil_scoped_release release;
    child = comm::Split(*queue_, color, key);
  }
  if (!child.ok()) Raise(child.status(), self);
  if (!*child) return std::nullopt;
  return RecipeOf(std::move(**child), std::move(name));
}

Recipe Group::Shrink(nb::handle self, const std::vector<int>& excluded, std::string name) {
  CheckOpen(self);
  Result<CommunicatorOptions> child = CommunicatorOptions();
  {
    nb::gil_scoped_release release;
    child = comm::Shrink(*queue_, excluded);
  }
  if (!child.ok()) Raise(child.status(), self);
  return RecipeOf(std::move(*child), std::move(name));
}

nb::object Group::AllocateShared(nb::handle self, std::size_t bytes) {
  CheckOpen(self);
  sites_.Note(nullptr);  // it ends with a barrier
  void* memory = nullptr;
  std::shared_ptr<Communicator::Impl> keep;
  Status s;
  {
    nb::gil_scoped_release release;
    s = queue_->WithIdle([&](Communicator& c) -> Status {
      Result<void*> made = c.AllocateShared(bytes);
      if (!made.ok()) return made.status();
      memory = *made;
      keep = c.impl()->shared_from_this();
      return Status::Ok();
    });
  }
  if (!s.ok()) Raise(s, self);
  auto* owner = new std::shared_ptr<Communicator::Impl>(std::move(keep));
  const nb::capsule life(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<Communicator::Impl>*>(p); });
  return nb::make_tuple(reinterpret_cast<std::uintptr_t>(memory), life);
}

std::string Group::Explain(const RawCall& call) {
  std::string text;
  const Operation operation = OperationOf(call);
  nb::gil_scoped_release release;
  (void)queue_->WithCommunicator([&](Communicator& c) {
    text = c.Explain(operation);
    return Status::Ok();
  });
  return text;
}

StandingVerdict Group::WhoHoldsItUp() {
  StandingVerdict verdict;
  nb::gil_scoped_release release;
  (void)queue_->TryCommunicator([&](Communicator& c) {
    verdict = c.WhoHoldsItUp();
    return Status::Ok();
  });
  return verdict;
}

void Group::Abort(const std::string& reason) {
  if (!open()) return;
  nb::gil_scoped_release release;
  queue_->Abort("rank " + std::to_string(rank_) + " aborted: " + reason);
}

void Group::SetTimeout(std::int64_t timeout_ms) {
  if (!open()) return;
  nb::gil_scoped_release release;
  (void)queue_->WithCommunicator([&](Communicator& c) {
    c.impl()->settings.timeout_ms = timeout_ms;
    return Status::Ok();
  });
}

void Group::Close(nb::handle self) {
  if (!open()) return;
  // Waits here, where signals end it; what has failed is known to those who hold the requests.
  while (!pending_.empty() && !broken()) {
    const std::shared_ptr<Pending> last = pending_.back();
    bool interrupted = false;
    {
      nb::gil_scoped_release release;
      comm::Stay stay = last->stay;
      (void)WaitInterruptibly(*queue_, stay, comm::Stay::kForEver, interrupted);
    }
    if (interrupted) {
      Abort("it was interrupted by a signal while it closed its communicator");
      throw nb::python_error();
    }
    if (!pending_.empty() && pending_.back() == last) break;
  }
  {
    nb::gil_scoped_release release;
    queue_->Close();
  }
  pending_.clear();
  (void)self;
}

void Group::Abandon() { queue_->Abandon(); }

}  // namespace tutti::python
