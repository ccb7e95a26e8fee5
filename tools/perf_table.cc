// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_table.h"

#include <fmt/format.h>

#include "tools/cli.h"

namespace tutti::tools {
namespace {

std::string FormatMeasurement(const std::optional<Measurement>& m) {
  if (!m) return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
  return fmt::format("  {}  {}  {}  {:>6}", FormatNumber(m->time_us, 7), FormatNumber(m->algorithm_gbps, 6),
                     FormatNumber(m->bus_gbps, 6),
                     m->wrong ? fmt::format("{:g}", static_cast<double>(*m->wrong)) : "N/A");
}

std::string FormatChoice(std::string_view algorithm, std::string_view protocol, std::string_view channels) {
  return fmt::format("  {:>18}  {:>6}  {:>5}", algorithm, protocol, channels);
}

std::string FormatTitleLine(std::string_view size, std::string_view count, std::string_view type, std::string_view op,
                            std::string_view root) {
  return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", size, count, type, op, root);
}

}  // namespace

std::string FormatNumber(double value, int width) {
  for (int decimals : {2, 1, 0}) {
    std::string text = fmt::format("{:{}.{}f}", value, width, decimals);
    if (static_cast<int>(text.size()) <= width) return text;
  }
  return fmt::format("{:{}.{}e}", value, width, width >= 7 ? 1 : 0);
}

std::string FormatHeader(const PerfOptions& options) {
  const bool factor = options.step_factor > 1;
  std::string text = fmt::format(
      "# tutti version {}\n"
      "# Collective test starting: tutti perf {}\n"
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg iters: {} "
      "validation: {} graph: 0 unalign: {}\n",
      Version(), Name(options.collective), options.launch == PerfOptions::Launch::kThreads ? options.ranks : 1,
      options.gpu ? 1 : 0, options.min_bytes, options.max_bytes, factor ? options.step_factor : options.step_bytes,
      factor ? "factor" : "bytes", options.warmup, options.iterations, options.group, options.checks, options.unalign);
  if (options.barrier == PerfOptions::Barrier::kTimed) {
    text += "# Blocking Enabled: wait for completion and barrier after each collective \n";
  } else if (options.barrier == PerfOptions::Barrier::kUntimed) {
    text += "# Blocking Enabled: wait and barrier after each outer iteration (-n); time excludes barrier \n";
  }
  return text + "#\n# Using devices\n";
}

std::string FormatDevice(const RankInfo& info) {
  return fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [cpu] {}\n", info.rank, 0, info.pid,
                     info.host, info.local_rank, info.device);
}

std::string FormatTitles(Columns columns) {
  const bool choice = columns == Columns::kWithChoice;
  constexpr std::string_view kTitle = "  {:>7}  {:>6}  {:>6}  {:>6}";
  const std::string names = fmt::format(fmt::runtime(kTitle), "time", "algbw", "busbw", "#wrong");
  const std::string units = fmt::format(fmt::runtime(kTitle), "(us)", "(GB/s)", "(GB/s)", "");
  return "#\n" + FormatTitleLine("", "", "", "", "") +
         "           out-of-place                       in-place          \n" +
         FormatTitleLine("size", "count", "type", "redop", "root") + names + names +
         (choice ? FormatChoice("algorithm", "proto", "#chan") : "") + " \n" +
         FormatTitleLine("(B)", "(elements)", "", "", "") + units + units + (choice ? FormatChoice("", "", "") : "") +
         " \n";
}

std::string FormatRow(const Row& row, Columns columns) {
  return fmt::format(
      "{:12}  {:12}  {:>8}  {:>6}  {:6}{}{}{}\n", row.bytes, row.count, Name(row.type), row.op, row.root,
      FormatMeasurement(row.out_of_place), FormatMeasurement(row.in_place),
      columns == Columns::kWithChoice ? FormatChoice(row.algorithm, row.protocol, std::to_string(row.channels)) : "");
}

std::string FormatFooter(const Summary& summary, Collective collective) {
  const char* verdict = summary.required_gbps < 0 ? "" : summary.fast_enough() ? "OK" : "FAILED";
  return fmt::format(
      "# {:<20} : {} {}\n"
      "# {:<20} : {:g} {}\n"
      "#\n"
      "# Collective test concluded: tutti perf {}\n"
      "#\n"
      "{}\n",
      "Out of bounds values", summary.wrong, summary.wrong != 0 ? "FAILED" : "OK", "Avg bus bandwidth",
      summary.mean_bus_gbps, verdict, Name(collective),
      summary.error.empty() ? std::string() : "# error: " + summary.error);
}

}  // namespace tutti::tools
