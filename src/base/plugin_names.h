// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_PLUGIN_NAMES_H_
#define TUTTI_BASE_PLUGIN_NAMES_H_

// How NCCL reads the names of plugins, in NCCL_NET_PLUGIN, NCCL_TUNER_PLUGIN and the like.

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"

namespace tutti {

// Whether a name stands for what is linked into the program: a beginning of STATIC_PLUGIN.
inline bool MeansTheProgram(std::string_view name) {
  constexpr std::string_view kName = "STATIC_PLUGIN";
  return !name.empty() && name.size() <= kName.size() && EqualIgnoringCase(name, kName.substr(0, name.size()));
}

// The files that a name may mean, in the order in which they are tried. `kind`: "net", "tuner".
inline std::vector<std::string> PluginFiles(std::string_view kind, const std::string& name) {
  const bool is_file = name.find('/') != std::string::npos || (name.starts_with("lib") && name.ends_with(".so"));
  if (is_file) return {name};
  return {name, fmt::format("libnccl-{}-{}.so", kind, name)};
}

// ncclResult_t as NCCL's header names it.
inline std::string_view NcclResultName(int result) {
  constexpr std::string_view kNames[] = {"ncclSuccess",       "ncclUnhandledCudaError", "ncclSystemError",
                                         "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
                                         "ncclRemoteError",   "ncclInProgress"};
  return result >= 0 && result < static_cast<int>(std::size(kNames)) ? kNames[result]
                                                                     : "a result that NCCL does not have";
}

}  // namespace tutti

#endif  // TUTTI_BASE_PLUGIN_NAMES_H_
