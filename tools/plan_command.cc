// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algo/algorithm.h"
#include "plan/check.h"
#include "plan/cost.h"
#include "plan/plant_fault.h"
#include "plan/text.h"
#include "tools/algorithms_page.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/plan_svg.h"

namespace tutti::tools {
namespace {

constexpr int kMaxRanks = 1024;

constexpr std::string_view kFooter =
    "A line is a step: what is folded, from left to right, then where it goes.\n"
    "  <1 + in0 -> out0 >2    receive from rank 1, fold with my block 0, store as block 0, send to rank 2\n\n"
    "Examples:\n"
    "  tutti plan all_reduce --algo ring --ranks 4 --rank 0\n"
    "  tutti plan broadcast --algo double_tree --ranks 16 --root 3 --check --svg tree.svg\n"
    "  tutti plan all_reduce --algo two_shot --ranks 4 --plant-fault drop-send --check\n\n"
    "Exit code: 0, or 1 when the checker found a fault, 2 for a wrong command line.";

struct Options {
  std::string collective, algorithm, fault, svg;
  int ranks = 4, root = 0, rank = -1, channel = 0;
  bool check = false, cost = false, page = false;
};

void AddOptions(CommandLine& line, Options& options) {
  line.Footer(std::string(kFooter));
  line.Add("OP", options.collective, "the collective: all_reduce, broadcast, ...");
  line.Add("--algo", options.algorithm, "the algorithm: ring, tree, ...").Shown("NAME");
  line.Add("--ranks", options.ranks, "number of ranks (default 4)").Between(1, kMaxRanks);
  line.Add("--root", options.root, "root, where the collective has one").Between(0, kMaxRanks - 1);
  line.Add("--rank", options.rank, "show only this rank").Between(0, kMaxRanks - 1);
  line.Add("--channel", options.channel, "channel").Between(0, 255);
  line.AddFlag("--check", options.check, "run the checker; the plan itself is printed only with --rank");
  line.Add("--plant-fault", options.fault, "damage the plan first: drop-send, wrong-block, double, swap").Shown("KIND");
  line.Add("--svg", options.svg, "draw the plan to this file").Shown("FILE");
  line.AddFlag("--cost", options.cost, "print what the plan costs");
  line.AddFlag("--page", options.page, "print the table of docs/algorithms.md and nothing else");
}

template <typename Range, typename Function>
std::string List(const Range& range, Function name) {
  std::vector<std::string_view> names;
  for (const auto& item : range) names.push_back(name(item));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Collective> CollectivesOf(const algo::Entry& entry, int ranks) {
  std::vector<Collective> collectives;
  for (int i = 0; i < kCollectives; ++i) {
    if (entry.supports(static_cast<Collective>(i), ranks)) collectives.push_back(static_cast<Collective>(i));
  }
  return collectives;
}

std::vector<algo::Entry> EntriesFor(Collective collective, int ranks) {
  std::vector<algo::Entry> entries;
  for (const algo::Entry& entry : algo::Registry()) {
    if (entry.supports(collective, ranks)) entries.push_back(entry);
  }
  return entries;
}

// The request of a command line that makes sense.
struct Target {
  Collective collective;
  algo::Algorithm algorithm;
  std::optional<plan::FaultKind> fault;
};

Result<Target> Understand(const Options& options) {
  const auto wrong = [](const std::string& sentence) { return Status(Code::kInvalidArgument, sentence); };
  const auto entry_name = [](const algo::Entry& entry) { return entry.name; };
  const auto collective_name = [](Collective c) { return Name(c); };
  if (options.collective.empty()) return wrong("OP is missing: which collective?");
  const std::optional<Collective> collective = ParseCollective(options.collective);
  if (!collective || EntriesFor(*collective, options.ranks).empty()) {
    std::vector<Collective> known;
    for (int i = 0; i < kCollectives; ++i) {
      const auto c = static_cast<Collective>(i);
      if (!EntriesFor(c, 2).empty()) known.push_back(c);
    }
    return wrong(
        fmt::format("there is no plan for '{}'; OP is one of {}", options.collective, List(known, collective_name)));
  }
  const std::string valid = List(EntriesFor(*collective, options.ranks), entry_name);
  if (options.algorithm.empty()) {
    return wrong(fmt::format("--algo is missing; {} has {}", Name(*collective), valid));
  }
  const std::optional<algo::Algorithm> algorithm = algo::ParseAlgorithm(options.algorithm);
  if (!algorithm) {
    return wrong(fmt::format("there is no algorithm '{}'; {} has {}", options.algorithm, Name(*collective), valid));
  }
  if (const algo::Entry& entry = algo::Get(*algorithm); !entry.supports(*collective, options.ranks)) {
    return wrong(fmt::format("{} does not do {}; it does {}, and {} has {}", entry.name, Name(*collective),
                             List(CollectivesOf(entry, options.ranks), collective_name), Name(*collective), valid));
  }
  if (options.root >= options.ranks) return wrong(fmt::format("there is no rank {} to be root", options.root));
  if (options.rank >= options.ranks) return wrong(fmt::format("there is no rank {}", options.rank));
  std::optional<plan::FaultKind> fault;
  if (!options.fault.empty()) {
    fault = plan::ParseFaultKind(options.fault);
    if (!fault) {
      return wrong(
          fmt::format("there is no fault '{}'; KIND is one of drop-send, wrong-block, double, swap", options.fault));
    }
  }
  if (!options.svg.empty() && options.ranks > kMaxDrawnRanks) {
    return wrong(fmt::format("--svg draws at most {} ranks", kMaxDrawnRanks));
  }
  return Target{*collective, *algorithm, fault};
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

int RunPlan(const Options& options, const Target& target) {
  const algo::Entry& entry = algo::Get(target.algorithm);
  std::vector<plan::RankPlan> plans =
      algo::BuildAll(target.algorithm, target.collective, options.ranks, options.root, options.channel);
  const std::string what = fmt::format("{} {}, {} rank{}", Name(target.collective), entry.name, options.ranks,
                                       options.ranks == 1 ? "" : "s");
  if (target.fault) {
    const std::optional<std::string> planted = plan::PlantFault(*target.fault, plans);
    if (!planted) {
      fmt::print(stderr, "tutti plan: {} has no place for the fault {}\n", what, plan::Name(*target.fault));
      return kExitFailed;
    }
    fmt::print("planted: {}\n", *planted);
  }
  if (options.rank >= 0 || (!options.check && !options.cost && options.svg.empty())) {
    fmt::print("{}", options.rank < 0 ? plan::Print(plans) : plan::Print(plans[options.rank]));
  }
  if (options.cost) PrintCost(plan::Evaluate(plans));
  if (!options.svg.empty() && !WriteFile(options.svg, DrawPlan(what, plans))) {
    std::perror(("tutti plan: cannot write " + options.svg).c_str());
    return kExitFailed;
  }
  if (options.check) {
    const Status status =
        plan::Check(plans, {.rank_ordered = entry.rank_ordered(target.collective, options.ranks),
                            .in_place_by_reference = entry.in_place_by_reference(target.collective, options.ranks)});
    if (!status.ok()) {
      fmt::print("wrong: {}\n", status.message());
      return kExitFailed;
    }
    fmt::print("correct: {}\n", what);
  }
  return kExitOk;
}

}  // namespace

int PlanCommand(int argc, char** argv) {
  CommandLine line("Show what every rank of a collective does, step by step; prove it correct; draw it.", "tutti plan");
  Options options;
  AddOptions(line, options);
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  if (options.page) {
    fmt::print("{}", AlgorithmsPage());
    return kExitOk;
  }
  const Result<Target> target = Understand(options);
  if (!target.ok()) return UsageError("tutti plan", target.status().message());
  return RunPlan(options, *target);
}

}  // namespace tutti::tools
