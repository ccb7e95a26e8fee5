// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// The campaign: faults of all kinds at places, shapes, sizes and moments that a seed chooses, on real processes of this host, of one to
// five hosts, and on the model (tests/diag/model.h); what was told of them, and how soon.
//
//   diag_campaign [--seed S] [--hosts N] [--real N] [--model N] [--flaw swapped|consumed] [--list] [--json FILE]
//   diag_campaign --case SEED        # one of the cases on several hosts again
//
// Exit code: 0 where every case was named right and nobody else was, or where a planted flaw was found; else 1.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/diag/host_cases.h"
#include "tests/diag/model_cases.h"
#include "tests/diag/real_cases.h"
#include "tests/support/child_process.h"
#include "tests/support/scratch_folder.h"
#include "tools/command_line.h"

namespace tutti::tests {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CaseResult, name, kind, right, unknown, silent, accuses, first_s, last_s, sentence,
                                   wrong, ras, flight)

namespace {

struct Options {
  int seed = 1;
  int hosts = 0;
  int jobs = 3;
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
  // The same cases by the rules of other tools, where these were asked.
  struct Others {
    int right = 0, part = 0, silent = 0, wrong = 0;
    void Add(const std::string& score) {
      right += score == "right";
      silent += score == "silent";
      part += score.starts_with("part");
      wrong += score.starts_with("wrong");
    }
  } ras, flight;
};

// "1.23", or "-" where there are none. `seconds` are in order.
std::string Part(const std::vector<double>& seconds, double p) {
  if (seconds.empty()) return "-";
  return fmt::format("{:.2f}", seconds[static_cast<std::size_t>(p * static_cast<double>(seconds.size() - 1) + 0.5)]);
}

// Runs cases on several hosts in processes of their own, some of them beside each other.
class SideBySide {
 public:
  using Heard = std::function<void(const CaseResult&, std::uint64_t seed)>;

  SideBySide(int jobs, Heard heard)
      : jobs_(static_cast<std::size_t>(jobs)), means_(MeansHere()), heard_(std::move(heard)) {}

  void Start(std::uint64_t seed) {
    AwaitFewer(jobs_);
    const std::string file = folder_.Path(std::to_string(seed));
    running_.push_back({seed, file, std::make_unique<ChildProcess>([=, this]() -> int {
                          alarm(kMostSeconds);
                          const CaseResult result = RunHostCase(HostCase::Of(seed, means_));
                          std::ofstream(file) << nlohmann::json(result);
                          return 0;
                        })});
  }
  void Finish() { AwaitFewer(1); }

 private:
  struct Running {
    std::uint64_t seed;
    std::string file;
    std::unique_ptr<ChildProcess> process;
  };
  static constexpr int kMostSeconds = 120;

  // Until fewer than `jobs` cases run. A process that has ended is no more in /proc but as a zombie.
  void AwaitFewer(std::size_t jobs) {
    while (running_.size() >= jobs) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::erase_if(running_, [&](Running& one) {
        siginfo_t info{};
        const auto pid = static_cast<id_t>(one.process->pid());
        if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
        const int code = one.process->Wait();
        const auto json = nlohmann::json::parse(std::ifstream(one.file), nullptr, false);
        heard_(json.is_discarded() ? Broken(one, code) : json.get<CaseResult>(), one.seed);
        return true;
      });
    }
  }
  CaseResult Broken(const Running& one, int code) const {
    const HostCase what = HostCase::Of(one.seed, means_);
    return {.name = what.Describe(),
            .kind = Name(what.fault),
            .silent = true,
            .wrong = {fmt::format("the case itself ended with {}", code), one.process->output()}};
  }

  const std::size_t jobs_;
  const Means means_;
  const Heard heard_;
  const ScratchFolder folder_;
  std::vector<Running> running_;
};

class Campaign {
 public:
  explicit Campaign(const Options& options) : options_(options) {
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
    SideBySide cases(options_.jobs,
                     [&](const CaseResult& result, std::uint64_t seed) { Count(result, "hosts", seed); });
    if (options_.one_case >= 0) cases.Start(static_cast<std::uint64_t>(options_.one_case));
    for (int i = 0; i < options_.hosts; ++i) cases.Start(Seed(i));
    cases.Finish();
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
    tally.ras.Add(result.ras);
    tally.flight.Add(result.flight);
    all_.push_back(result);
    all_.back()["seed"] = seed;
    all_.back()["where"] = where;
    if (result.right && !options_.list) return;
    fmt::print("{} {}, seed {}: {}, first told after {:.2f} s\n", result.right ? "right" : "MISS ", result.kind, seed,
               result.name, result.first_s);
    fmt::print("      {}\n", result.sentence.empty() ? "nothing was told that was expected" : result.sentence);
    if (!result.ras.empty()) fmt::print("      RAS: {}; torchfrtrace: {}\n", result.ras, result.flight);
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
    Compare();
    if (!options_.json.empty()) std::ofstream(options_.json) << all_.dump(1) << "\n";
    if (options_.flaw.empty()) {
      fmt::print("{} misses\n", misses);
      return misses == 0 ? 0 : 1;
    }
    fmt::print("the planted flaw was {}\n", misses > 0 ? "found" : "NOT found");
    return misses > 0 ? 0 : 1;
  }

  // The same cases by rules of other tools (other_rules.h).
  void Compare() const {
    if (std::ranges::none_of(tallies_, [](const auto& t) { return t.first.starts_with("hosts"); })) return;
    fmt::print("\n{:<28} {:>6} {:>6} {:>26} {:>26}\n", "who is named", "cases", "right", "RAS right/part/silent/wrong",
               "flight right/part/silent/wrong");
    for (const auto& [name, tally] : tallies_) {
      if (!name.starts_with("hosts")) continue;
      const auto of = [](const Tally::Others& o) {
        return fmt::format("{}/{}/{}/{}", o.right, o.part, o.silent, o.wrong);
      };
      fmt::print("{:<28} {:>6} {:>6} {:>26} {:>26}\n", name, tally.cases, tally.right, of(tally.ras), of(tally.flight));
    }
  }

  const Options options_;
  diag::Rules rules_;
  std::function<void(diag::Look&)> distort_;
  std::map<std::string, Tally> tallies_;
  nlohmann::json all_ = nlohmann::json::array();
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
  line.Add("--jobs", options.jobs, "so many of those beside each other (default 3)").Between(1, 64);
  line.Add("--case", options.one_case, "the case on several hosts that has this seed, and nothing else");
  line.Add("--json", options.json, "write every case to FILE");
  line.Add("--real", options.real, "cases on processes of this host (default 12)").Between(0, 100'000);
  line.Add("--model", options.model, "cases on the model (default 28)").Between(0, 1'000'000);
  line.Add("--flaw", options.flaw, "plant a flaw in the analyser, which the cases must find")
      .OneOf({"swapped", "consumed"});
  line.AddFlag("--list", options.list, "show every case, not the misses alone");
  if (const auto exit = line.Parse(argc, argv)) return *exit;
  if (options.one_case >= 0) options.hosts = options.real = options.model = 0, options.list = true;
  return tests::Campaign(options).Run();
}
