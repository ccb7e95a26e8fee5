// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "capi/error.h"
#include "capi/nvtx.h"
#include "capi/profile.h"
#include "sys/os/thread.h"

namespace tutti::capi {
namespace {

using GpuCall = comm::GpuQueue::Call;

constexpr const char* kThreadFor = "a communicator of a group";

// The operations of one communicator: on host memory, and on its GPU.
struct Batch {
  ncclComm* comm = nullptr;
  std::vector<Operation> operations;
  std::vector<GpuCall> gpu_calls;
  std::vector<GpuCall> undecided;  // called before the communicator was made
};

struct Group {
  Status failure;  // of the first call that failed for another reason than a wrong argument
  std::vector<Batch> batches;
  std::size_t batches_used = 0;  // the others keep their memory for later
  std::vector<LifeJob> jobs;
  std::vector<std::function<Status()>> waits;
  std::vector<std::shared_ptr<ncclComm>> doomed;
  bool noted = false;  // a profiler was told of some of the calls

  void Clear();
  std::span<Batch> used() { return {batches.data(), batches_used}; }
};

thread_local Group t_group;
constinit thread_local int t_depth = 0;  // of groups; apart, since most calls ask for no more, and this needs no set-up

void Group::Clear() {
  for (Batch& batch : used()) {
    batch.operations.clear();
    batch.gpu_calls.clear();
    batch.undecided.clear();
  }
  batches_used = 0;
  jobs.clear();
  waits.clear();
  doomed.clear();
  failure = Status::Ok();
  if (noted) [[unlikely]] {
    EndNotedCalls();
    noted = false;
  }
}

// Lets an abort of the parent reach what is being split off from it.
class UnbornGuard {
 public:
  explicit UnbornGuard(const LifeJob& job) : job_(job) {
    if (job_.parent == nullptr || job_.comm == nullptr) return;
    std::lock_guard lock(job_.parent->background.mutex);
    job_.parent->background.unborn.push_back(job_.comm);
    if (job_.parent->abort) job_.comm->abort = true;
  }
  ~UnbornGuard() {
    if (job_.parent == nullptr || job_.comm == nullptr) return;
    std::lock_guard lock(job_.parent->background.mutex);
    std::erase(job_.parent->background.unborn, job_.comm);
  }

