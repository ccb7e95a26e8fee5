// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_HEALTH_EXPECT_H_
#define TUTTI_TOOLS_HEALTH_EXPECT_H_

// What transfers between the ranks of a job should take, by what `tutti expect` says of hosts like this one.

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tools/health_judge.h"
#include "tools/predictor_source.h"

namespace tutti::tools {

class HealthExpectation {
 public:
  // `ranks`: of each host. `ground` must outlive it. What cannot be predicted is not expected; notes() says why.
  HealthExpectation(const PredictorGround& ground, int hosts, int ranks, bool host_memory);

  // Fills in what is expected of a transfer between two ranks, while so many leave the sender's host.
  void Expect(bool within, int links_at_once, Transfer& transfer);
  // Of an all_reduce of all ranks, us; nothing: not known.
  std::optional<double> AllReduceUs(std::size_t bytes);
  const std::string& notes() const { return notes_; }

 private:
  struct Figure {
    double us = 0, error = 0;
  };
  std::optional<Figure> Ask(OpenedPredictor& predictor, Collective collective, std::size_t bytes);
  std::optional<OpenedPredictor> Open(int hosts, int ranks);

  const PredictorGround& ground_;
  bool host_memory_;
  std::optional<OpenedPredictor> within_, between_, all_;
  std::map<std::pair<bool, std::size_t>, std::optional<Figure>> known_;
  std::string notes_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_HEALTH_EXPECT_H_
