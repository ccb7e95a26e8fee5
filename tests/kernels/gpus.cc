// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "exec/gpu/format/relay.h"
#include "exec/gpu/format/transfer.h"
#include "exec/gpu/launch/batch.h"
#include "exec/gpu/launch/images.h"
#include "exec/gpu/launch/launcher.h"
#include "exec/gpu/lower/rounds.h"
#include "plan/seats.h"
#include "tests/gpu/cuts.h"

namespace tutti::tests {

namespace gpu = exec::gpu;
using exec::gpu::Cuts;
using transport::p2p::kSeats;
using transport::p2p::Layout;
using transport::p2p::LinkKind;
using transport::p2p::Round;
using transport::p2p::Sections;

namespace {

// Small, so that little data fills rings several times.
Layout LayoutOf(int ranks, Rings rings) {
  const bool wide = rings == Rings::kWide;
  Layout layout;
  layout.collectives = {.ranks = ranks, .channels = 4, .log2_units = {7, 3, 7}};
  if (wide) std::ranges::copy(std::initializer_list<int>{10, 7, 10}, layout.collectives.log2_units);
  layout.transfers = {.ranks = ranks, .channels = 8, .log2_units = {0, wide ? 5 : 2, wide ? 11 : 9}};
  if (ranks > 2) {
    layout.chain.rings = 2;
    layout.chain.channels = (ranks - 1) * layout.transfers.channels / layout.chain.rings;
  }
  return layout;
}

// The same of many ranks, whose rings hold a message of each.
Sections SectionsOf(int ranks, Rings rings) {
  Sections sections;
  sections.ranks = ranks;
  sections.round = LayoutOf(std::min(ranks, kSeats), rings);
  if (!sections.many()) return sections;
  sections.round.collectives = {.ranks = kSeats, .channels = 0};
  sections.round.transfers.channels = 2;
  sections.round.chain = {};
  const bool wide = rings == Rings::kWide, huge = ranks > 65;
  for (int kind = 0; kind < transport::p2p::kLinkKinds; ++kind) {
    sections.links[kind].collectives = {.ranks = transport::p2p::kLinkSeats[kind],
                                        .channels = 2,
                                        .log2_units = {wide ? 10 : 8, wide || huge ? 8 : 6, wide ? 10 : 8}};
  }
  return sections;
}

LinkKind LinksOf(algo::Algorithm algorithm) {
  const algo::FixedLinks links = algo::Get(algorithm).fixed_links;
  return links == algo::FixedLinks::kCircle ? LinkKind::kRing
         : links == algo::FixedLinks::kTree ? LinkKind::kTree
                                            : LinkKind::kDoubleTree;
}

const char* OpName(ReduceOp op) {
  switch (op) {
    case ReduceOp::kProd:
      return "Prod";
    case ReduceOp::kMax:
      return "Max";
    case ReduceOp::kMin:
      return "Min";
    default:
      return "Sum";
  }
}

}  // namespace

std::vector<DataType> KnownTypes() {
  std::vector<DataType> types;
  for (int t = 0; t < kNcclDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    if (Machine::Has(fmt::format("ncclTuttiSum_{}_LL", gpu::KernelTypeName(type)))) types.push_back(type);
  }
  return types;
}

Gpus::Gpus(int ranks, Rings rings)
    : sections_(SectionsOf(ranks, rings)),
      machine_(ranks, sections_.Bytes()),
      words_(static_cast<std::size_t>(ranks)),
      lowered_(static_cast<std::size_t>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank) segments_.push_back(machine_.segment(rank));
}

