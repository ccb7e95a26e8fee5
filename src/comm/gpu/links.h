// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_LINKS_H_
#define TUTTI_COMM_GPU_LINKS_H_

#include <map>
#include <memory>
#include <vector>

#include "algo/algorithm.h"
#include "exec/gpu/lower/compile.h"

namespace tutti {
namespace transport::p2p {
struct Sections;
}
}  // namespace tutti

namespace tutti::comm {

// Which links plans use, and whom they meet there.
class GpuLinks {
 public:
  // `ring`: GpuCore::ring.
  GpuLinks(int ranks, const transport::p2p::Sections& sections, std::vector<int> ring);
  GpuLinks(const GpuLinks&) = delete;
  GpuLinks& operator=(const GpuLinks&) = delete;
  ~GpuLinks();

  // Where the kernels of an algorithm's plans find ranks, among more than they can name; null: they do not.
  const exec::gpu::Seating* FindSeating(algo::Algorithm algorithm);
  // Every rank's plan of an algorithm: over fixed links where there is a seating. Those whose links are a circle follow the ring.
  std::vector<plan::RankPlan> PlansOf(algo::Algorithm algorithm, Collective collective, int root) const;
  // Of the links that a plan's program uses.
  const transport::p2p::Geometry& GeometryOf(const exec::gpu::PreparedPlan& plan) const;
  // Channels that links of any kind have, for collectives.
  int MostChannels(proto::Protocol protocol) const;
  // How many launches a group may take in which every rank meets every other one.
  int rounds() const;

 private:
  const int ranks_;
  const std::vector<int> ring_;
  const std::unique_ptr<const transport::p2p::Sections> sections_;
  std::map<algo::Algorithm, exec::gpu::Seating> seatings_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_LINKS_H_
