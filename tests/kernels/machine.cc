// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "exec/gpu/format/program.h"

namespace tutti::tests {

namespace gpu = exec::gpu;

namespace {

constexpr std::size_t kLanes = 32;

std::map<std::string, gpu::host::Kernel, std::less<>>& Kernels() {
  static std::map<std::string, gpu::host::Kernel, std::less<>> kernels;
  return kernels;
}

int OneOf(Random& random, std::initializer_list<int> values) { return *(values.begin() + random.Below(values.size())); }

}  // namespace

Manners::Manners(Random& random)
    : preempt_one_of(OneOf(random, {0, 128, 16, 4})),
      deliver_one_of(OneOf(random, {0, 1, 4, 64})),
      old_one_of(OneOf(random, {0, 16, 4})),
      wake_one_of(OneOf(random, {1, 8, 64})),
      queue_most(static_cast<std::uint32_t>(OneOf(random, {16, 128, 512}))),
      by_priority(random.OneOf(2)),
      reorder_one_of(OneOf(random, {0, 50, 1000})),
      whole_warps(random.OneOf(2)) {}

Machine::Machine(int ranks, std::size_t segment_bytes)
    : ranks_(ranks), memory_(ranks, segment_bytes, random_), streams_(static_cast<std::size_t>(ranks)) {}

Machine::~Machine() = default;

bool Machine::Register(const char* kernel, gpu::host::Kernel function) {
  return Kernels().emplace(kernel, function).second;
}

bool Machine::Has(std::string_view kernel) { return Kernels().contains(kernel); }

bool Machine::Launch(int rank, std::string_view kernel, const void* argument, std::size_t bytes, int blocks,
                     int threads) {
  const auto found = Kernels().find(kernel);
  if (found == Kernels().end() || threads % static_cast<int>(kLanes) != 0) return false;
  std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
  std::memcpy(copy.get(), argument, bytes);
  streams_[static_cast<std::size_t>(rank)].starts.push_back({found->second, std::move(copy), blocks, threads});
  return true;
}

void Machine::Forget() {
  for (Stream& stream : streams_) stream.starts.clear();
}

std::string Machine::Run(std::uint64_t seed, gpu::Plant plant, Stuck stuck) {
  random_ = Random(seed);
  manners_ = std::make_unique<Manners>(random_);
  plant_ = plant;
  stuck_ = stuck;
  error_.clear();
  idle_ = 0;
  ready_.clear();
  free_.clear();
  for (Thread& thread : threads_) free_.push_back(&thread);
  for (Stream& stream : streams_) {
    stream.blocks.clear();
    stream.paused.clear();
    stream.running = 0;
  }
  running_ = this;
  SetPriorities();
  while (error_.empty()) {
    StartGrids();
    if (Warp* warp = Choose(); warp != nullptr) {
      Turn(*warp);
    } else if (!Unblock()) {
      break;
    }
  }
  running_ = nullptr;
  if (error_.empty() && !IsDone()) error_ = "nobody can go on:" + Describe();
  for (Stream& stream : streams_) {
    for (const auto& block : stream.blocks) memory_.DeliverAll(block->stores);
  }
  Forget();
  return error_;
}

void Machine::StartGrids() {
  for (int rank = 0; rank < ranks_; ++rank) {
    const Stream& stream = streams_[static_cast<std::size_t>(rank)];
    if (stream.running == 0 && !stream.starts.empty()) StartGrid(rank);
  }
}

// What a kernel has stored arrives before the stream's next one begins.
void Machine::StartGrid(int rank) {
  Stream& stream = streams_[static_cast<std::size_t>(rank)];
  for (const auto& block : stream.blocks) memory_.DeliverAll(block->stores);
  stream.blocks.clear();
  for (Stream& other : streams_) other.changed = true;
  const Start start = std::move(stream.starts.front());
  stream.starts.pop_front();
  for (int b = 0; b < start.blocks; ++b) {
    Block& block = *stream.blocks.emplace_back(std::make_unique<Block>(rank));
    block.index = static_cast<unsigned>(b);
    block.threads = static_cast<unsigned>(start.threads);
    block.blocks = static_cast<unsigned>(start.blocks);
    block.priority = random_.Next() >> 44;
    for (int t = 0; t < start.threads; ++t) {
      const std::size_t lane = static_cast<std::size_t>(t) % kLanes;
      if (lane == 0) {
        block.warps.emplace_back().block = &block;
        block.warps.back().priority = random_.Next() >> 44;
      }
      Thread& thread = *NewThread();
      thread.block = &block;
      thread.warp = &block.warps.back();
      thread.index = static_cast<unsigned>(t);
      thread.view = {};
      memory_.Acquire(thread.view);
      thread.warp->lanes[lane].thread = &thread;
      thread.fibre.Start([start] { start.kernel(start.argument.get()); });
      ++stream.running;
      MakeReady(thread);
    }
  }
}

Machine::Thread* Machine::NewThread() {
  if (free_.empty()) return &threads_.emplace_back();
  Thread* thread = free_.back();
  free_.pop_back();
  return thread;
}

void Machine::SetPriorities() {
  for (Stream& stream : streams_) {
    stream.priority = random_.Next() >> 44;
    for (const auto& block : stream.blocks) {
      block->priority = random_.Next() >> 44;
      for (Warp& warp : block->warps) warp.priority = random_.Next() >> 44;
    }
  }
}

Machine::Warp* Machine::Choose() {
  if (ready_.empty()) return nullptr;
  if (!manners_->by_priority) return ready_[random_.Below(ready_.size())];
  const auto priority = [&](const Warp* warp) {
    return (streams_[static_cast<std::size_t>(warp->block->rank())].priority << 40) + (warp->block->priority << 20) +
           warp->priority;
  };
  return *std::ranges::max_element(ready_, {}, priority);
}

void Machine::Turn(Warp& warp) {
  ++turns_;
  std::vector<Thread*> threads;
  if (manners_->whole_warps) {
    threads.swap(warp.ready);
    for (std::size_t i = threads.size(); i > 1; --i) std::swap(threads[i - 1], threads[random_.Below(i)]);
  } else {
    const std::size_t which = random_.Below(warp.ready.size());
    threads.push_back(warp.ready[which]);
    warp.ready[which] = warp.ready.back();
    warp.ready.pop_back();
  }
  if (warp.ready.empty()) NotReady(warp);
  StoreQueue& stores = warp.block->stores;
  for (Thread* thread : threads) {
    Resume(*thread);
    if (!error_.empty()) return;
    while (stores.size() > manners_->queue_most) DeliverOne();
  }
  if (random_.OneOf(manners_->deliver_one_of)) {
    for (std::uint32_t left = random_.Below(64) + 1; left > 0 && DeliverOne(); --left) {
    }
  }
  if (random_.OneOf(manners_->wake_one_of)) WakeChanged();
  if (random_.OneOf(manners_->reorder_one_of)) SetPriorities();
}

void Machine::Resume(Thread& thread) {
  thread_ = &thread;
  gpu::threadIdx.x = thread.index;
  gpu::blockIdx.x = thread.block->index;
  gpu::blockDim.x = thread.block->threads;
  gpu::gridDim.x = thread.block->blocks;
  thread.fibre.Resume();
  thread_ = nullptr;
  if (!thread.fibre.ended()) return;
  if (thread.fibre.overflowed()) Fail("a thread's stack is too small");
  thread.state = State::kEnded;
  Stream& stream = streams_[static_cast<std::size_t>(thread.block->rank())];
  --stream.running;
  ++progress_;
  free_.push_back(&thread);
}

void Machine::MakeReady(Thread& thread) {
  thread.state = State::kReady;
  Warp& warp = *thread.warp;
  warp.ready.push_back(&thread);
  if (warp.place != kNowhere) return;
  warp.place = ready_.size();
  ready_.push_back(&warp);
}

void Machine::NotReady(Warp& warp) {
  ready_[warp.place] = ready_.back();
  ready_[warp.place]->place = warp.place;
  ready_.pop_back();
  warp.place = kNowhere;
}

void Machine::Wake(Stream& stream) {
  stream.changed = false;
  for (Thread* thread : stream.paused) MakeReady(*thread);
  stream.paused.clear();
}

void Machine::WakeChanged() {
  for (Stream& stream : streams_) {
    if (stream.changed) Wake(stream);
  }
}

bool Machine::DeliverOne() {
  StoreQueue* chosen = nullptr;
  std::uint32_t seen = 0;
  for (Stream& stream : streams_) {
    for (const auto& block : stream.blocks) {
      if (!block->stores.empty() && random_.Below(++seen) == 0) chosen = &block->stores;
    }
  }
  if (chosen == nullptr) return false;
  streams_[static_cast<std::size_t>(memory_.Deliver(*chosen))].changed = true;
  ++progress_;
  return true;
}

bool Machine::Unblock() {
  // Each thread that waits looks again at once; a warp's threads need some turns to agree that they go on waiting.
  constexpr int kLooks = 16;
  std::uint32_t left = 1u << random_.Below(7);
  while (left > 0 && DeliverOne()) --left;
  if (progress_ != seen_progress_) idle_ = 0;
  seen_progress_ = progress_;
  if (left == 0) {
    WakeChanged();
    if (!ready_.empty()) return true;
  }
  bool waits = false;
  for (Stream& stream : streams_) {
    waits = waits || !stream.paused.empty();
    if (!stream.paused.empty()) Wake(stream);
  }
  if (!waits) return left == 0;
  if (++idle_ <= kLooks) return true;
  if (stuck_ == Stuck::kIsAnError) return false;
  constexpr std::uint64_t kPassingNs = 1'000'000'000;
  constexpr int kPatience = 100'000;
  time_ns_ += kPassingNs;
  return idle_ <= kPatience;
}

bool Machine::IsDone() const {
  return std::ranges::all_of(streams_,
                             [](const Stream& stream) { return stream.running == 0 && stream.starts.empty(); });
}

void Machine::Fail(std::string what) {
  if (error_.empty()) error_ = std::move(what);
}

std::string Machine::Describe() const {
  std::string text;
  for (const Stream& stream : streams_) {
    for (const auto& block : stream.blocks) text += DescribeBlock(*block);
  }
  return text;
}

std::string Machine::DescribeBlock(const Block& block) const {
  std::map<std::string, int> waits;
  for (const Warp& warp : block.warps) {
    for (const Lane& lane : warp.lanes) {
      const Thread& thread = *lane.thread;
      if (thread.block != &block) continue;
      if (thread.state == State::kAtBarrier) {
        const NamedBarrier& barrier = block.barriers[thread.barrier];
        ++waits[fmt::format("at barrier {} of {} threads", thread.barrier, barrier.threads)];
      } else if (thread.state == State::kMeets) {
        ++waits["for the rest of the warp"];
      } else if (thread.state != State::kEnded) {
        ++waits[thread.peer < 0 ? std::string("for a count in the block's memory")
                                : fmt::format("for {} rank {} at step {}",
                                              thread.what == gpu::kWaitedForRoom ? "room at" : "data from", thread.peer,
                                              thread.step)];
      }
    }
  }
  std::string text;
  for (const auto& [what, threads] : waits) {
    text += fmt::format("\n  rank {}, block {}: {} threads wait {}", block.rank(), block.index, threads, what);
  }
  return text;
}

void Machine::Stop(State state) {
  thread_->state = state;
  Fibre::Yield();
}

void Machine::MaybePreempt() {
  if (!random_.OneOf(manners_->preempt_one_of)) return;
  MakeReady(*thread_);
  Fibre::Yield();
}

Machine::Lane& Machine::LaneOfThread() { return thread_->warp->lanes[thread_->index % kLanes]; }

void Machine::MeetAs(Meeting meeting) {
  Warp& warp = *thread_->warp;
  if (warp.arrived > 0 && warp.meeting != meeting) {
    Fail(fmt::format("rank {}, block {}: threads of a warp do different things together", thread_->block->rank(),
                     thread_->block->index));
    Stop(State::kMeets);
  }
  warp.meeting = meeting;
  if (static_cast<std::size_t>(++warp.arrived) < kLanes) return Stop(State::kMeets);
  warp.arrived = 0;
  EndMeeting(warp);
  for (const Lane& lane : warp.lanes) {
    if (lane.thread != thread_) MakeReady(*lane.thread);
  }
}

void Machine::EndMeeting(Warp& warp) {
  const auto value = [](const Lane& lane) { return lane.value; };
  switch (warp.meeting) {
    case Meeting::kAll:
    case Meeting::kLeast:
      warp.result = std::ranges::min(warp.lanes, {}, value).value;
      break;
    case Meeting::kAny:
      warp.result = std::ranges::max(warp.lanes, {}, value).value;
      break;
    case Meeting::kBarrier: {
      std::uint64_t delivered = 0;
      for (const Lane& lane : warp.lanes) delivered = std::max(delivered, lane.thread->view.delivered);
      for (const Lane& lane : warp.lanes) {
        memory_.Meet(lane.thread->view);
        lane.thread->view.delivered = delivered;
      }
      break;
    }
    case Meeting::kStore:
      StoreLines(warp);
      break;
    case Meeting::kLoad:
      LoadLines(warp);
      break;
    case Meeting::kNone:
      break;
  }
}

// What has arrived is seen at last.
int Machine::OldOneOf() const { return idle_ > 1 ? 0 : manners_->old_one_of; }

constexpr std::size_t kLineLanes = 8;
constexpr std::uint32_t kLineBytes = 128;

void Machine::StoreLines(Warp& warp) {
  for (std::size_t first = 0; first < kLanes; first += kLineLanes) {
    std::byte line[kLineBytes];
    std::byte* at = warp.lanes[first].at;
    for (std::size_t i = 0; i < kLineLanes; ++i) {
      const Lane& lane = warp.lanes[first + i];
      if (lane.at != at + 16 * i) return Fail("a warp's threads do not store lines");
      std::memcpy(line + 16 * i, lane.data.w, 16);
    }
    const bool aligned = reinterpret_cast<std::uintptr_t>(at) % kLineBytes == 0;
    if (!aligned || memory_.RankAt(at) < 0) return Fail("a line is stored where there is none");
    memory_.Store(warp.block->stores, thread_->view, thread_->index, at, line, kLineBytes);
  }
}

void Machine::LoadLines(Warp& warp) {
  std::uint64_t delivered = 0;
  for (const Lane& lane : warp.lanes) delivered = std::max(delivered, lane.thread->view.delivered);
  const View view{.delivered = delivered};
  for (std::size_t first = 0; first < kLanes; first += kLineLanes) {
    std::byte line[kLineBytes];
    if (memory_.RankAt(warp.lanes[first].at) < 0) return Fail("a line is loaded where there is none");
    memory_.Load(view, warp.lanes[first].at, line, kLineBytes, OldOneOf());
    for (std::size_t i = 0; i < kLineLanes; ++i) std::memcpy(warp.lanes[first + i].data.w, line + 16 * i, 16);
  }
}

}  // namespace tutti::tests