const Gpus::Plans& Gpus::Prepare(const Call& call) {
  Plans& plans = plans_[{call.algorithm, call.collective, call.root}];
  if (!plans.empty()) return plans;
  gpu::Seating seating;
  const bool seated = sections_.many() && algo::Get(call.algorithm).few_links(call.collective);
  if (seated) {
    const LinkKind kind = LinksOf(call.algorithm);
    seating = {
        .section = sections_.SectionOf(kind),
        .seats = transport::p2p::kLinkSeats[static_cast<int>(kind)],
        .seats_of = plan::SeatRanks(algo::BuildAllOverFixedLinks(call.algorithm, Collective::kAllReduce, ranks()))};
  }
  const std::vector<plan::RankPlan> all =
      seated ? algo::BuildAllOverFixedLinks(call.algorithm, call.collective, ranks(), call.root)
             : algo::BuildAll(call.algorithm, call.collective, ranks(), call.root);
  for (int rank = 0; rank < ranks(); ++rank) {
    const Result<gpu::PreparedPlan> plan = gpu::PreparePlan(all, rank, seated ? &seating : nullptr);
    plans.push_back(plan.ok() ? std::make_unique<gpu::PreparedPlan>(*plan) : nullptr);
  }
  return plans;
}

bool Gpus::Supports(const Call& call) {
  if (call.form == Form::kGroup) return true;
  const algo::Entry& entry = algo::Get(call.algorithm);
  if (sections_.many() ? !entry.few_links(call.collective) : !entry.supports(call.collective, ranks())) return false;
  const Plans& plans = Prepare(call);
  if (std::ranges::any_of(plans, [](const auto& plan) { return plan == nullptr; })) return false;
  if (call.form == Form::kRelay) {
    return ranks() > 1 && call.collective != Collective::kBarrier && plans[0]->forms.relay;
  }
  return gpu::CanRunSteps(*plans[0], call.protocol, LayoutOf(*plans[0]).collectives).ok();
}

gpu::Work Gpus::WorkOf(const Call& call, const Buffers& buffers, int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return {.in = buffers.in[r],
          .out = buffers.out[r],
          .count = call.count,
          .type = call.type,
          .op = call.op,
          .scalar = buffers.scalars[r],
          .device_scalar = call.factor_in_memory ? buffers.factors[r].at() : nullptr};
}

bool Gpus::MovesOnly(const Call& call, const gpu::PreparedPlan& plan) const {
  if (call.collective == Collective::kBarrier) return false;
  const bool scales = call.op == ReduceOp::kAvg || call.op == ReduceOp::kPreMulSum;
  const bool simple = call.form == Form::kRelay || call.protocol == proto::Protocol::kSimple;
  return !Reduces(call.collective) || (plan.copies && !scales && simple);
}

void Gpus::Connect(std::byte** segments) const { std::ranges::copy(segments_, segments); }

void Gpus::Connect(const gpu::PreparedPlan& plan, int rank, gpu::Program& program) const {
  if (plan.rank_of.empty()) {
    Connect(program.segments);
  } else {
    gpu::ConnectSeats(plan, segments_, sections_.Begin(plan.section), program);
  }
  program.host = const_cast<gpu::HostWords*>(&words_[static_cast<std::size_t>(rank)]);
  program.timeout_ns = timeout_ns_;
  program.number = kNumber;
  program.counts = sections_.Counts() - sections_.Begin(plan.section);
}

template <typename Argument>
std::string Gpus::Start(int rank, const std::string& kernel, const Argument& argument, int blocks, int threads) {
  ++launched_;
  return machine_.Launch(rank, kernel, argument, blocks, threads) ? "" : "there is no kernel " + kernel;
}

std::string Gpus::LaunchProgram(const Call& call, const Buffers& buffers, int rank) {
  const gpu::PreparedPlan& plan = *Prepare(call)[static_cast<std::size_t>(rank)];
  const auto program = std::make_unique<gpu::Program>();
  Connect(plan, rank, *program);
  const gpu::Shape shape{
      .protocol = call.protocol, .channels = call.channels, .threads = call.threads, .chunk_bytes = call.chunk_bytes};
  gpu::Compile(plan, WorkOf(call, buffers, rank), shape, LayoutOf(plan).collectives, Cuts(), *program);
  lowered_[static_cast<std::size_t>(rank)] = gpu::LoweredOf(plan, *program);
  const int blocks = static_cast<int>(program->full_parts) + (program->parts[1].count != 0 ? 1 : 0);
  const bool moves = MovesOnly(call, plan);
  return Start(rank,
               fmt::format("ncclTutti{}_{}_{}", moves ? "Move" : OpName(call.op),
                           moves ? "bytes" : gpu::KernelTypeName(call.type), proto::Name(call.protocol)),
               *program, blocks, call.threads);
}

