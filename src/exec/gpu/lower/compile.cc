// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/lower/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "plan/switches.h"

namespace tutti::exec::gpu {
namespace {

using plan::RankPlan;
using plan::Step;

// Parts and blocks begin at multiples of this many bytes.
constexpr std::size_t kGranuleBytes = 128;

// One message in a rank's plan, as seen from one of its two ends.
struct End {
  int stage, step, position;  // in FIFO order within a round
  auto operator<=>(const End&) const = default;
};

// The ends on this rank of all links from (received) or to (sent) each peer, in FIFO order.
std::vector<std::vector<End>> EndsOf(const RankPlan& plan, bool received) {
  std::vector<std::vector<End>> ends(plan.ranks);
  for (int s = 0; s < plan.step_count(); ++s) {
    const Step step = plan.step(s);
    int position = 0;
    if (received) {
      for (const plan::Operand& operand : step.operands) {
        if (operand.kind == plan::Operand::Kind::kRecv) ends[operand.index].push_back({step.stage, s, position});
        ++position;
      }
    } else {
      for (const std::int32_t peer : step.to) ends[peer].push_back({step.stage, s, position++});
    }
  }
  for (std::vector<End>& link : ends) std::ranges::sort(link);
  return ends;
}

int MessageOf(const std::vector<End>& link, const End& end) {
  return static_cast<int>(std::ranges::lower_bound(link, end) - link.begin());
}

// The block whose length is that of a step that stores nothing: its first local operand.
int LengthBlock(const Step& step) {
  for (const plan::Operand& operand : step.operands) {
    if (operand.kind != plan::Operand::Kind::kRecv) return operand.index;
  }
  return 0;
}

// seat_of: the number by which the program names a rank.
template <typename SeatOf>
Status AddSteps(const RankPlan& plan, const SeatOf& seat_of, PreparedPlan& prepared) {
  const int blocks_per_piece = prepared.blocks_per_piece;
  const std::vector<std::vector<End>> received = EndsOf(plan, true), sent = EndsOf(plan, false);
  const std::vector<int> stores = plan::StoredBlocks(plan);
  std::vector<ProgramStep> steps;
  std::vector<ProgramOperand> operands;
  std::vector<ProgramTarget> targets;
  for (int s = 0; s < plan.step_count(); ++s) {
    if (stores[s] == plan::kMergedStore) continue;
    const Step step = plan.step(s);
    prepared.plan_steps.push_back(static_cast<std::uint16_t>(s));
    const int length_block = stores[s] != plan::kNoBlock ? stores[s] : LengthBlock(step);
    steps.push_back({.first_operand = static_cast<std::uint16_t>(operands.size()),
                     .first_target = static_cast<std::uint16_t>(targets.size()),
                     .operands = static_cast<std::uint8_t>(step.operands.size()),
                     .targets = static_cast<std::uint8_t>(step.to.size()),
                     .stage = static_cast<std::uint8_t>(step.stage),
                     .stores = static_cast<std::uint8_t>(stores[s] != plan::kNoBlock ? 1 : 0),
                     .piece = static_cast<std::uint16_t>(length_block / blocks_per_piece),
                     .block = static_cast<std::uint16_t>(length_block % blocks_per_piece)});
    for (int i = 0; i < std::ssize(step.operands); ++i) {
      const plan::Operand& operand = step.operands[i];
      if (operand.kind == plan::Operand::Kind::kRecv) {
        const int message = MessageOf(received[operand.index], {step.stage, s, i});
        operands.push_back({ProgramOperand::kRecv, seat_of(operand.index), static_cast<std::uint16_t>(message), 0});
      } else {
        const auto kind = operand.kind == plan::Operand::Kind::kIn ? ProgramOperand::kIn : ProgramOperand::kOut;
        operands.push_back({kind, 0, static_cast<std::uint16_t>(operand.index / blocks_per_piece),
                            static_cast<std::uint32_t>(operand.index % blocks_per_piece)});
      }
    }
    for (int i = 0; i < std::ssize(step.to); ++i) {
      const int message = MessageOf(sent[step.to[i]], {step.stage, s, i});
      targets.push_back({seat_of(step.to[i]), 0, static_cast<std::uint16_t>(message)});
    }
  }
  Program& program = prepared.program;
  const std::size_t operands_at = steps.size() * sizeof(ProgramStep) / 4;
  const std::size_t targets_at = operands_at + operands.size() * sizeof(ProgramOperand) / 4;
  const std::size_t words = targets_at + targets.size();
  if (words > kCodeWords) {
    return Status(
        Code::kUnsupported,
        fmt::format("a plan of {} steps for {} ranks needs {} words of a kernel's arguments, and there are {}; "
                    "choose another algorithm with NCCL_ALGO",
                    plan.step_count(), plan.ranks, words, kCodeWords));
  }
  const auto put = [&](std::size_t at, const auto& list) {
    if (!list.empty()) std::memcpy(program.code + at, list.data(), list.size() * sizeof(list[0]));
  };
  put(0, steps);
  put(operands_at, operands);
  put(targets_at, targets);
  program.operands_at = static_cast<std::uint16_t>(operands_at);
  program.targets_at = static_cast<std::uint16_t>(targets_at);
  program.steps = static_cast<std::uint16_t>(steps.size());
  prepared.code_words = static_cast<int>(words);
  return Status::Ok();
}

std::uint64_t IntegerScalar(double scalar) {
  constexpr double kTwo63 = 9223372036854775808.0;
  if (scalar >= 2 * kTwo63) return UINT64_MAX;
  if (scalar >= 0) return static_cast<std::uint64_t>(scalar);
  if (scalar > -kTwo63) return static_cast<std::uint64_t>(static_cast<std::int64_t>(scalar));
  return std::isnan(scalar) ? 0 : std::uint64_t{1} << 63;
}

}  // namespace

void SetScaling(Collective collective, const Work& work, int ranks, Scaling& scaling) {
  scaling.scale = kNoScale;
  scaling.divisor = 0;
  scaling.scalar = 1.0;
  if (!Reduces(collective)) return;
  const bool integer = IsInteger(work.type);
  if (work.op == ReduceOp::kPreMulSum) {
    scaling.scale = work.device_scalar == nullptr ? kScaleByValue : kScaleFromMemory;
    scaling.scalar = work.scalar;
    scaling.factor = static_cast<const std::byte*>(work.device_scalar);
  } else if (work.op == ReduceOp::kAvg) {
    scaling.scale = integer ? kNoScale : kScaleByValue;
    scaling.scalar = 1.0 / ranks;
    scaling.divisor = integer ? static_cast<std::uint32_t>(ranks) : 0;
  }
  scaling.integer_scalar =
      work.integer_scalar ? static_cast<std::uint64_t>(*work.integer_scalar) : IntegerScalar(scaling.scalar);
}

namespace {

Status MeetsTooMany(Collective collective, int ranks) {
  return Status(Code::kUnsupported,
                fmt::format("{} among {} ranks by a plan in which a rank meets more others than its "
                            "kernel can name; choose another algorithm with NCCL_ALGO",
                            Name(collective), ranks));
}

// The ranks that a rank meets in a plan, by their seats; nothing where two of them have the same.
std::vector<int> RanksBySeat(const RankPlan& own, const Seating& seating) {
  std::vector<int> rank_of(static_cast<std::size_t>(seating.seats), -1);
  bool fits = true;
  const auto place = [&](int rank) {
    const auto seat = static_cast<std::size_t>(seating.seats_of[static_cast<std::size_t>(rank)]);
    fits = fits && seat < rank_of.size() && (rank_of[seat] == -1 || rank_of[seat] == rank);
    if (fits) rank_of[seat] = rank;
  };
  place(own.rank);
  for (int s = 0; s < own.step_count(); ++s) {
    const Step step = own.step(s);
    for (const std::int32_t peer : step.to) place(peer);
    for (const plan::Operand& operand : step.operands) {
      if (operand.kind == plan::Operand::Kind::kRecv) place(operand.index);
    }
  }
  if (!fits) rank_of.clear();
  return rank_of;
}

Status AddProgram(const RankPlan& own, const Seating* seating, PreparedPlan& prepared) {
  Program& program = prepared.program;
  if (seating == nullptr) {
    program.rank = static_cast<std::uint8_t>(own.rank);
    program.ranks = static_cast<std::uint8_t>(own.ranks);
    return AddSteps(
        own, [](int rank) { return static_cast<std::uint8_t>(rank); }, prepared);
  }
  prepared.section = seating->section;
  prepared.rank_of = RanksBySeat(own, *seating);
  if (prepared.rank_of.empty()) return MeetsTooMany(own.collective, own.ranks);
  const auto seat_of = [&](int rank) {
    return static_cast<std::uint8_t>(seating->seats_of[static_cast<std::size_t>(rank)]);
  };
  program.rank = seat_of(own.rank);
  program.ranks = static_cast<std::uint8_t>(seating->seats);
  return AddSteps(own, seat_of, prepared);
}

}  // namespace

Result<PreparedPlan> PreparePlan(std::span<const RankPlan> plans, int rank, const Seating* seating) {
  const RankPlan& own = plans[rank];
  for (const RankPlan& plan : plans) TUTTI_RETURN_IF_ERROR(plan::CheckRunnable(plan));
  PreparedPlan prepared;
  prepared.rank = rank;
  prepared.ranks = own.ranks;
  prepared.collective = own.collective;
  prepared.has_output = own.out_blocks > 0;
  prepared.forms = plan::FindForms(plans);
  if (own.ranks > kSeats) prepared.forms = {.moves = seating == nullptr && prepared.forms.moves};
  if (own.ranks > kSeats && seating == nullptr && !prepared.forms.moves) {
    return MeetsTooMany(own.collective, own.ranks);
  }
  if (prepared.forms.moves) prepared.moves = plan::ListMoves(plans, rank);
  if (prepared.forms.copies == plan::Forms::Copies::kSecondShot) prepared.moves = plan::ListSecondShot(plans, rank);
  prepared.copies = true;
  for (int s = 0; s < own.step_count(); ++s) {
    const Step step = own.step(s);
    const bool reads_output = step.operands.size() == 1 && step.operands[0].kind == plan::Operand::Kind::kOut;
    prepared.copies &= step.operands.size() == 1 && !reads_output;
  }
  Program& program = prepared.program;
  std::size_t messages = 1;
  for (const RankPlan& plan : plans) {
    prepared.blocks_per_piece =
        std::max({prepared.blocks_per_piece, plan.in_blocks / plan::InPieces(plan.collective, plan.ranks),
                  plan.out_blocks / plan::OutPieces(plan.collective, plan.ranks)});
    for (int s = 0; s < plan.step_count(); ++s) {
      program.max_stage = std::max(program.max_stage, static_cast<std::uint8_t>(plan.step(s).stage));
    }
    for (const std::vector<End>& link : EndsOf(plan, false)) messages = std::max(messages, link.size());
  }
  program.messages_per_round = static_cast<std::uint16_t>(messages);
  prepared.lists = plan::ListFlat(own, prepared.blocks_per_piece);
  if (own.ranks <= kSeats || seating != nullptr) TUTTI_RETURN_IF_ERROR(AddProgram(own, seating, prepared));
  return prepared;
}

PreparedPlan PrepareGroup(const RankPlan& own) {
  PreparedPlan prepared;
  prepared.rank = own.rank;
  prepared.ranks = own.ranks;
  prepared.collective = own.collective;
  prepared.forms = {.moves = true};
  prepared.moves = plan::ListMoves(own);
  return prepared;
}

void ConnectSeats(const PreparedPlan& plan, std::span<std::byte* const> segments, std::size_t begin, Program& program) {
  using transport::p2p::Place;
  const int self = plan.program.rank;
  for (int seat = 0; seat < plan.program.ranks; ++seat) {
    const int rank = plan.rank_of[static_cast<std::size_t>(seat)];
    program.segments[seat] = segments[static_cast<std::size_t>(rank < 0 ? plan.rank : rank)] + begin;
    // The kernel adds the place that this rank has at that seat: it is to come to the place of the seat at this rank.
    if (rank < 0) program.segments[seat] += 8 * (Place(self, seat) - Place(seat, self));
  }
}

Status CanRunSteps(const PreparedPlan& plan, proto::Protocol protocol, const transport::p2p::Geometry& geometry) {
  if (plan.program.steps == 0) return MeetsTooMany(plan.collective, plan.ranks);
  int log2_messages = geometry.log2_units[static_cast<int>(protocol)];
  if (protocol == proto::Protocol::kSimple) log2_messages = std::min(log2_messages, transport::p2p::kLog2Flags);
  const int messages = (plan.program.max_stage + 2) * plan.program.messages_per_round;
  if (messages <= 1 << log2_messages) return Status::Ok();
  return Status(Code::kUnsupported,
                fmt::format("{} among {} ranks has {} messages under way, and rings of {} hold {}; choose another "
                            "algorithm or protocol with NCCL_ALGO and NCCL_PROTO",
                            Name(plan.collective), plan.ranks, messages, proto::Name(protocol), 1 << log2_messages));
}

void CompileCommon(const PreparedPlan& plan, const Work& work, const Shape& shape,
                   const transport::p2p::Geometry& geometry, Program& program) {
  const Program& from = plan.program;
  program.steps = from.steps;
  program.operands_at = from.operands_at;
  program.targets_at = from.targets_at;
  std::memcpy(program.code, from.code, static_cast<std::size_t>(plan.code_words) * 4);
  program.rank = from.rank;
  program.ranks = from.ranks;
  program.max_stage = from.max_stage;
  program.messages_per_round = from.messages_per_round;
  program.flag_groups = shape.threads % (32 * transport::p2p::kFlagGroups) == 0 ? transport::p2p::kFlagGroups : 1;
  SetScaling(plan.collective, work, plan.ranks, program);
  if (!plan.has_output) program.divisor = 0;

  const int protocol = static_cast<int>(shape.protocol);
  program.rings = geometry.Ring(protocol, 0, 0);
  program.ring_bytes = static_cast<std::uint32_t>(geometry.RingBytes(protocol));
  program.log2_ring_units = static_cast<std::uint32_t>(geometry.log2_units[protocol]);
  program.flags = geometry.Flags(0, 0);
  program.credits = geometry.Credit(protocol, 0, 0);
  program.states = geometry.State(protocol, 0);
}

int CompileItem(const PreparedPlan& plan, const Work& work, const Shape& shape,
                const transport::p2p::Geometry& geometry, ProgramItem& item) {
  const Program& from = plan.program;
  const int protocol = static_cast<int>(shape.protocol);
  const std::size_t element = SizeOf(work.type);
  // LL128: of whole units, so that warps have full ones.
  const bool units = shape.protocol == proto::Protocol::kLl128;
  const std::size_t granule =
      std::max<std::size_t>((units ? transport::p2p::kUnitPayloadBytes[protocol] : kGranuleBytes) / element, 1);
  item.in = static_cast<const std::byte*>(work.in);
  item.out = static_cast<std::byte*>(work.out);
  item.count = work.count;
  item.element = static_cast<std::uint32_t>(element);

  // Parts: one per channel; blocks within them, and chunks of blocks, for the largest part.
  const plan::BlockCut parts =
      plan::BlockCut::Equal(work.count, shape.channels, units ? granule * plan.blocks_per_piece : granule);
  item.part_elements = parts.block;
  item.full_parts = static_cast<std::uint32_t>(work.count / parts.block);
  const std::size_t rest = work.count - item.full_parts * parts.block;
  item.parts[0] = {parts.block, plan::BlockCut::Equal(parts.block, plan.blocks_per_piece, granule).block};
  item.parts[1] = {rest, plan::BlockCut::Equal(rest, plan.blocks_per_piece, granule).block};
  const std::size_t block = item.full_parts > 0 ? item.parts[0].block : item.parts[1].block;
  const std::size_t ring_units = std::size_t{1} << geometry.log2_units[protocol];
  const std::size_t payload = transport::p2p::kUnitPayloadBytes[protocol];
  const auto most_elements = [&](std::size_t rounds_in_ring) {
    return ring_units / (rounds_in_ring * from.messages_per_round) * payload / element;
  };
  constexpr std::size_t kOperationsInRing = 2;  // of one round: the next one need not wait for credit
  std::size_t chunk = most_elements(kOperationsInRing);
  if (block <= chunk) {
    chunk = block;
    item.rounds = 1;
  } else {
    chunk = most_elements(from.max_stage + 2);
    if (shape.chunk_bytes != 0) chunk = std::min(chunk, std::max(shape.chunk_bytes / element, granule));
    if (chunk > granule) chunk = chunk / granule * granule;
    item.rounds = static_cast<std::uint32_t>((block + chunk - 1) / chunk);
  }
  item.chunk = chunk;
  item.message_units = static_cast<std::uint32_t>((chunk * element + payload - 1) / payload);
  if (shape.protocol == proto::Protocol::kSimple) {
    // Each message has a flag of its own (step_simple.cuh).
    item.message_units =
        std::max(item.message_units, 1u << (geometry.log2_units[protocol] - transport::p2p::kLog2Flags));
  }
  return static_cast<int>(item.full_parts) + (rest != 0 ? 1 : 0);
}

void Compile(const PreparedPlan& plan, const Work& work, const Shape& shape, const transport::p2p::Geometry& geometry,
             const plan::Cuts& cuts, Program& program) {
  CompileCommon(plan, work, shape, geometry, program);
  CompileItem(plan, work, shape, geometry, program);
  AddShortForm(plan, shape, geometry, cuts, program);
}

bool ChangeBuffers(const void* in, void* out, int ranks, Program& program) {
  const auto address = [](const void* p) { return reinterpret_cast<std::uint64_t>(p); };
  const std::uint64_t old_in = address(program.in), old_out = address(program.out);
  const std::uint64_t new_in = address(in), new_out = address(out);
  // What lies in its place already is left out of a short form.
  const std::uint64_t all = static_cast<std::uint64_t>(ranks) * program.count * program.element;
  const auto apart = [&](std::uint64_t a, std::uint64_t b) { return a + all <= b || b + all <= a; };
  const bool alike = new_out - new_in == old_out - old_in || (apart(old_in, old_out) && apart(new_in, new_out));
  if (program.is_short != kSteps && !alike) return false;
  program.in = static_cast<const std::byte*>(in);
  program.out = static_cast<std::byte*>(out);
  if (program.is_short == kSteps) return true;
  auto& form = *reinterpret_cast<ShortForm*>(program.code + Program::kShortAt);
  for (int i = 0; i < form.sends; ++i) form.send[i].from += new_in - old_in;
  for (int i = 0; i < form.takes + form.late; ++i) {
    ShortTake& take = form.take[i];
    if (take.ring == 0) take.at += new_in - old_in;
    if (take.out != 0) take.out += new_out - old_out;
  }
  return true;
}

}  // namespace tutti::exec::gpu
