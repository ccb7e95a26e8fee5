// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// Makes a mistake, so that one can see what Tutti says of it: rank 1 passes fewer elements than the others.
// Start it with: tutti run -n 4 differing_program
#include <cstdio>
#include <vector>

#include "tutti/tutti.h"

int main() {
  tutti::Result<tutti::Communicator> world = tutti::Communicator::FromEnvironment();
  if (!world.ok()) {
    std::fprintf(stderr, "cannot join the other ranks: %s\n", world.status().ToString().c_str());
    return 1;
  }
  std::vector<float> data(world->rank() == 1 ? 999 : 1000, 1.0F);
  if (tutti::Status status = world->Run(tutti::AllReduce(data, data)); !status.ok()) {
    std::fprintf(stderr, "rank %d: %s\n", world->rank(), status.ToString().c_str());
    return 1;
  }
}
