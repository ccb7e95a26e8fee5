// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "ras/json.h"

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <string_view>

#include "base/json_text.h"
#include "ras/names.h"

namespace tutti::ras {
namespace {

constexpr int kInProgress = 7;  // ncclInProgress

// Writes objects and arrays, and puts the commas.
class Writer {
 public:
  void Begin(char bracket) {
    Separate();
    Open(bracket);
  }
  void Begin(std::string_view key, char bracket) {
    Key(key);
    Open(bracket);
  }
  void End() {
    const char closing = closing_.back();
    closing_.pop_back();
    if (!first_) NewLine();
    out_ += closing;
    first_ = false;
  }
  void Member(std::string_view key, std::string_view value) {
    Key(key);
    String(value);
  }
  void Member(std::string_view key, const char* value) { Member(key, std::string_view(value)); }
  void Member(std::string_view key, const std::string& value) { Member(key, std::string_view(value)); }
  void Member(std::string_view key, std::same_as<bool> auto value) {
    Key(key);
    out_ += value ? "true" : "false";
  }
  template <std::integral T>
  requires(!std::same_as<T, bool>) void Member(std::string_view key, T value) {
    Key(key);
    out_ += fmt::format("{}", value);
  }
  void Seconds(std::string_view key, double value) {
    Key(key);
    out_ += fmt::format("{:.3f}", value);
  }
  void Numbers(std::string_view key, const std::vector<int>& values) {
    Key(key);
    out_ += fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string Take() { return std::move(out_) + "\n"; }

 private:
  void NewLine() { out_.append("\n").append(2 * closing_.size(), ' '); }
  void Separate() {
    if (!first_) out_ += ',';
    first_ = false;
    if (!closing_.empty()) NewLine();
  }
  void Open(char bracket) {
    out_ += bracket;
    closing_ += bracket == '{' ? '}' : ']';
    first_ = true;
  }
  void Key(std::string_view key) {
    Separate();
    String(key);
    out_ += ": ";
  }
  void String(std::string_view text) {
    out_ += '"';
    AppendJsonText(out_, text);
    out_ += '"';
  }

  std::string out_;
  std::string closing_;  // of brackets that are open
  bool first_ = true;    // nothing is in the innermost of them yet
};

void WritePlace(Writer& w, const Report& report, int rank, int process, int gpu) {
  const Process* p = report.ProcessAt(process);
  w.Member("rank", rank);
  w.Member("host", p == nullptr ? "unknown" : p->host);
  w.Member("pid", p == nullptr || p->pid == 0 ? -1 : p->pid);
  w.Member("cuda_dev", gpu);
  w.Member("nvml_dev", -1);
}

void WriteRank(Writer& w, const Report& report, const Rank& rank) {
  w.Begin('{');
  WritePlace(w, report, rank.rank, rank.process, rank.gpu);
  w.Begin("status", '{');
  w.Member("init_state", rank.stage == Stage::kInit ? kInProgress : 0);
  w.Member("async_error", rank.async_error);
  w.Member("finalize_called", rank.stage == Stage::kFinalize);
  w.Member("destroy_flag", rank.stage == Stage::kFinalize);
  w.Member("abort_flag", rank.stage == Stage::kAbort);
  w.End();
  w.Begin("collective_counts", '{');
  for (std::size_t i = 0; i < kCounted.size(); ++i) w.Member(kCounted[i].name, rank.counts[i]);
  w.End();
  w.Begin("tutti", '{');
  const Process* p = report.ProcessAt(rank.process);
  w.Member("process_state", p == nullptr ? "unknown" : diag::Name(p->state));
  w.Member("calls", rank.called);
  w.Member("calls_ended", rank.finished);
  if (!rank.failure.empty()) w.Member("error", rank.failure);
  w.End();
  w.End();
}

void WriteMissing(Writer& w, const Report& report, const MissingRank& missing) {
  const bool ended = missing.why == MissingRank::Why::kEnded;
  w.Begin('{');
  WritePlace(w, report, missing.rank, missing.process, missing.gpu);
  w.Begin("status", '{');
  w.Member("unresponsive", ended);
  w.Member("considered_dead", ended);
  w.End();
  w.Begin("tutti", '{');
  w.Member("reason", ended                                    ? "its process has ended"
                     : missing.why == MissingRank::Why::kLeft ? "it has left the communicator"
                                                              : "it has not come");
  w.End();
  w.End();
}

void WriteCommunicator(Writer& w, const Report& report, const CommunicatorReport& c) {
  w.Begin('{');
  w.Member("hash", fmt::format("0x{:x}", c.id));
  // NCCL tells communicators with equal hashes apart by it. These are unique by themselves.
  w.Member("secondary_hash", "0x0:0x0");
  w.Member("size", c.size);
  w.Member("ranks_count", c.ranks.size());
  w.Member("missing_ranks_count", c.missing.size());
  w.Begin("ranks", '[');
  for (const Rank& rank : c.ranks) WriteRank(w, report, rank);
  w.End();
  w.Begin("missing_ranks", '[');
  for (const MissingRank& missing : c.missing) WriteMissing(w, report, missing);
  w.End();
  w.Begin("tutti", '{');
  w.Member("name", c.name);
  w.Member("status", Name(c.stage));
  w.Member("errors", ErrorNames(c.errors));
  w.Member("unseen_ranks_count", c.unseen);
  w.Begin("verdicts", '[');
  for (const Finding& f : c.findings) {
    w.Begin('{');
    w.Member("kind", f.kind);
    w.Member("sentence", f.sentence);
    w.Numbers("exclude", f.exclude);
    w.End();
  }
  w.End();
  w.End();
  w.End();
}

}  // namespace

std::string ToJson(const Report& report) {
  Writer w;
  w.Begin('{');
  w.Member("nccl_version", NcclVersion());
  w.Member("cuda_runtime_version", -1);
  w.Member("cuda_driver_version", -1);
  w.Member("timestamp", LocalTime(report.taken_unix_ns));
  w.Member("communicators_count", report.communicators.size());
  w.Begin("communicators", '[');
  for (const CommunicatorReport& c : report.communicators) WriteCommunicator(w, report, c);
  w.End();
  w.Begin("ras", '{');
  w.Seconds("collection_time_sec", report.seconds);
  w.Member("timeouts_count", 0);
  w.End();
  w.Begin("tutti", '{');
  w.Member("version", TuttiVersion());
  w.End();
  w.End();
  return w.Take();
}

std::string ToJson(const Event& event) {
  Writer w;
  w.Begin('{');
  w.Member("timestamp", LocalTime(event.unix_ns));
  w.Member("group", event.group == kLifecycle ? "LIFECYCLE" : "TRACE");
  w.Member("event", event.name);
  if (event.process) {
    w.Begin("peer", '{');
    w.Member("host", event.process->host);
    w.Member("pid", event.process->pid);
    w.Numbers("cuda_devs", event.process->gpus);
    w.Numbers("nvml_devs", {});
    w.End();
  }
  w.Member("details", event.details);
  w.End();
  return w.Take();
}

}  // namespace tutti::ras
