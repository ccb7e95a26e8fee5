// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "algo/algorithm.h"
#include "plan/check.h"
#include "plan/cost.h"
#include "plan/network.h"
#include "plan/plant_fault.h"
#include "plan/switches.h"
#include "plan/text.h"
#include "tools/algorithms_page.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/json.h"
#include "tools/plan_explain.h"
#include "tools/plan_svg.h"

namespace tutti::tools {
namespace {

constexpr int kMaxRanks = 1024;

constexpr std::string_view kFooter =
    "A line is a step: what is folded, from left to right, then where it goes.\n"
    "  <1 + in0 -> out0 >2    receive from rank 1, fold with my block 0, store as block 0, send to rank 2\n"
    "  in0 -> >>1 >>2         a switch copies it for ranks 1 and 2; >>out0: and for me\n"
    "  in0 -> ^1              offer it to rank 1, who reads with ^0 + ^2 what a switch folds of ranks 0 and 2; ^^: "
    "once for all\n"
    "Plans with >> or ^ are not run: they are for the checker and for tutti sim.\n\n"
    "Examples:\n"
    "  tutti plan all_reduce --algo ring --ranks 4 --rank 0\n"
    "  tutti plan broadcast --algo double_tree --ranks 16 --root 3 --check --svg tree.svg\n"
    "  tutti plan all_reduce --algo two_shot --ranks 4 --plant-fault drop-send --check\n"
    "  tutti plan all_reduce --algo hier_ring --hosts 8,8,5 --check --cost\n"
    "  tutti plan all_reduce --explain --machine hgx-h200 -b 64K\n\n"
    "Exit code: 0, or 1 when the checker found a fault, 2 for a wrong command line.";

struct Options {
  std::string collective, algorithm, fault, svg, hosts, json;
  int ranks = 0, root = 0, rank = -1, channel = 0;
  ExplainOptions explain;
  bool check = false, cost = false, page = false, page_hosts = false;
};

void AddOptions(CommandLine& line, Options& options) {
  line.Footer(std::string(kFooter));
  line.Add("OP", options.collective, "the collective: all_reduce, broadcast, ...").SuggestCollectives();
  line.Add("--algo", options.algorithm, "the algorithm: ring, tree, ...").Shown("NAME");
  line.Add("--ranks", options.ranks, "number of ranks (default 4); with --explain of each host").Between(1, kMaxRanks);
  line.Add("--hosts", options.hosts, "several hosts: how many x ranks of each, or the ranks of each: 2x4 or 3,1")
      .Shown("SHAPE");
  line.Add("--root", options.root, "root, where the collective has one").Between(0, kMaxRanks - 1);
  line.Add("--rank", options.rank, "show only this rank").Between(0, kMaxRanks - 1);
  line.Add("--channel", options.channel, "channel").Between(0, 255);
  line.AddFlag("--check", options.check, "run the checker; the plan itself is printed only with --rank");
  line.Add("--plant-fault", options.fault, "damage the plan first: drop-send, wrong-block, double, swap, drop-receive")
      .Shown("KIND");
  line.Add("--svg", options.svg, "draw the plan to this file").Shown("FILE");
  line.Add("--json", options.json,
           "write steps, costs and what the checker says to a file as JSON, instead; with --explain what that says; - "
           "is the standard output")
      .Shown("FILE");
  line.AddFlag("--cost", options.cost, "print what the plan costs");
  line.AddFlag("--page", options.page, "print the table of docs/algorithms.md and nothing else");
  line.AddFlag("--page-hosts", options.page_hosts, "print the table of docs/hierarchy.md and nothing else");
  AddExplain(line, options.explain);
}

template <typename Range, typename Function>
std::string List(const Range& range, Function name) {
  std::vector<std::string_view> names;
  for (const auto& item : range) names.push_back(name(item));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Collective> CollectivesOf(const algo::Entry& entry, const algo::Hosts& hosts) {
  std::vector<Collective> collectives;
  for (int i = 0; i < kCollectives; ++i) {
    if (entry.supports(static_cast<Collective>(i), hosts)) collectives.push_back(static_cast<Collective>(i));
  }
  return collectives;
}

std::vector<algo::Entry> EntriesFor(Collective collective, const algo::Hosts& hosts) {
  std::vector<algo::Entry> entries;
  for (const algo::Entry& entry : algo::WholeRegistry()) {
    if (entry.supports(collective, hosts)) entries.push_back(entry);
  }
  return entries;
}

// The request of a command line that makes sense.
struct Target {
  Collective collective;
  algo::Algorithm algorithm;
  std::optional<plan::FaultKind> fault;
  algo::Hosts hosts;
};

// A whole number from 1 on that is all of `text`, or 0.
int ParseCount(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() && count > 0 && count <= kMaxRanks ? count : 0;
}

// "2x4", "3,1"; without --hosts one host of --ranks.
Result<algo::Hosts> UnderstandHosts(const Options& options) {
  constexpr int kUsual = 4;
  if (options.hosts.empty()) return algo::Hosts(options.ranks > 0 ? options.ranks : kUsual);
  if (options.ranks > 0) {
    return Status(Code::kInvalidArgument, "--hosts says how many ranks there are: leave out --ranks");
  }
  std::vector<int> sizes;
  if (const std::size_t x = options.hosts.find('x'); x != std::string::npos) {
    sizes.assign(static_cast<std::size_t>(ParseCount(options.hosts.substr(0, x))),
                 ParseCount(options.hosts.substr(x + 1)));
  } else {
    for (std::size_t begin = 0; begin <= options.hosts.size();) {
      const std::size_t end = std::min(options.hosts.find(',', begin), options.hosts.size());
      sizes.push_back(ParseCount(options.hosts.substr(begin, end - begin)));
      begin = end + 1;
    }
  }
  std::int64_t ranks = 0;
  for (const int size : sizes) ranks += size;
  if (sizes.empty() || std::ranges::find(sizes, 0) != sizes.end() || ranks > kMaxRanks) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("--hosts '{}' is no shape of up to {} ranks; say how many hosts x ranks of each, as 2x4, or "
                    "the ranks of each host, as 3,1",
                    options.hosts, kMaxRanks));
  }
  return algo::Hosts::OfSizes(sizes);
}

Result<Target> Understand(const Options& options) {
  const auto wrong = [](const std::string& sentence) { return Status(Code::kInvalidArgument, sentence); };
  const auto entry_name = [](const algo::Entry& entry) { return entry.name; };
  const auto collective_name = [](Collective c) { return Name(c); };
  const Result<algo::Hosts> hosts = UnderstandHosts(options);
  if (!hosts.ok()) return hosts.status();
  if (options.collective.empty()) return wrong("OP is missing: which collective?");
  const std::optional<Collective> collective = ParseCollective(options.collective);
  if (!collective || EntriesFor(*collective, *hosts).empty()) {
    std::vector<Collective> known;
    for (int i = 0; i < kCollectives; ++i) {
      const auto c = static_cast<Collective>(i);
      if (!EntriesFor(c, 2).empty()) known.push_back(c);
    }
    return wrong(
        fmt::format("there is no plan for '{}'; OP is one of {}", options.collective, List(known, collective_name)));
  }
  const std::string valid = List(EntriesFor(*collective, *hosts), entry_name);
  if (options.algorithm.empty()) {
    return wrong(fmt::format("--algo is missing; {} has {}", Name(*collective), valid));
  }
  const std::optional<algo::Algorithm> algorithm = algo::ParseAlgorithm(options.algorithm);
  if (!algorithm) {
    return wrong(fmt::format("there is no algorithm '{}'; {} has {}", options.algorithm, Name(*collective), valid));
  }
  if (const algo::Entry& entry = algo::Get(*algorithm); !entry.supports(*collective, *hosts)) {
    if (CollectivesOf(entry, *hosts).empty()) {
      return wrong(fmt::format("{} is for several hosts; say which with --hosts, as 2x4", entry.name));
    }
    return wrong(fmt::format("{} does not do {}; it does {}, and {} has {}", entry.name, Name(*collective),
                             List(CollectivesOf(entry, *hosts), collective_name), Name(*collective), valid));
  }
  if (options.root >= hosts->ranks()) return wrong(fmt::format("there is no rank {} to be root", options.root));
  if (options.rank >= hosts->ranks()) return wrong(fmt::format("there is no rank {}", options.rank));
  std::optional<plan::FaultKind> fault;
  if (!options.fault.empty()) {
    fault = plan::ParseFaultKind(options.fault);
    if (!fault) {
      return wrong(fmt::format(
          "there is no fault '{}'; KIND is one of drop-send, wrong-block, double, swap, drop-receive", options.fault));
    }
  }
  if (!options.svg.empty() && hosts->ranks() > kMaxDrawnRanks) {
    return wrong(fmt::format("--svg draws at most {} ranks", kMaxDrawnRanks));
  }
  return Target{*collective, *algorithm, fault, *hosts};
}

void PrintCost(const plan::Cost& cost) {
  fmt::print("hops      {:>8}   messages one after the other\n", cost.hops);
  fmt::print("stages    {:>8}   rounds that overlap\n", cost.stages);
  fmt::print("steps     {:>8}   of the rank with most, as all that follow\n", cost.steps_max);
  fmt::print("messages  {:>8}   sent\n", cost.messages_max);
  fmt::print("peers     {:>8}\n", cost.peers_max);
  fmt::print("sent      {:>8.3f}   of S = count * size of an element, to all targets\n", cost.sent_max);
  fmt::print("posted    {:>8.3f}   what goes to several targets counted once\n", cost.posted_max);
  fmt::print("received  {:>8.3f}\n", cost.received_max);
  fmt::print("folded    {:>8.3f}   operands\n", cost.folded_max);
  fmt::print("stored    {:>8.3f}   to the output\n", cost.stored_max);
}

bool WriteFile(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written;
}

void PrintNetworkCost(const plan::NetworkCost& cost) {
  fmt::print("between hosts\n");
  fmt::print("hops      {:>8}   messages one after the other\n", cost.hops);
  fmt::print("messages  {:>8}   sent by a rank\n", cost.messages_max);
  fmt::print(
      "bursts    {:>8}   sent or received by a rank: messages that leave over a link at the same time count as one\n",
      cost.bursts_max);
  fmt::print("peers     {:>8}   of a rank\n", cost.peers_max);
  fmt::print("links     {:>8}   from one host to another\n", cost.links_max);
  fmt::print("sent      {:>8.3f}   of S, by a rank; by a host {:.3f}\n", cost.sent_max, cost.host_sent_max);
  fmt::print("received  {:>8.3f}   by a rank; by a host {:.3f}\n", cost.received_max, cost.host_received_max);
}

std::string Title(const Target& target) {
  const int ranks = target.hosts.ranks(), hosts = target.hosts.count();
  return fmt::format("{} {}, {} rank{}{}", Name(target.collective), algo::Get(target.algorithm).name, ranks,
                     ranks == 1 ? "" : "s", hosts == 1 ? "" : fmt::format(" of {} hosts", hosts));
}

Status CheckClaims(const Target& target, std::span<const plan::RankPlan> plans) {
  const algo::Entry& entry = algo::Get(target.algorithm);
  return plan::Check(plans, {.rank_ordered = entry.rank_ordered(target.collective, target.hosts),
                             .in_place_by_reference = entry.in_place_by_reference(target.collective, target.hosts),
                             .host_of = target.hosts.host_of()});
}

// Steps as they are printed, by rank, or of one rank.
Json PlanAsJson(const Options& options, const Target& target, std::span<const plan::RankPlan> plans) {
  const plan::Cost cost = plan::Evaluate(plans);
  const Status checked = CheckClaims(target, plans);
  Json json = {{"operation", Name(target.collective)},
               {"algorithm", algo::Get(target.algorithm).name},
               {"ranks", target.hosts.ranks()},
               {"hosts", target.hosts.count()},
               {"correct", checked.ok()},
               {"wrong", checked.ok() ? Json() : Json(checked.message())},
               {"cost",
                {{"hops", cost.hops},
                 {"stages", cost.stages},
                 {"steps", cost.steps_max},
                 {"messages", cost.messages_max},
                 {"peers", cost.peers_max},
                 {"sent", cost.sent_max},
                 {"received", cost.received_max},
                 {"folded", cost.folded_max}}}};
  Json ranks = Json::Array();
  for (int rank = 0; rank < target.hosts.ranks(); ++rank) {
    if (options.rank >= 0 && options.rank != rank) continue;
    std::vector<std::string> steps;
    std::istringstream text(plan::Print(plans[static_cast<std::size_t>(rank)]));
    std::string step;
    std::getline(text, step);  // what the plan is of
    while (std::getline(text, step)) steps.push_back(step.substr(std::min(step.find_first_not_of(' '), step.size())));
    ranks.Append({{"rank", rank}, {"steps", steps}});
  }
  json["plans"] = ranks;
  return json;
}

int RunPlan(const Options& options, const Target& target) {
  std::vector<plan::RankPlan> plans =
      algo::BuildAll(target.algorithm, target.collective, target.hosts, options.root, options.channel);
  const std::string what = Title(target);
  if (target.fault) {
    const std::optional<std::string> planted = plan::PlantFault(*target.fault, plans);
    if (!planted) {
      fmt::print(stderr, "tutti plan: {} has no place for the fault {}\n", what, plan::Name(*target.fault));
      return kExitFailed;
    }
    if (options.json.empty()) fmt::print("planted: {}\n", *planted);
  }
  if (!options.json.empty()) {
    const std::string json = PlanAsJson(options, target, plans).Dump(2) + "\n";
    return WriteTextOrSay("tutti plan", options.json, json) ? kExitOk : kExitFailed;
  }
  if (options.rank >= 0 || (!options.check && !options.cost && options.svg.empty())) {
    fmt::print("{}", options.rank < 0 ? plan::Print(plans) : plan::Print(plans[options.rank]));
  }
  if (options.cost) PrintCost(plan::Evaluate(plans));
  if (options.cost && target.hosts.count() > 1) {
    PrintNetworkCost(plan::EvaluateNetwork(plans, target.hosts.host_of()));
  }
  if (!options.svg.empty() && !WriteFile(options.svg, DrawPlan(what, plans))) {
    std::perror(("tutti plan: cannot write " + options.svg).c_str());
    return kExitFailed;
  }
  if (options.check) {
    const Status status = CheckClaims(target, plans);
    if (!status.ok()) {
      fmt::print("wrong: {}\n", status.message());
      return kExitFailed;
    }
    fmt::print("correct: {}\n", what);
    if (plan::FoldsInSwitches(plans)) {
      fmt::print("a switch folds, in an order of its own: the last bits of a result may differ from run to run\n");
    }
  }
  return kExitOk;
}

}  // namespace

int PlanCommand(int argc, char** argv) {
  CommandLine line("Show what every rank of a collective does, step by step; prove it correct; draw it.", "tutti plan");
  Options options;
  AddOptions(line, options);
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  if (options.page || options.page_hosts) {
    fmt::print("{}", options.page ? AlgorithmsPage() : HierarchyPage());
    return kExitOk;
  }
  if (options.explain.wanted) {
    options.explain.json = options.json;
    return ExplainPlan(options.explain, options.collective, options.hosts, options.ranks);
  }
  const Result<Target> target = Understand(options);
  if (!target.ok()) return UsageError("tutti plan", target.status().message());
  return RunPlan(options, *target);
}

}  // namespace tutti::tools
