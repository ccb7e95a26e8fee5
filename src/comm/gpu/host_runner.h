// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_HOST_RUNNER_H_
#define TUTTI_COMM_GPU_HOST_RUNNER_H_

// Runs pieces of operations in host memory when a stream says that what they read is there, and tells the stream when they have
// run. Stream and thread wait for each other's words in memory, so nothing is asked of the driver meanwhile, and a graph that
// holds what the stream does may be replayed.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/gpu/host_pieces.h"
#include "comm/gpu/program_calls.h"
#include "comm/gpu/runner_communicator.h"
#include "tutti/status.h"

namespace tutti::sys {
class Thread;
}

namespace tutti::comm {

// Each is written by one side. A stream, or a kernel in it, writes `ready`, in the order of its operations, and the thread `done`.
struct HostRunnerWords {
  // Of pieces that were enqueued: how many, modulo 2^32.
  alignas(64) std::uint32_t ready;
  alignas(64) std::uint32_t done;
  // Of a captured call: its number, and below that the pieces of it (CapturedReady); how many of the call that runs now, which
  // the stream sets to 0 at its beginning.
  alignas(64) std::uint64_t captured_ready;
  alignas(64) std::uint32_t captured_done;
};
constexpr std::uint64_t CapturedReady(std::uint32_t call, std::uint32_t pieces) {
  return std::uint64_t{call} << 32 | pieces;
}

class HostRunner {
 public:
  // A piece, the host memory that its operations work on, and which communicator they run over.
  struct Placed {
    std::vector<HostOperation> operations;
    std::byte* memory = nullptr;
    std::size_t communicator = 0;
    ProgramCalls calls;  // that it is a piece of
  };
  struct Options {
    std::vector<RunnerCommunicator> communicators;  // the runner's own
    HostRunnerWords* words = nullptr;
    std::int64_t spin_ns = 0;                   // how long it polls before it gives the core away
    std::function<void(const Status&)> broken;  // called once, by the thread: a piece has failed
  };
  static Result<std::unique_ptr<HostRunner>> Start(Options options);
  // Ends the thread. REQUIRES: AwaitIdle said yes, or Release was called.
  ~HostRunner();
  HostRunner(const HostRunner&) = delete;
  HostRunner& operator=(const HostRunner&) = delete;

  // A piece that a stream is about to make ready. Its number: what `ready` and `done` reach.
  std::uint32_t Add(Placed piece);
  // All pieces of a captured call, which may be replayed any number of times. Its number; those of its pieces begin at 1.
  std::uint32_t AddCaptured(std::vector<Placed> pieces);
  // The communicator is broken: ends what runs, and lets streams go, now and whenever they wait. Any thread.
  void Release(const std::string& why);
  // Writes down in the black boxes of its communicators in which call of the program they wait. `whole`: the program's black box. Waits for
  // nobody. Threads: one at a time, beside the others.
  void NoteCalls(const trace::View& whole);
  // Waits until all that was added has run, captured calls apart; false where that has not happened after `timeout_ns`.
  bool AwaitIdle(std::int64_t timeout_ns);

 private:
  explicit HostRunner(Options options);
  void Run();
  bool RunNext();
  bool RunCaptured();
  void RunPiece(const Placed& piece);
  void LetStreamsGo();
  void Pause();

  Options options_;
  std::vector<Operation> placed_;  // of the piece that runs

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<Placed> pieces_;  // that have not run
  std::uint32_t added_ = 0;
  std::vector<std::unique_ptr<const std::vector<Placed>>> calls_;
  std::int64_t active_ns_ = 0;  // when there was something to do last
  struct Running {
    std::size_t communicator = 0;
    ProgramCalls calls;
  };
  std::optional<Running> running_;
  bool stop_ = false, released_ = false;

  std::uint32_t ran_ = 0;           // of pieces_, by the thread
  std::uint32_t ran_captured_ = 0;  // of the captured call that runs
  std::unique_ptr<sys::Thread> thread_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_HOST_RUNNER_H_
