// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/gpu_probe.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/log.h"
#include "sys/cuda/nvml.h"
#include "sys/cuda/nvml_health.h"
#include "sys/log/thread_name.h"
#include "sys/os/clock.h"
#include "sys/os/thread.h"

namespace tutti::watch {
namespace {

using diag::GpuLook;
using namespace sys::cuda;

constexpr std::int64_t kOftenNs = sys::kNsPerSecond, kSeldomNs = 10 * sys::kNsPerSecond;
constexpr int kOftenAnswers = 5;
constexpr std::int64_t kTimesCost = 20;
constexpr std::int64_t kForgetNs = 30 * sys::kNsPerSecond;
constexpr std::int64_t kSlowAnswerNs = 3 * sys::kNsPerSecond;
constexpr unsigned kMilli = 1000;

std::uint32_t ThrottleOf(std::uint64_t reasons) {
  constexpr std::pair<std::uint64_t, diag::Throttle> kBits[] = {{nvml_abi::kPowerCap, diag::kPowerCap},
                                                                {nvml_abi::kHardwarePowerBrake, diag::kPowerBrake},
                                                                {nvml_abi::kHardwareThermal, diag::kTooHot},
                                                                {nvml_abi::kSoftwareThermal, diag::kNearlyTooHot},
                                                                {nvml_abi::kHardwareSlowdown, diag::kHeldByHardware},
                                                                {nvml_abi::kApplicationClocks, diag::kSetByUser}};
  std::uint32_t bits = 0;
  for (const auto& [bit, throttle] : kBits) bits |= (reasons & bit) != 0 ? throttle : 0u;
  return bits;
}

bool IsUp(const NvLink& link) {
  return link.state == NvLinkState::kUp || link.state == NvLinkState::kAsleep || link.state == NvLinkState::kUnknown;
}

std::int32_t LinksUp(const NvmlGpu& gpu) { return static_cast<std::int32_t>(std::ranges::count_if(gpu.nvlinks, IsUp)); }

// Links that lead nowhere in all GPUs of a model are no fault, so only GPUs that lack some which others have are said to have links down.
void AddLinks(const NvmlGpu& gpu, const NvmlFacts& facts, const NvmlHealth* health, GpuLook& look) {
  if (gpu.nvlinks.empty()) return;
  look.nvlinks_up = LinksUp(gpu);
  for (const NvmlGpu& other : facts.gpus) {
    if (other.name == gpu.name) look.nvlinks_usual = std::max(look.nvlinks_usual, LinksUp(other));
  }
  for (const NvLink& link : gpu.nvlinks) {
    diag::NvLinkLook one{.number = link.number, .down = !IsUp(link) && look.nvlinks_up < look.nvlinks_usual};
    if (link.end == NvLinkEnd::kGpu) one.to = link.bus_id;
    if (health != nullptr) {
      const auto errors = std::ranges::find(health->nvlinks, link.number, &NvLinkErrors::number);
      if (errors != health->nvlinks.end()) {
        one.replays = errors->replays;
        one.recoveries = errors->recoveries;
        one.check_errors = errors->check_errors;
      }
    }
    look.nvlinks.push_back(std::move(one));
  }
}

void AddHealth(const NvmlHealth& health, GpuLook& look) {
  look.uncorrected = health.uncorrected;
  look.rows_pending = (health.rows && health.rows->pending) || health.pages_pending.value_or(false);
  look.rows_failed = health.rows && health.rows->failed;
  look.clock_mhz = health.clock_mhz;
  look.most_clock_mhz = health.most_clock_mhz;
  look.throttle = ThrottleOf(health.clock_reasons.value_or(0));
  look.power_w = health.power_mw / kMilli;
  look.power_limit_w = health.power_limit_mw / kMilli;
  look.temperature_c = health.temperature_c;
}

// All GPUs that answer; counters are since the driver was loaded.
std::vector<GpuLook> Convert(const NvmlFacts& facts, const std::vector<NvmlHealth>& healths) {
  std::vector<GpuLook> all;
  for (const NvmlGpu& gpu : facts.gpus) {
    if (gpu.bus_id.empty()) continue;
    GpuLook look{.bus_id = gpu.bus_id};
    const auto health = std::ranges::find(healths, gpu.bus_id, &NvmlHealth::bus_id);
    const bool known = health != healths.end();
    if (known) AddHealth(*health, look);
    AddLinks(gpu, facts, known ? &*health : nullptr, look);
    all.push_back(std::move(look));
  }
  return all;
}

std::uint64_t Since(std::uint64_t first, std::uint64_t now) { return now > first ? now - first : 0; }

// What has risen since `first`; links that are sound are left out.
GpuLook Compared(const GpuLook& first, GpuLook now) {
  if (now.uncorrected && first.uncorrected) now.uncorrected_rise = Since(*first.uncorrected, *now.uncorrected);
  std::vector<diag::NvLinkLook> links;
  for (diag::NvLinkLook link : now.nvlinks) {
    const auto before = std::ranges::find(first.nvlinks, link.number, &diag::NvLinkLook::number);
    if (before == first.nvlinks.end()) continue;
    if (link.to.empty()) link.to = before->to;  // one that has gone down
    link.replays = Since(before->replays, link.replays);
    link.recoveries = Since(before->recoveries, link.recoveries);
    link.check_errors = Since(before->check_errors, link.check_errors);
    if (link.down || link.replays + link.recoveries + link.check_errors > 0) links.push_back(std::move(link));
  }
  now.nvlinks = std::move(links);
  return now;
}

}  // namespace

struct GpuProbe::State {
  explicit State(std::string name) : library(std::move(name)) {}

