// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "tools/line_tagger.h"

namespace tutti::tools {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kAfterTerm{2000};  // from SIGTERM to SIGKILL
constexpr milliseconds kAfterEnd{1000};   // for output still in a pipe when the last rank has ended
constexpr milliseconds kSameSignal{500};
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// One end of a pipe from a rank to the launcher.
struct Stream {
  int fd = -1;
  int target = STDOUT_FILENO;
  LineTagger tagger{""};
};

struct Rank {
  int rank = 0;
  pid_t pid = -1;
  bool ended = false;
};

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // nobody reads any more
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

class Launcher {
 public:
  Launcher(int ranks, const LaunchOptions& options) : options_(options), ranks_(ranks) {}
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  int Run(const std::function<int(int)>& body);

 private:
  bool Prepare();
  bool Start(int rank, const std::function<int(int)>& body);
  [[noreturn]] void BecomeRank(int rank, const int (&pipes)[2][2], const std::function<int(int)>& body);
  void Watch();
  void OnSignals();
  void Reap();
  void OnEnd(Rank& rank, int wait_status);
  void OnDeadline();
  void Forward(Stream& stream);
  void SignalAll(int signal);
  int PollTimeout() const;
  bool AllEnded() const {
    return std::ranges::all_of(started_, [](const Rank& rank) { return rank.ended; });
  }
  void Say(std::string_view message) const { fmt::print(stderr, "{}: {}\n", options_.name, message); }

  const LaunchOptions& options_;
  const int ranks_;
  std::vector<Rank> started_;
  std::vector<Stream> streams_;
  sigset_t old_mask_{};
  int signals_ = -1;   // signalfd
  int exit_code_ = 0;  // of the first rank that failed
  int forwarded_ = 0;  // the signal that the launcher got, or 0
  Clock::time_point forwarded_at_;
  int last_sent_ = 0;                          // how far the escalation has come: 0, SIGTERM, SIGKILL
  std::optional<Clock::time_point> deadline_;  // of the next step of the escalation, or of the last output
};

Launcher::~Launcher() {
  SignalAll(SIGKILL);
  for (Rank& rank : started_) {
    if (!rank.ended) waitpid(rank.pid, nullptr, 0);
  }
  for (Stream& stream : streams_) {
    if (stream.fd >= 0) close(stream.fd);
  }
  if (signals_ >= 0) {
    close(signals_);
    sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
  }
}

// Signals are blocked and read from a descriptor, so one poll waits for everything.
bool Launcher::Prepare() {
  std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, children vanish unreported
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  for (int signal : kForwarded) {
    struct sigaction action {};
    // What is ignored (nohup, a shell's background job) stays ignored, here and in the ranks.
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&mask, signal);
  }
  sigprocmask(SIG_BLOCK, &mask, &old_mask_);
  signals_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) {
    Say(fmt::format("cannot watch for signals: signalfd: {}", std::strerror(errno)));
    sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
    return false;
  }
  return true;
}

int Launcher::Run(const std::function<int(int)>& body) {
  if (!Prepare()) return 1;
  std::fflush(nullptr);  // or every child would write it again
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!Start(rank, body)) return 1;
  }
  Watch();
  return exit_code_;
}

bool Launcher::Start(int rank, const std::function<int(int)>& body) {
  int pipes[2][2] = {{-1, -1}, {-1, -1}};
  const pid_t parent = getpid();
  if (options_.tag_output) {
    for (int(&ends)[2] : pipes) {
      if (pipe2(ends, O_CLOEXEC) != 0) {
        Say(fmt::format("cannot start rank {}: pipe: {}", rank, std::strerror(errno)));
        return false;
      }
    }
  }
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // the launcher has gone in between
    BecomeRank(rank, pipes, body);
  }
  const int fork_errno = errno;
  for (int i = 0; i < 2 && options_.tag_output; ++i) {
    close(pipes[i][1]);
    fcntl(pipes[i][0], F_SETFL, O_NONBLOCK);
    streams_.push_back({pipes[i][0], i == 0 ? STDOUT_FILENO : STDERR_FILENO, LineTagger(fmt::format("[{}] ", rank))});
  }
  if (pid < 0) {
    Say(fmt::format("cannot start rank {}: fork: {}; is the limit on processes (ulimit -u) reached?", rank,
                    std::strerror(fork_errno)));
    return false;
  }
  setpgid(pid, pid);  // both sides do, so that it holds whoever runs first
  started_.push_back({rank, pid});
  return true;
}

