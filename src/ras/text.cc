// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "ras/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/one_line.h"
#include "ras/names.h"

namespace tutti::ras {
namespace {

// As the errors of ncclGetErrorString are called in NCCL's report.
std::string ResultName(int result) {
  constexpr std::string_view kNames[] = {
      "No error",         "Unhandled CUDA error", "System error",         "Internal error",
      "Invalid argument", "Invalid usage",        "Remote process error", "NCCL operation in progress",
      "Timeout"};
  const auto index = static_cast<std::size_t>(result);
  return std::string(index < std::size(kNames) ? kNames[index] : "Unexpected error");
}

const char* Plural(std::size_t count) { return count == 1 ? "" : "s"; }

std::string Gpus(const Process& process) {
  if (process.gpus.empty()) return "no GPU";
  return fmt::format("GPU{} {}", Plural(process.gpus.size()), fmt::join(process.gpus, ","));
}

std::string ProcessName(const Process& process) {
  return fmt::format("Process {} on node {} managing {}", process.pid, process.host, Gpus(process));
}

class Text {
 public:
  Text(const Report& report, Detail detail) : report_(report), detail_(detail) {}

  std::string Write() {
    Add("NCCL version {} (Tutti {})\nCUDA runtime version -1, driver version -1\n\n", NcclVersion(), TuttiVersion());
    WriteJob();
    Add("\nCommunicators... ({:.3f}s)\n=============\n\n", report_.seconds);
    Group();
    WriteSummary();
    Add("\nErrors\n======\n\n");
    WriteFindings();
    WriteDead();
    EachCommunicator([&](const CommunicatorReport& c, const std::string& label) { WriteErrors(c, label); });
    Add("Warnings\n========\n\n");
    EachCommunicator([&](const CommunicatorReport& c, const std::string& label) { WriteWarnings(c, label); });
    return std::move(out_);
  }

 private:
  using List = std::vector<const Rank*>;

  template <typename... T>
  void Add(fmt::format_string<T...> format, T&&... values) {
    out_ += fmt::format(format, std::forward<T>(values)...);
  }

  bool IsOutlier(std::size_t count, std::size_t all) const {
    if (count == 1) return true;
    if (detail_ == Detail::kVerbose) return 2 * count < all;
    return count <= 10 && 4 * count <= all;
  }
  // Where there is no majority to differ from.
  bool IsListed(std::size_t count) const { return detail_ == Detail::kVerbose || count <= 10; }

  std::string Place(int process, int gpu) const {
    const Process* p = report_.ProcessAt(process);
    if (p == nullptr || p->pid == 0) return "[process information not found]";
    const std::string of_gpu = gpu < 0 ? "" : fmt::format("GPU {} ", gpu);
    return fmt::format("{}managed by process {} on node {}", of_gpu, p->pid, p->host);
  }

  void WriteJob() {
    std::map<std::string, std::pair<std::size_t, std::size_t>> hosts;  // to processes, GPUs
    for (const Process& p : report_.processes) {
      auto& [processes, gpus] = hosts[p.host];
      ++processes;
      gpus += p.gpus.size();
    }
    const auto range = [](auto&& of, const auto& all) -> std::string {
      if (all.empty()) return "0";
      const auto [least, most] = std::ranges::minmax_element(all, {}, of);
      return of(*least) == of(*most) ? fmt::format("{}", of(*least)) : fmt::format("{}-{}", of(*least), of(*most));
    };
    std::size_t gpus = 0;
    for (const Process& p : report_.processes) gpus += p.gpus.size();
    Add("Job summary\n===========\n\n"
        "  Nodes  Processes         GPUs  Processes     GPUs\n"
        "(total)   per node  per process    (total)  (total)\n"
        "{:>7}  {:>9}  {:>11}  {:>9}  {:>7}\n",
        hosts.size(), range([](const auto& host) { return host.second.first; }, hosts),
        range([](const Process& p) { return p.gpus.size(); }, report_.processes), report_.processes.size(), gpus);
  }

