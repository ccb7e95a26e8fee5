// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// The campaign: faults of all kinds at places, shapes, sizes and moments that a seed chooses, on real processes of this host, of one to
// five hosts, and on the model (tests/diag/model.h); what was told of them, and how soon.
//
//   diag_campaign [--seed S] [--hosts N] [--real N] [--model N] [--flaw swapped|consumed] [--list] [--json FILE]
//   diag_campaign --seed S --hosts N --from I --for SECONDS      # a piece of it; it tells where the next one begins
//   diag_campaign --case SEED        # one of the cases on several hosts again
//   diag_campaign --soak SECONDS     # jobs without a fault (soak.h)
//   diag_campaign --hours HOURS      # the same on the model, with 512 ranks (hours.h)
//
// Exit code: 0 where every case was named right and nobody else was, or where a planted flaw was found; else 1.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/diag/host_cases.h"
#include "tests/diag/hours.h"
#include "tests/diag/model_cases.h"
#include "tests/diag/real_cases.h"
#include "tests/diag/results_file.h"
#include "tests/diag/side_by_side.h"
#include "tests/diag/soak.h"
#include "tools/command_line.h"

namespace tutti::tests {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CaseResult, name, kind, right, unknown, silent, accuses, first_s, last_s, warn_s,
                                   sentence, wrong, guilty, ras)

namespace {

struct Options {
  int seed = 1;
  int hosts = 0;
  int from = 0;
  double most_seconds = 0;
  std::string fault;
  int jobs = 3;
  std::string flights;
  double soak = 0, hours = 0;
  std::int64_t one_case = -1;
  std::string json;
  int real = 12;
  int model = 28;
  std::string flaw;
  bool list = false;
};

struct Tally {
  int cases = 0, right = 0, unknown = 0, wrong = 0, silent = 0;
  std::vector<double> seconds, last_seconds;
};

// "1.23", or "-" where there are none. `seconds` are in order.
std::string Part(const std::vector<double>& seconds, double p) {
  if (seconds.empty()) return "-";
  return fmt::format("{:.2f}", seconds[static_cast<std::size_t>(p * static_cast<double>(seconds.size() - 1) + 0.5)]);
}

constexpr int kMostSeconds = 150;  // of a case on several hosts

double Rounded(double seconds) { return std::round(seconds * 100) / 100; }

// What has its usual value is left out, so that a file of hundreds of cases is small. Sentences are kept of the first case of a kind only.
nlohmann::json Row(const CaseResult& result, const std::string& where, std::uint64_t seed, bool keeps_sentence) {
  nlohmann::json row = {
      {"seed", seed}, {"where", where}, {"kind", result.kind}, {"right", result.right}, {"name", result.name}};
  const auto add = [&](const char* key, const auto& value, bool wanted) {
    if (wanted) row[key] = value;
  };
  add("unknown", true, result.unknown);
  add("silent", true, result.silent);
  add("accuses", true, result.accuses);
  add("first_s", Rounded(result.first_s), result.first_s >= 0);
  add("last_s", Rounded(result.last_s), result.last_s >= 0);
  add("warn_s", Rounded(result.warn_s), result.warn_s >= 0);
  add("guilty", result.guilty, !result.guilty.empty());
  add("ras", result.ras, !result.ras.empty());
  add("sentence", result.sentence, keeps_sentence && !result.sentence.empty());
  add("wrong", result.wrong, !result.wrong.empty());
  return row;
}

class Campaign {
 public:
  Campaign(const Options& options, std::string command) : options_(options), command_(std::move(command)) {
    if (options.flaw == "swapped") std::swap(rules_.edges[1].finding, rules_.edges[2].finding);
    if (options.flaw == "consumed") distort_ = LoseConsumed;
  }

  int Run() {
    RunHosts();
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

  void RunHosts() {
    const Means means = MeansHere();
    SideBySide cases(options_.jobs, [&](std::uint64_t seed, const nlohmann::json& result, const std::string& said) {
      const HostCase what = HostCase::Of(seed, means);
      CaseResult broken{.name = what.Describe(), .kind = Name(what.fault), .silent = true, .wrong = {said}};
      Count(result.is_null() ? std::move(broken) : result.get<CaseResult>(), "hosts", seed);
    });
    const auto start = [&](std::uint64_t seed) {
      const HostCase what = HostCase::Of(seed, means);
      if (!options_.fault.empty() && options_.fault != Name(what.fault)) return;
      std::string flights;
      if (!options_.flights.empty()) {
        const std::string folder = fmt::format("{}/{}", options_.flights, seed);
        std::filesystem::create_directories(folder);
        flights = folder + "/rank_";
      }
      cases.Start(seed, kMostSeconds, [=]() -> nlohmann::json { return RunHostCase(what, flights); });
    };
    if (options_.one_case >= 0) start(static_cast<std::uint64_t>(options_.one_case));
    const auto begin = std::chrono::steady_clock::now();
    int next = options_.from;
    for (; next < options_.hosts; ++next) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (options_.most_seconds > 0 && seconds > options_.most_seconds) break;
      start(Seed(next));
    }
    cases.Finish();
    if (next < options_.hosts) fmt::print("the next piece: --from {}\n", next);
  }

