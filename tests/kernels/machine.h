// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_KERNELS_MACHINE_H_
#define TUTTI_TESTS_KERNELS_MACHINE_H_

// GPUs for kernels that are compiled for the host (exec/gpu/device/primitives_host.h). Every thread of every block of every
// rank is a fibre; one goes on until it waits, or is stopped at an access to memory that others see. Who goes on, who is
// late and when stores arrive follows from a seed, so a failure can be repeated.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exec/gpu/device/primitives.cuh"
#include "tests/kernels/fibre.h"
#include "tests/kernels/memory.h"
#include "tests/kernels/random.h"

namespace tutti::tests {

// What a seed decides about a run. Each "one in n": 0 is never.
struct Manners {
  explicit Manners(Random& random);

  int preempt_one_of;        // accesses to shared memory after which another thread goes on
  int deliver_one_of;        // turns after which stores arrive; 0: only when nobody can go on without
  int old_one_of;            // loads that find what was there before
  int wake_one_of;           // turns after which a rank's waiting threads look again
  std::uint32_t queue_most;  // stores that a block has on their way
  bool by_priority;          // of ranks, blocks and warps, else all alike
  int reorder_one_of;        // turns after which priorities change
  bool whole_warps;          // a warp's threads go on in turn, else one of them
};

class Machine {
 public:
  Machine(int ranks, std::size_t segment_bytes);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  int ranks() const { return ranks_; }
  std::byte* segment(int rank) const { return memory_.segment(rank); }

  // Makes a kernel known; false where the name is. Before main().
  static bool Register(const char* kernel, exec::gpu::host::Kernel function);
  // Whether this program has a kernel of that name.
  static bool Has(std::string_view kernel);
  // Puts a kernel into a rank's stream. False: there is no such kernel in this program.
  template <typename Argument>
  [[nodiscard]] bool Launch(int rank, std::string_view kernel, const Argument& argument, int blocks, int threads) {
    return Launch(rank, kernel, &argument, sizeof(argument), blocks, threads);
  }

  // Takes back what has been launched and not been run.
  void Forget();
  // What ranks have stored in each other's memory is gone.
  void ResetMemory() { memory_.Reset(); }

  // Whether time passes where nobody can go on, so that kernels give up; else that is an error.
  enum class Stuck : std::uint8_t { kIsAnError, kTakesTime };
  // Runs all streams to their end. "": all is well, else who waits where. An error plants itself where `plant` says.
  std::string Run(std::uint64_t seed, exec::gpu::Plant plant = exec::gpu::Plant::kNone,
                  Stuck stuck = Stuck::kIsAnError);

 private:
  friend struct Primitives;
  struct Block;
  struct Warp;
  enum class State : std::uint8_t { kReady, kPaused, kAtBarrier, kMeets, kEnded };
  struct Thread {
    Fibre fibre;
    Block* block = nullptr;
    Warp* warp = nullptr;
    unsigned index = 0;
    State state = State::kEnded;
    View view;
    int what = 0, step = 0, peer = -1;  // kPaused; peer -1: in the block's own memory
    std::uint32_t barrier = 0;          // kAtBarrier
  };
  enum class Meeting : std::uint8_t { kNone, kAll, kAny, kLeast, kBarrier, kStore, kLoad };
  struct Lane {
    Thread* thread = nullptr;
    std::uint32_t value = 0;
    std::byte* at = nullptr;
    exec::gpu::Pack<4> data{};
  };
  struct Warp {
    Block* block = nullptr;
    std::array<Lane, 32> lanes;
    Meeting meeting = Meeting::kNone;
    int arrived = 0;
    std::uint32_t result = 0;
    std::uint64_t priority = 0;
    std::vector<Thread*> ready;
    std::size_t place = kNowhere;  // in ready_
  };
  struct NamedBarrier {
    std::uint32_t threads = 0;
    std::uint64_t delivered = 0;
    std::vector<Thread*> waiting;
  };
  struct Block {
    explicit Block(int rank) : stores(rank) {}
    int rank() const { return stores.rank(); }
    unsigned index = 0, threads = 0, blocks = 0;
    std::uint64_t priority = 0;
    StoreQueue stores;
    std::deque<Warp> warps;
    std::array<NamedBarrier, 16> barriers;
    std::map<const void*, std::unique_ptr<std::byte[]>> shared;
  };
  struct Start {
    exec::gpu::host::Kernel kernel;
    std::shared_ptr<std::byte[]> argument;
    int blocks, threads;
  };
  struct Stream {
    std::deque<Start> starts;
    std::vector<std::unique_ptr<Block>> blocks;  // of the kernel that runs, or ran last
    std::size_t running = 0;                     // threads
    std::vector<Thread*> paused;
    bool changed = false;  // what its threads wait for may have come
    std::uint64_t priority = 0;
  };
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  bool Launch(int rank, std::string_view kernel, const void* argument, std::size_t bytes, int blocks, int threads);
  void StartGrids();
  void StartGrid(int rank);
  Thread* NewThread();
  void SetPriorities();
  Warp* Choose();
  void Turn(Warp& warp);
  void Resume(Thread& thread);
  void MakeReady(Thread& thread);
  void NotReady(Warp& warp);
  void Wake(Stream& stream);
  void WakeChanged();
  bool DeliverOne();
  // What is done when nobody can go on. False: there is nothing to be done.
  bool Unblock();
  bool IsDone() const;
  std::string Describe() const;
  std::string DescribeBlock(const Block& block) const;
  void Fail(std::string what);

  // Of the thread that runs:
  void Stop(State state);
  void MaybePreempt();
  Lane& LaneOfThread();
  void MeetAs(Meeting meeting);
  void EndMeeting(Warp& warp);
  int OldOneOf() const;
  void StoreLines(Warp& warp);
  void LoadLines(Warp& warp);

  static inline Machine* running_ = nullptr;

  const int ranks_;
  Random random_{0};
  Memory memory_;
  std::unique_ptr<Manners> manners_;
  exec::gpu::Plant plant_ = exec::gpu::Plant::kNone;
  Stuck stuck_ = Stuck::kIsAnError;
  std::vector<Stream> streams_;
  std::vector<Warp*> ready_;
  std::deque<Thread> threads_;
  std::vector<Thread*> free_;
  Thread* thread_ = nullptr;
  std::uint64_t turns_ = 0, progress_ = 0, seen_progress_ = 0, time_ns_ = 0;
  int idle_ = 0;
  std::string error_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_KERNELS_MACHINE_H_
