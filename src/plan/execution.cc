// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "plan/text.h"

namespace tutti::plan {

Layout::Layout(const RankPlan& plan, const Shape& shape, bool in_place) {
  const Collective c = plan.collective;
  const int own = plan.rank * shape.blocks_per_piece;
  if (!in_place || c == Collective::kSendRecv) {  // lists of sends and receives have no place in common
    out = plan.in_blocks;
  } else if (c == Collective::kAllGather || c == Collective::kGather) {
    in = plan.out_blocks > 0 ? own : 0;
  } else if (c == Collective::kReduceScatter || c == Collective::kScatter) {
    out = plan.in_blocks > 0 ? own : 0;
  }
  size = std::max(in + plan.in_blocks, out + plan.out_blocks);
}

Execution::Execution(std::span<const RankPlan> plans, const Shape& shape, const CheckOptions& options)
    : plans_(plans),
      shape_(shape),
      options_(options),
      rounds_(plans[0].collective == Collective::kBarrier ? 1 : options.rounds),
      folds_(static_cast<int>(plans.size()), options.host_of),
      causality_(static_cast<int>(plans.size()),
                 options.in_place_by_reference || options.early || plans[0].collective == Collective::kBarrier) {
  FillInputs();
  ConnectLinks();
}

void Execution::FillInputs() {
  std::size_t largest = 0;
  for (const RankPlan& plan : plans_) {
    for (std::size_t size : plan.in_sizes) largest = std::max(largest, size);
    const Layout layout(plan, shape_, options_.placement == Placement::kInPlace);
    layouts_.push_back(layout);
    early_.push_back(options_.early ? EarlyOf(plan) : std::vector<Early>());
    std::vector<Cell>& cells = cells_.emplace_back(static_cast<std::size_t>(layout.size) * rounds_);
    for (int round = 0; round < rounds_; ++round) {
      for (int block = 0; block < plan.in_blocks; ++block) {
        cells[static_cast<std::size_t>(round) * layout.size + layout.in + block].value = {.rank = plan.rank,
                                                                                          .block = block};
      }
    }
  }
  chunk_ = largest / rounds_ + 1;
}

std::int32_t Execution::LinkBetween(int from, int to) {
  std::int32_t& index = link_table_[static_cast<std::size_t>(from) * plans_.size() + to];
  if (index < 0) {
    index = static_cast<std::int32_t>(links_.size());
    links_.push_back({.from = from, .to = to});
  }
  return index;
}

void Execution::ConnectLinks() {
  const std::size_t ranks = plans_.size();
  link_table_.assign(ranks * ranks, -1);
  processes_.resize(ranks);
  for (const RankPlan& plan : plans_) {
    Process& process = processes_[plan.rank];
    std::vector<std::int32_t> wanted(ranks, 0);
    int last_stage = 0;
    for (int i = 0; i < plan.step_count(); ++i) {
      const Step step = plan.step(i);
      last_stage = std::max(last_stage, step.stage);
      process.first_wire.push_back(process.wires.size());
      for (const Operand& operand : step.operands) {
        const bool receives = !operand.local();
        process.wires.push_back(
            {receives ? LinkBetween(operand.index, plan.rank) : -1, receives ? ++wanted[operand.index] : 0});
      }
      for (const Operand& operand : step.operands) {
        if (!operand.local()) wanted[operand.index] = 0;
      }
      for (int peer : step.to) process.wires.push_back({LinkBetween(plan.rank, peer), 0});
    }
    process.last_slot = rounds_ - 1 + last_stage;
  }
}

bool Execution::Exists(const RankPlan& plan, bool in, int block, int round) const {
  if (plan.collective == Collective::kSendRecv) {
    return (in ? plan.in_sizes : plan.out_sizes)[block] > round * chunk_;
  }
  const bool last = round > 0 && round == rounds_ - 1;
  return !last || block % shape_.blocks_per_piece < (shape_.blocks_per_piece + 1) / 2;
}

bool Execution::StepExists(int rank, int index, int round) const {
  const RankPlan& plan = plans_[rank];
  const Step step = plan.step(index);
  if (step.out != kNoBlock) return Exists(plan, false, step.out, round);
  for (const Operand& operand : step.operands) {
    if (operand.local()) return Exists(plan, operand.kind == Operand::Kind::kIn, operand.index, round);
  }
  return true;
}

// On to the next step of a round that exists.
void Execution::Advance(int rank) {
  Process& process = processes_[rank];
  process.ready = 0;
  while (process.slot <= process.last_slot) {
    if (++process.step == plans_[rank].step_count()) {
      process.step = -1;
      ++process.slot;
      continue;
    }
    process.round = process.slot - plans_[rank].step(process.step).stage;
    if (process.round >= 0 && process.round < rounds_ && StepExists(rank, process.step, process.round)) return;
  }
  process.ended = true;
}

bool Execution::IsReady(int rank) {
  Process& process = processes_[rank];
  const Step step = plans_[rank].step(process.step);
  const std::size_t first = process.first_wire[process.step];
  const std::size_t slots = options_.link_slots;
  for (; process.ready < step.operands.size() + step.to.size(); ++process.ready) {
    const Process::Wire wire = process.wires[first + process.ready];
    if (wire.link < 0) continue;
    Link& link = links_[wire.link];
    if (process.ready < step.operands.size()) {
      link.reader_waits = link.size() < static_cast<std::size_t>(wire.nth);
      if (link.reader_waits) return false;
    } else {
      link.writer_waits = link.size() >= slots;
      if (link.writer_waits) return false;
    }
  }
  return true;
}

Status Execution::Run() {
  for (int rank = 0; rank < static_cast<int>(plans_.size()); ++rank) {
    causality_.Tick(rank);
    Advance(rank);
    runnable_.push_back(rank);
  }
  while (!runnable_.empty()) {
    const int rank = runnable_.front();
    runnable_.pop_front();
    while (!processes_[rank].ended && IsReady(rank)) {
      TUTTI_RETURN_IF_ERROR(RunStep(rank));
      Advance(rank);
    }
  }
  for (const Process& process : processes_) {
    if (!process.ended) return Deadlock();
  }
  return Status::Ok();
}

Status Execution::RunStep(int rank) {
  const Process& process = processes_[rank];
  const Step step = plans_[rank].step(process.step);
  const std::size_t first = process.first_wire[process.step];
  causality_.Tick(rank);
  operands_.assign(step.operands.begin(), step.operands.end());
  values_.clear();
  offered_.clear();
  Cell result;
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const Operand& operand = step.operands[i];
    Value value;
    const std::int32_t link = process.wires[first + i].link;
    TUTTI_RETURN_IF_ERROR(link < 0 ? Load(rank, operand, &value) : Receive(rank, operand, link, &value, &result));
    values_.push_back(value);
  }
  TUTTI_RETURN_IF_ERROR(ReadOffers(rank));
  TUTTI_RETURN_IF_ERROR(FoldValues(rank, values_, operands_, Folds::By::kRank, &result.value));
  result.stored_by = process.step;
  if (step.operands.size() > 1) result.sender = result.sender_step = -1;
  if (step.out != kNoBlock) TUTTI_RETURN_IF_ERROR(Store(rank, step, result));
  Send(rank, step, result.value, first + step.operands.size());
  return Status::Ok();
}

