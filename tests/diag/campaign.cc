// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// The campaign: faults of all kinds at places, shapes, sizes and moments that a seed chooses, on real processes of this host and on the
// model (tests/diag/model.h); what was told of them, and how soon.
//
//   diag_campaign [--seed S] [--real N] [--model N] [--flaw swapped|consumed] [--list]
//
// Exit code: 0 where every case was named right and nobody else was, or where a planted flaw was found; else 1.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/diag/model_cases.h"
#include "tests/diag/real_cases.h"
#include "tools/command_line.h"

namespace tutti::tests {
namespace {

struct Options {
  int seed = 1;
  int real = 12;
  int model = 28;
  std::string flaw;
  bool list = false;
};

struct Tally {
  int cases = 0, right = 0, unknown = 0, wrong = 0, silent = 0;
  std::vector<double> seconds;
};

class Campaign {
 public:
  explicit Campaign(const Options& options) : options_(options) {
    if (options.flaw == "swapped") std::swap(rules_.edges[1].finding, rules_.edges[2].finding);
    if (options.flaw == "consumed") distort_ = LoseConsumed;
  }

  int Run() {
    for (int i = 0; i < options_.real; ++i) {
      const std::uint64_t seed = Seed(i);
      const auto fault = static_cast<RealFault>(i % kRealFaults);
      Count(RunRealCase(RealCase::Of(fault, seed)), "real", seed);
    }
    for (int i = 0; i < options_.model; ++i) {
      const std::uint64_t seed = Seed(i);
      Count(RunModelCase(static_cast<ModelFault>(i % kModelFaults), seed, rules_, distort_), "model", seed);
    }
    return Report();
  }

 private:
  std::uint64_t Seed(int i) const {
    return static_cast<std::uint64_t>(options_.seed) * 1'000'003 + static_cast<std::uint64_t>(i);
  }

  void Count(const CaseResult& result, const char* where, std::uint64_t seed) {
    Tally& tally = tallies_[fmt::format("{:<6} {}", where, result.kind)];
    ++tally.cases;
    tally.right += result.right ? 1 : 0;
    tally.unknown += result.unknown ? 1 : 0;
    tally.wrong += result.wrong.empty() ? 0 : 1;
    tally.silent += !result.right && result.first_s < 0 ? 1 : 0;
    if (result.first_s >= 0) tally.seconds.push_back(result.first_s);
    if (result.right && !options_.list) return;
    fmt::print("{} {}, seed {}: {}, first told after {:.2f} s\n", result.right ? "right" : "MISS ", result.kind, seed,
               result.name, result.first_s);
    fmt::print("      {}\n", result.sentence.empty() ? "nothing was told that was expected" : result.sentence);
    for (const std::string& wrong : result.wrong) fmt::print("      wrong: {}\n", wrong);
    std::fflush(stdout);
  }

  int Report() const {
    fmt::print("{:<28} {:>6} {:>6} {:>8} {:>6} {:>7} {:>8} {:>8} {:>8}\n", "case", "cases", "right", "unknown", "wrong",
               "silent", "p50 s", "p99 s", "max s");
    int misses = 0;
    for (auto [name, tally] : tallies_) {
      std::ranges::sort(tally.seconds);
      const auto part = [&](double p) {
        if (tally.seconds.empty()) return std::string("-");
        const auto at = static_cast<std::size_t>(p * static_cast<double>(tally.seconds.size() - 1) + 0.5);
        return fmt::format("{:.2f}", tally.seconds[at]);
      };
      fmt::print("{:<28} {:>6} {:>6} {:>8} {:>6} {:>7} {:>8} {:>8} {:>8}\n", name, tally.cases, tally.right,
                 tally.unknown, tally.wrong, tally.silent, part(0.5), part(0.99), part(1));
      misses += tally.cases - tally.right;
    }
    if (options_.flaw.empty()) {
      fmt::print("{} misses\n", misses);
      return misses == 0 ? 0 : 1;
    }
    fmt::print("the planted flaw was {}\n", misses > 0 ? "found" : "NOT found");
    return misses > 0 ? 0 : 1;
  }

  const Options options_;
  diag::Rules rules_;
  std::function<void(diag::Look&)> distort_;
  std::map<std::string, Tally> tallies_;
};

}  // namespace
}  // namespace tutti::tests

int main(int argc, char** argv) {
  using namespace tutti;
  tests::Options options;
  tools::CommandLine line("Plants faults in jobs and tells what was told of them.", "diag_campaign");
  line.Add("--seed", options.seed, "what chooses places, shapes, sizes and moments (default 1)")
      .Between(0, 1'000'000'000);
  line.Add("--real", options.real, "cases on processes of this host (default 12)").Between(0, 100'000);
  line.Add("--model", options.model, "cases on the model (default 28)").Between(0, 1'000'000);
  line.Add("--flaw", options.flaw, "plant a flaw in the analyser, which the cases must find")
      .OneOf({"swapped", "consumed"});
  line.AddFlag("--list", options.list, "show every case, not the misses alone");
  if (const auto exit = line.Parse(argc, argv)) return *exit;
  return tests::Campaign(options).Run();
}
