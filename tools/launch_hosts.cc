// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/launch_hosts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "tools/child_watch.h"
#include "tools/cli.h"
#include "tools/line_tagger.h"
#include "tools/rank_program.h"

namespace tutti::tools {
namespace {

constexpr int kSshFailed = 255;
constexpr std::size_t kMostStartBytes = 1u << 20;  // that a login shell may write before `tutti` says that it is there

// Writes to a pipe. Who no longer reads it has ended, which is noticed elsewhere: here that is no signal and no error.
void WriteToPipe(int fd, std::string_view bytes) {
  sigset_t broken, before;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken, &before);
  WriteAll(fd, bytes);
  const timespec now{};
  while (sigtimedwait(&broken, nullptr, &now) == SIGPIPE) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

class HostLauncher : public ChildWatch {
 public:
  HostLauncher(const std::vector<HostJob>& jobs, const HostAgent& agent, const LaunchOptions& options)
      : ChildWatch(options.name, "hosts", options.grace_ms), agent_(agent), options_(options) {
    for (const HostJob& job : jobs) seats_.push_back({.job = job});
  }
  ~HostLauncher() override {
    for (const Seat& seat : seats_) {
      if (seat.input >= 0) close(seat.input);
    }
  }

  int Run();

 private:
  enum class Stage { kStarting, kHere, kSet };
  struct Seat {
    const HostJob& job;
    Stage stage = Stage::kStarting;
    int input = -1;     // of its standard input
    std::string start;  // what it has written before it was set, from the last line on
    LineTagger lines{""};
    LineTagger error_lines{""};
  };

  bool StartHost(int host);
  void TakeOutput(Seat& seat, std::string_view bytes);
  void TakeLine(Seat& seat, std::string_view line);
  void PassOnBytes(LineTagger& lines, int target, std::string_view bytes) const;
  void StartAll();
  void CloseInput(Seat& seat) {
    if (seat.input >= 0) close(std::exchange(seat.input, -1));
  }
  std::string NameOf(int host) const override { return "host " + seats_[static_cast<std::size_t>(host)].job.host; }
  void Send(const Child& child, int signal) override;
  int OnEnd(const Child& child, int wait_status, Cause cause) override;
  std::string WhyNotStarted(const Child& child, const Seat& seat, int wait_status) const;

