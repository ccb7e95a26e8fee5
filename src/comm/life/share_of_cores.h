// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LIFE_SHARE_OF_CORES_H_
#define TUTTI_COMM_LIFE_SHARE_OF_CORES_H_

namespace tutti {
struct Settings;
}

namespace tutti::comm {

struct Placement;

// Of the `cpus` that a process may use, those for each rank of `rank`'s host; at least 1.
int CpusPerRank(const Placement& placement, int rank, int cpus);

// Connections by each network card with a rank of another host, and threads that move data over them besides those that wait
// (transport/net/movers.h): as NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD say, else by the cores for each rank.
int FlowsPerCard(const Settings& settings, int cpus_per_rank);
int MoversOf(const Settings& settings, int cpus_per_rank);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LIFE_SHARE_OF_CORES_H_
