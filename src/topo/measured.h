// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_MEASURED_H_
#define TUTTI_TOPO_MEASURED_H_

// What a system does not say of its GPUs, and what is measured then.

#include <string>
#include <vector>

namespace tutti::topo {

// What was measured of a GPU of which the system does not say enough.
struct MeasuredGpu {
  std::string bus_id;
  int numa = -1;        // the number of the NUMA node that it is nearest to; -1: no difference was found
  double gb_per_s = 0;  // that it takes from there; 0: not measured
};

// What the system does not say of GPUs, so that a measurement helps.
struct Unsaid {
  std::vector<std::string> gpus;  // their bus ids: they have no NUMA node, or a link that is not known or not believed
  std::vector<int> numas;         // the numbers of the NUMA nodes that they may belong to: those with cores
};

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_MEASURED_H_