 private:
  const LifeJob& job_;
};

// The job as it runs on a thread of its own or of the caller.
Status Finish(const LifeJob& job) {
  const UnbornGuard unborn(job);
  const Status s = Guarded(job.run);
  if (!s.ok() && job.comm != nullptr) FailHandle(*job.comm, s);
  return s;
}

// Where a job that blocked its caller has failed: the handle it was to make does not exist.
void Discard(const LifeJob& job) {
  if (job.slot == nullptr || job.comm == nullptr) return;
  *job.slot = nullptr;
  TakeDown(*job.comm);
}

// Lets a job go on behind its caller's back. Its communicators are pending until it has ended.
Status RunInBackground(const LifeJob& job) {
  std::vector<std::shared_ptr<ncclComm>> involved;
  if (job.comm != nullptr) involved.push_back(job.comm);
  if (job.parent != nullptr) involved.push_back(job.parent);
  for (const auto& comm : involved) BeginBackground(*comm);
  const Status started = Guarded([&] {
    return sys::StartDetachedThread(kThreadFor, [job, involved] {
      const Status s = Finish(job);
      for (const auto& comm : involved) EndBackground(*comm, s);
    });
  });
  if (started.ok()) return started;
  for (const auto& comm : involved) EndBackground(*comm, Status::Ok());
  Discard(job);
  return started;
}

// Runs jobs that block, all at the same time: the first on the caller's thread. What becomes of each. Where a thread is missing those that
// have begun are waited for, and the others fail.
std::vector<Status> RunBlocking(const std::vector<LifeJob>& jobs) {
  std::vector<Status> outcomes(jobs.size());
  std::vector<std::unique_ptr<sys::Thread>> threads;
  Status missing;
  for (std::size_t i = 1; i < jobs.size() && missing.ok(); ++i) {
    Result<std::unique_ptr<sys::Thread>> thread =
        sys::StartThread(kThreadFor, [&job = jobs[i], &outcome = outcomes[i]] { outcome = Finish(job); });
    if (thread.ok()) {
      threads.push_back(std::move(*thread));
    } else {
      missing = Status(Code::kSystem,
                       fmt::format("no thread for communicator {} of the group: {}", i, thread.status().message()));
    }
  }
  outcomes[0] = missing.ok() ? Finish(jobs[0]) : missing;
  for (std::size_t i = threads.size() + 1; i < jobs.size(); ++i) outcomes[i] = missing;
  threads.clear();  // waits for them
  return outcomes;
}

// Runs all jobs, one at least, at the same time; all block, or none does. The first error; all that blocked and failed is discarded.
Status RunAll(const std::vector<LifeJob>& jobs) {
  const bool blocking = jobs[0].blocking;
  std::vector<Status> outcomes;
  if (blocking) {
    outcomes = RunBlocking(jobs);
  } else {
    for (const LifeJob& job : jobs) outcomes.push_back(RunInBackground(job));
  }
  Status first;
  for (const Status& outcome : outcomes) {
    if (outcome.ok()) continue;
    // What failed by itself says more than what heard of it.
    if (first.ok() || (first.code() == Code::kRemote && outcome.code() != Code::kRemote)) first = outcome;
  }
  if (first.ok()) return blocking ? Status::Ok() : InProgress();
  if (blocking) {
    for (const LifeJob& job : jobs) Discard(job);
  }
  return first;
}

Batch& BatchOf(Group& group, ncclComm* comm) {
  for (Batch& batch : group.used()) {
    if (batch.comm == comm) return batch;
  }
  if (group.batches_used == group.batches.size()) group.batches.emplace_back();
  Batch& batch = group.batches[group.batches_used++];
  batch.comm = comm;
  return batch;
}

bool RunsOnGpu(const ncclComm& comm, const Operation& operation) {
  return comm.gpu != nullptr && comm.gpu->Takes(operation);
}

// Of an operation that does not run on the GPU: whether the CPU can read its buffers.
Status CheckPlace(const ncclComm& comm, const Operation& operation) {
  return comm.host_only == nullptr ? Status::Ok() : comm.host_only->Check(operation, comm.rank);
}

// Puts an operation where the end of the group finds it.
void Keep(Batch& batch, const GpuCall& call, bool on_gpu) {
  if (on_gpu) {
    batch.gpu_calls.push_back(call);
  } else {
    batch.operations.push_back(call.operation);
  }
}

// Tells the communicator's profiler of a call.
void Note(const ncclComm& comm, const Operation& operation, cudaStream_t stream, bool on_gpu) {
  NoteCall(*comm.profile, operation, stream, on_gpu && comm.gpu->Captures(stream), t_depth);
}

// Not inlined, like PostNoted: calls that nobody is told of would save registers for it.
[[gnu::noinline]] void NoteInGroup(const ncclComm& comm, const Operation& operation, cudaStream_t stream, bool on_gpu) {
  t_group.noted = true;
  Note(comm, operation, stream, on_gpu);
}

// Puts where the end of the group finds it what was called before the communicator was made, now that it is.
Status Decide(Batch& batch) {
  for (const GpuCall& call : batch.undecided) {
    const bool on_gpu = RunsOnGpu(*batch.comm, call.operation);
    TUTTI_RETURN_IF_ERROR(on_gpu ? batch.comm->gpu->Check(call.operation) : CheckPlace(*batch.comm, call.operation));
    Keep(batch, call, on_gpu);
    if (batch.comm->profile != nullptr) NoteInGroup(*batch.comm, call.operation, call.stream, on_gpu);
  }
  batch.undecided.clear();
  return Status::Ok();
}

// A communicator of a group failed where others have begun: these end with an error on all ranks, which would otherwise
// wait for this one.
void BreakAll(std::span<Batch> batches, const Status& why) {
  for (const Batch& batch : batches) {
    batch.comm->queue->Break(
        Status(why.code(), "another communicator of the same group failed: " + why.message(), batch.comm->rank.load()));
    if (batch.comm->gpu != nullptr) (void)batch.comm->gpu->Look();
  }
}

// Enqueues what the GPUs do. All plans are made before the first launch.
Status RunOnGpus(std::span<Batch> batches) {
  const auto calls = [](const Batch& batch) { return std::span<const GpuCall>(batch.gpu_calls); };
  if (std::ranges::count_if(batches, [&](const Batch& b) { return !calls(b).empty(); }) > 1) {
    for (const Batch& batch : batches) {
      if (!calls(batch).empty()) TUTTI_RETURN_IF_ERROR(batch.comm->gpu->Prepare(calls(batch)));
    }
  }
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (calls(batches[i]).empty()) continue;
    const Submission submission(batches[i].comm->profile);
    const Status s = batches[i].comm->gpu->Submit(calls(batches[i]));
    if (s.ok()) continue;
    BreakAll(batches.first(i), s);
    return s;
  }
  return Status::Ok();
}

// Begins the operations of all communicators on host memory, then lets them run.
Status RunOnHost(std::span<Batch> batches) {
  if (batches.size() == 1) {
    const Batch& only = batches[0];
    if (only.operations.size() == 1 && only.comm->profile == nullptr) return only.comm->queue->Post(only.operations[0]);
    const Submission submission(only.comm->profile);
    return only.comm->queue->Submit(only.operations, comm::Queue::Move::kNow);
  }
  for (const Batch& batch : batches) {
    for (const Operation& o : batch.operations) TUTTI_RETURN_IF_ERROR(batch.comm->queue->Check(o));
  }
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const Submission submission(batches[i].comm->profile);
    const Status s = batches[i].comm->queue->Submit(batches[i].operations, comm::Queue::Move::kLater);
    if (s.ok()) continue;
    BreakAll(batches.first(i), s);
    return s;
  }
  for (const Batch& batch : batches) batch.comm->queue->MoveOn();
  return Status::Ok();
}

