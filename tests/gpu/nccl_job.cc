// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/nccl_job.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

// Only ours has it; host memory needs it.
extern "C" __attribute__((weak)) ncclResult_t ncclTuttiSynchronize(ncclComm_t comm);

namespace tutti::tests {
namespace {

using sys::cuda::Check;

constexpr auto kNap = std::chrono::microseconds(50);

std::int64_t In(double seconds) { return HostNowNs() + static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

std::int64_t HostNowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int CountGpus() {
  const pid_t pid = fork();
  if (pid == 0) {
    int count = 0;
    const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
    if (driver.ok()) (*driver)->DeviceGetCount(&count);
    _exit(std::min(count, 100));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

Job::Job(int ranks) : ranks_(ranks) {
  void* pages = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  shared_ = new (pages) Shared;  // the pages are zero
  shared_->killed = -1;
}

Job::~Job() { munmap(shared_, sizeof(Shared)); }

Status Job::Await(const Slot& slot, const char* what) const {
  for (const std::int64_t deadline = In(kWaitSeconds); slot.ready.load(std::memory_order_acquire) == 0;) {
    if (HostNowNs() > deadline) return Status(Code::kTimeout, fmt::format("{} did not come", what));
    std::this_thread::sleep_for(kNap);
  }
  return Status::Ok();
}

Result<ncclUniqueId> Job::ShareId(int rank, int root, int number) {
  Slot& slot = shared_->ids[static_cast<std::size_t>(number) % std::size(shared_->ids)];
  if (rank == root) {
    TUTTI_RETURN_IF_ERROR(CheckNccl(ncclGetUniqueId(&slot.id), nullptr, "ncclGetUniqueId"));
    slot.ready.store(1, std::memory_order_release);
  }
  TUTTI_RETURN_IF_ERROR(Await(slot, "the communicator's id"));
  return slot.id;
}

Result<int> Job::Decide(int rank, int number, int decision) {
  Slot& slot = shared_->decisions[static_cast<std::size_t>(number) % std::size(shared_->decisions)];
  if (rank == 0) {
    slot.decision = decision;
    slot.ready.store(1, std::memory_order_release);
  }
  TUTTI_RETURN_IF_ERROR(Await(slot, "rank 0's decision"));
  return slot.decision;
}

Status Job::Meet(int ranks, std::atomic<int>& count, int times) {
  ++count;
  for (const std::int64_t deadline = In(kWaitSeconds); count.load() < ranks * times;) {
    if (HostNowNs() > deadline) return Status(Code::kTimeout, "the other ranks did not come");
    std::this_thread::sleep_for(kNap);
  }
  return Status::Ok();
}

bool Job::RunProcesses(double seconds, const std::function<bool(int)>& body) {
  std::fflush(nullptr);
  std::vector<pid_t> pids;
  for (int rank = 0; rank < ranks_; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      if (hosts_ > 1) setenv("NCCL_HOSTID", fmt::format("host-{}", rank * hosts_ / ranks_).c_str(), 1);
      const bool good = body(rank);
      std::fflush(nullptr);
      _exit(good ? 0 : 1);
    }
    pids.push_back(pid);
  }
  bool good = true;
  const std::int64_t deadline = In(seconds);
  for (int left = ranks_; left > 0;) {
    for (int rank = 0; rank < ranks_; ++rank) {
      int status = 0;
      if (pids[rank] <= 0 || waitpid(pids[rank], &status, WNOHANG) != pids[rank]) continue;
      pids[rank] = -1;
      --left;
      if (WIFSIGNALED(status) && !(WTERMSIG(status) == SIGKILL && rank == shared_->killed)) {
        fmt::print("rank {} was ended by signal {} ({})\n", rank, WTERMSIG(status), strsignal(WTERMSIG(status)));
        good = false;
      }
      if (WIFEXITED(status) && WEXITSTATUS(status) != 0) good = false;
    }
    if (left > 0 && HostNowNs() > deadline) {
      for (int rank = 0; rank < ranks_; ++rank) {
        if (pids[rank] <= 0) continue;
        fmt::print("rank {} did not end within {:.0f} s\n", rank, seconds);
        kill(pids[rank], SIGKILL);
        waitpid(pids[rank], nullptr, 0);
        --left;
      }
      good = false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return good;
}

bool Job::RunThreads(double seconds, const std::function<bool(int)>& body) {
  std::atomic<int> left{ranks_}, bad{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks_; ++rank) {
    threads.emplace_back([&, rank] {
      if (!body(rank)) ++bad;
      --left;
    });
  }
  for (const std::int64_t deadline = In(seconds); left > 0;) {
    if (HostNowNs() > deadline) {
      fmt::print("{} ranks did not end within {:.0f} s\n", left.load(), seconds);
      std::fflush(nullptr);
      _exit(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (std::thread& thread : threads) thread.join();
  return bad == 0;
}

Result<Place> Place::Open(int rank, int gpus, std::size_t buffer_bytes, int buffers) {
  Place place;
  place.buffer_bytes_ = buffer_bytes;
  if (gpus == 0) {
    for (int i = 0; i < buffers; ++i) place.buffers_.push_back(static_cast<std::byte*>(std::malloc(buffer_bytes)));
    return place;
  }
  const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
  if (!driver.ok()) return driver.status();
  const sys::cuda::Driver& d = **driver;
  Result<sys::cuda::PrimaryContext> context = sys::cuda::PrimaryContext::Retain(&d, rank % gpus);
  if (!context.ok()) return context.status();
  place.context_ = std::move(*context);
  place.driver_ = &d;
  TUTTI_RETURN_IF_ERROR(Check(d, d.CtxSetCurrent(place.context_.get()), "the GPU's context"));
  for (sys::cuda::Stream& stream : place.streams_) {
    TUTTI_RETURN_IF_ERROR(Check(d, d.StreamCreate(&stream, sys::cuda::kNonBlocking), "a stream"));
  }
  for (int i = 0; i < buffers; ++i) {
    sys::cuda::Address address = 0;
    TUTTI_RETURN_IF_ERROR(Check(d, d.MemAlloc(&address, buffer_bytes), "device memory"));
    place.buffers_.push_back(reinterpret_cast<std::byte*>(address));
  }
  return place;
}

Place::Place(Place&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)),
      context_(std::move(other.context_)),
      streams_(other.streams_),
      buffers_(std::exchange(other.buffers_, {})),
      buffer_bytes_(other.buffer_bytes_) {}

Place::~Place() {
  for (std::byte* buffer : buffers_) {
    if (driver_ == nullptr) std::free(buffer);
    if (driver_ != nullptr) driver_->MemFree(reinterpret_cast<sys::cuda::Address>(buffer));
  }
  if (driver_ == nullptr) return;
  for (const sys::cuda::Stream stream : streams_) driver_->StreamDestroy(stream);
}

Status Place::CopyIn(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return Status::Ok();
  if (!on_gpu()) {
    std::memcpy(to, from, bytes);
    return Status::Ok();
  }
  const sys::cuda::Driver& d = *driver_;
  TUTTI_RETURN_IF_ERROR(Check(d, d.MemcpyHtoD(reinterpret_cast<sys::cuda::Address>(to), from, bytes), "copying"));
  return Check(d, d.StreamSynchronize(nullptr), "copying");  // its last piece may still be on its way
}

Status Place::CopyOut(void* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return Status::Ok();
  if (!on_gpu()) {
    std::memcpy(to, from, bytes);
    return Status::Ok();
  }
  const sys::cuda::Driver& d = *driver_;
  return Check(d, d.MemcpyDtoH(to, reinterpret_cast<sys::cuda::Address>(from), bytes), "copying");
}

Status Place::Wait(ncclComm_t comm, int stream) {
  if (!on_gpu()) return CheckNccl(ncclTuttiSynchronize(comm), comm, "ncclTuttiSynchronize");
  const sys::cuda::Driver& d = *driver_;
  const std::int64_t deadline = In(kWaitSeconds);
  for (int i = 0;; ++i) {
    const int state = d.StreamQuery(streams_[stream]);
    if (state != sys::cuda::kNotReady) {
      TUTTI_RETURN_IF_ERROR(Check(d, state, "a stream"));
      break;
    }
    if (i % 256 != 255) continue;
    ncclResult_t error = ncclSuccess;
    ncclCommGetAsyncError(comm, &error);
    if (error != ncclSuccess && error != ncclInProgress) return CheckNccl(error, comm, "the communicator");
    if (HostNowNs() > deadline) {
      return Status(Code::kTimeout, fmt::format("a stream is busy after {:.0f} s", kWaitSeconds));
    }
  }
  ncclResult_t error = ncclSuccess;
  ncclCommGetAsyncError(comm, &error);
  return error == ncclInProgress ? Status::Ok() : CheckNccl(error, comm, "the communicator");
}

Status Place::WaitForStream(int stream, double seconds) {
  if (!on_gpu()) return Status::Ok();
  for (const std::int64_t deadline = In(seconds); driver_->StreamQuery(streams_[stream]) == sys::cuda::kNotReady;) {
    if (HostNowNs() > deadline) return Status(Code::kTimeout, fmt::format("a kernel still runs after {} s", seconds));
    std::this_thread::sleep_for(kNap);
  }
  return Status::Ok();
}

Result<sys::cuda::GraphExec> Place::Capture(int stream, const std::function<Status()>& enqueue) {
  const sys::cuda::Driver& d = *driver_;
  sys::cuda::Graph graph = nullptr;
  sys::cuda::GraphExec exec = nullptr;
  TUTTI_RETURN_IF_ERROR(Check(d, d.StreamBeginCapture(streams_[stream], sys::cuda::kThreadLocalCapture), "capturing"));
  const Status called = enqueue();
  const Status ended = Check(d, d.StreamEndCapture(streams_[stream], &graph), "ending a capture");
  Status made = called.ok() ? ended : called;  // what failed says more than the invalid capture that it leaves
  if (made.ok()) made = Check(d, d.GraphInstantiate(&exec, graph, 0), "a graph");
  if (graph != nullptr) d.GraphDestroy(graph);
  if (!made.ok()) return made;
  return exec;
}

Status Place::Replay(sys::cuda::GraphExec graph, int stream) {
  return Check(*driver_, driver_->GraphLaunch(graph, streams_[stream]), "replaying a graph");
}

void Place::Forget(sys::cuda::GraphExec graph) { driver_->GraphExecDestroy(graph); }

Status CheckNccl(ncclResult_t result, ncclComm_t comm, const char* what) {
  for (const std::int64_t deadline = In(kWaitSeconds); result == ncclInProgress && comm != nullptr;) {
    if (HostNowNs() > deadline) return Status(Code::kTimeout, fmt::format("{} is in progress for ever", what));
    std::this_thread::sleep_for(kNap);
    if (const ncclResult_t asked = ncclCommGetAsyncError(comm, &result); asked != ncclSuccess) result = asked;
  }
  if (result == ncclSuccess) return Status::Ok();
  return Status(Code::kInternal, fmt::format("{}: {}: {}", what, ncclGetErrorString(result), ncclGetLastError(comm)));
}

bool RunCase(const std::string& name, const std::string& what, Job& job, int gpus, std::size_t buffer_bytes,
             double seconds, const std::function<Status(int rank, Place& place)>& body) {
  fmt::print("{}: {}\n", name, what);
  std::fflush(stdout);
  const bool good = job.RunProcesses(seconds, [&](int rank) {
    Result<Place> place = Place::Open(rank, gpus, buffer_bytes, 2);
    const Status status = place.ok() ? body(rank, *place) : place.status();
    if (!status.ok()) fmt::print("  rank {}: {}\n", rank, status.message());
    std::fflush(stdout);
    return status.ok();
  });
  fmt::print("{}: {}\n", name, good ? "passed" : "FAILED");
  std::fflush(stdout);
  return good;
}

}  // namespace tutti::tests
