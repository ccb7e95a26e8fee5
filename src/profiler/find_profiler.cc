// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "profiler/find_profiler.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/plugin_names.h"
#include "profiler/interface.h"
#include "sys/os/fork.h"
#include "sys/os/shared_library.h"

namespace tutti::profiler {
namespace {

using Found = Result<std::shared_ptr<const Interface>>;
using sys::SharedLibrary;

constexpr const char* kDefaultLibrary = "libnccl-profiler.so";
constexpr log::Subsystems kTopics = log::kInit | log::kProfile;

// Where plugins write the types of events that they want. A plugin may keep the address for as long as it is loaded, so it is one
// place for ever; a forked child goes on with its parent's mask.
constinit int g_mask = 0;

// What a process has found. A forked child looks by itself, since the thread that holds the mutex may not be there. No fork waits for
// the mutex: a plugin may fork while it begins.
struct OfProcess {
  std::mutex turn;  // also held while a plugin begins: some plugins lose what comes from two threads at once
  std::optional<Found> found;
  const std::uint32_t generation = sys::ForkGeneration();
};

OfProcess& ThisProcess() {
  static std::atomic<OfProcess*> current{nullptr};
  sys::WatchForks();
  OfProcess* made = current.load(std::memory_order_acquire);
  if (made != nullptr && made->generation == sys::ForkGeneration()) return *made;
  auto fresh = std::make_unique<OfProcess>();
  if (current.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel)) made = fresh.release();
  return *made;
}

Result<SharedLibrary> Open(const std::string& name) {
  return MeansTheProgram(name) ? SharedLibrary::OfProgram() : SharedLibrary::Open(name);
}

Result<SharedLibrary> OpenFirst(const std::string& plugin) {
  if (plugin.empty()) return Open(kDefaultLibrary);
  std::string said;
  Code code = Code::kUnsupported;
  for (const std::string& file : PluginFiles("profiler", plugin)) {
    Result<SharedLibrary> library = Open(file);
    if (library.ok()) return library;
    if (library.status().code() != Code::kUnsupported) code = library.status().code();
    if (!said.empty()) said += "; ";
    said += library.status().message();
  }
  return Status(
      code, fmt::format("it cannot be loaded: {}; a path, or a name in a folder of LD_LIBRARY_PATH, is found", said));
}

// The newest version; null: none.
std::shared_ptr<const Interface> NewestIn(const SharedLibrary& library) {
  for (int version = abi::kNewest; version >= abi::kOldest; --version) {
    const void* table = library.Find(fmt::format("ncclProfiler_v{}", version).c_str());
    if (table != nullptr) return Adapt(version, table);
  }
  return nullptr;
}

std::string TitleOf(const Interface& plugin) { return fmt::format("{} (v{})", plugin.name(), plugin.version()); }

Result<std::shared_ptr<Session>> Begin(OfProcess& process, const Wishes& wishes, const Audience& audience) {
  std::lock_guard lock(process.turn);
  if (!process.found) process.found = FindProfiler(wishes);
  if (!process.found->ok()) return process.found->status();
  if (**process.found == nullptr) return std::shared_ptr<Session>();
  return Session::Begin(**process.found, audience, &g_mask);
}

}  // namespace

Found FindProfiler(const Wishes& wishes) {
  const std::shared_ptr<const Interface> none;
  if (EqualIgnoringCase(wishes.plugin, "none")) return none;
  const bool asked_for = !wishes.plugin.empty();
  Result<SharedLibrary> library = OpenFirst(wishes.plugin);
  if (!library.ok() && !wishes.network_library.empty()) {
    Result<SharedLibrary> network = Open(wishes.network_library);
    if (network.ok() && NewestIn(*network) != nullptr) library = std::move(network);
  }
  if (!library.ok()) {
    const bool is_there = library.status().code() != Code::kUnsupported;
    if (asked_for) return library.status();
    if (is_there)
      TUTTI_INFO(kTopics, "PROFILER/Plugin: {} is not used: {}", kDefaultLibrary, library.status().message());
    return none;
  }
  const std::string title = library->path().empty() ? "the program" : library->path();
  std::shared_ptr<const Interface> found = NewestIn(*library);
  if (found == nullptr) {
    if (asked_for || library->path().find(kDefaultLibrary) != std::string::npos) {
      return Status(Code::kInvalidUsage,
                    fmt::format("none of the symbols ncclProfiler_v{} to _v{} is in {}, so it is no profiler plugin "
                                "that Tutti knows",
                                abi::kOldest, abi::kNewest, title));
    }
    return none;
  }
  if (const std::string lack = found->Lacks(); !lack.empty()) {
    return Status(Code::kInvalidUsage, fmt::format("the profiler {} lacks the function {}", TitleOf(*found), lack));
  }
  TUTTI_INFO(kTopics, "PROFILER/Plugin: Using {} from {}", TitleOf(*found), title);
  return found;
}

std::shared_ptr<Session> BeginSession(const Wishes& wishes, const Audience& audience) {
  Result<std::shared_ptr<Session>> begun = Begin(ThisProcess(), wishes, audience);
  if (begun.ok()) return std::move(*begun);
  const std::string line =
      fmt::format("the profiler plugin {} is left out: {}", wishes.plugin.empty() ? kDefaultLibrary : wishes.plugin,
                  begun.status().message());
  if (log::FirstTime(line)) TUTTI_WARN("{}", line);
  return nullptr;
}

}  // namespace tutti::profiler