std::string Gpus::LaunchBatch(const Call& call, const std::vector<Buffers>& items, int rank) {
  const gpu::PreparedPlan& plan = *Prepare(call)[static_cast<std::size_t>(rank)];
  const auto batch = std::make_unique<gpu::Batch>();
  gpu::Program& program = batch->program;
  Connect(plan, rank, program);
  const gpu::Shape shape{
      .protocol = call.protocol, .channels = call.channels, .threads = call.threads, .chunk_bytes = call.chunk_bytes};
  std::vector<gpu::Work> works;
  for (const Buffers& buffers : items) works.push_back(WorkOf(call, buffers, rank));
  gpu::CompileCommon(plan, works[0], shape, LayoutOf(plan).collectives, program);
  const gpu::BatchCut cut = gpu::CompileItems(plan, works, shape, LayoutOf(plan).collectives, Cuts(), *batch);
  lowered_[static_cast<std::size_t>(rank)] = gpu::LoweredOfBatch(plan);
  const bool moves = MovesOnly(call, plan), few = items.size() <= gpu::kFewItems;
  const std::string kernel = fmt::format("ncclTutti{}{}_{}_{}", moves ? "Move" : "Sum", few ? "FewBatch" : "Batch",
                                         moves ? "bytes" : gpu::KernelTypeName(call.type), proto::Name(call.protocol));
  if (!few) return Start(rank, kernel, *batch, cut.blocks, call.threads);
  const auto small = std::make_unique<gpu::FewBatch>();
  std::memcpy(static_cast<void*>(small.get()), batch.get(), sizeof(*small));
  return Start(rank, kernel, *small, cut.blocks, call.threads);
}

std::string Gpus::LaunchRelay(const Call& call, const Buffers& buffers, int rank) {
  const gpu::PreparedPlan& plan = *Prepare(call)[static_cast<std::size_t>(rank)];
  const auto relay = std::make_unique<gpu::Relay>();
  Connect(relay->segments);
  relay->host = &words_[static_cast<std::size_t>(rank)];
  relay->timeout_ns = timeout_ns_;
  relay->number = kNumber;
  gpu::CompileRelay(plan, WorkOf(call, buffers, rank), sections_.round, Cuts(), call.blocks, *relay);
  relay->counts = sections_.Counts();
  lowered_[static_cast<std::size_t>(rank)] = gpu::LoweredOf(plan, *relay);
  const bool moves = MovesOnly(call, plan);
  return Start(rank,
               fmt::format("ncclTutti{}_{}_Relay", moves ? "Move" : OpName(call.op),
                           moves ? "bytes" : gpu::KernelTypeName(call.type)),
               *relay, relay->blocks, gpu::ThreadsPerBlock(*relay));
}

std::string Gpus::LaunchGroup(const Call& call, const Buffers& buffers, int rank) {
  std::vector<algo::Transfer> to, from;
  gpu::GroupData data;
  for (std::size_t i = 0; i < call.transfers.size(); ++i) {
    const Transfer& transfer = call.transfers[i];
    if (transfer.from == rank) {
      to.push_back({.peer = transfer.to, .count = 1});
      data.in.push_back({buffers.in[i], transfer.bytes});
    }
    if (transfer.to == rank) {
      from.push_back({.peer = transfer.from, .count = 1});
      data.out.push_back({buffers.out[i], transfer.bytes});
    }
  }
  std::vector<gpu::TransferRequest> sends, receives;
  auto plan = std::make_unique<gpu::PreparedPlan>(gpu::PrepareGroup(algo::BuildSendRecv(rank, ranks(), to, from)));
  gpu::ListRequests(*plan, data, sends, receives);
  group_plans_[rank] = std::move(plan);
  const auto group = std::make_unique<gpu::Group>();
  if (!sections_.many()) {
    Connect(group->segments);
    return LaunchRound(call, sections_.round, rank, sends, receives, rank, *group);
  }
  for (int r = 0; r < sections_.rounds(); ++r) {
    const Round round(ranks(), r, rank);
    std::vector<gpu::TransferRequest> sends_now, receives_now;
    gpu::SelectRound(sends, round, sends_now);
    gpu::SelectRound(receives, round, receives_now);
    gpu::ConnectRound(round, segments_, sections_.Begin(r), *group);
    const std::string error =
        LaunchRound(call, sections_.round, round.SeatOf(rank), sends_now, receives_now, rank, *group);
    if (!error.empty()) return error;
  }
  return "";
}

