// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_OTHER_RULES_H_
#define TUTTI_TESTS_DIAG_OTHER_RULES_H_

// What the rules of other tools make of a case: models of those tools, with perfect evidence and without their waiting times.
//
// NCCL's RAS, as its clients read it: a rank is named whose process answers nothing or is gone, and a rank that has launched fewer
// of the five counted collectives than others, where no counter moves. Nothing is known of a communicator that is being made.
//
// PyTorch's torchfrtrace on dumps of all ranks, where no counter moves: of each communicator the first collective that not all
// have finished. Named is who has not called it; where all have, whose function, type, size or state is not that of the lowest
// rank. Operators, sends and receives lead to no name.

#include <set>
#include <string>

#include "diag/evidence.h"
#include "tests/diag/host_case.h"

namespace tutti::tests {

class OtherRules {
 public:
  // Two looks while the fault lasts.
  OtherRules(const HostCase& what, const diag::Look& before, const diag::Look& now);

  // "right": those to blame are named, or nobody where nobody is; "silent": nobody is, and somebody is to blame; else "wrong",
  // with those that are named. Kinds and reasons do not count.
  std::string Ras() const;
  std::string Flight() const;

 private:
  bool Moves(const diag::CommunicatorLook& now) const;
  bool IsGone(const diag::RankLook& rank) const;
  void NameByCounts(const diag::CommunicatorLook& c, std::set<int>& named) const;
  static void NameByFlight(const diag::CommunicatorLook& c, std::set<int>& named);
  std::string Score(const std::set<int>& named) const;

  const HostCase& what_;
  const diag::Look& before_;
  const diag::Look now_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_OTHER_RULES_H_