std::int64_t Execution::PlaceOf(int rank, bool in, int block, int round) const {
  const Layout& layout = layouts_[rank];
  return static_cast<std::int64_t>(round) * layout.size + (in ? layout.in : layout.out) + block;
}

Status Execution::Load(int rank, const Operand& operand, Value* value) {
  const Process& process = processes_[rank];
  const bool in = operand.kind == Operand::Kind::kIn;
  const Cell& cell = cells_[rank][PlaceOf(rank, in, operand.index, process.round)];
  *value = cell.value;
  if (plans_[rank].collective == Collective::kBarrier) return Status::Ok();
  if (!in && cell.stored_by < 0) {
    return Fault(plans_[rank], process.step,
                 fmt::format("reads out{} before anything was stored there", operand.index));
  }
  if (in && cell.value != Value{.rank = rank, .block = operand.index}) {
    return Fault(
        plans_[rank], process.step,
        fmt::format("reads in{}, where, in place, step {} has stored its output", operand.index, cell.stored_by));
  }
  if (options_.early) {
    causality_.Read(causality_.Refer(rank, PlaceOf(rank, in, operand.index, process.round), rank, process.step));
  }
  return Status::Ok();
}

Status Execution::CheckKind(int rank, const Operand& operand, const Message& message) const {
  const bool reads = operand.kind == Operand::Kind::kOffered, offered = message.offer != kNoOffer;
  if (reads == offered) return Status::Ok();
  return Fault(
      plans_[rank], processes_[rank].step,
      fmt::format("{} rank {}'s step {}, which {}",
                  reads ? "reads as an offer what comes of" : "receives as a message what comes of", operand.index,
                  message.step,
                  reads ? "sends a message; write < in place of ^" : "offers it to a switch; write ^ in place of <"));
}