std::string Gpus::LaunchRound(const Call& call, const Layout& layout, int seat,
                              const std::vector<gpu::TransferRequest>& sends,
                              const std::vector<gpu::TransferRequest>& receives, int rank, gpu::Group& group) {
  group.host = &words_[static_cast<std::size_t>(rank)];
  group.timeout_ns = timeout_ns_;
  group.number = kNumber;
  gpu::OwnCopies beside;
  const Status compiled =
      gpu::CompileGroup(sends, receives, seat, layout,
                        {.cuts = Cuts(), .most_blocks = call.blocks, .whole_lines = call.whole_lines}, group, beside);
  if (!compiled.ok()) return compiled.ToString();
  if (group.blocks == 0) return "";
  lowered_[static_cast<std::size_t>(rank)] =
      gpu::LoweredOf(*group_plans_[rank], group, gpu::ListSteps(sends, receives, seat));
  constexpr const char* kKernels[gpu::kGroupKernels] = {"ncclTuttiSendRecv", "ncclTuttiSendRecvLarge",
                                                        "ncclTuttiSendRecvWide"};
  return Start(rank, kKernels[static_cast<int>(group.kernel)], group, group.blocks, gpu::ThreadsPerBlock(group));
}

std::string Gpus::Launch(const Call& call, std::vector<Buffers>& items, int rank) {
  switch (call.form) {
    case Form::kProgram:
      return LaunchProgram(call, items[0], rank);
    case Form::kBatch:
      return LaunchBatch(call, items, rank);
    case Form::kRelay:
      return LaunchRelay(call, items[0], rank);
    case Form::kGroup:
      break;
  }
  return LaunchGroup(call, items[0], rank);
}

std::string Gpus::Run(const std::vector<Call>& calls, std::uint64_t seed, gpu::Plant plant) {
  Random random(seed);
  Age(random);
  std::vector<std::vector<Buffers>> memory(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (int item = 0; item < calls[i].items; ++item) {
      memory[i].push_back(calls[i].form == Form::kGroup ? MakeTransferBuffers(calls[i], random)
                                                        : MakeBuffers(calls[i], ranks(), random));
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      const std::string missing = Launch(calls[i], memory[i], rank);
      if (missing.empty()) continue;
      machine_.Forget();
      return missing;
    }
  }
  std::string error = machine_.Run(seed, plant);
  for (std::size_t i = 0; i < calls.size() && error.empty(); ++i) {
    for (const Buffers& buffers : memory[i]) {
      for (const auto* side : {&buffers.first, &buffers.second, &buffers.factors}) {
        for (std::size_t b = 0; b < side->size() && error.empty(); ++b) {
          if ((*side)[b].at() == nullptr) continue;
          const std::string wrong = (*side)[b].Compare();
          if (!wrong.empty()) error = fmt::format("call {}, buffer of rank or transfer {}: {}", i, b, wrong);
        }
      }
    }
  }
  return error;
}

std::vector<std::uint64_t> Gpus::RunWithout(int absent, const Call& call, std::uint64_t seed, std::string& error,
                                            const Call* instead) {
  Random random(seed);
  Age(random);
  words_.assign(words_.size(), {});
  for (int rank = 0; rank < ranks(); ++rank) CountsOf(rank).begun = 0;
  timeout_ns_ = 3'000'000'000;
  std::vector<Buffers> items;
  for (int item = 0; item < call.items; ++item) {
    items.push_back(call.form == Form::kGroup ? MakeTransferBuffers(call, random) : MakeBuffers(call, ranks(), random));
  }
  for (int rank = 0; rank < ranks() && error.empty(); ++rank) {
    const Call* const made = rank != absent ? &call : instead;
    if (made != nullptr) error = Launch(*made, items, rank);
  }
  if (error.empty()) error = machine_.Run(seed, gpu::Plant::kNone, Machine::Stuck::kTakesTime);
  timeout_ns_ = ~std::uint64_t{0};
  std::vector<std::uint64_t> failures;
  for (const gpu::HostWords& words : words_) failures.push_back(words.failure);
  return failures;
}

