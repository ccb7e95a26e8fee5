// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// How communicators are made while signal handlers may run.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "comm/meet/job_id.h"
#include "python/src/errors.h"
#include "python/src/group.h"
#include "python/src/main_thread.h"
#include "sys/os/clock.h"
#include "sys/os/thread.h"

namespace tutti::python {
namespace {

namespace nb = nanobind;

constexpr std::int64_t kNsBetweenLooks = 200'000, kNsBetweenSignals = 20 * sys::kNsPerMs;

thread_local bool t_is_main = false;

Settings SettingsOf(const NewGroup& options) {
  Settings settings = Settings::FromEnvironment();
  if (options.timeout_ms) settings.timeout_ms = *options.timeout_ms;
  if (options.init_timeout_ms) settings.init_timeout_ms = *options.init_timeout_ms;
  if (options.shared_bytes) settings.shared_bytes = *options.shared_bytes;
  return settings;
}

// Runs `make` on another thread; until it has ended, signal handlers may run. Called with the GIL released.
Result<Communicator> MakeBeside(const std::function<Result<Communicator>(const std::atomic<bool>&)>& make,
                                bool& interrupted) {
  std::atomic<bool> cancel{false}, done{false};
  Result<Communicator> made = Status(Code::kInternal, "nothing was made");
  Result<std::unique_ptr<sys::Thread>> thread = sys::StartThread("making a communicator", [&] {
    made = make(cancel);
    done.store(true, std::memory_order_release);
  });
  if (!thread.ok()) return make(cancel);
  std::int64_t signals_ns = sys::NowNs() + kNsBetweenSignals;
  while (!done.load(std::memory_order_acquire)) {
    sys::SleepNs(kNsBetweenLooks);
    const std::int64_t now_ns = sys::NowNs();
    if (interrupted || now_ns < signals_ns) continue;
    signals_ns = now_ns + kNsBetweenSignals;
    nb::gil_scoped_acquire gil;
    interrupted = PyErr_CheckSignals() != 0;
    if (interrupted) cancel.store(true, std::memory_order_release);
  }
  thread->reset();
  return made;
}

}  // namespace

bool OnMainThread() { return t_is_main; }
void IsMainThread() { t_is_main = true; }

Group::Made Create(const Recipe& recipe) {
  bool interrupted = false;
  Result<Communicator> made = Status(Code::kInternal, "nothing was made");
  CallSites sites;
  {
    nb::gil_scoped_release release;
    const std::atomic<bool> never{false};
    made = OnMainThread() ? MakeBeside(recipe.make, interrupted) : recipe.make(never);
    if (!interrupted && made.ok() && made->ranks() > 1) {
      if (const Status s = sites.Exchange(*made); !s.ok()) made = s;
    }
  }
  if (interrupted) throw nb::python_error();
  if (!made.ok()) Raise(made.status());
  return {.communicator = std::move(*made), .sites = std::move(sites)};
}

Recipe RecipeOf(CommunicatorOptions options, std::string name) {
  options.name = std::move(name);
  return {[options = std::move(options)](const std::atomic<bool>& cancel) {
    CommunicatorOptions with_cancel = options;
    with_cancel.cancel = &cancel;
    return Communicator::Create(with_cancel);
  }};
}

Recipe RecipeOf(const NewGroup& options) {
  CommunicatorOptions made{.rank = options.rank, .ranks = options.ranks, .settings = SettingsOf(options)};
  std::memcpy(made.id.bytes.data(), options.id.data(), std::min(options.id.size(), made.id.bytes.size()));
  return RecipeOf(std::move(made), options.name);
}

Recipe RecipeFromEnvironment(const NewGroup& options) {
  return {[options](const std::atomic<bool>& cancel) -> Result<Communicator> {
    const Result<comm::LaunchIdentity> identity = comm::NextIdentityFromEnvironment();
    if (!identity.ok()) return identity.status();
    return Communicator::Create({.rank = identity->rank,
                                 .ranks = identity->ranks,
                                 .id = identity->id,
                                 .settings = SettingsOf(options),
                                 .name = options.name,
                                 .cancel = &cancel});
  }};
}

}  // namespace tutti::python