Status Execution::Receive(int rank, const Operand& operand, std::int32_t index, Value* value, Cell* origin) {
  const Process& process = processes_[rank];
  Link& link = links_[index];
  const Message message = link.messages[link.head++];
  if (link.head == link.messages.size()) {
    link.messages.clear();
    link.head = 0;
  } else if (link.head >= 32 && link.head * 2 > link.messages.size()) {
    link.messages.erase(link.messages.begin(), link.messages.begin() + static_cast<std::ptrdiff_t>(link.head));
    link.head = 0;
  }
  TUTTI_RETURN_IF_ERROR(CheckKind(rank, operand, message));
  if (message.offer != kNoOffer) offered_.push_back(message.offer);
  const int difference = plans_[rank].step(process.step).stage - message.stage;
  if (link.difference < 0) link.difference = difference;
  if (difference < 0 || difference != link.difference) {
    return Fault(
        plans_[rank], process.step,
        fmt::format("is {} stages behind rank {}'s step {}, whose message it receives; {}", difference, link.from,
                    message.step,
                    difference < 0 ? std::string("it would have to come before it")
                                   : fmt::format("earlier ones of this link were {} behind", link.difference)));
  }
  if (message.round != process.round) {
    return Fault(plans_[rank], process.step,
                 fmt::format("of round {} receives what rank {}'s step {} sent in round {}", process.round, link.from,
                             message.step, message.round));
  }
  if (const Status early = CheckEarly(rank, message); !early.ok()) return early;
  causality_.Receive(rank, message.attached);
  causality_.Read(message.reference);
  Wake(link.from, &link.writer_waits);
  *value = message.value;
  origin->sender = link.from;
  origin->sender_step = message.step;
  return Status::Ok();
}

// Of a message that is received: whether all was read before it was sent that it may have been put upon.
Status Execution::CheckEarly(int rank, const Message& message) const {
  const Process& process = processes_[rank];
  const RankPlan& plan = plans_[rank];
  const Early least = options_.placement == Placement::kInPlace ? Early::kAlways : Early::kSeparate;
  if (early_[rank].empty() || early_[rank][process.step] < least) return Status::Ok();
  const int out = plan.step(process.step).out;
  const auto unread = causality_.FindUnread(rank, PlaceOf(rank, false, out, process.round), message.attached);
  if (!unread) return Status::Ok();
  return Fault(plan, process.step,
               fmt::format("may get its message into out{} while rank {} may still read that place for step {}", out,
                           unread->reader, unread->step));
}

