// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_PROGRESS_H_
#define TUTTI_COMM_HOST_PROGRESS_H_

// The thread that moves operations on whose callers stay away. One for the process, so that hundreds of communicators
// cost one thread, and one wake-up serves all.
//
// It starts with the first operation that is left unfinished. While nothing is unfinished it sleeps, and costs nothing.
// While callers come back by themselves it looks after kFirstNapNs, then after twice that, up to kLongestNapNs. A queue
// that nobody has visited between two looks gets its full attention until its operations have ended: it polls, then
// yields its core, then naps, as a waiting caller would.
//
// Fork: a child has no such thread; its first need makes a new one, and the parent's is forgotten. Exit: the thread
// uses nothing that the end of a process takes down, and is never joined.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tutti::comm {

class Progress {
 public:
  // What the thread serves. Threads: Look and Tend are called by it alone; idle by any.
  class Task {
   public:
    enum class Need : std::uint8_t {
      kNothing,   // nothing is unfinished
      kCaller,    // the caller has been here since the last look
      kAttention  // unfinished and left alone
    };
    virtual Need Look() = 0;
    // Moves on what is unfinished, looks at peers and clock. Returns whether something moved.
    virtual bool Tend() = 0;
    virtual bool idle() const = 0;
    // Whether the thread knows of it.
    bool listed() const { return listed_.load(std::memory_order_seq_cst); }

   protected:
    ~Task() = default;

   private:
    friend class Progress;
    std::atomic<bool> listed_{false};
  };

  static constexpr std::int64_t kFirstNapNs = 50'000;
  static constexpr std::int64_t kLongestNapNs = 1'000'000;

  // This process's. Any thread.
  static Progress& Get();

  // Serves `task` until it has been idle for a while. Costs a wake-up where the thread sleeps.
  void Add(const std::shared_ptr<Task>& task);
  // Forgets it at once.
  void Remove(Task& task);

 private:
  explicit Progress(std::uint32_t generation) : generation_(generation) {}
  void Start();
  [[noreturn]] void Run();
  // Looks at every task; those left alone are in alone_ afterwards. False where there is no task at all.
  bool LookAtAll();
  // Serves the tasks of alone_ until none is left alone.
  void TendAlone();

  const std::uint32_t generation_;  // of the process that runs it (sys/os/fork.h)
  std::mutex mutex_;
  std::vector<std::shared_ptr<Task>> tasks_;  // guarded by mutex_
  bool started_ = false;                      // guarded by mutex_
  std::atomic<std::uint32_t> calls_{0};       // what the thread sleeps on; changes when a task is added
  std::atomic<bool> asleep_{false};
  std::vector<std::shared_ptr<Task>> alone_;  // the thread's own
  std::int64_t idle_since_ns_ = 0;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_PROGRESS_H_
