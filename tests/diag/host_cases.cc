// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/host_cases.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/diag/host_rank.h"
#include "tests/diag/link_fault.h"
#include "tests/diag/ras_client.h"
#include "tests/diag/told.h"
#include "tests/hosts/hosts.h"
#include "tests/support/scratch_folder.h"
#include "tools/record_command.h"

namespace tutti::tests {
namespace {

using Clock = std::chrono::steady_clock;
using diag::Kind;

// How long a case waits: for what must be told, for nothing to be told, for more after that, and for "cleared".
constexpr double kMostSeconds = 12, kQuietSeconds = 3, kAfterwards = 0.8, kMostToClear = 8;
// Slow links are slow for a while before anything is told of them, and it has to be known before what is usual. A connection that stalls is made anew
// after six seconds.
constexpr double kMostSecondsSlow = 40, kMostToClearLink = 20;
constexpr int kUsualMs = 6500;
constexpr int kRasApartMs = 300;

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// A control group whose processes have 4 % of a core together, one of which takes what it gets.
class Starvation {
 public:
  static bool IsPossible() {
    return std::filesystem::exists(kRoot + std::string("/cpu.cfs_quota_us")) && geteuid() == 0;
  }

  explicit Starvation(pid_t victim) : folder_(fmt::format("{}/tutti-{}", kRoot, victim)) {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ + "/cpu.cfs_quota_us") << 4000 << std::flush;
    std::ofstream(folder_ + "/cgroup.procs") << victim << std::flush;
    neighbour_.emplace([this]() -> int {
      std::ofstream(folder_ + "/cgroup.procs") << getpid() << std::flush;
      while (getppid() != 0) {
      }
      return 0;
    });
  }
  void End() {
    if (neighbour_) neighbour_->Signal(SIGKILL);
    std::ofstream(folder_ + "/cpu.cfs_quota_us") << -1 << std::flush;
    neighbour_.reset();
  }
  // REQUIRES: its processes have ended.
  void Remove() {
    std::error_code busy;
    for (int i = 0; i < 100 && !std::filesystem::remove(folder_, busy); ++i) SleepMs(10);
  }

 private:
  static constexpr const char* kRoot = "/sys/fs/cgroup/cpu";
  const std::string folder_;
  std::optional<ChildProcess> neighbour_;
};

// One rank, and what it has said.
struct Witness {
  Witness(ChildProcess started, const std::string& log) : process(std::move(started)), log(log) {}

