// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/soak.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/diag/host_cases.h"
#include "tests/diag/results_file.h"
#include "tests/diag/side_by_side.h"
#include "tests/diag/soak_rank.h"
#include "tests/diag/told.h"
#include "tests/hosts/hosts.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{200};
constexpr double kCpuBurst = 60;    // s for which more of a core may be taken
constexpr int kGraceSeconds = 120;  // that a job may take longer than planned, on a busy machine

volatile std::sig_atomic_t wants_end = 0;
void WantEnd(int) { wants_end = 1; }

void Sleep(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// One job, with a process for each rank.
class Job {
 public:
  explicit Job(std::uint64_t seed) : seed_(seed), plan_(SoakPlan::Of(seed, MeansHere())) {
    void* page = mmap(nullptr, sizeof(SoakBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board_ = new (page) SoakBoard{};
    std::filesystem::create_symlink("/bin/sleep", folder_.Path("cc1plus"));
  }

  nlohmann::json Run() {
    const auto begin = Clock::now();
    Start();
    std::size_t ended = 0;
    const double most_seconds = plan_.seconds + kGraceSeconds;
    for (; ended < ranks_.size() && wants_end == 0 && SecondsSince(begin) < most_seconds; Sleep(kTurn)) {
      while (ended < ranks_.size() && HasEnded(ranks_[ended])) ++ended;
    }
    result_ = {{"seed", seed_},
               {"what", plan_.Describe()},
               {"seconds", SecondsSince(begin)},
               {"ranks", plan_.ranks()},
               {"hosts", plan_.hosts()},
               {"ended", ended == ranks_.size()},
               {"longest_stop_ms", board_->longest_stop_ms.load()},
               {"warnings", nlohmann::json::array()},
               {"odd", nlohmann::json::array()},
               {"failures", nlohmann::json::array()}};
    for (int p = 1; p < kPauses; ++p) result_["pauses"][Name(static_cast<Pause>(p))] = board_->pauses[p].load();
    if (ended == ranks_.size()) {
      for (ChildProcess& rank : ranks_) {
        if (const int code = rank.Wait(); code != 0)
          result_["failures"].push_back(
              fmt::format("rank with pid {} ended with {}: {}", rank.pid(), code, rank.output()));
      }
    } else if (wants_end == 0) {
      result_["failures"].push_back(fmt::format("it goes on after {:.0f} s", SecondsSince(begin)));
    }
    // Those that still run are killed one after the other, which the others would tell of.
    for (int rank = 0; rank < plan_.ranks(); ++rank) ReadLog(rank);
    ranks_.clear();
    return result_;
  }

 private:
  std::string LogOf(int rank) const { return folder_.Path(fmt::format("log{}", rank)); }

  void Start() {
    if (plan_.name_spaces) hosts_.emplace(std::vector<std::string>(kHostNames, kHostNames + plan_.hosts()));
    for (int rank = 0; rank < plan_.ranks(); ++rank) {
      const int host = plan_.host_of[static_cast<std::size_t>(rank)];
      Settings settings;
      settings.algo = plan_.algo;
      settings.proto = plan_.proto;
      settings.debug = "INFO";
      settings.log_format = "json";
      settings.debug_file = LogOf(rank);
      settings.init_timeout_ms = 120'000;
      settings.timeout_ms = 600'000;
      settings.ras_addr = fmt::format("localhost:{}", 28'100 + seed_ % 800);
      if (!plan_.name_spaces) settings.host_id = kHostNames[host];
      const std::function<int()> body = [&, rank, settings]() -> int {
        const Status s = RunSoakRank(plan_, rank, settings, folder_.path(), *board_);
        if (!s.ok()) fmt::print("rank {}: {}\n", rank, s.ToString());
        return s.ok() ? 0 : 1;
      };
      ranks_.push_back(hosts_ ? hosts_->Start(host, body) : ChildProcess(body));
    }
  }

  static bool HasEnded(const ChildProcess& rank) {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(rank.pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }

  // What monitors have told, and every WARN of whoever.
  void ReadLog(int rank) {
    std::ifstream log(LogOf(rank));
    for (std::string line; std::getline(log, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_discarded()) continue;
      const std::string text = json["message"];
      const bool warns = json["level"] == "WARN";
      if (warns) result_["warnings"].push_back(fmt::format("rank {}: {}", rank, text));
      if (json["file"] != "watch/vigil.cc") continue;
      const Told told = ReadSentence(text);
      if (told.cleared) continue;
      int& count = told_[diag::Name(told.kind)];
      ++count;
      const bool usual = told.kind == diag::Kind::kLateHost || told.kind == diag::Kind::kStarved ||
                         told.kind == diag::Kind::kInitIncomplete;
      if (!warns && !usual) result_["odd"].push_back(fmt::format("rank {}: {}", rank, text));
    }
    result_["told"] = told_;
  }

  const std::uint64_t seed_;
  const SoakPlan plan_;
  const ScratchFolder folder_;
  SoakBoard* board_;
  std::optional<Hosts> hosts_;
  std::vector<ChildProcess> ranks_;
  std::map<std::string, int> told_;
  nlohmann::json result_;
};

class Tally {
 public:
  void Add(const nlohmann::json& job) {
    ++jobs_;
    seconds_ += job["seconds"].get<double>();
    rank_seconds_ += job["seconds"].get<double>() * job["ranks"].get<int>();
    warnings_ += static_cast<int>(job["warnings"].size());
    failures_ += static_cast<int>(job["failures"].size());
    for (const auto& [pause, times] : job["pauses"].items()) pauses_[pause] += times.get<int>();
    for (const auto& [kind, times] : job["told"].items()) told_[kind] += times.get<int>();
    for (const char* what : {"warnings", "odd", "failures"}) {
      for (const auto& text : job[what]) {
        fmt::print("{} in job {} ({}): {}\n", what, job["seed"].get<std::uint64_t>(), job["what"].get<std::string>(),
                   text.get<std::string>());
      }
    }
    std::fflush(stdout);
    rows_.push_back(RowOf(job));
  }
  void AddBroken(std::uint64_t seed, const std::string& said) {
    ++jobs_, ++failures_;
    fmt::print("job {} has not told how it went: {}\n", seed, said);
  }
  bool good() const { return warnings_ == 0 && failures_ == 0; }
  const std::vector<nlohmann::json>& rows() const { return rows_; }

  void Print(double seconds, double cores) const {
    fmt::print("{} jobs in {:.0f} s, {:.2f} of a core: {:.2f} job-hours, {:.2f} rank-hours\n", jobs_, seconds, cores,
               seconds_ / 3600, rank_seconds_ / 3600);
    const auto list = [](const char* name, const std::map<std::string, int>& counts) {
      std::string text;
      for (const auto& [what, times] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", times, what);
      fmt::print("{}: {}\n", name, text.empty() ? "none" : text);
    };
    list("pauses", pauses_);
    list("told, by all ranks together", told_);
    fmt::print("{} lines at WARN, {} ranks failed\n", warnings_, failures_);
  }

 private:
  // What its seed does not say, and is not 0.
  static nlohmann::json RowOf(const nlohmann::json& job) {
    nlohmann::json row;
    for (const char* key : {"seed", "ranks", "hosts", "longest_stop_ms"}) row[key] = job[key];
    row["seconds"] = std::round(job["seconds"].get<double>() * 10) / 10;
    for (const char* key : {"warnings", "odd", "failures", "told"}) {
      if (!job[key].empty()) row[key] = job[key];
    }
    for (const auto& [pause, times] : job["pauses"].items()) {
      if (times != 0) row["pauses"][pause] = times;
    }
    return row;
  }

  std::vector<nlohmann::json> rows_;
  int jobs_ = 0, warnings_ = 0, failures_ = 0;
  double seconds_ = 0, rank_seconds_ = 0;
  std::map<std::string, int> pauses_, told_;
};

double CpuSeconds() {
  double all = 0;
  for (const int whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(whose, &used);
    for (const timeval& t : {used.ru_utime, used.ru_stime})
      all += static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  }
  return all;
}

}  // namespace

bool Soak(const SoakOptions& options) {
  signal(SIGTERM, WantEnd);
  signal(SIGINT, WantEnd);
  Tally tally;
  const auto begin = Clock::now();
  SideBySide jobs(options.jobs, [&](std::uint64_t seed, const nlohmann::json& result, const std::string& said) {
    result.is_null() ? tally.AddBroken(seed, said) : tally.Add(result);
  });
  const auto start = [&](std::uint64_t seed) {
    const int most = static_cast<int>(SoakPlan::Of(seed, MeansHere()).seconds) + 2 * kGraceSeconds;
    jobs.Start(seed, most, [seed] { return Job(seed).Run(); });
  };
  if (options.one_job >= 0) start(static_cast<std::uint64_t>(options.one_job));
  const auto goes_on = [&] { return wants_end == 0 && SecondsSince(begin) < options.seconds; };
  for (std::uint64_t i = 0; options.one_job < 0 && goes_on(); Sleep(kTurn)) {
    const bool took_much = CpuSeconds() > options.most_cores * (SecondsSince(begin) + kCpuBurst);
    if (jobs.HasRoom() && !took_much) start(options.seed * 1'000'003 + i++);
  }
  // What still runs after the time counts for as long as it has run.
  if (options.one_job < 0) jobs.SignalAll(SIGTERM);
  jobs.Finish();
  const double seconds = SecondsSince(begin);
  tally.Print(seconds, CpuSeconds() / seconds);
  if (!options.json.empty()) WriteResults(options.json, "soak", options.command, tally.rows());
  return tally.good();
}

}  // namespace tutti::tests
