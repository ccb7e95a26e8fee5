// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLUGIN_NAMED_H_
#define TUTTI_TUNE_PLUGIN_NAMED_H_

#include <string>
#include <string_view>

#include "algo/algorithm.h"
#include "tune/plugin/ask.h"

namespace tutti::tune::plugin {

// A filter of algorithms (Settings::algo) that leaves those that NCCL has names for, as far as `filter` allows.
std::string NamedAlgorithms(std::string_view filter);

// A choice of host memory or of GPUs as a plugin sees it.
template <typename Choice>
Way WayOf(const Choice& choice, Way::Taken taken) {
  return {.nccl_name = algo::Get(choice.algorithm).nccl_name,
          .protocol = choice.protocol,
          .algorithm = static_cast<int>(choice.algorithm),
          .channels = choice.channels,
          .us = choice.predicted_us,
          .taken = taken};
}

}  // namespace tutti::tune::plugin

#endif  // TUTTI_TUNE_PLUGIN_NAMED_H_
