// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/links.h"

#include <algorithm>
#include <utility>

#include "comm/gpu/ring_order.h"
#include "plan/seats.h"
#include "transport/p2p/sections.h"

namespace tutti::comm {
namespace {

using transport::p2p::LinkKind;

LinkKind LinksOf(algo::Algorithm algorithm) {
  switch (algo::Get(algorithm).fixed_links) {
    case algo::FixedLinks::kCircle:
      return LinkKind::kRing;
    case algo::FixedLinks::kTree:
      return LinkKind::kTree;
    case algo::FixedLinks::kTwoTrees:
      break;
  }
  return LinkKind::kDoubleTree;
}

}  // namespace

GpuLinks::GpuLinks(int ranks, const transport::p2p::Sections& sections, std::vector<int> ring)
    : ranks_(ranks), ring_(std::move(ring)), sections_(std::make_unique<transport::p2p::Sections>(sections)) {}

GpuLinks::~GpuLinks() = default;

const exec::gpu::Seating* GpuLinks::FindSeating(algo::Algorithm algorithm) {
  if (!sections_->many()) return nullptr;
  const auto [it, fresh] = seatings_.try_emplace(algorithm);
  if (fresh) {
    const LinkKind kind = LinksOf(algorithm);
    it->second = {.section = sections_->SectionOf(kind),
                  .seats = transport::p2p::kLinkSeats[static_cast<int>(kind)],
                  .seats_of = plan::SeatRanks(PlansOf(algorithm, Collective::kAllReduce, 0))};
  }
  return &it->second;
}

std::vector<plan::RankPlan> GpuLinks::PlansOf(algo::Algorithm algorithm, Collective collective, int root) const {
  const algo::Entry& entry = algo::Get(algorithm);
  const bool follows = !ring_.empty() && entry.fixed_links == algo::FixedLinks::kCircle;
  if (follows) root = static_cast<int>(std::ranges::find(ring_, root) - ring_.begin());
  std::vector<plan::RankPlan> plans = sections_->many() && entry.few_links(collective)
                                          ? algo::BuildAllOverFixedLinks(algorithm, collective, ranks_, root)
                                          : algo::BuildAll(algorithm, collective, ranks_, root);
  return follows ? InOrder(plans, ring_) : plans;
}

const transport::p2p::Geometry& GpuLinks::GeometryOf(const exec::gpu::PreparedPlan& plan) const {
  return sections_->At(plan.section).collectives;
}

int GpuLinks::MostChannels(proto::Protocol protocol) const {
  int most = 0;
  for (int s = sections_->many() ? sections_->rounds() : 0; s < sections_->count(); ++s) {
    most = std::max(most, sections_->At(s).collectives.Channels(static_cast<int>(protocol)));
  }
  return most;
}

int GpuLinks::rounds() const { return sections_->rounds(); }

}  // namespace tutti::comm
