// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/forms.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "plan/footprint.h"

namespace tutti::plan {
namespace {

using Kind = Operand::Kind;

// What a step is, taken by itself.
enum class Part : std::uint8_t {
  kSend,     // sends a block of the input, or copies it
  kOwner,    // folds, or passes on what it receives
  kReceive,  // stores what it receives
};
constexpr int kParts = 3;

Part PartOf(const Step& step) {
  const bool one = step.operands.size() == 1;
  if (one && step.operands[0].kind == Kind::kIn) return Part::kSend;
  return one && step.to.empty() ? Part::kReceive : Part::kOwner;
}

bool ReadsOutput(const Step& step) {
  return std::ranges::any_of(step.operands, [](const Operand& operand) { return operand.kind == Kind::kOut; });
}

// A message at both ends.
struct Message {
  int sender, receiver;
  int number;              // on its link
  int from = -1, to = -1;  // steps
};

// All messages of a plan, by link: the i-th that is sent meets the i-th that is received.
class Messages {
 public:
  explicit Messages(std::span<const RankPlan> plans) {
    for (const RankPlan& plan : plans) {
      const LinkEnds ends = OrderEnds(plan);
      for (const End& end : ends.sent) At(plan.rank, end.peer, sent_[{plan.rank, end.peer}]++).from = end.step;
      for (const End& end : ends.received) At(end.peer, plan.rank, received_[{end.peer, plan.rank}]++).to = end.step;
    }
  }

  const std::vector<Message>& all() const { return messages_; }

 private:
  struct End {
    int stage, step, position, peer;
    auto operator<=>(const End&) const = default;
  };
  struct LinkEnds {
    std::vector<End> sent, received;
  };
  static LinkEnds OrderEnds(const RankPlan& plan) {
    LinkEnds ends;
    for (int s = 0; s < plan.step_count(); ++s) {
      const Step step = plan.step(s);
      int position = 0;
      for (const std::int32_t peer : step.to) ends.sent.push_back({step.stage, s, position++, peer});
      position = 0;
      for (const Operand& operand : step.operands) {
        if (operand.kind == Kind::kRecv) ends.received.push_back({step.stage, s, position, operand.index});
        ++position;
      }
    }
    std::ranges::sort(ends.sent);
    std::ranges::sort(ends.received);
    return ends;
  }
  Message& At(int sender, int receiver, int number) {
    const auto [it, fresh] = places_.try_emplace({sender, receiver, number}, messages_.size());
    if (fresh) messages_.push_back({.sender = sender, .receiver = receiver, .number = number});
    return messages_[it->second];
  }

