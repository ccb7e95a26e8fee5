// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What kernels call where they run on a machine of tests: exec/gpu/device/primitives_host.h.
#include "exec/gpu/device/primitives_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "exec/gpu/format/program.h"
#include "tests/kernels/machine.h"

namespace tutti::tests {

namespace gpu = exec::gpu;

// What kernels call.
struct Primitives {
  static Machine& M() { return *Machine::running_; }
  static Machine::Thread& Self() { return *M().thread_; }

  static void Store(void* at, const void* data, std::uint32_t bytes) {
    Machine& m = M();
    if (m.memory_.RankAt(at) < 0) {
      m.Fail(fmt::format("rank {}, block {}: a store beyond the ranks' memory", Self().block->rank(),
                         Self().block->index));
      return m.Stop(Machine::State::kPaused);
    }
    m.memory_.Store(Self().block->stores, Self().view, Self().index, at, data, bytes);
    m.MaybePreempt();
  }
  static std::uint64_t Load(const void* at, gpu::host::Order order, std::uint32_t bytes) {
    Machine& m = M();
    m.MaybePreempt();
    std::uint64_t value = 0;
    if (m.memory_.RankAt(at) != Self().block->rank()) {
      m.Fail("a load from another rank's memory");
      m.Stop(Machine::State::kPaused);
    }
    const bool acquires = order == gpu::host::Order::kAcquire;
    m.memory_.Load(Self().view, at, &value, bytes, acquires ? 0 : m.OldOneOf());
    Memory::LoadOwn(Self().block->stores, Self().index, at, &value, bytes);
    if (acquires) m.memory_.Acquire(Self().view);
    return value;
  }
  // A vote's result stays until the warp's threads have all voted again.
  static std::uint32_t Meet(gpu::host::Vote vote, std::uint32_t value) {
    const Machine::Warp& warp = *Self().warp;
    M().LaneOfThread().value = value;
    M().MeetAs(vote == gpu::host::Vote::kAll   ? Machine::Meeting::kAll
               : vote == gpu::host::Vote::kAny ? Machine::Meeting::kAny
                                               : Machine::Meeting::kLeast);
    return warp.result;
  }
  static void MeetWarp() { M().MeetAs(Machine::Meeting::kBarrier); }
  static void StoreLine(void* at, const gpu::Pack<4>& v) {
    Machine::Lane& lane = M().LaneOfThread();
    lane.at = static_cast<std::byte*>(at);
    lane.data = v;
    M().MeetAs(Machine::Meeting::kStore);
  }
  static gpu::Pack<4> LoadLine(const void* at) {
    Machine::Lane& lane = M().LaneOfThread();
    lane.at = static_cast<std::byte*>(const_cast<void*>(at));
    M().MeetAs(Machine::Meeting::kLoad);
    return lane.data;
  }
  static void Barrier(std::uint32_t number, std::uint32_t threads) {
    Machine& m = M();
    Machine::NamedBarrier& barrier = Self().block->barriers[number];
    if (!barrier.waiting.empty() && barrier.threads != threads) m.Fail("threads disagree how many meet at a barrier");
    barrier.threads = threads;
    barrier.waiting.push_back(&Self());
    barrier.delivered = std::max(barrier.delivered, Self().view.delivered);
    Self().barrier = number;
    if (barrier.waiting.size() < threads) return m.Stop(Machine::State::kAtBarrier);
    for (Machine::Thread* thread : barrier.waiting) {
      m.memory_.Meet(thread->view);
      thread->view.delivered = barrier.delivered;
      if (thread != &Self()) m.MakeReady(*thread);
    }
    barrier.waiting.clear();
    barrier.delivered = 0;
    ++m.progress_;
  }
  static void* SharedVariable(const void* key, std::size_t bytes) {
    std::unique_ptr<std::byte[]>& memory = Self().block->shared[key];
    if (memory == nullptr) {
      memory = std::make_unique<std::byte[]>(bytes);
      for (std::size_t i = 0; i < bytes; ++i) memory[i] = static_cast<std::byte>(M().random_.Next());
    }
    return memory.get();
  }
  static void Post(std::uint32_t* count, std::uint32_t value) {
    Machine& m = M();
    *count = value;
    ++m.progress_;
    m.streams_[static_cast<std::size_t>(Self().block->rank())].changed = true;
    m.MaybePreempt();
  }
  static std::uint32_t Posted(const std::uint32_t* count) {
    Machine& m = M();
    m.MaybePreempt();
    m.memory_.Meet(Self().view);
    return *count;
  }
  static void Pause(int what, int step, int peer) {
    Machine& m = M();
    Self().what = what;
    Self().step = step;
    Self().peer = peer;
    m.streams_[static_cast<std::size_t>(Self().block->rank())].paused.push_back(&Self());
    m.Stop(Machine::State::kPaused);
  }
  static std::uint64_t Nanoseconds() { return M().time_ns_ + M().turns_; }
  static void Fence() { M().memory_.Fence(Self().view); }
  static bool IsPlanted(gpu::Plant plant) { return M().plant_ == plant; }
};

}  // namespace tutti::tests

namespace tutti::exec::gpu {

using tests::Primitives;

Index threadIdx, blockIdx, blockDim, gridDim;

namespace host {

void Store(void* at, const void* data, u32 bytes) { Primitives::Store(at, data, bytes); }
u64 Load(const void* at, Order order, u32 bytes) { return Primitives::Load(at, order, bytes); }
void StoreLine(void* at, const Pack<4>& v) { Primitives::StoreLine(at, v); }
Pack<4> LoadLine(const void* at) { return Primitives::LoadLine(at); }
void Fence() { Primitives::Fence(); }
u32 Meet(Vote vote, u32 value) { return Primitives::Meet(vote, value); }
void MeetWarp() { Primitives::MeetWarp(); }
void Barrier(u32 number, u32 threads) { Primitives::Barrier(number, threads); }
void* SharedVariable(const void* key, std::size_t bytes) { return Primitives::SharedVariable(key, bytes); }
void Post(u32* count, u32 value) { Primitives::Post(count, value); }
u32 Posted(const u32* count) { return Primitives::Posted(count); }
void Pause(int what, int step, int peer) { Primitives::Pause(what, step, peer); }
void Sleep() { Primitives::Pause(kWaitedForData, 0, -1); }
u64 Nanoseconds() { return Primitives::Nanoseconds(); }
bool IsPlanted(Plant plant) { return Primitives::IsPlanted(plant); }
bool Register(const char* name, Kernel kernel) { return tests::Machine::Register(name, kernel); }

}  // namespace host
}  // namespace tutti::exec::gpu
