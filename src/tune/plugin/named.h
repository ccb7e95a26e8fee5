// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLUGIN_NAMED_H_
#define TUTTI_TUNE_PLUGIN_NAMED_H_

#include <string>
#include <string_view>

namespace tutti::tune::plugin {

// A filter of algorithms (Settings::algo) that leaves those that NCCL has names for, as far as `filter` allows.
std::string NamedAlgorithms(std::string_view filter);

}  // namespace tutti::tune::plugin

#endif  // TUTTI_TUNE_PLUGIN_NAMED_H_
