// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "algo/algorithm.h"
#include "base/log.h"
#include "comm/life/creation.h"
#include "sys/os/fork.h"
#include "sys/os/shared_library.h"
#include "transport/net/plugin/catalog.h"
#include "tune/plugin/find_tuner.h"
#include "tune/plugin/tuner.h"

namespace tutti::comm {
namespace {

using tune::plugin::Interface;
using tune::plugin::Library;
using tune::plugin::Tuner;

Result<Library> OpenLibrary(const std::string& name) {
  Result<sys::SharedLibrary> library = name.empty() ? sys::SharedLibrary::OfProgram() : sys::SharedLibrary::Open(name);
  if (!library.ok()) return library.status();
  return Library{.path = library->path(),
                 .find = [library = *library](const char* symbol) { return library.Find(symbol); }};
}

// Held while a tuner works; a forked child has one of its own, since the thread that holds this one may not be there. No fork waits
// for it: a plugin may fork while it begins.
std::mutex& TurnOfTuners() {
  struct Made {
    std::mutex mutex;
    const std::uint32_t generation = sys::ForkGeneration();
  };
  static std::atomic<Made*> current{nullptr};
  sys::WatchForks();
  Made* made = current.load(std::memory_order_acquire);
  if (made != nullptr && made->generation == sys::ForkGeneration()) return made->mutex;
  auto fresh = std::make_unique<Made>();
  if (current.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel)) made = fresh.release();
  return made->mutex;
}

Result<std::shared_ptr<Tuner>> FindAndBegin(const tune::plugin::Wishes& wishes,
                                            const tune::plugin::Audience& audience) {
  Result<std::shared_ptr<const Interface>> found = FindTuner(wishes);
  if (!found.ok()) return found.status();
  if (*found == nullptr) return std::shared_ptr<Tuner>();
  return Tuner::Begin(std::move(*found), audience, TurnOfTuners());
}

}  // namespace

void Creation::StartTuner(const transport::net::plugin::Network* network) {
  const algo::Hosts hosts = HostOf().empty() ? algo::Hosts(made.ranks) : algo::Hosts::ByRank(HostOf());
  if (network != nullptr) made.network_library = network->plugin().LibraryName();
  Result<std::shared_ptr<Tuner>> begun = FindAndBegin(
      {.plugin = made.settings.tuner_plugin, .network_library = made.network_library, .open = &OpenLibrary},
      {.communicator = made.id_hash,
       .ranks = made.ranks,
       .hosts = hosts.count(),
       .fewest_of_host = hosts.fewest(),
       .most_of_host = hosts.most()});
  if (begun.ok()) {
    made.tuner = std::move(*begun);
    return;
  }
  const std::string asked = made.settings.tuner_plugin;
  const std::string line = fmt::format("the tuner plugin {} is not used: {}",
                                       asked.empty() ? "libnccl-tuner.so" : asked, begun.status().message());
  if (log::FirstTime(line)) TUTTI_WARN("{}", line);
}

std::string Creation::TunerTitle() const { return made.tuner != nullptr ? made.tuner->title() : ""; }

void Creation::AgreeOnTuner(std::span<const std::string> titles) {
  const std::string& own = titles[static_cast<std::size_t>(made.rank)];
  const auto other = std::ranges::find_if(titles, [&](const std::string& title) { return title != own; });
  if (other == titles.end()) return;
  made.tuner.reset();
  const auto named = [](const std::string& title) { return title.empty() ? "none" : title; };
  const std::string line = fmt::format(
      "no tuner plugin is used, since not all ranks have the same: rank {} has {}, rank {} has {}; give all hosts the "
      "same one, or set NCCL_TUNER_PLUGIN=none",
      made.rank, named(own), other - titles.begin(), named(*other));
  if (log::FirstTime("tuners differ")) TUTTI_WARN("{}", line);
}

}  // namespace tutti::comm