void Launcher::BecomeRank(int rank, const int (&pipes)[2][2], const std::function<int(int)>& body) {
  setpgid(0, 0);
  sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
  close(signals_);
  // A background process group that reads a terminal is stopped, so nobody reads a terminal.
  if (rank != 0 || isatty(STDIN_FILENO)) {
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0) dup2(null, STDIN_FILENO);
  }
  if (options_.tag_output) {
    dup2(pipes[0][1], STDOUT_FILENO);
    dup2(pipes[1][1], STDERR_FILENO);
    for (const int(&ends)[2] : pipes) close(ends[0]);
    for (const Stream& stream : streams_) close(stream.fd);
  }
  const int code = body(rank);
  std::fflush(nullptr);
  _exit(code);
}

void Launcher::Watch() {
  std::optional<Clock::time_point> drain_end;  // set when no rank is left
  while (true) {
    const bool done = AllEnded();
    const bool open = std::ranges::any_of(streams_, [](const Stream& stream) { return stream.fd >= 0; });
    if (done && !drain_end) drain_end = deadline_ = Clock::now() + kAfterEnd;
    if (done && (!open || Clock::now() >= *drain_end)) break;
    std::vector<pollfd> waits = {{signals_, POLLIN, 0}};
    for (const Stream& stream : streams_) waits.push_back({stream.fd, POLLIN, 0});  // fd -1: poll skips it
    poll(waits.data(), waits.size(), PollTimeout());
    if (waits[0].revents != 0) OnSignals();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (waits[i + 1].revents != 0) Forward(streams_[i]);
    }
    if (!done && deadline_ && Clock::now() >= *deadline_) OnDeadline();
  }
  for (Stream& stream : streams_) WriteAll(stream.target, stream.tagger.Finish());
}

int Launcher::PollTimeout() const {
  if (!deadline_) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*deadline_ - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
}

void Launcher::OnSignals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (forwarded_ != 0) {
      // timeout(1) sends its signal twice in a row; who sends another one later has lost patience.
      if (Clock::now() - forwarded_at_ < kSameSignal) continue;
      Say(fmt::format("got signal {} ({}) again: ends all ranks", signal, strsignal(signal)));
      last_sent_ = SIGKILL;
      SignalAll(SIGKILL);
      continue;
    }
    Say(fmt::format("got signal {} ({}): passed on to {} ranks", signal, strsignal(signal), ranks_));
    forwarded_ = signal;
    forwarded_at_ = Clock::now();
    SignalAll(signal);
    if (!deadline_) deadline_ = Clock::now() + milliseconds(options_.grace_ms);
  }
  Reap();
}

void Launcher::Reap() {
  for (Rank& rank : started_) {
    siginfo_t info{};
    if (rank.ended || waitid(P_PID, rank.pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) continue;
    // What it left behind; before it is reaped, while the id of its group cannot belong to others.
    kill(-rank.pid, SIGKILL);
    int wait_status = 0;
    waitpid(rank.pid, &wait_status, 0);
    rank.ended = true;
    OnEnd(rank, wait_status);
  }
}

void Launcher::OnEnd(Rank& rank, int wait_status) {
  const int code = ExitCodeOf(wait_status);
  if (code == 0) return;
  const bool ours =
      WIFSIGNALED(wait_status) && (WTERMSIG(wait_status) == forwarded_ || WTERMSIG(wait_status) == last_sent_);
  const bool quiet =
      WIFEXITED(wait_status) && std::ranges::find(options_.quiet_codes, code) != options_.quiet_codes.end();
  if (!ours && !quiet) Say(DescribeEnd(rank.rank, rank.pid, wait_status));
  if (exit_code_ == 0) exit_code_ = code;
  if (!deadline_) deadline_ = Clock::now() + milliseconds(options_.grace_ms);
}

void Launcher::OnDeadline() {
  const int signal = last_sent_ == 0 ? SIGTERM : SIGKILL;
  if (last_sent_ == SIGKILL) {  // unkillable for now (in the kernel): keep waiting, nothing else is possible
    deadline_.reset();
    return;
  }
  if (signal == SIGTERM) {
    std::string list;
    for (const Rank& rank : started_) {
      if (!rank.ended) list += fmt::format("{}{} (pid {})", list.empty() ? "" : ", ", rank.rank, rank.pid);
    }
    Say(fmt::format("rank {} did not end within {:g} s: ended now", list, options_.grace_ms / 1000.0));
  }
  last_sent_ = signal;
  SignalAll(signal);
  deadline_ = Clock::now() + kAfterTerm;
}

// One read at a time, so that a rank that writes without end does not keep signals waiting.
void Launcher::Forward(Stream& stream) {
  char buffer[16384];
  const ssize_t got = read(stream.fd, buffer, sizeof(buffer));
  if (got > 0) {
    WriteAll(stream.target, stream.tagger.Add({buffer, static_cast<std::size_t>(got)}));
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    close(stream.fd);
    stream.fd = -1;
  }
}

void Launcher::SignalAll(int signal) {
  for (const Rank& rank : started_) {
    if (!rank.ended) kill(-rank.pid, signal);
  }
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