  static bool LookAlike(const CommunicatorReport& a, const CommunicatorReport& b) {
    return a.size == b.size && a.hosts == b.hosts && a.stage == b.stage && a.errors == b.errors;
  }
  void Group() {
    for (std::size_t i = 0; i < report_.communicators.size(); ++i) {
      const bool alike = i > 0 && LookAlike(report_.communicators[i - 1], report_.communicators[i]);
      if (!alike) groups_.emplace_back();
      groups_.back().push_back(&report_.communicators[i]);
    }
  }
  void EachCommunicator(const std::function<void(const CommunicatorReport&, const std::string&)>& visit) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t i = 0; i < groups_[g].size(); ++i)
        visit(*groups_[g][i], fmt::format("#{}-{} ({:016x})", g, i, groups_[g][i]->id));
    }
  }

  void WriteSummary() {
    if (groups_.empty()) {
      Add("No communicator data collected!\n");
      return;
    }
    Add("Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
        "    #  in group  per comm  per node  per comm  in group\n");
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const CommunicatorReport& first = *groups_[g].front();
      std::size_t ranks = 0;
      int fewest = first.fewest_per_host, most = first.most_per_host;
      for (const CommunicatorReport* c : groups_[g]) {
        ranks += c->ranks.size();
        fewest = std::min(fewest, c->fewest_per_host);
        most = std::max(most, c->most_per_host);
      }
      const std::string per_host = fewest == most ? fmt::format("{}", most) : fmt::format("{}-{}", fewest, most);
      Add("{:>5}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:>6}\n", g, groups_[g].size(), first.hosts, per_host,
          first.size, ranks, Name(first.stage), ErrorNames(first.errors));
    }
  }

  void WriteFindings() {
    std::vector<std::string> told;
    EachCommunicator([&](const CommunicatorReport& c, const std::string& label) {
      for (const Finding& f : c.findings) {
        // One that holds up several communicators is told at the first.
        if (std::ranges::find(told, f.about) != told.end()) continue;
        told.push_back(f.about);
        const std::string name = c.name.empty() ? "" : fmt::format(" {}", c.name);
        std::string sentence = f.sentence;
        ReplaceControls(sentence, ' ');
        Add("{}{} VERDICT: {}\n  {}\n\n", label, name, f.kind, sentence);
      }
    });
  }

  void WriteDead() {
    std::vector<const Process*> dead;
    for (const Process& p : report_.processes) {
      if (p.has_ended()) dead.push_back(&p);
    }
    if (dead.empty()) return;
    Add("DEAD\n  {} job process{} considered dead\n", dead.size(), dead.size() == 1 ? " is" : "es are");
    if (IsListed(dead.size())) {
      for (const Process* p : dead) Add("  {}\n", ProcessName(*p));
    }
    Add("\n");
  }

  void WriteErrors(const CommunicatorReport& c, const std::string& label) {
    std::vector<const MissingRank*> missing;
    for (const MissingRank& m : c.missing) {
      if (m.why != MissingRank::Why::kLeft) missing.push_back(&m);
    }
    if (!missing.empty()) {
      Add("{} INCOMPLETE\n  Missing communicator data from {} rank{}\n", label, missing.size(), Plural(missing.size()));
      for (const MissingRank* m : missing) {
        if (!IsListed(missing.size())) break;
        if (m->why == MissingRank::Why::kNotCome) {
          Add("  Rank {} -- has not come yet\n", m->rank);
        } else {
          Add("  Rank {} -- {}\n", m->rank, Place(m->process, m->gpu));
        }
      }
      Add("\n");
    }
    std::map<int, List> failed;
    std::size_t count = 0;
    for (const Rank& rank : c.ranks) {
      if (rank.async_error == 0) continue;
      failed[rank.async_error].push_back(&rank);
      ++count;
    }
    if (failed.empty()) return;
    Add("{} ERROR\n  Asynchronous error{} on {} rank{}\n", label, Plural(count), count, Plural(count));
    for (const auto& [result, ranks] : failed) {
      WriteSet(ranks, IsListed(ranks.size()), fmt::format("reported {}", ResultName(result)));
    }
    WriteSentences(c);
    Add("\n");
  }

  // What the ranks say themselves of their errors, each sentence once.
  void WriteSentences(const CommunicatorReport& c) {
    std::vector<std::string> told;
    for (const Rank& rank : c.ranks) {
      if (rank.failure.empty() || std::ranges::find(told, rank.failure) != told.end()) continue;
      if (told.size() == 3) return;
      told.push_back(rank.failure);
      Add("  Rank {} says: {}\n", rank.rank, rank.failure);
    }
  }

  // "2 ranks have ..." and who they are, or "Rank 3 has ... -- where".
  void WriteSet(const List& ranks, bool listed, const std::string& what) {
    if (ranks.size() == 1) {
      Add("  Rank {} {} -- {}\n", ranks[0]->rank, what, Place(ranks[0]->process, ranks[0]->gpu));
      return;
    }
    Add("  {} ranks {}\n", ranks.size(), what);
    if (!listed) return;
    for (const Rank* rank : ranks) Add("  Rank {} -- {}\n", rank->rank, Place(rank->process, rank->gpu));
  }

  // Sets of ranks that agree, the largest first.
  template <typename Value>
  static std::vector<std::pair<Value, List>> Sets(const CommunicatorReport& c, auto&& of) {
    std::map<Value, List, std::greater<>> by_value;
    for (const Rank& rank : c.ranks) by_value[of(rank)].push_back(&rank);
    std::vector<std::pair<Value, List>> sets(by_value.begin(), by_value.end());
    std::ranges::stable_sort(sets, std::ranges::greater{}, [](const auto& set) { return set.second.size(); });
    return sets;
  }

  void WriteWarnings(const CommunicatorReport& c, const std::string& label) {
    if (c.unseen > 0) {
      Add("{} OUT OF SIGHT\n  {} rank{} on other hosts, of which nothing is told here\n\n", label, c.unseen,
          c.unseen == 1 ? " is" : "s are");
    }
    if ((c.errors & kMismatch) == 0) return;
    Add("{} MISMATCH\n", label);
    const auto all = static_cast<std::size_t>(c.size);
    if (c.stages_differ) WriteStages(c, all);
    for (std::size_t i = 0; i < kCounted.size(); ++i) {
      const auto sets = Sets<std::uint64_t>(c, [&](const Rank& rank) { return rank.counts[i]; });
      if (sets.size() < 2) continue;
      Add("  Communicator ranks have different {} operation counts\n", kCounted[i].name);
      for (const auto& [count, ranks] : sets) {
        const char* verb = ranks.size() == 1 ? "has" : "have";
        WriteSet(ranks, IsOutlier(ranks.size(), all),
                 count == 0 ? fmt::format("{} not launched any operations", verb)
                            : fmt::format("{} launched up to operation {}", verb, count));
      }
      Add("\n");
    }
  }

  void WriteStages(const CommunicatorReport& c, std::size_t all) {
    Add("  Communicator ranks have different status\n");
    for (const auto& [stage, ranks] : Sets<Stage>(c, [](const Rank& rank) { return rank.stage; })) {
      WriteSet(ranks, IsOutlier(ranks.size(), all),
               fmt::format("{} status {}", ranks.size() == 1 ? "has" : "have", Name(stage)));
    }
    List left;
    std::vector<Rank> places;
    for (const MissingRank& m : c.missing) {
      if (m.why == MissingRank::Why::kLeft) places.push_back({.rank = m.rank, .process = m.process, .gpu = m.gpu});
    }
    for (const Rank& place : places) left.push_back(&place);
    if (!left.empty()) {
      WriteSet(left, IsOutlier(left.size(), all),
               fmt::format("{} status {}", left.size() == 1 ? "has" : "have", Name(Stage::kNoComm)));
    }
    Add("\n");
  }

  const Report& report_;
  const Detail detail_;
  std::string out_;
  std::vector<std::vector<const CommunicatorReport*>> groups_;
};

}  // namespace

std::string ToText(const Report& report, Detail detail) { return Text(report, detail).Write(); }

std::string ToText(const Event& event) {
  std::string line = fmt::format("[{}] {}:", LocalTime(event.unix_ns), event.name);
  if (event.process) line += " " + ProcessName(*event.process);
  if (!event.details.empty()) line += " " + event.details;
  ReplaceControls(line, ' ');
  return line + "\n";
}

}  // namespace tutti::ras
