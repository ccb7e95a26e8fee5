// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/plugin/find_plugin.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/plugin_names.h"
#include "sys/os/shared_library.h"
#include "transport/net/plugin/abi.h"
#include "transport/net/plugin/net_plugin.h"

namespace tutti::transport::net::plugin {
namespace {

Result<sys::SharedLibrary> Open(const std::string& name) {
  if (MeansTheProgram(name)) return sys::SharedLibrary::OfProgram();
  std::string said;
  Code code = Code::kUnsupported;
  for (const std::string& file : PluginFiles("net", name)) {
    Result<sys::SharedLibrary> library = sys::SharedLibrary::Open(file);
    if (library.ok()) return library;
    if (library.status().code() != Code::kUnsupported) code = library.status().code();
    if (!said.empty()) said += "; ";
    said += library.status().message();
  }
  return Status(
      code, fmt::format("it cannot be loaded: {}; a path, or a name in a folder of LD_LIBRARY_PATH, is found", said));
}

// AWS's library for Neuron devices has a symbol of the same name over another table.
bool IsForNeuron(const sys::SharedLibrary& library) {
  const std::string_view path = library.path();
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libnccom") || std::string_view(library.own_name()).starts_with("libnccom");
}

}  // namespace

Result<std::shared_ptr<NetPlugin>> FindPlugin(const std::string& name) {
  const Result<sys::SharedLibrary> library = Open(name);
  if (!library.ok()) return library.status();
  if (IsForNeuron(*library)) {
    return Status(Code::kInvalidUsage,
                  fmt::format("{} was built for AWS Neuron, whose interface has the same symbol over another "
                              "table; take the library that aws-ofi-nccl builds for NVIDIA",
                              library->path()));
  }
  const std::string title = library->path().empty() ? "linked into the program" : library->path();
  const auto symbol = [&](int version) { return library->Find(fmt::format("ncclNetPlugin_v{}", version).c_str()); };
  for (int version = abi::kNewest; version >= abi::kOldest; --version) {
    if (const void* table = symbol(version); table != nullptr) return Adapt(version, table, title);
  }
  for (int version = abi::kOldest - 1; version >= 1; --version) {
    if (symbol(version) == nullptr) continue;
    return Status(Code::kInvalidUsage,
                  fmt::format("its newest interface is ncclNetPlugin_v{}, which is older than version {}; "
                              "install a newer release of it",
                              version, abi::kOldest));
  }
  return Status(Code::kInvalidUsage,
                fmt::format("none of the symbols ncclNetPlugin_v{} to _v{} is in it ({}), so it is no network "
                            "plugin that Tutti knows",
                            abi::kOldest, abi::kNewest, title));
}

}  // namespace tutti::transport::net::plugin
