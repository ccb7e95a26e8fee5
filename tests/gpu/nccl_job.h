// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_GPU_NCCL_JOB_H_
#define TUTTI_TESTS_GPU_NCCL_JOB_H_

// Programs that try a libnccl.so.2 through its C interface alone, ours or NVIDIA's: ranks as processes or threads, and
// where each has its buffers.

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nccl.h"
#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti::tests {

// Nanoseconds of a clock that all processes of the host share.
std::int64_t HostNowNs();

// The GPUs that a process would see; asked in a process of its own, so that this one may still fork. 0 without any.
int CountGpus();

// What the ranks of a job share, in memory of all their processes.
class Job {
 public:
  explicit Job(int ranks);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  int ranks() const { return ranks_; }
  // In RunProcesses: the ranks are on so many hosts, as their NCCL_HOSTID says, the first ones on the first.
  void SpreadOver(int hosts) { hosts_ = hosts; }
  int hosts() const { return hosts_; }

  // A fresh id from rank `root`, the same on all ranks that ask for id number `number`.
  Result<ncclUniqueId> ShareId(int rank, int root, int number);
  // A number that rank 0 gives and the others wait for; each `number` once.
  Result<int> Decide(int rank, int number, int decision);
  // Until `ranks` ranks have come so often as this one.
  Status Meet(int ranks, std::atomic<int>& count, int times);

  std::atomic<int>& arrived() { return shared_->arrived; }
  std::atomic<std::int64_t>& mark_ns() { return shared_->mark_ns; }  // when the fault of a test happened; 0 before
  std::atomic<std::int64_t>& cases() { return shared_->cases; }
  std::atomic<std::int64_t>& wrong() { return shared_->wrong; }

  // Runs `body` on all ranks, each a process; true where all returned true. Ends those that are left after `seconds`.
  bool RunProcesses(double seconds, const std::function<bool(int rank)>& body);
  // The same with threads of this process; where they do not end in time the process does.
  bool RunThreads(double seconds, const std::function<bool(int rank)>& body);

  // In RunProcesses: this rank's end by SIGKILL counts as success.
  void ExpectKilled(int rank) { shared_->killed = rank; }

 private:
  struct Shared;
  struct Slot {
    std::atomic<int> ready;
    int decision;
    ncclUniqueId id;
  };
  struct Shared {
    std::atomic<int> arrived;
    std::atomic<std::int64_t> mark_ns, cases, wrong;
    std::atomic<int> killed;
    Slot ids[4096];
    Slot decisions[1 << 16];
  };
  Status Await(const Slot& slot, const char* what) const;

  int ranks_;
  int hosts_ = 1;
  Shared* shared_;
};

// A rank's GPU or, without one, host memory; its streams, and buffers of one size.
class Place {
 public:
  // GPU rank % GPUs. `gpus` 0: host memory.
  static Result<Place> Open(int rank, int gpus, std::size_t buffer_bytes, int buffers);
  Place(Place&& other) noexcept;
  Place& operator=(Place&&) = delete;
  ~Place();

  static constexpr int kStreams = 4;
  bool on_gpu() const { return driver_ != nullptr; }
  std::byte* buffer(int i) const { return buffers_[static_cast<std::size_t>(i)]; }
  std::size_t buffer_bytes() const { return buffer_bytes_; }
  // NULL on host memory.
  cudaStream_t stream(int i) const { return reinterpret_cast<cudaStream_t>(streams_[i]); }

  Status CopyIn(std::byte* to, const void* from, std::size_t bytes);
  Status CopyOut(void* to, const std::byte* from, std::size_t bytes);

  // Until all that was called has ended, or a communicator's failure, or kWaitSeconds.
  Status Wait(ncclComm_t comm, int stream);
  // Until the stream is idle, whatever the communicators say.
  Status WaitForStream(int stream, double seconds);

  // GPU only: what `enqueue` calls, as a graph.
  Result<sys::cuda::GraphExec> Capture(int stream, const std::function<Status()>& enqueue);
  Status Replay(sys::cuda::GraphExec graph, int stream);
  void Forget(sys::cuda::GraphExec graph);

 private:
  Place() = default;
  const sys::cuda::Driver* driver_ = nullptr;
  sys::cuda::PrimaryContext context_;
  std::array<sys::cuda::Stream, kStreams> streams_{};
  std::vector<std::byte*> buffers_;
  std::size_t buffer_bytes_ = 0;
};

// Runs one case of a test on all ranks, as processes with a place each that has two buffers, and prints its name, what is wrong, and whether
// it passed.
bool RunCase(const std::string& name, const std::string& what, Job& job, int gpus, std::size_t buffer_bytes,
             double seconds, const std::function<Status(int rank, Place& place)>& body);

// How long a rank waits for others before it gives up, seconds.
inline constexpr double kWaitSeconds = 60;

// Ok, or what a call returned with the library's sentence. Waits for a communicator that is not blocking.
Status CheckNccl(ncclResult_t result, ncclComm_t comm, const char* what);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_GPU_NCCL_JOB_H_
