// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/record_prometheus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <utility>

#include "proto/protocol.h"
#include "tools/cli.h"

namespace tutti::tools {
namespace {

using diag::CommunicatorLook;
using diag::RankLook;
using trace::WaitKind;

using Labels = std::vector<std::pair<const char*, std::string>>;

// One name with its samples.
class Family {
 public:
  Family(const char* name, const char* type, const char* help) : name_(name) {
    text_ = fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  // A second one of the same labels is left out: there may be no two.
  template <typename Value>
  void Add(const Labels& labels, Value value) {
    std::string series;
    for (const auto& [label, text] : labels)
      series += fmt::format("{}{}=\"{}\"", series.empty() ? "" : ",", label, EscapeLabel(text));
    if (!series_.insert(series).second) return;
    text_ += series.empty() ? fmt::format("{} {}\n", name_, value) : fmt::format("{}{{{}}} {}\n", name_, series, value);
  }
  // Nothing where it has no sample.
  std::string Take() { return series_.empty() ? "" : std::move(text_); }

 private:
  const char* name_;
  std::string text_;
  std::set<std::string> series_;
};

double Seconds(std::int64_t ns) { return static_cast<double>(std::max<std::int64_t>(ns, 0)) / 1e9; }

std::string JobName(const TopJob& job) { return std::to_string(job.processes.front()->pid); }

const char* WaitName(WaitKind kind) {
  constexpr const char* kNames[] = {"nothing", "data", "room", "readers", "pages"};
  return kNames[static_cast<int>(kind)];
}

std::string BuildFamily() {
  Family build("tutti_build_info", "gauge", "The version of the program that wrote this.");
  build.Add({{"version", std::string(Version())}}, 1);
  return build.Take();
}

std::string JobFamilies(const std::vector<TopJob>& jobs) {
  Family count("tutti_jobs", "gauge", "Jobs of this host.");
  Family ranks("tutti_ranks", "gauge", "Ranks of the largest communicator of a job, named by its lowest process.");
  Family status("tutti_job_status", "gauge",
                "0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN, as exit codes of monitoring have it.");
  Family stuck("tutti_stuck_seconds", "gauge", "The longest wait behind a verdict that stands; 0 where none does.");
  count.Add({}, jobs.size());
  for (const TopJob& job : jobs) {
    const Labels labels{{"job_pid", JobName(job)}};
    ranks.Add(labels, job.ranks);
    status.Add(labels, static_cast<int>(job.status));
    std::int64_t held_ns = 0;
    for (const diag::Verdict& v : job.verdicts) {
      if (v.severity != diag::Severity::kQuiet) held_ns = std::max(held_ns, v.held_ns);
    }
    stuck.Add(labels, Seconds(held_ns));
  }
  return count.Take() + ranks.Take() + status.Take() + stuck.Take();
}

// What ranks have done.
class RankFamilies {
 public:
  explicit RankFamilies(const diag::Look& now) : now_(now) {}

  void Add(const TopJob& job, const CommunicatorLook& c, const RankLook& rank) {
    const Labels labels{
        {"comm", fmt::format("{:016x}", c.id)}, {"comm_name", c.name}, {"rank", std::to_string(rank.rank)}};
    info_.Add({{"comm", labels[0].second},
               {"comm_name", c.name},
               {"job_pid", JobName(job)},
               {"ranks", std::to_string(c.ranks)}},
              1);
    if (rank.records_calls) AddCalls(labels, rank);
    AddWaits(labels, rank);
    AddLinks(labels, rank);
    failed_.Add(labels, rank.failure.empty() ? 0 : 1);
  }
  std::string Take() {
    return info_.Take() + operations_.Take() + ended_.Take() + wait_.Take() + waited_.Take() + units_.Take() +
           failed_.Take();
  }

 private:
  static Labels With(Labels labels, std::initializer_list<Labels::value_type> more) {
    labels.insert(labels.end(), more);
    return labels;
  }

  void AddCalls(const Labels& labels, const RankLook& rank) {
    ended_.Add(labels, rank.finished);
    if (!rank.knows_collectives) {
      operations_.Add(With(labels, {{"op", "any"}}), rank.called);
      return;
    }
    operations_.Add(With(labels, {{"op", "collective"}}), rank.sequence);
    operations_.Add(With(labels, {{"op", "transfer"}}), rank.called - std::min(rank.called, rank.sequence));
  }

