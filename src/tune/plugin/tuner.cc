// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/plugin/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/plugin_names.h"
#include "tune/plugin/constants.h"

namespace tutti::tune::plugin {
namespace {

std::string TitleOf(const Interface& plugin) { return fmt::format("{} (v{})", plugin.name(), plugin.version()); }

std::string Answer(std::string_view function, abi::Result result) {
  return fmt::format("its {} said {} ({})", function, NcclResultName(result), result);
}

}  // namespace

std::optional<Question> QuestionOf(Collective collective, std::size_t bytes, int ranks, int operations) {
  const auto all = bytes * static_cast<std::size_t>(ranks);
  switch (collective) {
    case Collective::kBroadcast:
      return Question{abi::kBroadcast, bytes, operations};
    case Collective::kReduce:
      return Question{abi::kReduce, bytes, operations};
    case Collective::kAllGather:
      return Question{abi::kAllGather, all, operations};
    case Collective::kReduceScatter:
      return Question{abi::kReduceScatter, all, operations};
    case Collective::kAllReduce:
      return Question{abi::kAllReduce, bytes, operations};
    default:
      return std::nullopt;
  }
}

std::optional<int> RowOf(std::string_view nccl_name) {
  constexpr std::string_view kNames[abi::kAlgorithms] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                                         "NVLS_TREE", "PAT"};
  const auto* const found = std::ranges::find(kNames, nccl_name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<int>(found - kNames);
}

Result<std::shared_ptr<Tuner>> Tuner::Begin(std::shared_ptr<const Interface> plugin, const Audience& audience,
                                            std::mutex& turn) {
  const std::string lack = plugin->Lacks();
  if (!lack.empty()) {
    return Status(Code::kInvalidUsage, fmt::format("the tuner {} lacks the function {}", TitleOf(*plugin), lack));
  }
  const abi::Constants before = TunerConstants();
  abi::Constants constants = before;
  void* context = nullptr;
  const abi::Result result = [&] {
    std::lock_guard lock(turn);
    return plugin->Init(audience, constants, &context);
  }();
  if (result != abi::kSuccess) {
    return Status(Code::kSystem,
                  fmt::format("the tuner {} does not begin: {}", TitleOf(*plugin), Answer("init", result)));
  }
  std::shared_ptr<Tuner> tuner(new Tuner(std::move(plugin), context, audience.ranks, turn));
  if (std::memcmp(&before, &constants, sizeof(before)) != 0) {
    TUTTI_INFO(log::kInit | log::kTuning,
               "TUNER/Plugin: {} has changed constants of NCCL's cost model, by which Tutti does not choose",
               tuner->title());
  }
  return tuner;
}

Tuner::Tuner(std::shared_ptr<const Interface> plugin, void* context, int ranks, std::mutex& turn)
    : plugin_(std::move(plugin)), context_(context), ranks_(ranks), title_(TitleOf(*plugin_)), turn_(turn) {}

Tuner::~Tuner() {
  std::lock_guard lock(turn_);
  (void)plugin_->End(context_);
}

bool Tuner::Succeeds(abi::Result result, std::string_view function) {
  if (result == abi::kSuccess) return true;
  off_ = true;
  TUTTI_WARN("the tuner plugin {} is switched off: {}", title_, Answer(function, result));
  return false;
}

bool Tuner::Ask(const Question& question, CostTable& table, int& channels) {
  std::lock_guard lock(turn_);
  return !off_ && Succeeds(plugin_->Ask(context_, question, table, channels), "getCollInfo");
}

std::size_t Tuner::AskChunk(const Question& question, int algorithm, proto::Protocol protocol, int channels,
                            std::size_t chunk_bytes) {
  // NCCL cuts chunks to multiples of these.
  constexpr std::size_t kGrainBytes[proto::kProtocols] = {16, 1920, 512};
  const std::size_t grain = kGrainBytes[static_cast<int>(protocol)];
  std::lock_guard lock(turn_);
  std::size_t asked = chunk_bytes;
  if (off_ || !Succeeds(plugin_->AskChunk(context_, question, algorithm, static_cast<int>(protocol), channels, asked),
                        "getChunkSize")) {
    return chunk_bytes;
  }
  if (asked >= chunk_bytes) return chunk_bytes;
  return std::min(chunk_bytes, std::max(asked / grain * grain, grain));
}

}  // namespace tutti::tune::plugin
