// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <thread>
#include <vector>

#include "tools/cli.h"
#include "tools/perf_table.h"
#include "tutti/settings.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kSmallest = 8;
constexpr std::size_t kLargest = std::size_t{1} << 30;

// The library's choices for `ranks` ranks of this host under the environment's settings.
Result<ChoiceOf> OpenChooser(int ranks) {
  return Status(Code::kUnsupported, fmt::format("the choices for {} ranks cannot be asked for yet", ranks));
}

// Measures the model's constants with `ranks` ranks and stores them; the sentence says where.
Result<std::string> Calibrate(int ranks) {
  return Status(Code::kUnsupported, fmt::format("measuring with {} ranks is not there yet", ranks));
}

// One line of a table: sizes from `first` to `last` bytes, with the times predicted for both ends.
struct Line {
  std::size_t first, last;
  TuneChoice choice;
  double last_us;
};

std::string FormatLine(const Line& line, Detail detail) {
  std::string sizes = FormatBytes(line.first), time = FormatNumber(line.choice.predicted_us, 9);
  if (detail == Detail::kRanges) {
    sizes = line.first == line.last ? sizes : fmt::format("{} - {}", sizes, FormatBytes(line.last));
    time = fmt::format("{}  {}", time, FormatNumber(line.last_us, 9));
  }
  return fmt::format("{:>21}  {:<18}  {:<8}  {:>8}  {}\n", sizes, line.choice.algorithm, line.choice.protocol,
                     line.choice.channels, time);
}

bool SameChoice(const TuneChoice& a, const TuneChoice& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

std::string FormatTable(Collective collective, int ranks, Detail detail, const ChoiceOf& choose) {
  std::string text = fmt::format("{}, {} rank{}\n{:>21}  {:<18}  {:<8}  {:>8}  {}\n", Name(collective), ranks,
                                 ranks == 1 ? "" : "s", "size", "algorithm", "protocol", "channels",
                                 detail == Detail::kRanges ? "time from (us)  to" : "time (us)");
  std::vector<Line> lines;
  for (std::size_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
    const Result<TuneChoice> choice = choose(collective, bytes);
    if (!choice.ok())
      return text + fmt::format("{:>21}  {}\n", FormatBytes(bytes), choice.status().message());
    if (detail == Detail::kRanges && !lines.empty() && SameChoice(lines.back().choice, *choice)) {
      lines.back().last = bytes;
      lines.back().last_us = choice->predicted_us;
    } else {
      lines.push_back({bytes, bytes, *choice, choice->predicted_us});
    }
  }
  for (const Line& line : lines) text += FormatLine(line, detail);
  return text;
}

std::vector<Collective> CollectivesOf(const std::string& name) {
  std::vector<Collective> all;
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (collective != Collective::kBarrier && collective != Collective::kSendRecv) all.push_back(collective);
  }
  if (name == "all") return all;
  const std::optional<Collective> one = ParseCollective(name);
  return one ? std::vector<Collective>{*one} : std::vector<Collective>{};
}

}  // namespace

std::string FormatChoices(std::span<const Collective> collectives, int ranks, Detail detail,
                          const ChoiceOf& choose) {
  std::string text;
  for (Collective collective : collectives) {
    if (!text.empty()) text += '\n';
    text += FormatTable(collective, ranks, detail, choose);
  }
  return text;
}

int TuneCommand(int argc, char** argv) {
  CLI::App app("Shows which algorithm and protocol are chosen for which size.", "tutti tune");
  int ranks = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  std::string op = "all";
  bool calibrate = false, ranges = false;
  app.add_option("--ranks", ranks, "for this many ranks on this host (default: one per processor)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--op", op, "one operation (default all)");
  app.add_flag("--calibrate", calibrate,
               "measure the constants of the cost model on this machine first, and store them");
  app.add_flag("--ranges", ranges, "one line for each run of sizes with the same choice");
  app.footer(
      "Times are the cost model's, for an otherwise idle machine; sizes are one rank's count in bytes.\n\n"
      "Examples:\n  tutti tune --ranks 4 --op all_reduce\n  tutti tune --ranks 4 --calibrate --ranges");
  if (const std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  const std::vector<Collective> collectives = CollectivesOf(op);
  if (collectives.empty()) return UsageError("tutti tune", fmt::format("there is no operation '{}'", op));

  if (calibrate) {
    const Result<std::string> stored = Calibrate(ranks);
    if (!stored.ok()) {
      fmt::print(stderr, "tutti tune: {}\n", stored.status().message());
      return kExitFailed;
    }
    fmt::print("{}\n", *stored);
  }
  const Result<ChoiceOf> choose = OpenChooser(ranks);
  if (!choose.ok()) {
    fmt::print(stderr, "tutti tune: {}\n", choose.status().message());
    return kExitFailed;
  }
  fmt::print("{}", FormatChoices(collectives, ranks, ranges ? Detail::kRanges : Detail::kEverySize, *choose));
  return kExitOk;
}

}  // namespace tutti::tools