  void AddWaits(const Labels& labels, const RankLook& rank) {
    if (rank.wait.kind != WaitKind::kNothing && rank.wait.number > rank.finished)
      wait_.Add(With(labels, {{"for", WaitName(rank.wait.kind)}}), Seconds(now_.taken_ns - rank.wait.since_ns));
    std::int64_t data_ns = 0, room_ns = 0;
    for (const diag::LinkLook& link : rank.links) {
      data_ns += link.data_wait_ns;
      room_ns += link.room_wait_ns;
    }
    waited_.Add(With(labels, {{"for", "data"}}), Seconds(data_ns));
    waited_.Add(With(labels, {{"for", "room"}}), Seconds(room_ns));
  }

  void AddLinks(const Labels& labels, const RankLook& rank) {
    std::array<std::uint64_t, trace::kBoxProtocols> sent{}, received{};
    for (const diag::LinkLook& link : rank.links) {
      for (std::size_t p = 0; p < sent.size(); ++p) {
        sent[p] += link.sent[p];
        received[p] += link.received[p];
      }
    }
    for (std::size_t p = 0; p < sent.size(); ++p) {
      const std::string protocol(proto::Name(static_cast<proto::Protocol>(p)));
      if (sent[p] > 0) units_.Add(With(labels, {{"protocol", protocol}, {"direction", "sent"}}), sent[p]);
      if (received[p] > 0) units_.Add(With(labels, {{"protocol", protocol}, {"direction", "received"}}), received[p]);
    }
  }

  const diag::Look& now_;
  Family info_{"tutti_communicator_info", "gauge", "A communicator, its name, its job and how many ranks it has."};
  Family operations_{"tutti_operations_total", "counter",
                     "Operations that the rank has called; any: it is not known which of them were collectives."};
  Family ended_{"tutti_operations_ended_total", "counter",
                "Operations of the rank that have ended; those of a GPU when they are in its stream."};
  Family wait_{"tutti_wait_seconds", "gauge", "How long the rank has waited without a move, where it waits now."};
  Family waited_{
      "tutti_waited_seconds_total", "counter",
      "How long the rank's program has waited for peers inside of calls; what the library's own thread waits is "
      "not in it."};
  Family units_{
      "tutti_link_units_total", "counter",
      "Units on all links of the rank: of 64 bytes (LL), lines of 128 bytes (LL128), posts of any size (Simple). "
      "Brought up to date while it waits."};
  Family failed_{"tutti_communicator_failed", "gauge", "1 where an error has ended the communicator on this rank."};
};

std::string VerdictFamilies(const std::vector<TopJob>& jobs) {
  std::array<std::array<int, 2>, diag::kKinds> count{};
  Family verdicts("tutti_verdicts", "gauge", "Verdicts that stand.");
  Family info("tutti_verdict_info", "gauge", "Whom a verdict that stands names.");
  for (const TopJob& job : jobs) {
    for (const diag::Verdict& v : job.verdicts) {
      if (v.severity == diag::Severity::kQuiet) continue;
      ++count[static_cast<std::size_t>(v.kind)][v.severity == diag::Severity::kWarn ? 1 : 0];
      const auto add = [&](const diag::Place& place) {
        info.Add({{"kind", diag::Name(v.kind)},
                  {"severity", diag::Name(v.severity)},
                  {"comm", fmt::format("{:016x}", place.communicator)},
                  {"comm_name", place.communicator_name},
                  {"rank", std::to_string(place.rank)},
                  {"host", place.host},
                  {"pid", std::to_string(place.pid)},
                  {"job_pid", JobName(job)}},
                 1);
      };
      for (const diag::Place& place : v.culprits) add(place);
      for (const diag::LinkPlace& link : v.links) {
        add(link.from);
        add(link.to);
      }
    }
  }
  for (int kind = 0; kind < diag::kKinds; ++kind) {
    for (const diag::Severity severity : {diag::Severity::kInfo, diag::Severity::kWarn}) {
      verdicts.Add({{"kind", diag::Name(static_cast<diag::Kind>(kind))}, {"severity", diag::Name(severity)}},
                   count[static_cast<std::size_t>(kind)][severity == diag::Severity::kWarn ? 1 : 0]);
    }
  }
  return verdicts.Take() + info.Take();
}

}  // namespace

std::string EscapeLabel(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c < ' ' || c > '~' ? '?' : c;
    }
  }
  return escaped;
}

std::string FormatPrometheus(const diag::Look& now, const std::vector<TopJob>& jobs) {
  RankFamilies ranks(now);
  for (const TopJob& job : jobs) {
    for (const CommunicatorLook* c : job.communicators) {
      for (const RankLook& rank : c->seen) ranks.Add(job, *c, rank);
    }
  }
  return BuildFamily() + JobFamilies(jobs) + ranks.Take() + VerdictFamilies(jobs);
}

}  // namespace tutti::tools
