// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PYTHON_SRC_GROUP_H_
#define TUTTI_PYTHON_SRC_GROUP_H_

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/host/queue.h"
#include "comm/host/waiter.h"
#include "python/src/call_sites.h"
#include "tutti/communicator.h"

namespace tutti::python {

// What was begun and is not known to have ended, with the Python objects whose memory it uses.
struct Pending {
  comm::Stay stay;
  nanobind::object keep;
};

// A running operation, as Python sees it. Destroying it neither waits nor stops the operation: its communicator keeps the buffers.
class Request {
 public:
  // `communicator`: the Python object that errors are about.
  Request(std::shared_ptr<comm::Queue> queue, std::shared_ptr<Pending> pending, nanobind::object communicator)
      : queue_(std::move(queue)), pending_(std::move(pending)), communicator_(std::move(communicator)) {}

  // Waits until the operation has ended, or for `timeout_s` seconds; a negative one is no limit. Whether it has ended. Releases the GIL.
  // Raises its error, and what signal handlers raise: KeyboardInterrupt, after which the operation still runs.
  bool Wait(double timeout_s);
  // The same without waiting.
  bool Test();

 private:
  bool Finish(const Status& outcome);

  std::shared_ptr<comm::Queue> queue_;
  std::shared_ptr<Pending> pending_;
  nanobind::object communicator_;
  bool ended_ = false;
  Status outcome_;  // once it has ended
};

// Who a new communicator's ranks are, and what Python may set of its settings.
struct NewGroup {
  int rank = 0;
  int ranks = 1;
  std::string id;  // 128 bytes
  std::string name;
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::int64_t> init_timeout_ms;
  std::optional<std::int64_t> shared_bytes;
};

// How a communicator will be made: tutti._core.Recipe. It gives up once `cancel` is true.
struct Recipe {
  std::function<Result<Communicator>(const std::atomic<bool>& cancel)> make;
};

// An operation whose buffers are addresses.
struct RawCall {
  int kind;
  std::uintptr_t in;
  std::uintptr_t out;
  std::size_t count;
  int type;
  int op;
  int root;
  double scale;
  std::optional<std::int64_t> integer_scale;
};

// A communicator, as Python sees it: _core.Communicator, on which tutti.Communicator builds. All that waits releases the GIL, and lets
// signal handlers run now and then; what they raise ends the wait, and the communicator with it where its caller's buffers are in use.
// Threads: any, but Close; calls of several threads take turns.
class Group {
 public:
  // From what Create has made.
  struct Made {
    Communicator communicator;
    CallSites sites;
  };
  explicit Group(Made made);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool open() const { return queue_ != nullptr && queue_->facts() != nullptr && !queue_->foreign(); }
  bool idle() const { return !open() || queue_->idle(); }
  bool broken() const;
  std::string LastError();

  // Runs a collective on objects with the buffer protocol. False, and nothing has happened, where they have to be made ready first.
  // `peer_counts`: how many elements `in` and `out` hold for each one that the operation counts.
  bool TryRun(nanobind::handle self, Collective kind, nanobind::handle in, nanobind::handle out, ReduceOp op, int root);
  void RunRaw(nanobind::handle self, const RawCall& call);
  Request BeginRaw(nanobind::handle self, const RawCall& call, nanobind::object keep);
  void RunGroup(nanobind::handle self, const std::vector<RawCall>& calls);
  Request BeginGroup(nanobind::handle self, const std::vector<RawCall>& calls, nanobind::object keep);

  // The line of the program that calls next, for errors: only from Python code between that line and here.
  void SetSite(nanobind::object frame) { frame_ = std::move(frame); }
  std::string FindSite(int rank, std::uint64_t number) const { return sites_.Find(rank, number); }

  // Collective. What this rank's part will be made by; none without a colour.
  std::optional<Recipe> Split(nanobind::handle self, std::optional<int> color, int key, std::string name);
  // Of those that stay.
  Recipe Shrink(nanobind::handle self, const std::vector<int>& excluded, std::string name);
  // Memory that all ranks map; it lives until this and the capsule are gone.
  nanobind::object AllocateShared(nanobind::handle self, std::size_t bytes);
  std::string Explain(const RawCall& call);
  StandingVerdict WhoHoldsItUp();
  void Abort(const std::string& reason);
  // How long a wait for a late rank may last, from the next wait on.
  void SetTimeout(std::int64_t timeout_ms);
  // Waits for what runs, then leaves.
  void Close(nanobind::handle self);
  // In a forked child: forgets it.
  void Abandon();

 private:
  void CheckOpen(nanobind::handle self) const;
  Status RunHere(std::span<const Operation> operations);
  void NoteSites(std::span<const Operation> operations);
  void TakeBackSites(std::span<const Operation> operations);
  void RunOrRaise(nanobind::handle self, std::span<const Operation> operations);
  Request BeginOrRaise(nanobind::handle self, std::span<const Operation> operations, nanobind::object keep);
  void ForgetEnded();

  const int rank_;
  const int ranks_;
  std::shared_ptr<comm::Queue> queue_;
  CallSites sites_;
  nanobind::object frame_;
  std::deque<std::shared_ptr<Pending>> pending_;
};

Recipe RecipeOf(const NewGroup& options);
// Rank, ranks and id are the launcher's.
Recipe RecipeFromEnvironment(const NewGroup& options);
Recipe RecipeOf(CommunicatorOptions options, std::string name);

// Makes a communicator while signal handlers may run: on another thread, where this is the main one. Raises its error, or what a handler raises.
Group::Made Create(const Recipe& recipe);

// Waits for `stay` with the GIL released by the caller. kInProgress once until_ns has come. `interrupted`: a signal handler has raised.
Status WaitInterruptibly(comm::Queue& queue, comm::Stay& stay, std::int64_t until_ns, bool& interrupted);

}  // namespace tutti::python

#endif  // TUTTI_PYTHON_SRC_GROUP_H_