Status RunOperations(std::span<Batch> batches) {
  bool on_gpu = false, on_host = false;
  for (Batch& batch : batches) {
    if (!Ready(batch.comm)) TUTTI_RETURN_IF_ERROR(WhyNotReady(batch.comm));
    TUTTI_RETURN_IF_ERROR(Decide(batch));
    on_gpu |= !batch.gpu_calls.empty();
    on_host |= !batch.operations.empty();
  }
  if (on_gpu) TUTTI_RETURN_IF_ERROR(RunOnGpus(batches));
  return on_host ? RunOnHost(batches) : Status::Ok();
}

// A call outside of groups that a profiler is told of: a group by itself.
[[gnu::noinline]] Status PostNoted(ncclComm& comm, const Operation& operation, cudaStream_t stream, bool on_gpu) {
  TUTTI_RETURN_IF_ERROR(on_gpu ? comm.gpu->Check(operation) : CheckPlace(comm, operation));
  if (!on_gpu) TUTTI_RETURN_IF_ERROR(comm.queue->Check(operation));
  struct Ender {
    ~Ender() { EndNotedCalls(); }
  } const ender;
  Note(comm, operation, stream, on_gpu);
  BeginNotedCalls();
  const Submission submission(comm.profile);
  return on_gpu ? comm.gpu->Post(operation, stream)
                : comm.queue->Submit(std::span(&operation, 1), comm::Queue::Move::kNow);
}