transport::p2p::LaunchCounts& Gpus::CountsOf(int rank) const {
  return *reinterpret_cast<transport::p2p::LaunchCounts*>(machine_.segment(rank) + sections_.Counts());
}

transport::p2p::ChannelState& Gpus::StateAt(int rank, std::size_t at) const {
  return *reinterpret_cast<transport::p2p::ChannelState*>(machine_.segment(rank) + at);
}

std::uint64_t& Gpus::WordAt(int rank, std::size_t at) const {
  return *reinterpret_cast<std::uint64_t*>(machine_.segment(rank) + at);
}

namespace {

// Units, or messages, that have passed a link: few, some, or nearly as many as 32 bits count.
std::uint64_t AnyAge(Random& random) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
  return random.OneOf(2) ? random.Below(5000) : random.OneOf(2) ? kMost - random.Below(400) : 0;
}

}  // namespace

void Gpus::Age(Random& random) {
  machine_.ResetMemory();
  for (int section = 0; section < sections_.count(); ++section) {
    AgeCollectives(section, random);
    if (section < sections_.rounds()) AgeTransfers(section, random);
  }
  const Layout& layout = sections_.round;
  for (int channel = 0; channel < layout.chain.channels; ++channel) {
    const std::uint64_t units = AnyAge(random), messages = AnyAge(random);
    for (int rank = 0; rank < ranks(); ++rank) {
      for (const int direction : {0, 1})
        StateAt(rank, layout.ChainState(direction, channel)) = {units, units, messages};
      WordAt(rank, layout.ChainCredit(channel)) = units;
    }
  }
}

void Gpus::AgeCollectives(int section, Random& random) {
  const transport::p2p::Geometry& g = sections_.At(section).collectives;
  const std::size_t begin = sections_.Begin(section);
  for (int protocol = 0; protocol < transport::p2p::kProtocols; ++protocol) {
    for (int channel = 0; channel < g.channels; ++channel) {
      const std::uint64_t units = AnyAge(random), messages = AnyAge(random);
      for (int rank = 0; rank < ranks(); ++rank) {
        StateAt(rank, begin + g.State(protocol, channel)) = {units, units, units, messages};
        for (int place = 0; place < g.peers(); ++place) {
          WordAt(rank, begin + g.Credit(protocol, place, channel)) = units;
        }
      }
    }
  }
}

// Links of sends and receives, each with its own age at both ends.
void Gpus::AgeTransfers(int section, Random& random) {
  const Layout& layout = sections_.At(section);
  const transport::p2p::Geometry& g = layout.transfers;
  const std::size_t begin = sections_.Begin(section);
  for (int sender = 0; sender < ranks(); ++sender) {
    for (int receiver = 0; receiver < ranks(); ++receiver) {
      if (sender == receiver) continue;
      int from = sender, to = receiver;  // seats
      if (sections_.many()) {
        const Round round(ranks(), section, sender);
        if (!round.Has(receiver)) continue;
        from = round.SeatOf(sender);
        to = round.SeatOf(receiver);
      }
      const int at_sender = transport::p2p::Place(from, to), at_receiver = transport::p2p::Place(to, from);
      for (int protocol = 0; protocol < transport::p2p::kProtocols; ++protocol) {
        for (int channel = 0; channel < g.channels; ++channel) {
          const std::uint64_t units = AnyAge(random), messages = AnyAge(random);
          StateAt(sender, begin + layout.TransferState(protocol, 0, at_sender, channel)) = {units, units, messages};
          StateAt(receiver, begin + layout.TransferState(protocol, 1, at_receiver, channel)) = {units, units, messages};
          WordAt(sender, begin + layout.Transfers() + g.Credit(protocol, at_sender, channel)) = units;
        }
      }
    }
  }
}

}  // namespace tutti::tests
