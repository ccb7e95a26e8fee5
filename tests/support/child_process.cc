// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace tutti::tests {

using Clock = std::chrono::steady_clock;

ChildProcess::ChildProcess(const std::function<int()>& body) : output_(memfd_create("output", MFD_CLOEXEC)) {
  const pid_t parent = getpid();
  std::fflush(nullptr);  // or the child would write it again
  pid_ = fork();
  if (pid_ != 0) {
    setpgid(pid_, pid_);  // both sides do, so that it holds whoever runs first
    EXPECT_GT(pid_, 0) << "fork: " << std::strerror(errno);
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  fcntl(output_, F_SETFL, O_APPEND);
  dup2(output_, STDOUT_FILENO);
  dup2(output_, STDERR_FILENO);
  const int code = body();
  std::fflush(nullptr);
  _exit(code);
}

ChildProcess::ChildProcess(std::vector<std::string> words, std::vector<std::string> environment)
    : ChildProcess([&] { return Exec(std::move(words), environment); }) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      ended_(other.ended_),
      wait_status_(other.wait_status_) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    Signal(SIGKILL);
    if (!ended_) waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) close(output_);
}

std::string ChildProcess::output() const {
  struct stat info {};
  fstat(output_, &info);
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t got = pread(output_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

bool ChildProcess::HasEnded() {
  if (!ended_) ended_ = waitpid(pid_, &wait_status_, WNOHANG) == pid_;
  return ended_;
}

int ChildProcess::Wait(std::chrono::milliseconds limit) {
  if (!WaitUntil([this] { return HasEnded(); }, limit)) {
    ADD_FAILURE() << "a process is still there after " << limit.count() << " ms. Its output:\n" << output();
    Signal(SIGKILL);
    return -1;
  }
  return WIFSIGNALED(wait_status_) ? 128 + WTERMSIG(wait_status_) : WEXITSTATUS(wait_status_);
}

bool ChildProcess::WaitForOutput(const std::string& text, std::chrono::milliseconds limit) {
  const auto found = [&] { return output().find(text) != std::string::npos; };
  WaitUntil([&] { return found() || HasEnded(); }, limit);
  return found();
}

void ChildProcess::Signal(int signal) const { kill(-pid_, signal); }

int Exec(std::vector<std::string> words, const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  std::fprintf(stderr, "cannot run %s: %s\n", argv[0], std::strerror(errno));
  return 127;
}

bool WaitUntil(const std::function<bool()>& done, std::chrono::milliseconds limit) {
  for (const auto end = Clock::now() + limit; Clock::now() < end;) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return done();
}

}  // namespace tutti::tests
