// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/plugin/named.h"

#include "algo/algorithm.h"

namespace tutti::tune::plugin {

std::string NamedAlgorithms(std::string_view filter) {
  std::string names;
  for (const algo::Entry& entry : algo::Registry()) {
    if (entry.nccl_name.empty()) continue;
    if (!names.empty()) names += ',';
    names += entry.name;
  }
  // Of two parts the later one counts.
  return names + ';' + std::string(filter);
}

}  // namespace tutti::tune::plugin