  const std::string library;
  std::mutex mutex;
  // All guarded by mutex. Times are of CLOCK_MONOTONIC.
  bool is_asking = false, is_there = true;  // is_there: NVML can be asked at all
  std::int64_t asked_ns = 0, answered_ns = 0;
  std::optional<std::vector<GpuLook>> answer;
  int answers = 0;
  // The asker's own.
  std::map<std::string, GpuLook> first;  // by bus id
  std::int64_t wanted_ns = 0;            // when somebody last asked
};

GpuProbe::GpuProbe(std::string library) : state_(std::make_shared<State>(std::move(library))) {}
GpuProbe::~GpuProbe() = default;

bool GpuProbe::is_asking() const {
  std::lock_guard lock(state_->mutex);
  return state_->is_asking;
}

// REQUIRES: the state's lock is held, and nothing is asked.
void GpuProbe::Ask(std::int64_t now_ns) {
  const std::shared_ptr<State>& state = state_;
  const Status started = sys::StartDetachedThread("the question to NVML", [state] {
    sys::SetThreadName("tutti-nvml");
    const Result<NvmlFacts> facts = ReadNvml(state->library);
    std::optional<std::vector<GpuLook>> answer;
    if (facts.ok()) {
      const Result<std::vector<NvmlHealth>> healths = ReadNvmlHealth(state->library, HealthOf::kGpusAndNvLinks);
      answer = Convert(*facts, healths.ok() ? *healths : std::vector<NvmlHealth>());
    }
    std::lock_guard lock(state->mutex);
    state->is_asking = false;
    state->is_there = facts.ok() || facts.status().code() != Code::kUnsupported;
    state->answered_ns = sys::NowNs();
    ++state->answers;
    if (answer) state->answer = std::move(answer);
  });
  state_->asked_ns = now_ns;
  state_->is_asking = started.ok();
  if (!started.ok()) {
    TUTTI_INFO(log::kRas, "{}", started.message());
    state_->is_there = false;
  }
}

std::vector<GpuLook> GpuProbe::Latest(const std::vector<std::string>& bus_ids, std::int64_t now_ns) {
  std::lock_guard lock(state_->mutex);
  State& state = *state_;
  if (now_ns - state.wanted_ns > kForgetNs) {
    state.first.clear();
    state.answer.reset();
    state.answers = 0;
  }
  state.wanted_ns = now_ns;
  const std::int64_t cost_ns = std::max<std::int64_t>(state.answered_ns - state.asked_ns, 0);
  const std::int64_t period_ns = state.answers < kOftenAnswers ? kOftenNs : kSeldomNs;
  const bool old = state.answers == 0 || now_ns - state.answered_ns > std::max(period_ns, kTimesCost * cost_ns);
  if (state.is_there && !state.is_asking && old) Ask(now_ns);
  const std::int64_t silent_ns = state.is_asking ? now_ns - state.asked_ns : 0;
  std::vector<GpuLook> looks;
  for (const std::string& bus_id : bus_ids) {
    GpuLook look{.bus_id = bus_id};
    if (state.answer) {
      const auto found = std::ranges::find(*state.answer, bus_id, &GpuLook::bus_id);
      if (found != state.answer->end()) {
        look = Compared(state.first.try_emplace(bus_id, *found).first->second, *found);
      } else {
        look.lost = !state.answer->empty() || state.first.contains(bus_id);
      }
    }
    if (silent_ns >= kSlowAnswerNs) look.silent_ns = silent_ns;
    looks.push_back(std::move(look));
  }
  return looks;
}

}  // namespace tutti::watch