  void Count(const CaseResult& result, const char* where, std::uint64_t seed) {
    Tally& tally = tallies_[fmt::format("{:<6} {}", where, result.kind)];
    ++tally.cases;
    tally.right += result.right ? 1 : 0;
    tally.unknown += result.unknown ? 1 : 0;
    tally.wrong += result.accuses ? 1 : 0;
    tally.silent += result.silent ? 1 : 0;
    if (result.first_s >= 0) tally.seconds.push_back(result.first_s);
    if (result.last_s >= 0) tally.last_seconds.push_back(result.last_s);
    rows_.push_back(Row(result, where, seed, tally.cases == 1 || !result.right));
    if (result.right && !options_.list) return;
    fmt::print("{} {}, seed {}: {}, first told after {:.2f} s\n", result.right ? "right" : "MISS ", result.kind, seed,
               result.name, result.first_s);
    fmt::print("      {}\n", result.sentence.empty() ? "nothing was told that was expected" : result.sentence);
    if (!result.ras.empty()) fmt::print("      RAS names {}\n", fmt::join(result.ras, " "));
    for (const std::string& wrong : result.wrong) fmt::print("      wrong: {}\n", wrong);
    std::fflush(stdout);
  }

  int Report() {
    fmt::print("{:<28} {:>6} {:>6} {:>8} {:>6} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "case", "cases", "right",
               "unknown", "wrong", "silent", "p50 s", "p99 s", "max s", "all p50", "all max");
    int misses = 0;
    for (auto& [name, tally] : tallies_) {
      std::ranges::sort(tally.seconds);
      std::ranges::sort(tally.last_seconds);
      fmt::print("{:<28} {:>6} {:>6} {:>8} {:>6} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8}\n", name, tally.cases, tally.right,
                 tally.unknown, tally.wrong, tally.silent, Part(tally.seconds, 0.5), Part(tally.seconds, 0.99),
                 Part(tally.seconds, 1), Part(tally.last_seconds, 0.5), Part(tally.last_seconds, 1));
      misses += tally.cases - tally.right;
    }
    if (!options_.json.empty()) WriteResults(options_.json, "campaign", command_, rows_);
    if (options_.flaw.empty()) {
      fmt::print("{} misses\n", misses);
      return misses == 0 ? 0 : 1;
    }
    fmt::print("the planted flaw was {}\n", misses > 0 ? "found" : "NOT found");
    return misses > 0 ? 0 : 1;
  }

  const Options options_;
  const std::string command_;
  diag::Rules rules_;
  std::function<void(diag::Look&)> distort_;
  std::map<std::string, Tally> tallies_;
  std::vector<nlohmann::json> rows_;
};

}  // namespace
}  // namespace tutti::tests

int main(int argc, char** argv) {
  using namespace tutti;
  tests::Options options;
  tools::CommandLine line("Plants faults in jobs and tells what was told of them.", "diag_campaign");
  line.Add("--seed", options.seed, "what chooses places, shapes, sizes and moments (default 1)")
      .Between(0, 1'000'000'000);
  line.Add("--hosts", options.hosts, "cases on processes of one to five hosts (default 0)").Between(0, 100'000);
  line.Add("--from", options.from, "leave the first N of those out (default 0)").Between(0, 100'000);
  line.Add("--for", options.most_seconds, "begin none after so many seconds, and tell which is the next")
      .BetweenSeconds(0, 1'000'000);
  line.Add("--fault", options.fault, "only those of this kind, as the table calls it");
  line.Add("--jobs", options.jobs, "so many of those beside each other (default 3)").Between(1, 64);
  line.Add("--flights", options.flights, "write a flight record of each of them, for torchfrtrace, to FOLDER/SEED")
      .Shown("FOLDER");
  line.Add("--case", options.one_case, "the case on several hosts that has this seed, and nothing else");
  line.Add("--json", options.json, "write every case to FILE");
  line.Add("--real", options.real, "cases on processes of this host (default 12)").Between(0, 100'000);
  line.Add("--model", options.model, "cases on the model (default 28)").Between(0, 1'000'000);
  line.Add("--flaw", options.flaw, "plant a flaw in the analyser, which the cases must find")
      .OneOf({"swapped", "consumed"});
  line.Add("--soak", options.soak, "instead: jobs without a fault for SECONDS, and every WARN of theirs")
      .BetweenSeconds(0, 1'000'000);
  line.Add("--hours", options.hours,
           "instead: jobs of 512 ranks without a fault on the model, for so many hours of theirs")
      .BetweenSeconds(0, 1'000'000);
  line.AddFlag("--list", options.list, "show every case, not the misses alone");
  if (const auto exit = line.Parse(argc, argv)) return *exit;
  std::string command = "diag_campaign";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  if (options.soak > 0) {
    return tests::Soak({.seconds = options.soak,
                        .seed = static_cast<std::uint64_t>(options.seed),
                        .jobs = options.jobs,
                        .one_job = options.one_case,
                        .json = options.json,
                        .command = command})
               ? 0
               : 1;
  }
  if (options.hours > 0) {
    return tests::SimulateHours({.hours = options.hours,
                                 .seed = static_cast<std::uint64_t>(options.seed),
                                 .one_job = options.one_case,
                                 .json = options.json,
                                 .command = command})
               ? 0
               : 1;
  }
  if (options.one_case >= 0) options.hosts = options.real = options.model = 0, options.list = true;
  return tests::Campaign(options, command).Run();
}
