// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/case_result.h"

#include <algorithm>
#include <utility>

#include "diag/sentence.h"

namespace tutti::tests {

using diag::Kind;
using diag::Verdict;

void Listener::Hear(std::vector<Verdict> verdicts, double seconds) {
  (void)story_.Update(std::move(verdicts), static_cast<std::int64_t>(seconds * 1e9) + 3600 * diag::kSecond);
  for (const Verdict& v : story_.standing()) {
    if (first_s_ < 0) first_s_ = seconds;
    loud_ |= v.severity == diag::Severity::kWarn;
    const std::string sentence = std::string(diag::Name(v.severity)) + " " + diag::Sentence(v);
    if (IsExpected(v)) {
      if (right_.empty()) right_ = sentence;
    } else if (v.kind == Kind::kUnknown) {
      if (unknown_.empty()) unknown_ = sentence;
    } else if (std::ranges::find(wrong_, diag::Subject(v)) == wrong_.end()) {
      wrong_.push_back(diag::Subject(v));
      wrong_.push_back(sentence);
    }
  }
}

bool Listener::IsExpected(const Verdict& v) const {
  return std::ranges::any_of(expected_, [&](const Expected& e) {
    if (e.kind != v.kind) return false;
    const auto has = [&](const std::string& text) { return text.find(e.reason) != std::string::npos; };
    if (!e.reason.empty() && std::ranges::none_of(v.reasons, has)) return false;
    if (e.link_from >= 0) {
      return !v.links.empty() && std::ranges::all_of(v.links, [&](const diag::LinkPlace& l) {
        return l.from.rank == e.link_from && l.to.rank == e.link_to;
      });
    }
    if (e.kind == Kind::kInitIncomplete) return v.missing == e.ranks;
    const auto is_one = [&](const diag::Place& p) { return std::ranges::find(e.ranks, p.rank) != e.ranks.end(); };
    return std::ranges::all_of(v.culprits, is_one) && v.culprits.empty() == e.ranks.empty();
  });
}

void Listener::Tell(CaseResult& result) const {
  result.first_s = first_s_;
  result.right = wrong_.empty() && (expected_.empty() ? !heard() : !right_.empty());
  result.silent = !result.right && !heard();
  result.unknown = !result.right && wrong_.empty() && right_.empty() && !unknown_.empty();
  result.sentence = !right_.empty() ? right_ : unknown_;
  result.wrong = wrong_;
  result.accuses = !wrong_.empty();
}

}  // namespace tutti::tests