  std::vector<Message> messages_;
  std::map<std::array<int, 3>, std::size_t> places_;
  std::map<std::array<int, 2>, int> sent_, received_;
};

// The number within its piece of the only block that a step reads of the input and writes; nothing where there are several.
std::optional<int> OneBlock(const Step& step, int stored, int blocks_per_piece) {
  std::optional<int> block;
  if (stored != kNoBlock) block = stored % blocks_per_piece;
  for (const Operand& operand : step.operands) {
    if (operand.kind != Kind::kIn) continue;
    if (block.value_or(operand.index % blocks_per_piece) != operand.index % blocks_per_piece) return std::nullopt;
    block = operand.index % blocks_per_piece;
  }
  return block.value_or(0);
}

void TakeLonger(const FlatLists& lists, FlatLists& longest) {
  longest.exist &= lists.exist;
  longest.passes_on |= lists.passes_on;
  longest.sends = std::max(longest.sends, lists.sends);
  longest.passed = std::max(longest.passed, lists.passed);
  longest.takes = std::max(longest.takes, lists.takes);
  longest.late = std::max(longest.late, lists.late);
  longest.copies = std::max(longest.copies, lists.copies);
}

// What the parts of one rank's plan come to.
struct RankShape {
  bool moves = true, roles = true;
  int owners = 0, role_count = 0;
};

RankShape ShapeOf(const RankPlan& plan, int blocks_per_piece) {
  RankShape shape;
  const std::vector<int> stored = StoredBlocks(plan);
  std::array<bool, kParts> has{};
  std::vector<int> sent;  // blocks of the input
  std::optional<int> own;
  for (int s = 0; s < plan.step_count(); ++s) {
    if (stored[s] == kMergedStore) continue;
    const Step step = plan.step(s);
    const Part part = PartOf(step);
    has[static_cast<std::size_t>(part)] = true;
    if (part == Part::kSend) {
      if (step.to.empty()) shape.roles = false;
      sent.push_back(step.operands[0].index);
    }
    if (part == Part::kOwner) {
      shape.moves = false;
      ++shape.owners;
      for (const Operand& operand : step.operands) {
        if (operand.kind == Kind::kIn) own = operand.index;
      }
      const bool elsewhere = own && stored[s] != kNoBlock && stored[s] % blocks_per_piece != *own % blocks_per_piece;
      if (elsewhere) shape.roles = false;
    }
    if (ReadsOutput(step)) shape.moves = shape.roles = false;
  }
  // In place, what is stored for a block must come after its input has been sent, so an owner's is not sent at all.
  if (own && std::ranges::find(sent, *own) != sent.end()) shape.roles = false;
  shape.roles &= shape.owners <= 1;
  for (const bool part : has) shape.role_count += part ? 1 : 0;
  return shape;
}

// Whether each rank takes from one other at most, and sends to one.
bool IsLine(std::span<const RankPlan> plans, const std::vector<Message>& messages) {
  std::map<int, int> next, before;
  return plans.size() > 2 && std::ranges::all_of(messages, [&](const Message& m) {
           return next.try_emplace(m.sender, m.receiver).first->second == m.receiver &&
                  before.try_emplace(m.receiver, m.sender).first->second == m.sender;
         });
}

Part PartAt(std::span<const RankPlan> plans, int rank, int step) {
  return PartOf(plans[static_cast<std::size_t>(rank)].step(step));
}

// Whether every role has one message of a number on each of its links, and owners pass on to those alone who store it.
bool RolesFit(std::span<const RankPlan> plans, const std::vector<Message>& messages, bool chain) {
  std::map<std::array<int, 3>, int> numbers;  // of a rank's part and direction
  for (const Message& m : messages) {
    const Part from = PartAt(plans, m.sender, m.from), to = PartAt(plans, m.receiver, m.to);
    if (from == Part::kOwner && to == Part::kOwner && !chain) return false;
    if (numbers.try_emplace({m.sender, static_cast<int>(from), 0}, m.number).first->second != m.number) return false;
    if (numbers.try_emplace({m.receiver, static_cast<int>(to), 1}, m.number).first->second != m.number) return false;
  }
  return true;
}

// What Forms::copies says of two shots, where every rank has one owner at most, which passes on to those who store it.
bool AreTwoShots(std::span<const RankPlan> plans, const std::vector<Message>& messages) {
  std::vector<int> folded(plans.size()),
      passed_on(plans.size());  // by owner: others' inputs, and messages with its value
  const auto count = [](std::vector<int>& of, int rank) { ++of[static_cast<std::size_t>(rank)]; };
  for (const Message& m : messages) {
    const Step from = plans[static_cast<std::size_t>(m.sender)].step(m.from);
    const Step to = plans[static_cast<std::size_t>(m.receiver)].step(m.to);
    if (PartOf(from) == Part::kOwner) {
      if (from.out != m.sender || to.out != m.sender) return false;
      count(passed_on, m.sender);
    } else {
      if (PartOf(to) != Part::kOwner || from.operands[0].index != m.receiver || from.out != kNoBlock) return false;
      count(folded, m.receiver);
    }
  }
  const int others = static_cast<int>(plans.size()) - 1;
  const auto all = [&](int peers) { return peers == others; };
  return others > 0 && std::ranges::all_of(folded, all) && std::ranges::all_of(passed_on, all);
}

Forms::Copies FindCopies(std::span<const RankPlan> plans, const Forms& forms, int blocks_per_piece,
                         const std::vector<Message>& messages) {
  if (forms.moves) return blocks_per_piece == 1 ? Forms::Copies::kAll : Forms::Copies::kNone;
  const Collective collective = plans[0].collective;
  const bool of_one_piece = InPieces(collective, plans[0].ranks) == 1 && OutPieces(collective, plans[0].ranks) == 1;
  const bool shots = Reduces(collective) && of_one_piece && blocks_per_piece == plans[0].ranks && forms.relay &&
                     !forms.chain && AreTwoShots(plans, messages);
  return shots ? Forms::Copies::kSecondShot : Forms::Copies::kNone;
}

bool OutputsAreAlike(std::span<const RankPlan> plans) {
  const Collective collective = plans[0].collective;
  const int ranks = plans[0].ranks;
  return InPieces(collective, ranks) <= OutPieces(collective, ranks) &&
         std::ranges::all_of(plans, [](const RankPlan& plan) { return plan.out_blocks > 0; });
}

// In the order in which ranks send and receive.
void Order(int rank, int ranks, Moves& moves) {
  const auto behind = [&](const Moves::Send& send) { return (send.peer - rank + ranks) % ranks; };
  std::ranges::stable_sort(moves.sends, {}, behind);
  std::ranges::stable_sort(moves.receives, {}, &Moves::Receive::peer);
}

std::vector<Moves::Copy> ListCopies(const RankPlan& plan) {
  std::vector<Moves::Copy> copies;
  for (int s = 0; s < plan.step_count(); ++s) {
    const Step step = plan.step(s);
    if (PartOf(step) == Part::kSend && step.out != kNoBlock) copies.push_back({step.operands[0].index, step.out});
  }
  return copies;
}

}  // namespace

FlatLists ListFlat(const RankPlan& plan, int blocks_per_piece) {
  FlatLists lists{.exist = true, .blocks = blocks_per_piece};
  const std::vector<int> stored = StoredBlocks(plan);
  int stored_operands = 0;  // of values that are not passed on
  for (int s = 0; s < plan.step_count(); ++s) {
    if (stored[s] == kMergedStore) continue;
    const Step step = plan.step(s);
    const auto targets = static_cast<int>(step.to.size()), operands = static_cast<int>(step.operands.size());
    const bool input = PartOf(step) == Part::kSend, stores = stored[s] != kNoBlock;
    const std::optional<int> own = OneBlock(step, stored[s], blocks_per_piece);
    lists.exist &= own.has_value() && !ReadsOutput(step);
    if (!input && targets > 0) {
      lists.exist &= !lists.passes_on;
      lists.passes_on = true;
      lists.passed += targets;
      lists.takes += operands;
      continue;
    }
    lists.sends += targets;
    if (stores) stored_operands += operands;
    if (stores && input) ++lists.copies;
  }
  (lists.passes_on ? lists.late : lists.takes) += stored_operands;
  return lists;
}

std::vector<int> StoredBlocks(const RankPlan& plan) {
  std::vector<int> stored(static_cast<std::size_t>(plan.step_count()));
  for (int s = 0; s < plan.step_count(); ++s) {
    const Step step = plan.step(s);
    stored[s] = step.out;
    if (!step.to.empty() || step.operands.size() != 1 || step.operands[0].kind != Kind::kIn) continue;
    for (int earlier = 0; earlier < s; ++earlier) {
      const Step other = plan.step(earlier);
      if (stored[earlier] != kNoBlock || other.stage != step.stage || other.to.empty()) continue;
      if (!std::ranges::equal(other.operands, step.operands)) continue;
      stored[earlier] = step.out;
      stored[s] = kMergedStore;
      break;
    }
  }
  return stored;
}

Forms FindForms(std::span<const RankPlan> plans) {
  const Collective collective = plans[0].collective;
  const int blocks_per_piece = MeasureFootprint(plans).blocks_per_piece;
  Forms forms{.moves = true, .relay = true, .lists = {.exist = true, .blocks = blocks_per_piece}};
  int owners = 0;
  for (const RankPlan& plan : plans) {
    const RankShape shape = ShapeOf(plan, blocks_per_piece);
    forms.moves &= shape.moves;
    forms.relay &= shape.roles;
    TakeLonger(ListFlat(plan, blocks_per_piece), forms.lists);
    forms.most_roles = std::max(forms.most_roles, shape.role_count);
    owners += shape.owners;
  }
  const Messages messages(plans);
  const bool chain = forms.most_roles == 1 && IsLine(plans, messages.all());
  const bool barrier = collective == Collective::kBarrier;         // of one byte
  forms.moves &= !barrier && !Reduces(collective);                 // whose results may be scaled
  const bool useful = Reduces(collective) || HasRoot(collective);  // else everybody may as well send to all
  forms.relay &= !barrier && useful && owners > 0 && !messages.all().empty() && RolesFit(plans, messages.all(), chain);
  forms.chain = forms.relay && chain;
  forms.copies = FindCopies(plans, forms, blocks_per_piece, messages.all());
  forms.outputs_alike = OutputsAreAlike(plans);
  return forms;
}

Moves ListMoves(std::span<const RankPlan> plans, int rank) {
  Moves moves;
  const Messages messages(plans);
  std::vector<int> directions(plans.size());  // bit 0: sends, bit 1: receives
  for (const Message& m : messages.all()) {
    directions[static_cast<std::size_t>(m.sender)] |= 1;
    directions[static_cast<std::size_t>(m.receiver)] |= 2;
    const int out = plans[static_cast<std::size_t>(m.receiver)].step(m.to).out;
    if (m.sender == rank) {
      const int in = plans[static_cast<std::size_t>(rank)].step(m.from).operands[0].index;
      moves.sends.push_back({.peer = m.receiver, .in = in, .out = out, .step = m.from});
    }
    if (m.receiver == rank) moves.receives.push_back({.peer = m.sender, .out = out, .step = m.to});
  }
  Order(rank, static_cast<int>(plans.size()), moves);
  moves.copies = ListCopies(plans[static_cast<std::size_t>(rank)]);
  for (const int direction : directions) moves.most_directions = std::max(moves.most_directions, (direction + 1) / 2);
  return moves;
}

Moves ListSecondShot(std::span<const RankPlan> plans, int rank) {
  Moves moves;
  const Messages messages(plans);
  for (const Message& m : messages.all()) {
    if (PartAt(plans, m.sender, m.from) != Part::kOwner) continue;
    if (m.sender == rank) moves.sends.push_back({.peer = m.receiver, .in = m.sender, .out = m.sender, .step = m.from});
    if (m.receiver == rank) moves.receives.push_back({.peer = m.sender, .out = m.sender, .step = m.to});
  }
  Order(rank, static_cast<int>(plans.size()), moves);
  moves.most_directions = 2;
  return moves;
}

Moves ListMoves(const RankPlan& group) {
  Moves moves;
  for (int s = 0; s < group.step_count(); ++s) {
    const Step step = group.step(s);
    const Operand from = step.operands[0];
    if (from.kind == Kind::kRecv) moves.receives.push_back({.peer = from.index, .out = step.out, .step = s});
    for (const std::int32_t peer : step.to) {
      moves.sends.push_back({.peer = peer, .in = from.index, .out = kNoBlock, .step = s});
    }
  }
  moves.copies = ListCopies(group);
  std::ranges::stable_sort(moves.sends, {}, &Moves::Send::in);
  std::ranges::stable_sort(moves.receives, {}, &Moves::Receive::out);
  std::ranges::stable_sort(moves.copies, {}, &Moves::Copy::in);
  return moves;
}

}  // namespace tutti::plan
