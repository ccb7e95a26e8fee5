// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "tools/cli.h"

namespace tutti::tools {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string Describe(const Work& work, Placement placement, std::string_view doing) {
  return fmt::format("{} {} {} {}, {}", doing, Name(work.collective), FormatBytes(work.bytes()), Name(work.type),
                     placement == Placement::kInPlace ? "in place" : "out of place");
}

}  // namespace

ChoiceNames ParseChoice(const std::string& explained) {
  std::istringstream words(explained.substr(0, explained.find(',')));
  ChoiceNames names;
  words >> names.algorithm >> names.protocol;
  if (explained.find("by reference") != explained.npos) names.protocol = "by-ref";
  if (const std::size_t end = explained.find(" channels"); end != explained.npos) {
    names.channels = std::atoi(explained.c_str() + explained.rfind(' ', end - 1) + 1);
  }
  return names;
}

std::size_t BufferBytes(const PerfOptions& options) {
  return options.max_bytes + static_cast<std::size_t>(options.unalign) * sizeof(std::uint64_t);
}

Status RowRunner::Run() {
  const bool reduces = Reduces(options_.collective);
  int first_root = 0, last_root = 0;
  if (HasRoot(options_.collective)) {
    first_root = options_.root == kEveryRoot ? 0 : options_.root;
    last_root = options_.root == kEveryRoot ? team_.ranks() - 1 : options_.root;
  }
  for (DataType type : options_.types) {
    for (ReduceOp op : reduces ? options_.ops : std::vector<ReduceOp>{ReduceOp::kSum}) {
      for (int root = first_root; root <= last_root; ++root) {
        std::optional<std::size_t> bytes = options_.min_bytes;
        for (; bytes; bytes = NextSize(options_, *bytes)) {
          TUTTI_RETURN_IF_ERROR(RunRow(MakeWork(type, op, root, *bytes)));
        }
      }
    }
  }
  return Status::Ok();
}

std::string RowRunner::ExplainLargest() const {
  const int root = std::max(options_.root, 0);
  const Work work = MakeWork(options_.types[0], options_.ops[0], root, options_.max_bytes);
  const Place place = PlaceOf(work, Placement::kOutOfPlace, first(work), second(work));
  return Explain(OperationsOf(work, place)[0]);
}

Work RowRunner::MakeWork(DataType type, ReduceOp op, int root, std::size_t bytes) const {
  const Rounding rounding = options_.exact_sizes ? Rounding::kExact : Rounding::kTo16Bytes;
  return {.collective = options_.collective,
          .type = type,
          .op = op,
          .root = root,
          .rank = team_.rank(),
          .ranks = team_.ranks(),
          .count = CountFor(options_.collective, type, team_.ranks(), bytes, rounding)};
}

std::byte* RowRunner::first(const Work& work) const {
  return buffers_.first() + static_cast<std::size_t>(options_.unalign) * SizeOf(work.type);
}
std::byte* RowRunner::second(const Work& work) const {
  return buffers_.second() + static_cast<std::size_t>(options_.unalign) * SizeOf(work.type);
}

Status RowRunner::RunRow(const Work& work) {
  Row row{.bytes = work.bytes(), .count = work.count, .type = work.type};
  if (Reduces(work.collective)) row.op = Name(work.op);
  if (HasRoot(work.collective)) row.root = work.root;
  const Place place = PlaceOf(work, Placement::kOutOfPlace, first(work), second(work));
  const ChoiceNames choice = ParseChoice(Explain(OperationsOf(work, place)[0]));
  row.algorithm = choice.algorithm;
  row.protocol = choice.protocol;
  row.channels = choice.channels;

  const Result<Measurement> out_of_place = Measure(work, Placement::kOutOfPlace);
  if (!out_of_place.ok()) return out_of_place.status();
  row.out_of_place = *out_of_place;
  if (HasInPlace(work.collective)) {
    const Result<Measurement> in_place = Measure(work, Placement::kInPlace);
    if (!in_place.ok()) return in_place.status();
    row.in_place = *in_place;
  }
  report_.Add(row);
  return Status::Ok();
}

