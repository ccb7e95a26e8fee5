// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_explain.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>

#include "tools/cli.h"
#include "tools/explanation.h"

namespace tutti::tools {
namespace {

std::optional<int> Number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > topo::kMostHosts) {
    return std::nullopt;
  }
  return number;
}

// False where the text is none of the forms.
bool ReadHosts(std::string_view text, PredictorSource& source) {
  if (text.empty()) return true;
  const std::size_t x = text.find('x');
  const std::optional<int> hosts = Number(text.substr(0, x));
  if (!hosts) return false;
  source.topology.hosts = *hosts;
  if (x == std::string_view::npos) return true;
  const std::optional<int> ranks = Number(text.substr(x + 1));
  if (ranks) source.ranks = *ranks;
  return ranks.has_value();
}

}  // namespace

void AddExplain(CommandLine& line, ExplainOptions& options) {
  line.Group("With --explain");
  const auto explain =
      line.AddFlag("--explain", options.wanted,
                   "say which way a communicator would choose and why, what others would take, and what binds");
  const auto file =
      line.Add("--file", options.source.topology.file, "on the machine of this file").Shown("FILE").Needs(explain);
  line.Add("--machine", options.source.topology.machine, "on a machine by its name, or a file; default: this host")
      .Shown("NAME")
      .Excludes(file)
      .Needs(explain);
  line.Add("-b,--bytes", options.bytes, "of the larger side, as in tutti perf (default 1M)")
      .Shown("BYTES")
      .Needs(explain);
  AddMemory(line, options.source);
}

int ExplainPlan(ExplainOptions options, const std::string& collective, const std::string& hosts, int ranks) {
  const std::optional<Collective> parsed = ParseCollective(collective);
  if (!parsed || *parsed == Collective::kBarrier) {
    return UsageError("tutti plan", fmt::format("there is no collective '{}' with a size to explain", collective));
  }
  const std::optional<std::size_t> bytes = ParseBytes(options.bytes);
  if (!bytes || *bytes == 0) return UsageError("tutti plan", "-b is a size above 0, as 8, 32M or 1G");
  options.source.ranks = ranks;
  if (!ReadHosts(hosts, options.source)) {
    return UsageError("tutti plan",
                      fmt::format("--hosts '{}': with --explain write how many hosts, as 4, or how many x "
                                  "ranks of each, as 4x8",
                                  hosts));
  }
  const Result<OpenedPredictor> opened = OpenPredictor(options.source);
  const Result<Prediction> prediction =
      opened.ok() ? opened->predictor->Predict(*parsed, *bytes) : Result<Prediction>(opened.status());
  if (!prediction.ok()) {
    fmt::print(stderr, "tutti plan: {}\n", prediction.status().message());
    return kExitFailed;
  }
  if (options.json.empty()) {
    fmt::print("{}", Explain(opened->predictor->about(), *parsed, *prediction));
    return kExitOk;
  }
  const std::string json = ExplainAsJson(opened->predictor->about(), *parsed, *prediction).Dump(2) + "\n";
  return WriteTextOrSay("tutti plan", options.json, json) ? kExitOk : kExitFailed;
}

}  // namespace tutti::tools
