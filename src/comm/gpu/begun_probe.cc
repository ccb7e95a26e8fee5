// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/begun_probe.h"

#include <atomic>

#include "comm/gpu/words.h"
#include "sys/log/thread_name.h"
#include "sys/os/clock.h"
#include "sys/os/thread.h"
#include "transport/p2p/segment.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kPauseNs = sys::kNsPerMs;
// How long an answer is waited for.
constexpr std::int64_t kPatienceNs = 10 * sys::kNsPerSecond;

}  // namespace

struct BegunProbe::State {
  std::atomic<bool> busy{false};
  std::atomic<std::uint32_t> round{0};  // answers to questions of earlier rounds are forgotten
  std::atomic<std::uint64_t> begun{0};
};

BegunProbe::BegunProbe() : state_(std::make_shared<State>()) {}
BegunProbe::~BegunProbe() = default;

std::uint64_t BegunProbe::begun() const { return state_->begun.load(std::memory_order_acquire); }

void BegunProbe::Forget() {
  state_->round.fetch_add(1, std::memory_order_relaxed);
  state_->begun.store(0, std::memory_order_release);
}

void BegunProbe::Ask(const Terms& terms, const GpuWords& words) {
  if (state_->busy.exchange(true, std::memory_order_acquire)) return;
  const auto ask = [state = state_, terms, words, round = state_->round.load(std::memory_order_relaxed)] {
    sys::SetThreadName("tutti-gpu-ask");
    const sys::cuda::ScopedContext scope(terms.driver, terms.context);
    const sys::cuda::Address to = words.counts_on_gpu(GpuWords::Asks::kWhatHasBegun);
    const std::int64_t begin = sys::NowNs();
    int result = terms.driver->MemcpyAsync(to, terms.counts, sizeof(transport::p2p::LaunchCounts), terms.stream);
    if (result == 0) result = terms.driver->StreamQuery(terms.stream);
    while (result == sys::cuda::kNotReady && sys::NowNs() - begin < kPatienceNs) {
      sys::SleepNs(kPauseNs);
      result = terms.driver->StreamQuery(terms.stream);
    }
    const bool wanted = result == 0 && state->round.load(std::memory_order_relaxed) == round;
    if (wanted) state->begun.store(words.counts(GpuWords::Asks::kWhatHasBegun)->begun, std::memory_order_release);
    state->busy.store(false, std::memory_order_release);
  };
  if (!sys::StartDetachedThread("a look at what a GPU has begun", ask).ok()) {
    state_->busy.store(false, std::memory_order_release);  // asked again a moment later
  }
}

bool BegunProbe::Close(std::int64_t timeout_ns) {
  const std::int64_t begin = sys::NowNs();
  while (state_->busy.load(std::memory_order_acquire)) {
    if (sys::NowNs() - begin > timeout_ns) return false;
    sys::SleepNs(kPauseNs);
  }
  return true;
}

}  // namespace tutti::comm
