// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_CASE_RESULT_H_
#define TUTTI_TESTS_DIAG_CASE_RESULT_H_

// One case of the campaign, and what was told of it.

#include <string>
#include <vector>

#include "diag/story.h"
#include "diag/verdict.h"

namespace tutti::tests {

// What should be named.
struct Expected {
  diag::Kind kind = diag::Kind::kUnknown;
  std::vector<int> ranks;            // any of them, and no other; of kInitIncomplete those that are missing
  int link_from = -1, link_to = -1;  // of a link
  std::string reason;                // that the system is to give, or a part of it; empty: any, or none
};

struct CaseResult {
  std::string name;      // "late host, rank 3 of 8, ring": all that it takes to tell it from others, but for the seed
  std::string kind;      // the group that it is counted in
  bool right = false;    // something expected was told, and nothing else
  bool unknown = false;  // nothing else than that it is not known
  double first_s = -1;   // from the fault to the first sentence; -1: none came
  double last_s =
      -1;  // to the first sentence of the last rank; -1: some rank that should tell told nothing, or nobody tells by itself
  double warn_s = -1;    // to the first sentence at WARN, where one was waited for
  bool silent = false;   // something should have been told and nothing was, or not by all
  bool accuses = false;  // somebody or something else was named
  std::string sentence;  // the first that was right, else the first
  std::vector<std::string> wrong;
  // Of cases on several hosts: who is to blame, of a link both ends; and whom clients of RAS name (ras_client.h).
  std::vector<int> guilty, ras;
};

// Listens to what is told of a case.
class Listener {
 public:
  Listener(std::vector<Expected> expected, const diag::Rules& rules) : expected_(std::move(expected)), story_(rules) {}

  // Takes the verdicts of a moment, so long after the fault.
  void Hear(std::vector<diag::Verdict> verdicts, double seconds);
  bool heard_right() const { return !right_.empty(); }
  bool heard() const { return first_s_ >= 0; }
  // WARN was heard.
  bool loud() const { return loud_; }
  bool nothing_stands() const { return story_.standing().empty(); }
  // Fills in what was heard. With nothing expected silence is right.
  void Tell(CaseResult& result) const;

 private:
  bool IsExpected(const diag::Verdict& verdict) const;

  std::vector<Expected> expected_;
  diag::Story story_;
  double first_s_ = -1;
  bool loud_ = false;
  std::string right_;
  std::string unknown_;
  std::vector<std::string> wrong_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_CASE_RESULT_H_
