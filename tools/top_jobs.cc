// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/top_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "diag/sentence.h"
#include "diag/what.h"

namespace tutti::tools {
namespace {

using diag::Kind;
using diag::Place;
using diag::Severity;
using diag::Verdict;

// Numbers groups: processes that have a communicator in common are in one.
class Groups {
 public:
  explicit Groups(std::size_t count) : root_(count) { std::iota(root_.begin(), root_.end(), std::size_t{0}); }
  std::size_t Of(std::size_t i) const {
    while (root_[i] != i) i = root_[i];
    return i;
  }
  void Join(std::size_t one, std::size_t other) {
    const std::size_t a = Of(one), b = Of(other);
    root_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> root_;
};

// The fastest rank's.
double CallsPerSecond(const diag::CommunicatorLook& c, const diag::Look& before, const diag::Look& now) {
  const diag::CommunicatorLook* old = before.Find(c.id);
  double most = 0;
  for (const diag::RankLook& rank : c.seen) {
    const diag::RankLook* then = old == nullptr ? nullptr : old->Find(rank.rank);
    if (then == nullptr || then->created_ns != rank.created_ns || rank.finished < then->finished) continue;
    const double seconds = static_cast<double>(now.taken_ns - before.taken_ns) * 1e-9;
    most = std::max(most, static_cast<double>(rank.finished - then->finished) / seconds);
  }
  return most;
}

// Of which communicators a verdict tells.
std::vector<std::uint64_t> CommunicatorsOf(const Verdict& v) {
  std::vector<std::uint64_t> all;
  for (const auto* places : {&v.culprits, &v.direct, &v.indirect}) {
    for (const Place& p : *places) all.push_back(p.communicator);
  }
  for (const diag::LinkPlace& l : v.links) all.push_back(l.from.communicator);
  return all;
}

// "pids 101-104", "pid 7": of this host.
std::string PidList(const TopJob& job) {
  std::vector<int> pids;
  for (const diag::ProcessLook* p : job.processes) {
    if (p->host == job.processes.front()->host) pids.push_back(p->pid);
  }
  const std::string list = diag::RankList(pids);  // "ranks 101-104"
  return "pid" + list.substr(4) + (job.hosts > 1 ? " here" : "");
}

int CountHosts(const TopJob& job) {
  std::set<std::string_view> hosts;
  for (const diag::ProcessLook* p : job.processes) hosts.insert(p->host);
  return static_cast<int>(hosts.size());
}

Json PlaceAsJson(const Place& p) {
  return {{"communicator", fmt::format("{:016x}", p.communicator)},
          {"name", p.communicator_name},
          {"rank", p.rank},
          {"host", p.host},
          {"pid", p.pid},
          {"gpu", p.gpu < 0 ? Json() : Json(p.gpu)}};
}

Json PlacesAsJson(const std::vector<Place>& places) {
  Json all = Json::Array();
  for (const Place& p : places) all.Append(PlaceAsJson(p));
  return all;
}

Json LinksAsJson(const std::vector<diag::LinkPlace>& links) {
  Json all = Json::Array();
  for (const diag::LinkPlace& l : links) {
    all.Append({{"from", PlaceAsJson(l.from)},
                {"to", PlaceAsJson(l.to)},
                {"channel", l.channel},
                {"card_from", l.nic_from},
                {"card_to", l.nic_to}});
  }
  return all;
}

Json VerdictAsJson(const Verdict& v) {
  return {{"kind", diag::Name(v.kind)},
          {"severity", diag::Name(v.severity)},
          {"confidence", diag::Name(v.confidence)},
          {"status", Name(StatusOf(v))},
          {"sentence", diag::Sentence(v)},
          {"what", diag::What(v)},
          {"effect", diag::Effect(v)},
          {"next_step", diag::NextStep(v)},
          {"culprits", PlacesAsJson(v.culprits)},
          {"links", LinksAsJson(v.links)},
          {"common", v.common},
          {"waited_ns", v.held_ns},
          {"since_unix_ns", v.since_unix_ns},
          {"reasons", v.reasons},
          {"evidence", v.evidence},
          {"direct", PlacesAsJson(v.direct)},
          {"indirect", PlacesAsJson(v.indirect)}};
}

}  // namespace

const char* Name(JobStatus status) {
  constexpr const char* kNames[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  return kNames[static_cast<int>(status)];
}

JobStatus Worse(JobStatus one, JobStatus other) {
  constexpr int kOrder[] = {0, 2, 3, 1};
  return kOrder[static_cast<int>(one)] >= kOrder[static_cast<int>(other)] ? one : other;
}

JobStatus StatusOf(const Verdict& verdict) {
  if (verdict.severity < Severity::kWarn) return JobStatus::kOk;
  switch (verdict.kind) {
    case Kind::kUnknown:
      return JobStatus::kUnknown;
    case Kind::kLateHost:
    case Kind::kStarved:
    case Kind::kTraced:
    case Kind::kGpuLate:
    case Kind::kGpuSlow:
    case Kind::kLinkSlow:
    case Kind::kInitIncomplete:
      return JobStatus::kWarning;
    case Kind::kNvLinkFault:
      return verdict.rated_bytes_per_s > 0 ? JobStatus::kWarning : JobStatus::kCritical;
    default:
      return JobStatus::kCritical;
  }
}

bool TopJob::Has(std::int32_t pid) const {
  return std::ranges::any_of(processes, [&](const diag::ProcessLook* p) { return p->pid == pid; });
}

std::vector<TopJob> FindJobs(const diag::Look& before, const diag::Look& now, const std::vector<Verdict>& verdicts) {
  Groups groups(now.processes.size());
  for (const diag::CommunicatorLook& c : now.communicators) {
    const diag::RankLook* first = nullptr;
    for (const diag::RankLook& rank : c.seen) {
      if (rank.process < 0) continue;
      if (first == nullptr) first = &rank;
      groups.Join(static_cast<std::size_t>(first->process), static_cast<std::size_t>(rank.process));
    }
  }
  std::vector<TopJob> jobs;
  for (std::size_t root = 0; root < now.processes.size(); ++root) {
    if (groups.Of(root) != root) continue;
    TopJob job;
    for (std::size_t p = root; p < now.processes.size(); ++p) {
      if (groups.Of(p) == root) job.processes.push_back(&now.processes[p]);
    }
    for (const diag::CommunicatorLook& c : now.communicators) {
      const auto known = std::ranges::find_if(c.seen, [](const diag::RankLook& r) { return r.process >= 0; });
      if (known == c.seen.end() || groups.Of(static_cast<std::size_t>(known->process)) != root) continue;
      job.communicators.push_back(&c);
      job.calls_per_s = std::max(job.calls_per_s, CallsPerSecond(c, before, now));
    }
    if (job.communicators.empty()) continue;
    std::ranges::stable_sort(job.communicators, std::ranges::greater{}, &diag::CommunicatorLook::ranks);
    job.ranks = job.communicators.front()->ranks;
    job.hosts = CountHosts(job);
    for (const Verdict& v : verdicts) {
      const std::vector<std::uint64_t> about = CommunicatorsOf(v);
      const bool mine = std::ranges::any_of(job.communicators, [&](const diag::CommunicatorLook* c) {
        return std::ranges::find(about, c->id) != about.end();
      });
      if (!mine) continue;
      job.verdicts.push_back(v);
      job.status = Worse(job.status, StatusOf(v));
    }
    jobs.push_back(std::move(job));
  }
  std::ranges::stable_sort(jobs, {}, [](const TopJob& j) { return j.processes.front()->pid; });
  return jobs;
}

JobStatus StatusOf(const std::vector<TopJob>& jobs) {
  JobStatus status = JobStatus::kOk;
  for (const TopJob& job : jobs) status = Worse(status, job.status);
  return status;
}

std::string FormatVerdicts(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& v : verdicts) {
    if (v.severity > Severity::kQuiet) text += fmt::format("  {} {}\n", diag::Name(v.severity), diag::Sentence(v));
  }
  return text;
}

std::string FormatJobs(const std::vector<TopJob>& jobs) {
  std::string text;
  for (const TopJob& job : jobs) {
    const std::string name = job.processes.front()->name;
    text +=
        fmt::format("{:<8}  job of {} rank{}{}, {}{}, {} communicator{}, {:.0f} calls/s\n", Name(job.status), job.ranks,
                    job.ranks == 1 ? "" : "s", job.hosts > 1 ? fmt::format(" on {} hosts", job.hosts) : "",
                    PidList(job), name.empty() ? "" : fmt::format(" ({})", name), job.communicators.size(),
                    job.communicators.size() == 1 ? "" : "s", job.calls_per_s);
    text += FormatVerdicts(job.verdicts);
  }
  return text;
}

Json VerdictsAsJson(const std::vector<Verdict>& verdicts) {
  Json all = Json::Array();
  for (const Verdict& v : verdicts) all.Append(VerdictAsJson(v));
  return all;
}

Json JobsAsJson(const diag::Look& now, const std::vector<TopJob>& jobs) {
  Json json = {{"taken_unix_ns", now.taken_unix_ns}, {"status", Name(StatusOf(jobs))}, {"jobs", Json::Array()}};
  for (const TopJob& job : jobs) {
    Json one = {
        {"status", Name(job.status)}, {"ranks", job.ranks}, {"hosts", job.hosts}, {"calls_per_s", job.calls_per_s}};
    one["processes"] = Json::Array();
    for (const diag::ProcessLook* p : job.processes) {
      one["processes"].Append({{"host", p->host}, {"pid", p->pid}, {"name", p->name}, {"state", diag::Name(p->state)}});
    }
    one["communicators"] = Json::Array();
    for (const diag::CommunicatorLook* c : job.communicators) {
      one["communicators"].Append(
          {{"id", fmt::format("{:016x}", c->id)}, {"name", c->name}, {"ranks", c->ranks}, {"seen", c->seen.size()}});
    }
    one["verdicts"] = VerdictsAsJson(job.verdicts);
    json["jobs"].Append(std::move(one));
  }
  return json;
}

}  // namespace tutti::tools
