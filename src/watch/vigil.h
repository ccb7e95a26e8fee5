// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_VIGIL_H_
#define TUTTI_WATCH_VIGIL_H_

// What the monitor does while some rank of this process waits: looks, verdicts, what it says and whom it ends.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "watch/inquiry.h"

namespace tutti::sys {
struct Watched;
}
namespace tutti::diag {
struct Look;
class Story;
struct Verdict;
}  // namespace tutti::diag

namespace tutti::watch {

enum class Due : std::uint8_t;
class HostEvidence;
struct Subject;

// Threads: one at a time; the monitor's, once it has begun.
class Vigil {
 public:
  using Subjects = std::vector<std::shared_ptr<Subject>>;

  // `kernel_log`: as EvidencePlaces has it.
  explicit Vigil(const std::string& kernel_log);
  ~Vigil();
  // What the system of this host says; others that answer for it use it too.
  HostEvidence& evidence() { return *evidence_; }
  // HostEvidence::Remember of these processes.
  void Remember(const std::vector<std::int32_t>& pids);
  // Told again and again whether looks are due. A few come after the last that was, to say what is over. Those for trouble come often at first.
  void Attend(Due due);
  bool due(std::int64_t now_ns) const { return asks_ || (looks_left_ > 0 && now_ns >= next_ns_); }
  // When it is due at the latest, also where no socket has news; far away where no look is wanted.
  std::int64_t next_ns() const;
  void AddWatched(std::vector<sys::Watched>& watched) const;

  // Looks, logs what is to be told, and ends communicators whose verdict has stood for too long. Where ranks are on other hosts
  // it asks these first, and looks once they have answered: that takes several turns. All that look take no more than a
  // twentieth of the cores together: where looks take long they come less often. REQUIRES: it is due, and some subjects.
  void Turn(const Subjects& subjects);

 private:
  void Ask(const Subjects& subjects);
  void Look(const Subjects& subjects);
  // A look at all of them that are open. In `ranks`: of the largest communicator.
  diag::Look Take(const Subjects& subjects, int& ranks);
  void Tell(const Subjects& subjects, const diag::Look& now, std::vector<diag::Verdict> verdicts);
  // Those that own ranks of this process are concerned by, but for what the log has said already.
  void KeepOwn(const Subjects& subjects, const diag::Look& now, std::vector<diag::Verdict>& verdicts);
  // What stood and does not any more, because its communicators are broken or gone, is not told as over.
  void ForgetReplaced(const Subjects& subjects, const diag::Look& now, const std::vector<diag::Verdict>& verdicts);
  void Publish(const Subjects& subjects, const diag::Look& now) const;
  void EndWhatStoodTooLong(const Subjects& subjects, const diag::Look& now);

  const std::unique_ptr<HostEvidence> evidence_;
  Inquiry inquiry_;
  bool asks_ = false;  // others have been asked for this look
  std::int64_t ask_until_ns_ = 0;
  int looks_left_ = 0, trouble_left_ = 0;  // looks after the last that was due, and after the last that was for trouble
  std::int64_t often_until_ns_ = 0;
  std::int64_t next_ns_ = 0;
  int cpus_ = 0;              // that this process may use; 0: not found out yet
  std::int64_t used_ns_ = 0;  // of a core, by this look
  std::unique_ptr<diag::Look> before_;
  std::set<std::string> unknown_;  // verdicts of that kind, at the look before
  const std::unique_ptr<diag::Story> story_;
  std::map<std::string, std::int64_t> warned_ns_;  // by subject of a verdict at WARN: since when it stands
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_VIGIL_H_
