// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_STORY_H_
#define TUTTI_DIAG_STORY_H_

// What is told of verdicts over time: each once, again when it changes, and that it is over.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "diag/verdict.h"

namespace tutti::diag {

class Story {
 public:
  explicit Story(const Rules& rules = {}) : rules_(rules) {}

  struct Line {
    Severity severity = Severity::kInfo;
    std::string text;  // a sentence, or "cleared after 41.0 s: rank 3 (host a, pid 77) is stopped"
  };
  // Takes the verdicts of one moment; what is to be told now. `now_ns` never decreases. A verdict is told when it first is at INFO or
  // above, when it rises to WARN, when what it says of culprits or calls changes, or whether they have an excuse, and when the system
  // gives a reason. It is over when two updates in a row have not had it.
  //   An excuse holds for ten seconds after it was last seen: who saves something computes between its writes.
  //   Others may have waited for something else before: WARN counts from when this culprit was first told of, or from as long as it is
  // known to stand, and a process as stopped from when it was first seen so.
  //   What is slow is told when it was so in 3 of the last 4 seconds with an update, and its time counts from the first of these.
  std::vector<Line> Update(std::vector<Verdict> verdicts, std::int64_t now_ns);

  // Forgets a verdict without a word, as where something else has taken its place.
  void Forget(const Verdict& verdict);

  // Whether something slow has been told of that is not over: it takes more updates to be.
  bool TellsOfSlowness() const;

  // What stands at the latest update, as loud as it is now; the loudest first.
  const std::vector<Verdict>& standing() const { return standing_; }

 private:
  struct Entry {
    bool starved = false;  // it has been seen to lack time on a core, which not every look shows
    std::int64_t first_ns = 0;
    std::int64_t seen_ns = 0;  // at the first update
    std::int64_t held_ns = 0;  // the longest wait so far
    int missed = 0;            // updates without it, in a row
    unsigned seconds = 0;      // bits: whether it was there at the last seconds that count, the latest lowest
    std::int64_t second_ns = 0;
    bool slow = false;
    std::map<std::string, int> links;  // slow ones and the hosts that they leave, and at how many updates
    int updates = 0;                   // with slow links
    Severity told = Severity::kQuiet;
    std::string state;  // what was told, but for what grows with time
    std::string what;
    std::set<std::string> remedies;  // that were told
  };
  struct LastExcuse {
    std::string text;
    std::int64_t seen_ns = 0;
  };
  // How loud it would be, had it lasted for so long.
  Severity SeverityAfter(Verdict verdict, std::int64_t held_ns) const;
  // Notes a verdict's excuse, or gives it that which all of its culprits had a moment ago.
  void Excuse(Verdict& verdict, std::int64_t now_ns);
  // Where other links of the same place are slow than a second ago, that is the same story: gives its entry the new subject.
  void Continue(const std::string& subject, const Verdict& verdict, const std::set<std::string>& subjects);
  // Counts the links that are slow, and leaves out those that have been so less than half of the time. False where none are left: then it is
  // not to be told of.
  static bool KeepLastingLinks(Entry& entry, Verdict& verdict);
  // Gives an entry another subject, unless that has one.
  void Rename(const std::string& subject, const std::string& now);
  // Counts a second of a verdict on slowness, once a second; whether it has been there for enough of them.
  static bool Persists(Entry& entry, bool there, std::int64_t now_ns);
  static bool IsOver(Entry& entry, std::int64_t now_ns);
  // Forgets those that are over, and says so of what was told.
  void EndThoseOver(std::int64_t now_ns, std::vector<Line>& lines);

  Rules rules_;
  std::map<std::string, Entry> entries_;       // by subject
  std::map<std::string, LastExcuse> excuses_;  // by process
  std::vector<Verdict> standing_;
};

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_STORY_H_
