// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_CHILD_WATCH_H_
#define TUTTI_TOOLS_CHILD_WATCH_H_

// Child processes that belong together, watched over to their end: ranks (launch.h), or the commands that start ranks on
// other hosts (launch_hosts.h).
//
// * Each is the leader of a process group of its own, or of a session, and dies with this process, however that ends (PR_SET_PDEATHSIG).
// * What a child leaves behind in its process group is killed when the child ends.
// * SIGINT, SIGTERM, SIGHUP and SIGQUIT to this process go on to all of them; a second one ends them at once.
// * When one fails, the others have a time to end by themselves; then they get SIGTERM, two seconds later SIGKILL.

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

// REQUIRES: this process has one thread, or children do little but exec.
class ChildWatch {
 public:
  virtual ~ChildWatch();
  ChildWatch(const ChildWatch&) = delete;
  ChildWatch& operator=(const ChildWatch&) = delete;

 protected:
  struct Child {
    int number = 0;
    pid_t pid = -1;
    bool ended = false;
  };
  // Something to read from.
  struct Stream {
    int fd = -1;  // owned
    std::function<void(std::string_view bytes)> take;
    std::function<void()> end;  // nothing will come any more
    // Whether its end is awaited for a moment when all children have ended, and then taken for granted. Else it plays no part
    // any more.
    bool awaited = true;
  };
  // The descriptors that a child gets as its own 0, 1 and 2; -1: it keeps those of this process.
  struct Stdio {
    int in = -1, out = -1, err = -1;
  };

  // What a child leads: a group of this process's session, or a session of its own (docs/decisions/0026-sessions-of-ranks.md).
  enum class Leads : std::uint8_t { kGroup, kSession };
  // `name`: who speaks in messages. `children`: what there are several of, "ranks".
  ChildWatch(std::string name, std::string children, std::int64_t grace_ms, Leads leads = Leads::kGroup)
      : name_(std::move(name)), children_(std::move(children)), grace_ms_(grace_ms), leads_(leads) {}

  // Before the first child; false after a sentence.
  bool Prepare();
  // Runs body() in a child, which exits with what that returns; false after a sentence.
  bool Start(int number, const Stdio& stdio, const std::function<int()>& body);
  void Add(Stream stream) { streams_.push_back(std::move(stream)); }
  // Until all children have ended: 0, or the exit code of the one that failed first.
  int Watch();
  // Ends all children as if this process had got the signal. Says nothing.
  void PassOn(int signal);
  // Ends all children as if one had failed with this code: after the grace, or now.
  enum class Grace { kGiven, kNone };
  void Fail(int code, Grace grace);

  // "rank 3"
  virtual std::string NameOf(int number) const = 0;
  virtual void Send(const Child& child, int signal);
  // A child has ended; `code` as a shell would report it, 0 included. The exit code that counts for it; says why where it is
  // not 0. `expected`: by a signal of this process.
  enum class Cause { kOwn, kExpected };
  virtual int OnEnd(const Child& child, int wait_status, Cause cause) = 0;

  void Say(std::string_view message) const;
  const std::vector<Child>& children() const { return started_; }

 private:
  [[noreturn]] void BecomeChild(const Stdio& stdio, const std::function<int()>& body);
  bool AllEnded() const;
  bool AnyAwaited() const;
  void OnSignals();
  void Reap();
  void OnDeadline();
  void Read(Stream& stream);
  static void Close(Stream& stream);
  void SendAll(int signal);
  int PollTimeout() const;

  const std::string name_, children_;
  const std::int64_t grace_ms_;
  const Leads leads_;
  std::vector<Child> started_;
  std::vector<Stream> streams_;
  sigset_t old_mask_{};
  int signals_ = -1;   // signalfd
  int exit_code_ = 0;  // of the child that failed first
  int forwarded_ = 0;  // the signal that this process got, or 0
  std::chrono::steady_clock::time_point forwarded_at_;
  int last_sent_ = 0;  // how far the escalation has come: 0, SIGTERM, SIGKILL
  // Of the next step of the escalation, or of the last output.
  std::optional<std::chrono::steady_clock::time_point> deadline_;
};

// Writes all, or as much as anybody reads.
void WriteAll(int fd, std::string_view bytes);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_CHILD_WATCH_H_