Status WaitMarked(ncclComm& comm) {
  const nvtx::Waiting mark("waits for operations");
  return comm.owner->Wait();
}

Status CheckBlocking(const Group& group) {
  bool blocking = false, background = false;
  for (const LifeJob& job : group.jobs) (job.blocking ? blocking : background) = true;
  if (blocking && background) {
    return InvalidArgument("the group mixes blocking and non-blocking communicators: use one config.blocking for all");
  }
  if (background && group.batches_used > 0) {
    return InvalidUsage(
        "the group makes or ends a non-blocking communicator and calls operations too: end the group first, and wait "
        "until ncclCommGetAsyncError gives ncclSuccess");
  }
  return Status::Ok();
}

Status RunGroup(Group& group) {
  Status s = group.failure;
  if (s.ok()) s = CheckBlocking(group);
  for (LifeJob& job : group.jobs) {
    if (job.comm != nullptr) job.comm->made_in_group = nullptr;
  }
  if (!s.ok()) {
    for (LifeJob& job : group.jobs) Discard(job);
  } else if (!group.jobs.empty()) {
    s = RunAll(group.jobs);
  }
  if (s.ok() && group.batches_used > 0) s = RunOperations(group.used());
  for (const std::function<Status()>& wait : group.waits) {
    if (s.ok()) s = Guarded(wait);
  }
  for (const std::shared_ptr<ncclComm>& comm : group.doomed) {
    const Status drained = comm->owner != nullptr ? WaitMarked(*comm) : Status::Ok();
    TakeDown(*comm);
    if (s.ok()) s = drained;
  }
  return s;
}

}  // namespace

bool InGroup() { return t_depth > 0; }

Status RunOrDefer(LifeJob job) {
  if (InGroup()) {
    if (job.comm != nullptr && job.slot != nullptr) job.comm->made_in_group = &t_group;
    for (LifeJob& earlier : t_group.jobs) {
      if (job.comm == nullptr || earlier.comm != job.comm) continue;
      earlier.run = [first = std::move(earlier.run), then = std::move(job.run)]() -> Status {
        TUTTI_RETURN_IF_ERROR(first());
        return then();
      };
      return Status::Ok();
    }
    t_group.jobs.push_back(std::move(job));
    return Status::Ok();
  }
  std::vector<LifeJob> jobs;
  jobs.push_back(std::move(job));
  return RunAll(jobs);
}

Status RunOrDeferWait(ncclComm& comm, std::function<Status()> wait) {
  if (!InGroup()) return wait();
  t_group.waits.push_back([kept = comm.shared_from_this(), wait = std::move(wait)] { return wait(); });
  return Status::Ok();
}

Status DestroyOrDefer(ncclComm& comm) {
  if (InGroup()) {
    t_group.doomed.push_back(comm.shared_from_this());
    return Status::Ok();
  }
  const bool open = comm.owner != nullptr && !comm.owner->idle();
  const Status drained = open ? WaitMarked(comm) : Status::Ok();
  TakeDown(comm);
  return drained;
}

