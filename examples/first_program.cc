// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// Every rank adds its numbers to everybody's. Start it with: tutti run -n 4 first_program
#include <cstdio>
#include <vector>

#include "tutti/tutti.h"

int main() {
  tutti::Result<tutti::Communicator> world = tutti::Communicator::FromEnvironment();
  if (!world.ok()) {
    std::fprintf(stderr, "cannot join the other ranks: %s\n", world.status().ToString().c_str());
    return 1;
  }
  const std::vector<float> mine(1000, static_cast<float>(world->rank() + 1));
  std::vector<float> sum(mine.size());
  if (tutti::Status status = world->Run(tutti::AllReduce(mine, sum)); !status.ok()) {
    std::fprintf(stderr, "all_reduce failed: %s\n", status.ToString().c_str());
    return 1;
  }
  std::printf("rank %d of %d: my %g became %g\n", world->rank(), world->ranks(), mine[0], sum[0]);
}
