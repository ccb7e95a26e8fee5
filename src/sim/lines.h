// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_LINES_H_
#define TUTTI_SIM_LINES_H_

// A graph for the simulator: that of the machine, without texts, and with every line of a network link as a link of its own. A message
// takes one line there, whichever the switch chooses; lines of other links, as NVLinks, share each message.

#include <cstddef>
#include <vector>

#include "topo/graph.h"

namespace tutti::sim {

struct Lines {
  explicit Lines(const topo::Graph& machine);
  // Of a link of the machine's graph.
  int first(int link) const { return first_[static_cast<std::size_t>(link)]; }
  int end(int link) const { return first_[static_cast<std::size_t>(link) + 1]; }

  topo::Graph graph;

 private:
  std::vector<int> first_;  // by link of the machine's graph
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_LINES_H_
