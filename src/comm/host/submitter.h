// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_SUBMITTER_H_
#define TUTTI_COMM_HOST_SUBMITTER_H_

// The queue of a communicator: whatever runs in host memory goes to the engine here, and what is unfinished is listed
// here. Communicator::Run and RunGroup are its calls; a Request is a place in it; comm::Queue is the same behind a lock.
//
// Operations take place in the order of their calls, so a place in the queue names all that was begun before it.
//
// Threads: one at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/host/unfinished.h"
#include "comm/host/waiter.h"
#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti::comm {

class CallObserver;
class Jobs;
class Ledger;
class ObservedCalls;
class Planner;
class Preparer;
struct Stay;

class Submitter final : public Unfinished {
 public:
  Submitter(Core& core, Jobs& jobs, Planner& planner, Preparer& preparer, Ledger& ledger, Waiter& waiter);
  ~Submitter();

  // Tells `observer`, which outlives this, of what is begun by Submit from now on, and of what the GPU's side begins. What Run, RunGroup
  // and Post begin is not told. REQUIRES: idle(); once.
  void Observe(CallObserver& observer);

  // Runs an operation to its end; or several as one: sends and receives proceed together.
  Status Run(const Operation& operation);
  Status RunGroup(std::span<const Operation> operations);

  // Begins an operation and moves it on as far as it goes. Errors: a bad argument, or what has broken the communicator;
  // the operation has not begun then.
  Status Post(const Operation& operation);
  // Begins several as one, without moving them on. All or nothing begins, except where the plan of one can not be made.
  Status Submit(std::span<const Operation> operations);
  // What Post would say against an operation.
  Status Check(const Operation& operation);

  // Moves on what is unfinished. Never waits.
  void MoveOn() override;
  // Waits until all operations begun so far have ended; the first failure of this communicator, if any.
  Status Wait();
  // Moves on what is unfinished and looks at the peers at a bearable rate; breaks the communicator where they say so.
  void Poll();
  // The same for a thread that tends to an operation whose caller stays away. Returns whether something moved.
  bool Tend();
  // Ends what is unfinished with the failure that has broken the communicator.
  void Fail();

  std::size_t unfinished() const { return open_.size() - first_open_; }
  bool idle() const override { return unfinished() == 0; }
  bool IsOf(const Core& core) const override { return &core == &core_; }

  // What was begun last, and whether it has ended.
  using Place = std::uint64_t;
  Place last() const { return begun_; }
  bool HasEnded(Place place) const { return ended_ >= place; }
  void WaitFor(Place place);
  // Waits for stay.place; its outcome, or kInProgress where the caller has left before (Stay in waiter.h).
  Status WaitFor(Stay& stay);
  // The outcome of what Submit said `submitted` of: Ok unless something up to `place` has failed. A group of which only a
  // part has begun breaks the communicator. REQUIRES: HasEnded(place).
  Status OutcomeOf(const Status& submitted, Place place);

 private:
  // What speaks against operations before they begin; and logs them.
  Status Admit(std::span<const Operation> operations);
  // Admits one operation and begins it: null where it moves nothing.
  Status BeginOne(const Operation& operation, exec::cpu::Job** begun);
  // Hands a call that the first job is ready for to the engine; null where that job is taken.
  exec::cpu::Job* BeginAgain(const Operation& operation);
  // Prepares one operation and hands it to the engine: null where it moves nothing.
  Status Begin(const Operation& operation, exec::cpu::Job** begun);
  Status BeginTransfers(std::span<const Operation> operations, exec::cpu::Job** begun);
  template <typename Prepare, typename Record>
  Status BeginPrepared(Prepare prepare, Record record, exec::cpu::Job** begun);
  void Tell(std::span<const Operation> operations, exec::cpu::Job& job);
  void List(exec::cpu::Job* job);
  // Takes the operations that have ended off the list. A failure breaks the communicator and ends the rest.
  void Collect();
  // Runs one that has begun, and is not listed, to its end.
  Status Finish(exec::cpu::Job* job);
  Status AwaitEnd(exec::cpu::Job* job);
  // What a job's failure means; breaks the communicator.
  Status Fault(const Status& status);

  Core& core_;
  Jobs& jobs_;
  Planner& planner_;
  Preparer& preparer_;
  Ledger& ledger_;
  Waiter& waiter_;
  std::unique_ptr<ObservedCalls> observed_;  // null: nobody is told
  std::vector<exec::cpu::Job*> open_;        // those before first_open_ have ended
  std::size_t first_open_ = 0;
  Place begun_ = 0;
  Place ended_ = 0;
  Place first_failed_ = ~Place{0};
  Status failure_;  // of first_failed_
  WaitState tending_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_SUBMITTER_H_
