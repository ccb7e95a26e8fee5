// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_PACKING_H_
#define TUTTI_TOPO_PACKING_H_

// How much of some patterns, each of which takes some of several resources, can be had at once: the linear program
//
//   maximise sum of amounts,  where for each resource:  sum of amount * what the pattern takes of it  <=  what there is of it
//
// Patterns are added one by one, as the prices of resources ask for them (column generation: Gilmore and Gomory, "A linear programming
// approach to the cutting-stock problem", 1961). At the optimum a pattern that is worth adding costs less than 1 by the prices.

#include <span>
#include <vector>

namespace tutti::topo {

struct Need {
  int resource = 0;
  double amount = 0;  // positive
};

class Packing {
 public:
  // REQUIRES: all are positive and finite.
  explicit Packing(std::vector<double> supplies);

  // Takes one more pattern, of which there is nothing yet. What it needs of a resource may be in several parts.
  void Add(std::span<const Need> needs);
  // Finds the best amounts of all patterns so far, from those that it found before. Returns its steps, each of which takes about the
  // square of the resources: a few for each new pattern.
  int Solve();
  int patterns() const { return static_cast<int>(patterns_.size()); }
  double total() const;
  double AmountOf(int pattern) const;
  // By resource; none is negative. total() is their sum, each times its supply, but for rounding.
  const std::vector<double>& prices() const { return prices_; }

 private:
  // Variables: that a resource is left over (by resource), then the amounts of patterns.
  using Variable = int;
  double& InverseAt(int row, int column) { return inverse_[static_cast<std::size_t>(row * rows_ + column)]; }
  void FindPrices();
  // What is worth most if more of it is had; -1: nothing.
  Variable FindEntering() const;
  void Enter(Variable variable);

  int rows_;
  std::vector<std::vector<Need>> patterns_;
  std::vector<Variable> basis_;  // by row
  std::vector<double> values_;   // by row
  std::vector<double> inverse_;  // of the basis
  std::vector<double> prices_;
};

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_PACKING_H_
