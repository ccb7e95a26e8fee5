// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/format/relay.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>

#include "exec/gpu/lower/compile.h"
#include "plan/plan.h"

namespace tutti::exec::gpu {
namespace {

// Slices and blocks begin at multiples of so many bytes.
constexpr std::size_t kGranuleBytes = 128;
constexpr std::size_t kVectorBytes = 16;
// Of a team: one for the links on each side.
constexpr int kLeastWarps = 2;

RelayRole::Kind KindOf(const Program& program, const ProgramStep& step) {
  const bool input = program.operand(step.first_operand).kind == ProgramOperand::kIn;
  if (step.operands == 1 && input) return RelayRole::kSend;
  return step.operands == 1 && step.targets == 0 ? RelayRole::kReceive : RelayRole::kOwner;
}

// Collects the steps of each role, of which each has the same message on all its links (plan::Forms); all that does not depend
// on an operation.
class Roles {
 public:
  explicit Roles(const Program& program) : program_(program) {}

  void Add(const ProgramStep& step) {
    const RelayRole::Kind kind = KindOf(program_, step);
    if (!roles_[kind]) roles_[kind] = {.kind = kind};
    RelayRole& role = *roles_[kind];
    for (int k = 0; k < step.operands; ++k) {
      const ProgramOperand& operand = program_.operand(step.first_operand + k);
      if (operand.kind != ProgramOperand::kRecv) continue;
      role.source_channel = operand.index;
      role.source[role.sources++] = operand.peer;
    }
    for (int k = 0; k < step.targets; ++k) {
      const ProgramTarget& target = program_.target(step.first_target + k);
      role.target_channel = target.message;
      role.target[role.targets++] = target.peer;
    }
  }

  std::optional<RelayRole>& operator[](int kind) { return roles_[kind]; }

 private:
  const Program& program_;
  std::optional<RelayRole> roles_[kMaxRelayRoles];  // channels are numbers of messages
};

// User memory of an operation, block by block.
struct Memory {
  const Work& work;
  std::size_t element;
  plan::BlockCut cut;
  bool by_piece;  // a block is what an owner keeps for itself of a piece of the input: a reduce_scatter's