  const HostAgent& agent_;
  const LaunchOptions& options_;
  std::vector<Seat> seats_;
  bool started_all_ = false;
};

int HostLauncher::Run() {
  if (!Prepare()) return kExitFailed;
  for (int host = 0; host < static_cast<int>(seats_.size()); ++host) {
    if (!StartHost(host)) return kExitFailed;
  }
  return Watch();
}

bool HostLauncher::StartHost(int host) {
  Seat& seat = seats_[static_cast<std::size_t>(host)];
  std::array<std::array<int, 2>, 3> pipes{};
  for (std::array<int, 2>& ends : pipes) {
    if (pipe2(ends.data(), O_CLOEXEC) == 0) continue;
    Say(fmt::format("cannot start host {}: pipe: {}", seat.job.host, std::strerror(errno)));
    return false;
  }
  const std::vector<std::string> command = HostCommand(agent_, seat.job.host);
  const bool started = Start(host, {.in = pipes[0][0], .out = pipes[1][1], .err = pipes[2][1]},
                             [&] { return RunProgram(command, {}, options_.name); });
  for (const int end : {pipes[0][0], pipes[1][1], pipes[2][1]}) close(end);
  seat.input = pipes[0][1];
  for (const int end : {pipes[1][0], pipes[2][0]}) fcntl(end, F_SETFL, O_NONBLOCK);
  Add({.fd = pipes[1][0],
       .take = [this, &seat](std::string_view bytes) { TakeOutput(seat, bytes); },
       .end = [&seat] { WriteAll(STDOUT_FILENO, seat.start + seat.lines.Finish()); }});
  Add({.fd = pipes[2][0],
       .take = [this, &seat](std::string_view bytes) { PassOnBytes(seat.error_lines, STDERR_FILENO, bytes); },
       .end = [&seat] { WriteAll(STDERR_FILENO, seat.error_lines.Finish()); }});
  return started;
}

void HostLauncher::PassOnBytes(LineTagger& lines, int target, std::string_view bytes) const {
  // The tags are there already; here lines of several hosts are kept apart.
  WriteAll(target, options_.tag_output ? lines.Add(bytes) : std::string(bytes));
}

void HostLauncher::TakeOutput(Seat& seat, std::string_view bytes) {
  if (seat.stage == Stage::kSet) return PassOnBytes(seat.lines, STDOUT_FILENO, bytes);
  seat.start += bytes;
  while (seat.stage != Stage::kSet) {
    const std::size_t end = seat.start.find('\n');
    if (end == seat.start.npos && seat.start.size() < kMostStartBytes) return;
    const std::string line = seat.start.substr(0, end);
    seat.start.erase(0, end == seat.start.npos ? end : end + 1);
    TakeLine(seat, line);
  }
  PassOnBytes(seat.lines, STDOUT_FILENO, std::exchange(seat.start, {}));
}

void HostLauncher::TakeLine(Seat& seat, std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::string_view version = VersionOfHere(line);
  if (seat.stage == Stage::kHere && line == kSetLine) {
    seat.stage = Stage::kSet;
    StartAll();
  } else if (seat.stage != Stage::kStarting || version.empty()) {
    WriteAll(STDOUT_FILENO, fmt::format("{}\n", line));  // what a login shell says
  } else if (version != Version()) {
    Say(fmt::format(
        "host {} has tutti {} at {}, and this is {}: install the same on all hosts, or name another one with "
        "--remote-tutti",
        seat.job.host, version, agent_.tutti, Version()));
    Fail(kExitFailed, Grace::kNone);
  } else {
    seat.stage = Stage::kHere;
    WriteToPipe(seat.input, Encode(seat.job));
    fcntl(seat.input, F_SETFL, O_NONBLOCK);  // whoever does not read it does not keep the others waiting
  }
}

void HostLauncher::StartAll() {
  if (std::ranges::any_of(seats_, [](const Seat& seat) { return seat.stage != Stage::kSet; })) return;
  started_all_ = true;
  for (const Seat& seat : seats_) WriteToPipe(seat.input, fmt::format("{}\n", kGoLine));
}

void HostLauncher::Send(const Child& child, int signal) {
  Seat& seat = seats_[static_cast<std::size_t>(child.number)];
  if (started_all_ && signal != SIGKILL) {
    WriteToPipe(seat.input, fmt::format("signal {}\n", signal));
    return;
  }
  CloseInput(seat);
  ChildWatch::Send(child, signal);
}

std::string HostLauncher::WhyNotStarted(const Child& child, const Seat& seat, int wait_status) const {
  const std::string end = WIFSIGNALED(wait_status) ? fmt::format("was killed by signal {}", WTERMSIG(wait_status))
                                                   : fmt::format("ended with exit code {}", WEXITSTATUS(wait_status));
  return fmt::format(
      "host {} was not reached, so no rank was started: {} (pid {}) {} before `tutti` answered there. What it said "
      "should "
      "stand above. Try it by hand: {}",
      seat.job.host, agent_.name(), child.pid, end, fmt::join(HostCommand(agent_, seat.job.host), " "));
}

int HostLauncher::OnEnd(const Child& child, int wait_status, Cause cause) {
  Seat& seat = seats_[static_cast<std::size_t>(child.number)];
  CloseInput(seat);
  const int code = ExitCodeOf(wait_status);
  if (!started_all_) {
    // Where `tutti` is there it has said why.
    if (cause == Cause::kOwn && seat.stage == Stage::kStarting) Say(WhyNotStarted(child, seat, wait_status));
    Fail(code != 0 ? code : kExitFailed, Grace::kNone);
    return 0;
  }
  if (WIFSIGNALED(wait_status) && cause == Cause::kOwn) {
    Say(fmt::format("{} for host {} (pid {}) was killed by signal {} ({}): the ranks there end", agent_.name(),
                    seat.job.host, child.pid, WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status))));
  } else if (code == kSshFailed && agent_.words.empty()) {
    Say(fmt::format("the connection to host {} was lost, unless a rank there ended with exit code {}: then it says so",
                    seat.job.host, kSshFailed));
  }
  return code;
}

}  // namespace

int LaunchOnHosts(const std::vector<HostJob>& jobs, const HostAgent& agent, const LaunchOptions& options) {
  return HostLauncher(jobs, agent, options).Run();
}

}  // namespace tutti::tools