// The reading that others have made of offers that leave once; -1: there is none so far. All readers are given the same fold.
Status Execution::FindSharedRead(int rank, std::int32_t* read) {
  *read = -1;
  std::ranges::sort(offered_);
  if (offered_.back() < 0) return Status::Ok();
  const auto fault = [&](const std::string& what) { return Fault(plans_[rank], processes_[rank].step, what); };
  if (offered_.front() < 0) {
    return fault("reads offers that leave once together with others; a switch folds those once, for all their readers");
  }
  for (const std::int32_t offer : offered_) *read = std::max(*read, offers_[static_cast<std::size_t>(offer)].read);
  if (*read < 0) return Status::Ok();
  const Read& known = reads_[static_cast<std::size_t>(*read)];
  if (known.offers == offered_) return Status::Ok();
  return fault(fmt::format("reads other offers than rank {}, although they leave once for both", known.rank));
}

// What the step takes of offers becomes one value, where the first of them stands.
Status Execution::ReadOffers(int rank) {
  if (offered_.empty()) return Status::Ok();
  std::int32_t shared = -1;
  TUTTI_RETURN_IF_ERROR(FindSharedRead(rank, &shared));
  std::vector<Operand> operands, other_operands;
  std::vector<Value> values, other_values;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const bool offered = operands_[i].kind == Operand::Kind::kOffered;
    if (offered && operands.empty()) {
      other_operands.push_back(operands_[i]);
      other_values.emplace_back();
    }
    (offered ? operands : other_operands).push_back(operands_[i]);
    (offered ? values : other_values).push_back(values_[i]);
  }
  const auto place =
      std::ranges::find(other_operands, Operand::Kind::kOffered, &Operand::kind) - other_operands.begin();
  Value& value = other_values[static_cast<std::size_t>(place)];
  if (shared >= 0) {
    value = reads_[static_cast<std::size_t>(shared)].value;
  } else {
    TUTTI_RETURN_IF_ERROR(FoldValues(rank, values, operands, Folds::By::kSwitch, &value));
    if (offered_.front() >= 0) {
      for (const std::int32_t offer : offered_)
        offers_[static_cast<std::size_t>(offer)].read = static_cast<std::int32_t>(reads_.size());
      reads_.push_back({.rank = rank, .offers = offered_, .value = value});
    }
  }
  operands_ = std::move(other_operands);
  values_ = std::move(other_values);
  return Status::Ok();
}

Status Execution::FoldValues(int rank, std::span<const Value> values, std::span<const Operand> operands, Folds::By by,
                             Value* result) {
  const RankPlan& plan = plans_[rank];
  const int step = processes_[rank].step;
  *result = values[0];
  if (values.size() == 1 || plan.collective == Collective::kBarrier) return Status::Ok();
  if (!Reduces(plan.collective)) {
    return Fault(plan, step, fmt::format("folds {} values, but the collective only moves data", values.size()));
  }
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i].block == values[0].block) continue;
    std::string text = "folds different blocks:";
    for (std::size_t k : {std::size_t{0}, i}) {
      const Operand& operand = operands[k];
      fmt::format_to(std::back_inserter(text), "{} {}{}", k == 0 ? "" : " and", folds_.Describe(values[k]),
                     operand.local() ? "" : fmt::format(" (from rank {})", operand.index));
    }
    return Fault(plan, step, text);
  }
  const std::optional<Value> fold = folds_.Make(values, rank, step, by);
  if (fold) {
    *result = *fold;
    return Status::Ok();
  }
  const auto doubled = folds_.FindDoubled(folds_.Last());
  return Fault(
      plans_[doubled->rank], doubled->step,
      fmt::format("folds the contribution of rank {} to block {} twice", doubled->contributor, values[0].block));
}

Status Execution::Store(int rank, const Step& step, const Cell& cell) {
  const Process& process = processes_[rank];
  const std::int64_t place = PlaceOf(rank, false, step.out, process.round);
  const Operand& first = step.operands[0];
  const bool onto_itself = step.operands.size() == 1 && first.local() &&
                           PlaceOf(rank, first.kind == Operand::Kind::kIn, first.index, process.round) == place;
  if (!onto_itself) {
    if (const auto unread = causality_.FindUnread(rank, place)) {
      return Fault(
          plans_[rank], process.step,
          fmt::format("stores to out{} while rank {} may still read that place by the reference that step {} sent",
                      step.out, unread->reader, unread->step));
    }
  }
  cells_[rank][place] = cell;
  return Status::Ok();
}

