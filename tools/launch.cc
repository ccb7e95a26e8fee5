// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "base/words.h"
#include "sys/os/process.h"
#include "tools/child_watch.h"
#include "tools/line_tagger.h"

namespace tutti::tools {
namespace {

constexpr int kExitNoLauncher = 1;

class Launcher : public ChildWatch {
 public:
  Launcher(int ranks, const LaunchOptions& options)
      : ChildWatch(options.name, "ranks", options.grace_ms,
                   ranks <= sys::UsableCpus() ? Leads::kSession : Leads::kGroup),
        options_(options),
        ranks_(ranks) {}

  int Run(const std::function<int(int)>& body);

 private:
  bool StartRank(int rank, const std::function<int(int)>& body);
  void AddOutput(int fd, int target, int rank);
  void AddControl();
  void OnControl(std::string_view line);
  std::string NameOf(int rank) const override { return fmt::format("rank {}", rank); }
  int OnEnd(const Child& rank, int wait_status, Cause cause) override;

  const LaunchOptions& options_;
  const int ranks_;
  std::string control_line_;  // as far as it has come
};

int Launcher::Run(const std::function<int(int)>& body) {
  if (!Prepare()) return 1;
  if (options_.control_fd >= 0) AddControl();
  for (int rank = options_.first_rank; rank < options_.first_rank + ranks_; ++rank) {
    if (!StartRank(rank, body)) return 1;
  }
  return Watch();
}

bool Launcher::StartRank(int rank, const std::function<int(int)>& body) {
  std::array<std::array<int, 2>, 2> pipes = {{{-1, -1}, {-1, -1}}};
  for (std::array<int, 2>& ends : pipes) {
    if (options_.tag_output && pipe2(ends.data(), O_CLOEXEC) != 0) {
      Say(fmt::format("cannot start rank {}: pipe: {}", rank, std::strerror(errno)));
      return false;
    }
  }
  // A background process group that reads a terminal is stopped, so nobody reads a terminal.
  const bool reads = rank == 0 && options_.control_fd < 0 && isatty(STDIN_FILENO) == 0;
  const int null = reads ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool started = Start(rank, {.in = null, .out = pipes[0][1], .err = pipes[1][1]}, [&] {
    for (const std::array<int, 2>& ends : pipes) close(ends[0]);
    return body(rank);
  });
  if (null >= 0) close(null);
  for (const auto& [ends, target] : {std::pair{pipes[0], STDOUT_FILENO}, {pipes[1], STDERR_FILENO}}) {
    if (ends[0] < 0) continue;
    close(ends[1]);
    AddOutput(ends[0], target, rank);
  }
  return started;
}

void Launcher::AddOutput(int fd, int target, int rank) {
  fcntl(fd, F_SETFL, O_NONBLOCK);
  const auto tagger = std::make_shared<LineTagger>(fmt::format("[{}] ", rank));
  Add({.fd = fd,
       .take = [=](std::string_view bytes) { WriteAll(target, tagger->Add(bytes)); },
       .end = [=] { WriteAll(target, tagger->Finish()); }});
}

void Launcher::AddControl() {
  Add({.fd = options_.control_fd,
       .take =
           [this](std::string_view bytes) {
             for (const char c : bytes) {
               if (c != '\n') {
                 control_line_ += c;
               } else {
                 OnControl(control_line_);
                 control_line_.clear();
               }
             }
           },
       .end =
           [this] {
             PassOn(SIGKILL);
             Fail(kExitNoLauncher, Grace::kGiven);
           },
       .awaited = false});
}

void Launcher::OnControl(std::string_view line) {
  constexpr std::string_view kSignal = "signal ";
  if (!line.starts_with(kSignal)) return;
  const std::optional<int> signal = ParseNumber<int>(line.substr(kSignal.size()));
  if (signal && *signal > 0 && *signal < NSIG) PassOn(*signal);
}

int Launcher::OnEnd(const Child& rank, int wait_status, Cause cause) {
  const int code = ExitCodeOf(wait_status);
  const bool quiet =
      WIFEXITED(wait_status) && std::ranges::find(options_.quiet_codes, code) != options_.quiet_codes.end();
  if (code != 0 && cause == Cause::kOwn && !quiet) Say(DescribeEnd(rank.number, rank.pid, wait_status));
  return code;
}

}  // namespace

int LaunchRanks(int ranks, const LaunchOptions& options, const std::function<int(int rank)>& body) {
  return Launcher(ranks, options).Run(body);
}

std::string DescribeEnd(int rank, int pid, int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return fmt::format("rank {} (pid {}) was killed by signal {} ({})", rank, pid, signal, strsignal(signal));
  }
  return fmt::format("rank {} (pid {}) ended with exit code {}", rank, pid, WEXITSTATUS(wait_status));
}

int ExitCodeOf(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace tutti::tools
