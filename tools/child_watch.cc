// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/child_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

namespace tutti::tools {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kAfterTerm{2000};  // from SIGTERM to SIGKILL
constexpr milliseconds kAfterEnd{1000};   // for output still in a pipe when the last child has ended
constexpr milliseconds kSameSignal{500};
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

}  // namespace

ChildWatch::~ChildWatch() {
  for (const Child& child : started_) {
    if (!child.ended) kill(-child.pid, SIGKILL);
  }
  for (const Child& child : started_) {
    if (!child.ended) waitpid(child.pid, nullptr, 0);
  }
  for (const Stream& stream : streams_) {
    if (stream.fd >= 0) close(stream.fd);
  }
  if (signals_ >= 0) {
    close(signals_);
    sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
  }
}

void ChildWatch::Say(std::string_view message) const { fmt::print(stderr, "{}: {}\n", name_, message); }

// Signals are blocked and read from a descriptor, so one poll waits for everything.
bool ChildWatch::Prepare() {
  std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, children vanish unreported
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  for (int signal : kForwarded) {
    struct sigaction action {};
    // What is ignored (nohup, a shell's background job) stays ignored, here and in the children.
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

bool ChildWatch::Start(int number, const Stdio& stdio, const std::function<int()>& body) {
  std::fflush(nullptr);  // or the child would write it again
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // the parent has gone in between
    BecomeChild(stdio, body);
  }
  if (pid < 0) {
    Say(fmt::format("cannot start {}: fork: {}; is the limit on processes (ulimit -u) reached?", NameOf(number),
                    std::strerror(errno)));
    return false;
  }
  if (leads_ == Leads::kGroup) setpgid(pid, pid);  // both sides do, so that it holds whoever runs first
  started_.push_back({number, pid});
  return true;
}

void ChildWatch::BecomeChild(const Stdio& stdio, const std::function<int()>& body) {
  if (leads_ == Leads::kGroup) {
    setpgid(0, 0);
  } else {
    setsid();
  }
  sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
  close(signals_);
  if (stdio.in >= 0) dup2(stdio.in, STDIN_FILENO);
  if (stdio.out >= 0) dup2(stdio.out, STDOUT_FILENO);
  if (stdio.err >= 0) dup2(stdio.err, STDERR_FILENO);
  for (const Stream& stream : streams_) {
    if (stream.fd > STDERR_FILENO) close(stream.fd);
  }
  const int code = body();
  std::fflush(nullptr);
  _exit(code);
}

// Only the child itself can begin a session, with a group of the same number, and may not have come to that yet.
void ChildWatch::Send(const Child& child, int signal) {
  if (kill(-child.pid, signal) != 0) kill(child.pid, signal);
}

bool ChildWatch::AllEnded() const {
  return std::ranges::all_of(started_, [](const Child& child) { return child.ended; });
}

bool ChildWatch::AnyAwaited() const {
  return std::ranges::any_of(streams_, [](const Stream& stream) { return stream.fd >= 0 && stream.awaited; });
}

int ChildWatch::Watch() {
  std::optional<Clock::time_point> drain_end;  // set when no child is left
  while (true) {
    const bool done = AllEnded();
    if (done && !drain_end) drain_end = deadline_ = Clock::now() + kAfterEnd;
    if (done && (!AnyAwaited() || Clock::now() >= *drain_end)) break;
    std::vector<pollfd> waits = {{signals_, POLLIN, 0}};
    for (const Stream& stream : streams_) waits.push_back({stream.fd, POLLIN, 0});  // fd -1: poll skips it
    poll(waits.data(), waits.size(), PollTimeout());
    for (std::size_t i = 0; i + 1 < waits.size();
         ++i) {  // first, so that a child's words come before those about its end
      if (waits[i + 1].revents != 0) Read(streams_[i]);
    }
    if (waits[0].revents != 0) OnSignals();
    if (!done && deadline_ && Clock::now() >= *deadline_) OnDeadline();
  }
  for (Stream& stream : streams_) {
    if (stream.awaited) Close(stream);
  }
  return exit_code_;
}

int ChildWatch::PollTimeout() const {
  if (!deadline_) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*deadline_ - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
}

void ChildWatch::OnSignals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (forwarded_ != 0) {
      // timeout(1) sends its signal twice in a row; who sends another one later has lost patience.
      if (Clock::now() - forwarded_at_ < kSameSignal) continue;
      Say(fmt::format("got signal {} ({}) again: ends all {}", signal, strsignal(signal), children_));
      PassOn(SIGKILL);
      continue;
    }
    Say(fmt::format("got signal {} ({}): passed on to {} {}", signal, strsignal(signal), started_.size(), children_));
    PassOn(signal);
  }
  Reap();
}

void ChildWatch::PassOn(int signal) {
  if (signal == SIGKILL) {
    last_sent_ = SIGKILL;
  } else {
    forwarded_ = signal;
    forwarded_at_ = Clock::now();
    if (!deadline_) deadline_ = Clock::now() + milliseconds(grace_ms_);
  }
  SendAll(signal);
}

void ChildWatch::Fail(int code, Grace grace) {
  if (exit_code_ == 0) exit_code_ = code;
  if (grace == Grace::kNone) {
    last_sent_ = SIGTERM;
    SendAll(SIGTERM);
    deadline_ = Clock::now() + kAfterTerm;
  } else if (!deadline_) {
    deadline_ = Clock::now() + milliseconds(grace_ms_);
  }
}

void ChildWatch::Reap() {
  for (Child& child : started_) {
    siginfo_t info{};
    if (child.ended || waitid(P_PID, child.pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) continue;
    // What it left behind; before it is reaped, while the id of its group cannot belong to others.
    kill(-child.pid, SIGKILL);
    int wait_status = 0;
    waitpid(child.pid, &wait_status, 0);
    child.ended = true;
    const bool expected =
        WIFSIGNALED(wait_status) && (WTERMSIG(wait_status) == forwarded_ || WTERMSIG(wait_status) == last_sent_);
    const int code = OnEnd(child, wait_status, expected ? Cause::kExpected : Cause::kOwn);
    if (code != 0) Fail(code, Grace::kGiven);
  }
}

void ChildWatch::OnDeadline() {
  const int signal = last_sent_ == 0 ? SIGTERM : SIGKILL;
  if (last_sent_ == SIGKILL) {  // unkillable for now (in the kernel): keep waiting, nothing else is possible
    deadline_.reset();
    return;
  }
  if (signal == SIGTERM) {
    std::string list;
    for (const Child& child : started_) {
      if (!child.ended) list += fmt::format("{}{} (pid {})", list.empty() ? "" : ", ", NameOf(child.number), child.pid);
    }
    Say(fmt::format("{} did not end within {:g} s: ended now", list, static_cast<double>(grace_ms_) / 1000.0));
  }
  last_sent_ = signal;
  SendAll(signal);
  deadline_ = Clock::now() + kAfterTerm;
}

// One read at a time, so that a child that writes without end does not keep signals waiting.
void ChildWatch::Read(Stream& stream) {
  char buffer[16384];
  const ssize_t got = read(stream.fd, buffer, sizeof(buffer));
  if (got > 0) {
    stream.take({buffer, static_cast<std::size_t>(got)});
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    Close(stream);
  }
}

void ChildWatch::Close(Stream& stream) {
  if (stream.fd < 0) return;
  close(std::exchange(stream.fd, -1));
  if (stream.end) stream.end();
}

void ChildWatch::SendAll(int signal) {
  for (const Child& child : started_) {
    if (!child.ended) Send(child, signal);
  }
}

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // nobody reads any more
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace tutti::tools