  ChildProcess process;
  LogReader log;
  std::vector<Told> told;
  double first_right_s = -1, first_warn_s = -1;
};

class Trial {
 public:
  Trial(const HostCase& what, const std::string& flights) : what_(what), flights_(flights) {
    void* page = mmap(nullptr, sizeof(HostBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board_ = new (page) HostBoard{};
  }
  ~Trial() {
    witnesses_.clear();
    if (starvation_) starvation_->Remove();
    munmap(board_, sizeof(HostBoard));
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  CaseResult Run() {
    CaseResult result{.name = what_.Describe(), .kind = Name(what_.fault)};
    Start();
    if (!WaitUntil([&] { return board_->ready >= what_.ranks(); }, std::chrono::seconds(30))) {
      result.wrong.push_back("the job did not begin");
      for (const Witness& w : witnesses_) result.wrong.push_back(w.process.output());
      return result;
    }
    if (what_.fault != HostFault::kLinkAlways) AwaitFault(result);
    if (const std::string error = Fault(); !error.empty()) {
      result.wrong.push_back("the fault could not be made: " + error);
      return result;
    }
    if (link_ && !link_->chosen().empty()) result.name += ": " + link_->chosen();
    Listen();
    AskOthers(result);
    Judge(result);
    if (Repair() && !Clears()) result.wrong.push_back("it was not cleared when all went on");
    Conclude(result);
    return result;
  }

 private:
  void Start() {
    if (what_.name_spaces) hosts_.emplace(std::vector<std::string>(kHostNames, kHostNames + what_.hosts()));
    if (what_.IsOfNetwork()) link_.emplace(what_, *hosts_).Prepare();
    for (int rank = 0; rank < what_.ranks(); ++rank) {
      const int host = what_.host_of[static_cast<std::size_t>(rank)];
      Settings settings;
      settings.algo = what_.algo;
      settings.proto = what_.proto;
      settings.debug = "INFO";
      settings.log_format = "json";
      settings.debug_file = folder_.Path(fmt::format("log{}", rank));
      settings.init_timeout_ms = 60'000;
      settings.timeout_ms = 120'000;
      settings.ras_addr = fmt::format("localhost:{}", ras_port_ + host);
      if (!what_.name_spaces) settings.host_id = kHostNames[host];
      const std::function<int()> body = [&, rank, settings]() -> int { RunHostRank(what_, rank, settings, *board_); };
      witnesses_.emplace_back(hosts_ ? hosts_->Start(host, body) : ChildProcess(body), settings.debug_file);
    }
  }

  // For as long as it takes to know what is usual. Nothing may be told meanwhile.
  void AwaitFault(CaseResult& result) {
    SleepMs(what_.IsSlowLink() ? kUsualMs : what_.phase == Phase::kSteady ? 200 : 20);
    Hear();
    const bool quiet = std::ranges::all_of(witnesses_, [](const Witness& w) { return w.told.empty(); });
    if (!quiet) result.wrong.push_back("something was told before the fault");
    for (Witness& w : witnesses_) w.told.clear();
    begin_ = Clock::now();
  }

  ChildProcess& Process(int rank) { return witnesses_[static_cast<std::size_t>(rank)].process; }

  // An error in words, where it cannot be.
  std::string Fault() {
    if (link_) {
      std::vector<pid_t> pids;
      for (const Witness& w : witnesses_) pids.push_back(w.process.pid());
      if (std::string error = link_->Begin(pids); !error.empty()) return error;
      // What it took to choose a connection, or a speed, was before it.
      const bool took_time = what_.fault != HostFault::kCutOff && what_.fault != HostFault::kLinkAlways;
      if (took_time) begin_ = Clock::now();
    }
    for (int rank = 0; rank < what_.ranks(); ++rank) {
      const HostFault deed = what_.DeedOf(rank);
      if (deed == HostFault::kStop) Process(rank).Signal(SIGSTOP);
      if (deed == HostFault::kKill) Process(rank).Signal(SIGKILL);
      if (deed == HostFault::kKill && !what_.zombie) Process(rank).Wait();
      if (deed == HostFault::kStarved) starvation_.emplace(Process(rank).pid());
    }
    board_->go = 1;
    return "";
  }

  double Seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  bool IsAllowed(int rank, const Told& told) const {
    if (what_.fault == HostFault::kLongPause && told.warn && !told.cleared) return false;
    if (what_.fault == HostFault::kLinkStalled && told.kind == Kind::kLinkStalled)
      return told.ranks.size() == 1 && link_->IsBetween(told.ranks.front(), told.to);
    return std::ranges::any_of(what_.AllowedBy(rank), [&](const Expected& e) {
      if (e.kind != told.kind || told.text.find(e.reason) == std::string::npos) return false;
      if (e.kind == Kind::kInitIncomplete) return told.ranks == e.ranks;
      const auto is_one = [&](int r) { return std::ranges::find(e.ranks, r) != e.ranks.end(); };
      return std::ranges::all_of(told.ranks, is_one) && told.ranks.empty() == e.ranks.empty();
    });
  }

  // Reads the logs.
  void Hear() {
    for (int rank = 0; rank < what_.ranks(); ++rank) {
      Witness& w = witnesses_[static_cast<std::size_t>(rank)];
      for (Told& told : w.log.More()) {
        told.seconds = Seconds();
        const bool counts = !told.cleared && IsAllowed(rank, told) && what_.IsEnough(told.kind);
        if (w.first_right_s < 0 && counts) w.first_right_s = told.seconds;
        if (w.first_warn_s < 0 && counts && told.warn) w.first_warn_s = told.seconds;
        w.told.push_back(std::move(told));
      }
    }
  }

  bool HasTold(const Witness& w) const { return (what_.MustWarn() ? w.first_warn_s : w.first_right_s) >= 0; }
  // Those who must tell and have not; of several of which one is enough only where none has.
  std::vector<int> ThoseSilent() const {
    std::vector<int> silent;
    bool some = false;
    for (int rank = 0; rank < what_.ranks(); ++rank) {
      if (!what_.MustTell(rank)) continue;
      const bool told = HasTold(witnesses_[static_cast<std::size_t>(rank)]);
      some |= told;
      if (!told) silent.push_back(rank);
    }
    if (some && what_.IsSlowLink()) silent.clear();
    return silent;
  }

  // Until all have told, and for a while longer, since that may not be all.
  void Listen() {
    const double pause_s = what_.fault == HostFault::kLongPause ? what_.pause_ms / 1000.0 + 1.5 : 0;
    double until = what_.IsBenign()     ? std::max(kQuietSeconds, pause_s)
                   : what_.IsSlowLink() ? kMostSecondsSlow
                                        : kMostSeconds;
    for (bool all = what_.IsBenign(); Seconds() < until; SleepMs(20)) {
      Hear();
      if (!all && ThoseSilent().empty()) {
        all = true;
        until = Seconds() + kAfterwards;
      }
    }
  }

  // What is answered at the RAS port of each host.
  std::vector<std::string> AskAllRas() {
    std::vector<ChildProcess> clients;
    for (int host = 0; host < what_.hosts(); ++host) {
      const std::function<int()> ask = [this, host] {
        fmt::print("{}", AskRas(static_cast<std::uint16_t>(ras_port_ + host)));
        return 0;
      };
      clients.push_back(hosts_ ? hosts_->Start(host, ask) : ChildProcess(ask));
    }
    std::vector<std::string> answers;
    for (ChildProcess& client : clients) {
      (void)client.Wait();
      answers.push_back(client.output());
    }
    return answers;
  }

  void AskOthers(CaseResult& result) {
    const std::set<int> guilty = what_.fault == HostFault::kLinkStalled ? link_->ends() : what_.Guilty();
    result.guilty.assign(guilty.begin(), guilty.end());
    const std::vector<std::string> before = AskAllRas();
    SleepMs(kRasApartMs);
    const std::set<int> named = NamedByRas(before, AskAllRas());
    result.ras.assign(named.begin(), named.end());
    if (flights_.empty()) return;
    ChildProcess record([this] {
      const int living = what_.IsVictim(0) ? (what_.IsVictim(1) ? 2 : 1) : 0;
      std::string words[] = {"record", "--flight-recorder", flights_, std::to_string(Process(living).pid())};
      char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
      return tools::RecordCommand(4, arguments);
    });
    if (record.Wait() != 0) fmt::print("no flight record: {}\n", record.output());
  }

  void Judge(CaseResult& result) {
    double last = 0;
    for (int rank = 0; rank < what_.ranks(); ++rank) {
      const Witness& w = witnesses_[static_cast<std::size_t>(rank)];
      if (w.first_right_s >= 0) {
        result.first_s = result.first_s < 0 ? w.first_right_s : std::min(result.first_s, w.first_right_s);
        last = std::max(last, w.first_right_s);
      }
      if (w.first_warn_s >= 0)
        result.warn_s = result.warn_s < 0 ? w.first_warn_s : std::min(result.warn_s, w.first_warn_s);
    }
    for (const int rank : ThoseSilent()) {
      result.silent = true;
      const double s = witnesses_[static_cast<std::size_t>(rank)].first_right_s;
      const std::string else_told = s < 0 ? "" : fmt::format(", though at INFO after {:.2f} s", s);
      result.wrong.push_back(
          fmt::format("rank {} told nothing of it{}{}", rank, what_.MustWarn() ? " at WARN" : "", else_told));
    }
    if (!result.silent && result.first_s >= 0) result.last_s = last;
  }

  // Undoes the fault; false where that cannot be.
  bool Repair() {
    board_->repair = 1;
    for (int rank = 0; rank < what_.ranks(); ++rank) {
      if (what_.DeedOf(rank) == HostFault::kStop) Process(rank).Signal(SIGCONT);
    }
    if (starvation_) starvation_->End();
    if (link_) link_->End();
    switch (what_.fault) {
      case HostFault::kStop:
      case HostFault::kSleep:
      case HostFault::kNeverComes:
      case HostFault::kTwo:
      case HostFault::kLongPause:
      case HostFault::kLinkTenth:
      case HostFault::kLinkHalf:
      case HostFault::kLinkAlways:
      case HostFault::kLinkStalled:
        return true;
      default:
        return false;
    }
  }

  // Whether each rank says of all that it has told that it is over.
  bool Clears() {
    const auto is_clear = [](const Witness& w) {
      return std::ranges::all_of(w.told, [&](const Told& told) {
        return told.cleared ||
               std::ranges::any_of(w.told, [&](const Told& later) { return later.cleared && later.kind == told.kind; });
      });
    };
    const double until = Seconds() + (link_ ? kMostToClearLink : kMostToClear);
    while (Seconds() < until && !std::ranges::all_of(witnesses_, is_clear)) {
      SleepMs(20);
      Hear();
    }
    return std::ranges::all_of(witnesses_, is_clear);
  }

  void Conclude(CaseResult& result) {
    bool unknown = false, others = false;
    for (int rank = 0; rank < what_.ranks(); ++rank) {
      const Witness& w = witnesses_[static_cast<std::size_t>(rank)];
      for (const Told& told : w.told) {
        if (IsAllowed(rank, told)) {
          if (result.sentence.empty()) result.sentence = told.text;
          continue;
        }
        (told.kind == Kind::kUnknown ? unknown : others) = true;
        result.wrong.push_back(fmt::format("rank {} at {:.2f} s: {}", rank, told.seconds, told.text));
      }
    }
    result.right = result.wrong.empty();
    result.accuses = others;
    result.unknown = unknown && !others;
  }

  const HostCase& what_;
  const std::string& flights_;
  // Of host 0, where RAS clients are answered; the next host has the next. Trials beside each other are other processes.
  const std::uint16_t ras_port_ = static_cast<std::uint16_t>(20'000 + getpid() % 2000 * kMostHosts);
  const ScratchFolder folder_;
  HostBoard* board_;
  std::optional<Hosts> hosts_;
  std::optional<LinkFault> link_;
  std::vector<Witness> witnesses_;
  std::optional<Starvation> starvation_;
  Clock::time_point begin_ = Clock::now();  // of the fault
};

}  // namespace

Means MeansHere() { return {.name_spaces = Hosts::WhyNot().empty(), .control_groups = Starvation::IsPossible()}; }

CaseResult RunHostCase(const HostCase& what, const std::string& flights) { return Trial(what, flights).Run(); }

}  // namespace tutti::tests