Status PostOrDefer(ncclComm* comm, const Operation& operation, cudaStream_t stream) {
  if (!Ready(comm)) [[unlikely]] {
    const bool soon = InGroup() && comm != nullptr && comm->alive() && comm->made_in_group == &t_group;
    if (soon) {
      BatchOf(t_group, comm).undecided.push_back({operation, stream});
      return Status::Ok();
    }
    if (const Status why = WhyNotReady(comm); !why.ok()) {
      if (InGroup() && why.code() != Code::kInvalidArgument && t_group.failure.ok()) t_group.failure = why;
      return why;
    }
  }
  const bool on_gpu = RunsOnGpu(*comm, operation);
  if (operation.device_scalar != nullptr && !on_gpu) [[unlikely]] {
    return InvalidArgument(fmt::format(
        "the operator's factor lies in device memory and rank {}'s buffers in host memory: put both on one side",
        comm->rank.load()));
  }
  if (!InGroup()) [[likely]] {
    if (comm->profile != nullptr) [[unlikely]]
      return PostNoted(*comm, operation, stream, on_gpu);
    if (on_gpu) return comm->gpu->Post(operation, stream);
    TUTTI_RETURN_IF_ERROR(CheckPlace(*comm, operation));
    return comm->queue->Post(operation);
  }
  Group& group = t_group;
  Status s = on_gpu ? comm->gpu->Check(operation) : CheckPlace(*comm, operation);
  if (s.ok() && !on_gpu) s = comm->queue->Check(operation);
  if (!s.ok()) {
    if (s.code() != Code::kInvalidArgument && group.failure.ok()) group.failure = s;
    return s;
  }
  Keep(BatchOf(group, comm), {operation, stream}, on_gpu);
  if (comm->profile != nullptr) [[unlikely]]
    NoteInGroup(*comm, operation, stream, on_gpu);
  return Status::Ok();
}

void BeginGroup() { ++t_depth; }

Status EndGroup() {
  if (t_depth == 0) return InvalidUsage("there is no group to end: call ncclGroupStart first");
  if (--t_depth > 0) return Status::Ok();
  struct Clearer {
    Group& group;
    ~Clearer() { group.Clear(); }
  } clearer{t_group};
  if (clearer.group.noted) [[unlikely]]
    BeginNotedCalls();
  return RunGroup(clearer.group);
}

}  // namespace tutti::capi

using namespace tutti::capi;  // NOLINT: the functions below are C's
using tutti::Status;

TUTTI_NCCL_API(ncclResult_t, ncclGroupStart, ()) {
  const nvtx::Range range(nvtx::Call::kGroupStart);
  BeginGroup();
  return ncclSuccess;
}

TUTTI_NCCL_API(ncclResult_t, ncclGroupEnd, ()) {
  const nvtx::Range range(nvtx::Call::kGroupEnd);
  return Call("ncclGroupEnd", [] { return EndGroup(); });
}

TUTTI_NCCL_API(ncclResult_t, ncclGroupSimulateEnd, (ncclSimInfo_t * simInfo)) {
  const nvtx::Range range(nvtx::Call::kGroupSimulateEnd);
  return Call("ncclGroupSimulateEnd", [&]() -> Status {
    Group& group = t_group;
    if (t_depth == 0) return InvalidUsage("there is no group to end: call ncclGroupStart first");
    TUTTI_RETURN_IF_ERROR(WriteSimInfo(simInfo, NCCL_UNDEF_FLOAT));
    if (--t_depth > 0) return Status::Ok();
    struct Clearer {
      ~Clearer() { t_group.Clear(); }
    } clearer;
    Status s = group.failure;
    if (s.ok() && (!group.jobs.empty() || !group.doomed.empty())) {
      s = InvalidUsage("the group makes or ends communicators, which cannot be simulated: end it with ncclGroupEnd");
    }
    for (LifeJob& job : group.jobs) Discard(job);
    TUTTI_RETURN_IF_ERROR(s);
    double longest_us = 0;  // communicators run at the same time
    for (Batch& batch : group.used()) {
      if (!Ready(batch.comm)) TUTTI_RETURN_IF_ERROR(WhyNotReady(batch.comm));
      TUTTI_RETURN_IF_ERROR(Decide(batch));
      const tutti::Result<double> us = batch.comm->queue->PredictUs(batch.operations);
      if (!us.ok()) return us.status();
      longest_us = std::max(longest_us, *us);
      if (batch.gpu_calls.empty()) continue;
      const tutti::Result<double> gpu_us = batch.comm->gpu->PredictUs(batch.gpu_calls);
      if (!gpu_us.ok()) return gpu_us.status();
      longest_us = std::max(longest_us, *gpu_us);
    }
    return WriteSimInfo(simInfo, longest_us);
  });
}
