// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_QUEUE_H_
#define TUTTI_COMM_HOST_QUEUE_H_

// Operations of a communicator that go on without their caller.
//
// A communicator's submitter (submitter.h) behind a lock: Post begins an operation, moves it on as far as it goes, and
// returns. Who moves the rest on: the thread that waits (Wait) or asks (Poll), and, when both stay away, the process's
// progress thread (progress.h). So an operation whose caller waits at once never changes threads, and costs what
// Communicator::Run costs.
//
// Threads: any of these functions may be called by any thread. A lock, one atomic exchange where nobody else holds it,
// guards the engine. Wait holds it until the operations have ended, so a second thread that posts meanwhile waits too;
// Poll and Abort never wait for it.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "comm/host/engine_lock.h"
#include "comm/host/progress.h"
#include "comm/host/unfinished.h"
#include "sys/os/fork.h"
#include "tutti/communicator.h"

namespace tutti::comm {

class CallObserver;
struct Stay;
class Submitter;

class Queue final : public Progress::Task, public Unfinished, public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(Communicator communicator);
  // REQUIRES: Close or Abandon was called, or nothing is unfinished.
  ~Queue();

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  // Names the communicator in the log and for tools: the same on all ranks.
  std::uint64_t id_hash() const { return id_hash_; }

  // Tells `observer`, which outlives the communicator, of what Submit begins from now on (Submitter::Observe). Before the first call of
  // the others; once.
  void Observe(CallObserver& observer);

  // Begins an operation. Errors: a bad argument, or what has broken the communicator; the operation has not begun then.
  Status Post(const Operation& operation);
  // The same for several as one: sends and receives proceed together. All or nothing begins. With kLater what was
  // submitted moves on only by MoveOn, Wait or the progress thread, so that several queues can be filled first.
  enum class Move : std::uint8_t { kNow, kLater };
  Status Submit(std::span<const Operation> operations, Move move);
  void MoveOn() override;

  // For callers that wait for what they have begun and for nothing after it, and that may leave a wait (Stay in waiter.h). While such a caller
  // waits, other threads get at the queue within a few milliseconds.
  // Begins several as one, as Submit; `stay` is the place of their end.
  Status Begin(std::span<const Operation> operations, Stay& stay);
  // Their outcome; kInProgress once stay.until_ns has come. Where one has failed that was begun before, its error.
  Status WaitFor(Stay& stay);
  // The same without waiting: kInProgress until they have ended.
  Status Test(Stay& stay);
  // Begin and WaitFor.
  Status Run(std::span<const Operation> operations, Stay& stay);

  // Waits until all operations begun so far have ended; the first failure of this communicator, if any.
  Status Wait();
  // kInProgress while something is unfinished, then as Wait. Moves the engine on if nobody else does. Never waits.
  Status Poll();
  bool idle() const override { return open_count_.load(std::memory_order_acquire) == 0; }

  // Ends all operations with an error, here and on the peers. They have ended when this returns, except that a thread
  // in Wait may still be on its way out.
  void Break(const Status& status);
  // The same because the program wants it (Communicator::Impl::Abort).
  void Abort(const std::string& sentence);

  // Ends what is unfinished, tells the peers that this rank leaves, frees everything. Afterwards all calls fail.
  void Close();
  // After a fork, in the child: forgets the communicator without a word to anybody.
  void Abandon();

  // For the progress thread and for others of the caller's (progress.h, unfinished.h).
  Need Look() override;
  bool Tend() override;
  bool IsOf(const Core& core) const override;

  // Runs `use` with the communicator while nothing else uses it, after all operations have ended. For what needs the
  // communicator itself: regions, facts about it.
  template <typename Use>
  Status WithIdle(Use&& use) {
    std::lock_guard lock(lock_);
    TUTTI_RETURN_IF_ERROR(WaitLocked());
    return use(*communicator_);
  }
  // The same without waiting for operations, and where the communicator is broken too: it runs none.
  template <typename Use>
  Status WithCommunicator(Use&& use) {
    std::lock_guard lock(lock_);
    if (submitter_ == nullptr) return after_;
    return use(*communicator_);
  }
  // The same, or Ok at once, without a call of `use`, where another thread uses it.
  template <typename Use>
  Status TryCommunicator(Use&& use) {
    if (!lock_.try_lock()) return Status::Ok();
    std::lock_guard lock(lock_, std::adopt_lock);
    if (submitter_ == nullptr) return after_;
    return use(*communicator_);
  }
  // What Post would say against an operation.
  Status Check(const Operation& operation);
  // The cost model's estimate for operations that run as one, us.
  Result<double> PredictUs(std::span<const Operation> operations);
  // Whether it was made by the process that this one was forked from: then nothing of it may be used here.
  bool foreign() const { return fork_generation_ != sys::ForkGeneration(); }
  // Facts that never change, without waiting. Null after Close.
  const Communicator::Impl* facts() const { return facts_.load(std::memory_order_relaxed); }

 private:
  Status WaitLocked();
  Status BeginLocked(std::span<const Operation> operations, Stay& stay);
  Status StayLocked(Stay& stay);
  // Until those who want the lock have had it.
  void GiveWay() const;
  // Notes how much is unfinished.
  void Note();
  // Makes sure that somebody moves the unfinished operations on.
  void LeftOpen();

  const int rank_;
  const int ranks_;
  const std::uint64_t id_hash_;
  const std::uint32_t fork_generation_;
  EngineLock lock_;

  // Guarded by lock_.
  std::optional<Communicator> communicator_;
  Submitter* submitter_ = nullptr;  // the communicator's; null after Close

  std::atomic<const Communicator::Impl*> facts_{nullptr};  // the communicator's, for identity only
  std::atomic<std::uint32_t> open_count_{0};
  std::atomic<std::uint32_t> visits_{0};  // of callers; what Look compares
  std::uint32_t seen_visits_ = 0;         // the progress thread's

  void BreakBy(const std::function<void(Communicator::Impl&)>& how);

  std::mutex life_mutex_;                    // keeps the communicator alive during Break
  Communicator::Impl* breakable_ = nullptr;  // guarded by life_mutex_
  Status after_;                             // of calls after Close; guarded by lock_
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_QUEUE_H_
