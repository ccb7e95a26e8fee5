// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// Stands still for a while, so that one can see how Tutti names who holds a job up: rank 2 sleeps before its third
// all-reduce, and the others wait for it. Start it with: tutti run -n 4 hanging_program
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "tutti/tutti.h"

int main() {
  tutti::Result<tutti::Communicator> world = tutti::Communicator::FromEnvironment();
  if (!world.ok()) {
    std::fprintf(stderr, "cannot join the other ranks: %s\n", world.status().ToString().c_str());
    return 1;
  }
  std::vector<float> data(1000, 1.0F);
  for (int step = 0; step < 5; ++step) {
    if (step == 2 && world->rank() == 2) std::this_thread::sleep_for(std::chrono::seconds(15));
    if (tutti::Status status = world->Run(tutti::AllReduce(data, data)); !status.ok()) {
      std::fprintf(stderr, "rank %d: %s\n", world->rank(), status.ToString().c_str());
      return 1;
    }
  }
  std::printf("rank %d is done: %g\n", world->rank(), data[0]);
}