void Execution::Send(int rank, const Step& step, const Value& value, std::size_t first_wire) {
  const Process& process = processes_[rank];
  const std::int32_t attached = causality_.Attach(rank, static_cast<int>(step.to.size()));
  const Operand& first = step.operands[0];
  const bool stored = step.out != kNoBlock;
  const bool lies_there = stored || (step.operands.size() == 1 && first.local());
  const bool by_reference = options_.in_place_by_reference && lies_there && !IsMulticast(step.sending);
  const bool in = !stored && first.kind == Operand::Kind::kIn;
  const std::int64_t place = by_reference ? PlaceOf(rank, in, stored ? step.out : first.index, process.round) : 0;
  std::int32_t offer = IsOffer(step.sending) ? kOfferAlone : kNoOffer;
  if (step.sending == Sending::kOfferOnce) {
    offer = static_cast<std::int32_t>(offers_.size());
    offers_.emplace_back();
  }
  for (std::size_t i = 0; i < step.to.size(); ++i) {
    Link& link = links_[process.wires[first_wire + i].link];
    link.messages.push_back(
        {.value = value,
         .round = process.round,
         .stage = step.stage,
         .step = process.step,
         .attached = attached,
         .reference = by_reference ? causality_.Refer(rank, place, link.to, process.step) : Causality::kNone,
         .offer = offer});
    Wake(link.to, &link.reader_waits);
  }
}

void Execution::Wake(int rank, bool* waits) {
  if (*waits) runnable_.push_back(rank);
  *waits = false;
}

int Execution::WaitsFor(int rank, std::string* sentence) const {
  const Process& process = processes_[rank];
  const Step step = plans_[rank].step(process.step);
  const Link& link = links_[process.wires[process.first_wire[process.step] + process.ready].link];
  const bool reads = process.ready < step.operands.size();
  const int peer = reads ? link.from : link.to;
  if (sentence == nullptr) return peer;
  *sentence = fmt::format("of round {} waits for ever for {} rank {}", process.round,
                          reads ? "a message from" : "room on its link to", peer);
  if (!reads) {
    const Message& oldest = link.messages[link.head];
    *sentence += fmt::format(" ({} of {} slots taken, the oldest by step {} of round {})", link.size(),
                             options_.link_slots, oldest.step, oldest.round);
  } else if (link.size() > 0) {
    *sentence +=
        fmt::format(" (its message number {} at once; the link holds {})", link.size() + 1, options_.link_slots);
  }
  if (processes_[peer].ended) *sentence += ", which has ended";
  return peer;
}

// Follows who waits for whom to a rank that waits for one that has ended, or round a circle.
Status Execution::Deadlock() const {
  const int ranks = static_cast<int>(plans_.size());
  int rank = 0;
  while (processes_[rank].ended) ++rank;
  for (int i = 0; i < ranks; ++i) {
    const int next = WaitsFor(rank, nullptr);
    if (processes_[next].ended) break;
    rank = next;
  }
  std::string sentence;
  int peer = WaitsFor(rank, &sentence);
  if (processes_[peer].ended) return Fault(plans_[rank], processes_[rank].step, sentence);
  constexpr int kShown = 8;
  for (int shown = 1; peer != rank && shown < kShown; ++shown) {
    std::string more;
    const int next = WaitsFor(peer, &more);
    sentence += fmt::format(", whose step {} '{}' {}", processes_[peer].step,
                            Print(plans_[peer].step(processes_[peer].step)), more);
    peer = next;
  }
  return Fault(plans_[rank], processes_[rank].step, sentence + (peer == rank ? ": a circle" : ", ..."));
}

Status Execution::CheckAllRead() const {
  for (const Link& link : links_) {
    if (link.size() == 0) continue;
    const Message& message = link.messages[link.head];
    return Fault(plans_[link.from], message.step,
                 fmt::format("of round {} sends rank {} a message that is never received", message.round, link.to));
  }
  return Status::Ok();
}

}  // namespace tutti::plan
