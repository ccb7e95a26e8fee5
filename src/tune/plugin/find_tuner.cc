// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/plugin/find_tuner.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "base/plugin_names.h"
#include "tune/plugin/interface.h"

namespace tutti::tune::plugin {
namespace {

constexpr const char* kDefaultLibrary = "libnccl-tuner.so";
constexpr log::Subsystems kTopics = log::kInit | log::kTuning;

Result<Library> Open(const Wishes& wishes, const std::string& name) {
  return wishes.open(MeansTheProgram(name) ? "" : name);
}

Result<Library> OpenFirst(const Wishes& wishes) {
  if (wishes.plugin.empty()) return Open(wishes, kDefaultLibrary);
  std::string said;
  Code code = Code::kUnsupported;
  for (const std::string& file : PluginFiles("tuner", wishes.plugin)) {
    Result<Library> library = Open(wishes, file);
    if (library.ok()) return library;
    if (library.status().code() != Code::kUnsupported) code = library.status().code();
    if (!said.empty()) said += "; ";
    said += library.status().message();
  }
  return Status(
      code, fmt::format("it cannot be loaded: {}; a path, or a name in a folder of LD_LIBRARY_PATH, is found", said));
}

// The newest version; null: none.
std::shared_ptr<const Interface> NewestIn(const Library& library) {
  for (int version = abi::kNewest; version >= abi::kOldest; --version) {
    const void* table = library.find(fmt::format("ncclTunerPlugin_v{}", version).c_str());
    if (table != nullptr) return Adapt(version, table);
  }
  return nullptr;
}

}  // namespace

Result<std::shared_ptr<const Interface>> FindTuner(const Wishes& wishes) {
  const std::shared_ptr<const Interface> none;
  if (EqualIgnoringCase(wishes.plugin, "none")) return none;
  const bool asked_for = !wishes.plugin.empty();
  Result<Library> library = OpenFirst(wishes);
  if (!library.ok() && !wishes.network_library.empty()) {
    Result<Library> network = Open(wishes, wishes.network_library);
    if (network.ok() && NewestIn(*network) != nullptr) {
      TUTTI_INFO(kTopics, "TUNER/Plugin: the network plugin has a tuner, and no other: {}", library.status().message());
      library = std::move(network);
    }
  }
  if (!library.ok()) {
    const bool is_there = library.status().code() != Code::kUnsupported;
    if (asked_for) return library.status();
    if (is_there) TUTTI_INFO(kTopics, "TUNER/Plugin: {} is not used: {}", kDefaultLibrary, library.status().message());
    return none;
  }
  const std::string title = library->path.empty() ? "the program" : library->path;
  std::shared_ptr<const Interface> found = NewestIn(*library);
  if (found == nullptr && asked_for) {
    return Status(Code::kInvalidUsage,
                  fmt::format("none of the symbols ncclTunerPlugin_v{} to _v{} is in {}, so it is no tuner plugin that "
                              "Tutti knows",
                              abi::kOldest, abi::kNewest, title));
  }
  if (found == nullptr) {
    TUTTI_INFO(kTopics, "TUNER/Plugin: {} has no interface of a tuner that Tutti knows", title);
  } else {
    TUTTI_INFO(kTopics, "TUNER/Plugin: Using {} (v{}) from {}", found->name(), found->version(), title);
  }
  return found;
}

}  // namespace tutti::tune::plugin
