// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary text to the reader of workloads. What is refused needs a sentence of one line and bounded length, with its line; a
// small workload that is taken becomes a job, unless its ranks do not agree, and its times make sense when it is simulated.
//
// Canary: a planted fault (7 microbatches "crash") must be found.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/simulator.h"
#include "sim/workload_job.h"

namespace tutti::sim {
namespace {

constexpr std::size_t kMostSentence = 600;
constexpr int kSmallRanks = 16, kSmallMicrobatches = 8;
constexpr std::uint64_t kSmallStatements = 64, kSmallBytes = 1 << 20;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckSentence(const Status& status) {
  const std::string& sentence = status.message();
  Require(!sentence.empty() && sentence.size() < kMostSentence && sentence.find('\n') == std::string::npos);
}

bool IsSmall(const Workload& workload) {
  if (workload.ranks() > kSmallRanks || workload.microbatches > kSmallMicrobatches) return false;
  for (const auto& section : workload.sections) {
    std::uint64_t times = 1;
    for (const Statement& statement : section) {
      if (statement.kind == Statement::Kind::kRepeat) times *= std::min(statement.times, kSmallStatements);
      const bool cut_small = statement.by && (statement.by->channels > 4 ||
                                              (statement.by->chunk_bytes > 0 && statement.by->chunk_bytes < 1024));
      if (statement.bytes > kSmallBytes || cut_small) return false;
    }
    if (section.size() * times > kSmallStatements) return false;
  }
  return true;
}

Result<Way> Choose(const Call& call) {
  for (const algo::Entry& entry : algo::Registry()) {
    if (entry.supports(call.collective, call.hosts)) return Way{.algorithm = entry.algorithm};
  }
  return Status(Code::kUnsupported, "no algorithm does that");
}

void Check(std::string_view text) {
  const Result<Workload> workload = ReadWorkload(text);
  if (!workload.ok()) {
    CheckSentence(workload.status());
    Require(workload.status().message().starts_with("line "));
    return;
  }
  Require(workload->ranks() >= 1 && workload->ranks() <= kMostWorkloadRanks);
#ifdef TUTTI_FUZZ_CANARY
  Require(workload->microbatches != 7);
#endif
  if (!IsSmall(*workload)) return;
  const Machine machine{.nodes = std::vector<int>(static_cast<std::size_t>(workload->ranks()))};
  const Result<WorkloadJob> job = MakeWorkloadJob(*workload, machine, Choose);
  if (!job.ok()) {
    CheckSentence(job.status());
    return;
  }
  const Result<Outcome> outcome =
      Simulate(job->job, machine, {.loggops = LogGops{.latency_ns = 1000, .gap_ns_per_byte = 1}});
  Require(outcome.ok());
  const WorkloadTimes times = Summarize(*workload, *job, *outcome);
  Require(times.step_us >= times.compute_us * (1 - 1e-9) - 1e-3);
  for (const WorkloadTimes::Communication& each : times.communication) {
    Require(each.exposed_us >= 0 && each.waiting_us >= 0 && each.waiting_us <= each.exposed_us + 1e-3);
  }
}

}  // namespace
}  // namespace tutti::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::sim::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