Result<Measurement> RowRunner::Measure(const Work& work, Placement placement) {
  report_.Progress(Describe(work, placement, "measuring"));
  FillBuffers(work, placement, first(work), second(work), seed_);
  if (gpu_ != nullptr) TUTTI_RETURN_IF_ERROR(gpu_->CopyIn());
  const Result<double> seconds = Time(work, placement);
  if (!seconds.ok()) return seconds.status();
  Measurement measured{.time_us = *seconds * 1e6};
  measured.algorithm_gbps = AlgorithmBandwidth(work.bytes(), *seconds);
  measured.bus_gbps = measured.algorithm_gbps * BusFactor(work.collective, work.ranks);
  if (options_.checks > 0) {
    report_.Progress(Describe(work, placement, "checking"));
    const Result<std::int64_t> wrong = Check(work, placement);
    if (!wrong.ok()) return wrong.status();
    measured.wrong = *wrong;
  }
  return measured;
}

std::vector<std::vector<Operation>> RowRunner::IterationsOf(const Work& work, Placement placement) const {
  const auto group = static_cast<std::size_t>(options_.group);
  std::size_t pieces = 1;
  if (options_.rotate && work.bytes() > 0) pieces = options_.max_bytes / work.bytes();
  std::vector<std::vector<Operation>> iterations(std::min(pieces, static_cast<std::size_t>(options_.iterations)));
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    for (std::size_t j = 0; j < group; ++j) {
      const std::size_t offset = (i * group + j) % pieces * work.bytes();
      const Place place = PlaceOf(work, placement, first(work) + offset, second(work) + offset);
      for (const Operation& operation : OperationsOf(work, place)) iterations[i].push_back(operation);
    }
  }
  return iterations;
}

Status RowRunner::Once(const std::vector<Operation>& operations) {
  if (gpu_ != nullptr) return gpu_->Run(operations);
  return operations.size() == 1 ? tested_.Run(operations[0]) : tested_.RunGroup(operations);
}

// Seconds per operation.
Result<double> RowRunner::Time(const Work& work, Placement placement) {
  const std::vector<std::vector<Operation>> iterations = IterationsOf(work, placement);
  for (int i = 0; i < options_.warmup; ++i) TUTTI_RETURN_IF_ERROR(Once(iterations[i % iterations.size()]));
  TUTTI_RETURN_IF_ERROR(Wait());
  TUTTI_RETURN_IF_ERROR(team_.Barrier());

  using enum PerfOptions::Barrier;
  const Clock::time_point begin = Clock::now();
  double seconds_between = 0;  // in barriers that do not count
  std::size_t next = 0;
  for (int i = 0; i < options_.iterations; ++i) {
    TUTTI_RETURN_IF_ERROR(Once(iterations[next]));
    if (++next == iterations.size()) next = 0;
    if (options_.barrier == kNone) continue;
    TUTTI_RETURN_IF_ERROR(Wait());
    const Clock::time_point barrier_begin = Clock::now();
    TUTTI_RETURN_IF_ERROR(team_.Barrier());
    if (options_.barrier == kUntimed) seconds_between += SecondsSince(barrier_begin);
  }
  TUTTI_RETURN_IF_ERROR(Wait());
  const double seconds = SecondsSince(begin) - seconds_between;
  return team_.Combine(seconds / options_.iterations / options_.group, options_.average);
}

Result<std::int64_t> RowRunner::Check(const Work& work, Placement placement) {
  std::int64_t wrong = 0;
  for (int i = 0; i < options_.checks; ++i) {
    ++seed_;
    FillBuffers(work, placement, first(work), second(work), seed_);
    if (gpu_ != nullptr) TUTTI_RETURN_IF_ERROR(gpu_->CopyIn());
    TUTTI_RETURN_IF_ERROR(Once(OperationsOf(work, PlaceOf(work, placement, first(work), second(work)))));
    if (gpu_ != nullptr) TUTTI_RETURN_IF_ERROR(gpu_->CopyOut());
    wrong += static_cast<std::int64_t>(checker_.CountWrong(work, placement, first(work), second(work), seed_));
  }
  return team_.Sum(wrong);
}

}  // namespace tutti::tools