  std::size_t Offset(std::uint32_t piece, std::uint32_t block) const {
    return (piece * work.count + cut.Begin(static_cast<int>(block))) * element;
  }
  // What a block has in front (relay.h), the same on all ranks.
  std::size_t Front(std::uint32_t piece, std::uint32_t block) const {
    return by_piece && cut.Size(static_cast<int>(block)) > 0 ? Offset(piece, block) % kVectorBytes : 0;
  }
  std::size_t MostBytes() const {
    return cut.block * element + (by_piece && work.count * element % kVectorBytes != 0 ? kVectorBytes : 0);
  }
  RelayBlock Find(const Program& program, const ProgramStep& step) const {
    RelayBlock found{.bytes = cut.Size(step.block) * element};
    std::size_t front = 0;
    for (int k = 0; k < step.operands; ++k) {
      const ProgramOperand& operand = program.operand(step.first_operand + k);
      if (operand.kind != ProgramOperand::kIn) continue;
      front = Front(operand.index, operand.block);
      found.in = static_cast<const std::byte*>(work.in) + Offset(operand.index, operand.block) - front;
      found.bytes = cut.Size(static_cast<int>(operand.block)) * element + front;
    }
    if (step.stores != 0) found.out = static_cast<std::byte*>(work.out) + Offset(step.piece, step.block) - front;
    return found;
  }
};

// Links of a chain, from those of sends and receives.
void Borrow(const transport::p2p::Layout& layout, Relay& relay) {
  const int rings = layout.chain.rings;
  relay.lent = {.credits = relay.credits[kSimple],
                .states = relay.states[kSimple],
                .units = 1u << relay.log2_ring_units[kSimple],
                .rings = static_cast<std::uint16_t>(relay.peers * relay.channels),
                .each = static_cast<std::uint8_t>(rings),
                .channels = relay.channels};
  relay.flags = layout.ChainFlags(0);
  relay.credits[kSimple] = layout.ChainCredit(0);
  relay.states[kSimple] = layout.ChainState(0, 0);
  relay.ring_bytes[kSimple] *= static_cast<std::uint32_t>(rings);
  relay.log2_ring_units[kSimple] =
      static_cast<std::uint8_t>(relay.log2_ring_units[kSimple] + std::countr_zero(static_cast<unsigned>(rings)));
  relay.peers = 1;
  relay.channels = static_cast<std::uint8_t>(layout.chain.channels);
}

// The longest message, bytes.
std::size_t MostOf(const plan::Cuts& cuts, const Relay& relay) {
  const auto round_up = [](std::size_t bytes) { return (bytes + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes; };
  const auto part = [&](int messages, std::size_t least) {
    return std::max(round_up(relay.slice / static_cast<std::size_t>(messages)), round_up(least));
  };
  const std::uint32_t ring = relay.ring_bytes[kSimple];
  if (relay.lent.rings != 0)
    return std::min<std::size_t>(ring / 4, part(cuts.chain_messages, cuts.chain_message_least_bytes));
  // An owner reads one message of every peer at a time.
  constexpr std::uint32_t kMostOfRings = 384 << 10;
  const std::uint32_t used = std::min(ring, kMostOfRings / std::max<std::uint32_t>(relay.peers, 1));
  return std::min<std::size_t>(MostOfMessage(cuts, relay.slice, used),
                               part(cuts.slice_messages, cuts.slice_message_least_bytes));
}

// Vectors that a role loads and stores in a step, per vector of a block.
int CostOf(const Relay& relay, const RelayRole& role) {
  switch (role.kind) {
    case RelayRole::kSend: {
      const auto stored =
          std::count_if(relay.send, relay.send + role.targets, [](const RelayBlock& b) { return b.out; });
      return 2 * role.targets + static_cast<int>(stored);
    }
    case RelayRole::kOwner:
      return role.sources + (relay.own != kNoInput ? 1 : 0) + role.targets + (relay.owned.out != nullptr ? 1 : 0);
    case RelayRole::kReceive:
      return 2 * role.sources;
  }
  return 0;
}

// Gives each role `sets` teams of every block, with warps in proportion to what they have to do.
void ShareBlock(int sets, Relay& relay) {
  int warps[kMaxRelayRoles], costs[kMaxRelayRoles];
  std::fill_n(warps, relay.roles, kLeastWarps);
  for (int i = 0; i < relay.roles; ++i) costs[i] = CostOf(relay, relay.role[i]);
  for (int left = kMostTeamWarps / sets - relay.roles * kLeastWarps; left > 0; --left) {
    int most = 0;
    for (int i = 1; i < relay.roles; ++i) {
      if (costs[i] * warps[most] > costs[most] * warps[i]) most = i;
    }
    ++warps[most];
  }
  relay.teams_per_block = static_cast<std::uint8_t>(sets * relay.roles);
  for (int t = 0; t < relay.teams_per_block; ++t) {
    relay.first_warp[t + 1] = static_cast<std::uint8_t>(relay.first_warp[t] + warps[t / sets]);
  }
}

// Slices, messages and blocks are the same on all ranks. Where there are blocks for it, a team has one to itself, or half of one.
// Else each block has teams of every role, so that a slice's teams are there together, whatever else runs on the GPU.
void Cut(const PreparedPlan& plan, const plan::Cuts& cuts, std::size_t block_bytes, int most_blocks, Relay& relay) {
  const auto round_up = [](std::size_t value, std::size_t to) { return (value + to - 1) / to * to; };
  const int channels = std::max(relay.channels / plan.program.messages_per_round, 1);
  const int most = std::min(channels, most_blocks * std::max(kUsualTeams / plan.forms.most_roles, 1));
  int slices = static_cast<int>(
      std::clamp<std::size_t>(block_bytes / cuts.slice_least_bytes, 1, static_cast<std::size_t>(most)));
  if (slices > most_blocks) slices -= slices % most_blocks;
  const auto parts = static_cast<std::size_t>(slices);
  relay.slice = round_up((block_bytes + parts - 1) / parts, kGranuleBytes);
  relay.slices = static_cast<std::uint16_t>(slices);
  relay.message = static_cast<std::uint32_t>(MostOf(cuts, relay));
  const std::uint32_t least_units = 1u << (relay.log2_ring_units[kSimple] - transport::p2p::kLog2Flags);
  relay.units = std::max(relay.message / 16, least_units);
  relay.steps = static_cast<std::uint32_t>((relay.slice + relay.message - 1) / relay.message);
  relay.teams = static_cast<std::uint16_t>(relay.roles * relay.slices);
  relay.first_warp[0] = 0;
  if (2 * slices <= most_blocks) {
    const int teams = (plan.forms.most_roles * slices + most_blocks - 1) / most_blocks;
    relay.teams_per_block = static_cast<std::uint8_t>(teams);
    for (int t = 1; t <= teams; ++t) relay.first_warp[t] = static_cast<std::uint8_t>(t * kMostTeamWarps / teams);
  } else {
    ShareBlock((slices + most_blocks - 1) / most_blocks, relay);
  }
  relay.blocks = static_cast<std::uint16_t>((relay.teams + relay.teams_per_block - 1) / relay.teams_per_block);
}

}  // namespace

int RelayBlocks(const PreparedPlan& plan, const Work& work, const GroupLimits& limits) {
  if (plan.collective == Collective::kAllReduce) return limits.team_blocks;
  const plan::Cuts& cuts = limits.cuts;
  const bool by_piece = plan.collective == Collective::kReduceScatter;
  const std::size_t bytes = work.count * SizeOf(work.type) * static_cast<std::size_t>(by_piece ? plan.ranks : 1);
  if (by_piece && bytes >= cuts.many_blocks_least_bytes && bytes <= cuts.many_blocks_most_bytes &&
      limits.most_blocks / 2 >= cuts.many_blocks) {
    return std::max(cuts.many_blocks, limits.team_blocks);
  }
  const bool few =
      bytes >= (plan.collective == Collective::kReduce ? cuts.few_blocks_root_bytes : cuts.few_blocks_bytes);
  return std::max(few ? std::min(cuts.few_blocks, limits.team_blocks) : limits.team_blocks, limits.least_team_blocks);
}

void CompileRelay(const PreparedPlan& plan, const Work& work, const transport::p2p::Layout& layout,
                  const plan::Cuts& cuts, int most_blocks, Relay& relay) {
  const Program& program = plan.program;
  SetOffsets(layout, program.rank, relay);
  SetScaling(plan.collective, work, program.ranks, relay);
  const std::size_t element = SizeOf(work.type);
  relay.element = static_cast<std::uint32_t>(element);
  const Memory memory{
      work, element,
      plan::BlockCut::Equal(work.count, plan.blocks_per_piece, std::max<std::size_t>(kGranuleBytes / element, 1)),
      plan.collective == Collective::kReduceScatter && !plan.forms.chain};
  relay.lent = {};
  if (plan.forms.chain) Borrow(layout, relay);

  Roles roles(program);
  int sends = 0, receives = 0;
  relay.own = kNoInput;
  relay.skip = 0;
  for (int i = 0; i < program.steps; ++i) {
    const ProgramStep& step = program.step(i);
    roles.Add(step);
    RelayBlock block = memory.Find(program, step);
    switch (KindOf(program, step)) {
      case RelayRole::kSend:
        if (block.out == block.in) block.out = nullptr;
        for (int t = 0; t < step.targets; ++t) {
          relay.send[sends++] = block;
          block.out = nullptr;  // once is enough
        }
        break;
      case RelayRole::kOwner:
        relay.owned = block;
        for (int k = 0; k < step.operands; ++k) {
          const ProgramOperand& operand = program.operand(step.first_operand + k);
          if (operand.kind != ProgramOperand::kIn) continue;
          relay.own = static_cast<std::uint8_t>(k);
          relay.skip = static_cast<std::uint8_t>(memory.Front(operand.index, operand.block));
        }
        if (plan.forms.chain && step.targets > 0) relay.divisor = 0;  // the last one divides
        break;
      case RelayRole::kReceive:
        relay.receive[receives++] = block;
    }
  }
  relay.roles = 0;
  for (int kind = 0; kind < kMaxRelayRoles; ++kind) {
    if (!roles[kind]) continue;
    relay.role[relay.roles++] = *roles[kind];
  }
  Cut(plan, cuts, memory.MostBytes(), most_blocks, relay);
  for (RelayRole& role : std::span(relay.role, relay.roles)) {
    role.source_channel = static_cast<std::uint16_t>(role.source_channel * relay.slices);
    role.target_channel = static_cast<std::uint16_t>(role.target_channel * relay.slices);
  }
}

}  // namespace tutti::exec::gpu
