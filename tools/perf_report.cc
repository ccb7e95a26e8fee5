// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace tutti::tools {

PerfReport::PerfReport(const PerfOptions& options, Voice voice)
    : options_(options),
      speaks_(voice == Voice::kSpeaks),
      columns_(options.show_choice ? Columns::kWithChoice : Columns::kStandard),
      progress_(0, speaks_) {
  if (const char* required = std::getenv("NCCL_TESTS_MIN_BW")) summary_.required_gbps = std::atof(required);
}

Status PerfReport::Begin(std::span<const RankInfo> ranks) {
  if (!speaks_) return Status::Ok();
  if (!options_.json.empty()) {
    Result<JsonReport> json = JsonReport::Create(options_.json);
    if (!json.ok()) return json.status();
    json_.emplace(std::move(*json));
    json_->Begin(options_, ranks);
    Print(fmt::format("# Writing JSON output to {}\n", json_->path()));
  }
  std::string text = FormatHeader(options_);
  for (const RankInfo& info : ranks) text += FormatDevice(info);
  Print(text + FormatTitles(columns_));
  return Status::Ok();
}

void PerfReport::Add(const Row& row) {
  for (const std::optional<Measurement>& m : {std::optional(row.out_of_place), row.in_place}) {
    if (!m) continue;
    summary_.wrong += m->wrong.value_or(0);
    bus_sum_ += m->bus_gbps;
    ++measurements_;
  }
  if (!speaks_) return;
  progress_.Erase();
  Print(FormatRow(row, columns_));
  if (json_) json_->Add(row, options_.iterations);
}

void PerfReport::Note(std::string_view text) { Line(fmt::format("# {}", text)); }

void PerfReport::Line(std::string_view text) {
  if (!speaks_) return;
  progress_.Erase();
  Print(fmt::format("{}\n", text));
}

void PerfReport::Progress(std::string_view what) { progress_.Show(what); }

Status PerfReport::Finish(const std::string& error) {
  progress_.Erase();
  summary_.mean_bus_gbps = measurements_ > 0 ? bus_sum_ / measurements_ : 0;
  summary_.error = error;
  if (!speaks_) return Status::Ok();
  Print(FormatFooter(summary_, options_.collective));
  return json_ ? json_->Finish(summary_) : Status::Ok();
}

void PerfReport::Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace tutti::tools
