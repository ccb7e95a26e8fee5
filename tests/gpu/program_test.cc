// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include "algo/algorithm.h"

// Runs programs on the host as the kernel does, with rings of the same length, the same credits and time slots, on
// numbers of 32 bits. What it shows: that both ends of a link agree where messages lie, that nothing is overwritten
// before it was read, that nobody waits for ever, and that results are right.

namespace tutti::exec::gpu {
namespace {

using transport::p2p::Geometry;

constexpr int kChannels = 3;

struct Rank {
  std::vector<std::uint32_t> in, out;
  PreparedPlan plan;
  Program program{};
  std::uint32_t slot = 0;
  int step = 0;
  bool done = false;
  std::vector<std::vector<std::uint32_t>> ins, outs;  // of a batch's items
};

// A channel of a short form as a rank runs it, with real rings.
class ShortChannel {
 public:
  // Units that have been written and not been read yet: where they lie, and their numbers.
  using Units = std::map<const std::byte*, std::uint64_t>;
  // Up to which unit each rank has told the others that it has read.
  using Credits = std::vector<std::uint64_t>;

  ShortChannel(const Program& p, int protocol, int channel, Units& units, Credits& credits)
      : p_(p),
        form_(p.short_form()),
        channel_(channel),
        part_(static_cast<std::uint32_t>(channel) < p.full_parts ? 0 : 1),
        data_(transport::p2p::kUnitPayloadBytes[protocol]),
        wire_(transport::p2p::kUnitBytes[protocol]),
        behind_(form_.late > 0 ? 2 : 1),
        units_(units),
        credits_(credits) {}

  bool done() const { return channel_ * p_.part_elements >= p_.count || slot_ == p_.rounds + behind_; }
  // What was wrong; "": nothing.
  const std::string& error() const { return error_; }

  // One of a slot's three parts; false where it has to wait.
  bool Advance() {
    const std::uint32_t round = slot_ - phase_;
    if (round < p_.rounds && !RunPhase(round)) return false;
    if (phase_++ < behind_) return true;
    if (slot_ >= behind_) credits_[p_.rank] = kBase + (slot_ - behind_ + 1) * RoundUnits();
    phase_ = 0;
    ++slot_;
    return true;
  }

 private:
  using Unit = std::vector<std::uint32_t>;
  static constexpr std::uint64_t kBase = 1000;  // so that messages go beyond the ring's end

  std::uint64_t RoundUnits() const { return std::uint64_t{p_.messages_per_round} * p_.message_units; }
  bool RunPhase(std::uint32_t round) {
    round_ = round;
    const int begin = phase_ == 2 ? form_.takes : 0, end = form_.takes + (phase_ == 2 ? form_.late : 0);
    if (phase_ == 0 ? !HasRoom() : !IsThere(begin, end)) return false;
    for (std::size_t i = 0; i * data_ < form_.chunk_bytes; ++i) {
      if (phase_ == 0) {
        Send(form_.send, form_.sends, i, nullptr);
      } else {
        Take(begin, end, i);
      }
    }
    return true;
  }
  bool HasRoom() const {
    const std::uint64_t ring = std::uint64_t{1} << p_.log2_ring_units;
    return std::ranges::all_of(credits_, [&](std::uint64_t credit) {
      return std::max(credit, kBase) + ring >= kBase + (round_ + 1) * RoundUnits();
    });
  }
  bool IsThere(int begin, int end) const {
    for (int k = begin; k < end; ++k) {
      const ShortTake& t = form_.take[k];
      for (std::size_t i = 0; t.ring != 0 && Valid(t.block, i) > 0; ++i) {
        const auto unit = units_.find(Line(t.at, t.unit, i));
        if (unit == units_.end() || unit->second != Number(t.unit, i)) return false;
      }
    }
    return true;
  }

  // Bytes of unit i that a block has in this round.
  std::size_t Valid(std::uint32_t block, std::size_t i) const {
    const std::size_t begin = std::size_t{round_} * form_.chunk_bytes + i * data_;
    const std::size_t block_begin = std::size_t{block} * form_.block_bytes[part_];
    const std::size_t block_end = std::min<std::size_t>(block_begin + form_.block_bytes[part_], form_.bytes[part_]);
    const std::size_t end = std::min(block_end, block_begin + (round_ + std::size_t{1}) * form_.chunk_bytes);
    return block_begin + begin >= end ? 0 : std::min(end - block_begin - begin, data_);
  }
  std::byte* User(std::uint64_t at, std::uint32_t block, std::size_t i) const {
    return reinterpret_cast<std::byte*>(at) + static_cast<std::size_t>(channel_) * form_.bytes[0] +
           std::size_t{block} * form_.block_bytes[part_] + std::size_t{round_} * form_.chunk_bytes + i * data_;
  }
  std::uint64_t Number(std::uint32_t unit, std::size_t i) const { return kBase + round_ * RoundUnits() + unit + i; }
  std::byte* Line(std::uint64_t at, std::uint32_t unit, std::size_t i) const {
    const std::uint64_t place = Number(unit, i) & ((std::uint64_t{1} << p_.log2_ring_units) - 1);
    return reinterpret_cast<std::byte*>(at) + channel_ * form_.ring_bytes + place * wire_;
  }
  // `passed_on`: what is sent instead of inputs.
  void Send(const ShortSend* list, int count, std::size_t i, const Unit* passed_on) {
    Unit v(data_ / 4);
    for (const ShortSend& s : std::span(list, count)) {
      const std::size_t valid = Valid(s.block, i);
      if (valid == 0) continue;
      if (passed_on != nullptr) {
        v = *passed_on;
      } else {
        std::memcpy(v.data(), User(s.from, s.block, i), valid);
      }
      std::byte* line = Line(s.to, s.unit, i);
      if (!units_.emplace(line, Number(s.unit, i)).second) error_ = "a unit overwrites another";
      std::memcpy(line, v.data(), data_);
    }
  }
  void Take(int begin, int end, std::size_t i) {
    Unit sum(data_ / 4);
    for (int k = begin; k < end; ++k) {
      const ShortTake& t = form_.take[k];
      const std::size_t valid = Valid(t.block, i);
      if (valid == 0) continue;
      Unit v(data_ / 4);
      const std::byte* from = t.ring != 0 ? Line(t.at, t.unit, i) : User(t.at, t.block, i);
      std::memcpy(v.data(), from, valid);
      units_.erase(from);
      for (std::size_t w = 0; w < v.size(); ++w) sum[w] = (t.place & kBegins) != 0 ? v[w] : sum[w] + v[w];
      if ((t.place & kEnds) == 0) continue;
      if (k < form_.takes) Send(form_.forward, form_.forwards, i, &sum);
      if (t.out != 0) std::memcpy(User(t.out, t.block, i), sum.data(), valid);
    }
  }

  const Program& p_;
  const ShortForm& form_;
  const int channel_, part_;
  const std::size_t data_, wire_;  // bytes of a unit
  const std::uint32_t behind_;
  Units& units_;
  Credits& credits_;
  std::uint32_t slot_ = 0, phase_ = 0, round_ = 0;
  std::string error_;
};

class Machine {
 public:
  Machine(int ranks, Geometry geometry) : ranks_(ranks), geometry_(geometry), rank_(ranks) {}

  // One operation on all ranks; "" or what went wrong.
  std::string Run(algo::Algorithm algorithm, Collective collective, int root, std::size_t count, const Shape& shape) {
    const std::vector<plan::RankPlan> plans = algo::BuildAll(algorithm, collective, ranks_, root);
    for (int r = 0; r < ranks_; ++r) {
      const Result<PreparedPlan> prepared = PreparePlan(plans, r);
      if (!prepared.ok()) return prepared.status().ToString();
      Rank& rank = rank_[r];
      rank.plan = *prepared;
      Fill(r, collective, count);
      Compile(rank.plan, {.in = rank.in.data(), .out = rank.out.data(), .count = count, .type = DataType::kUint32},
              shape, geometry_, rank.program);
    }
    for (channel_ = 0; channel_ < shape.channels; ++channel_) {
      part_ = channel_;
      if (std::string error = RunChannel(static_cast<int>(shape.protocol)); !error.empty()) return error;
    }
    return Compare(collective, root, count);
  }

  // The same by the short form, with real rings; "none" where some rank has none.
  std::string RunShort(algo::Algorithm algorithm, Collective collective, int root, std::size_t count,
                       const Shape& shape) {
    const std::vector<plan::RankPlan> plans = algo::BuildAll(algorithm, collective, ranks_, root);
    const auto simple = static_cast<int>(proto::Protocol::kSimple);
    if (segments_.empty()) segments_.resize(ranks_, std::vector<std::byte>(geometry_.Ring(simple, 0, 0)));
    for (int r = 0; r < ranks_; ++r) {
      const Result<PreparedPlan> prepared = PreparePlan(plans, r);
      if (!prepared.ok()) return prepared.status().ToString();
      Rank& rank = rank_[r];
      Fill(r, collective, count);
      for (int p = 0; p < ranks_; ++p) rank.program.segments[p] = segments_[p].data();
      Compile(*prepared, {.in = rank.in.data(), .out = rank.out.data(), .count = count, .type = DataType::kUint32},
              shape, geometry_, rank.program);
      if (rank.program.is_short == kSteps) return "none";
    }
    for (int channel = 0; channel < shape.channels; ++channel) {
      if (std::string error = RunShortChannel(static_cast<int>(shape.protocol), channel); !error.empty()) return error;
    }
    return Compare(collective, root, count);
  }

  // Of the last operation.
  std::uint32_t rounds() const { return rank_[0].program.rounds; }

  // Operations of those counts as a batch; "" or what went wrong.
  std::string RunBatch(algo::Algorithm algorithm, Collective collective, int root,
                       const std::vector<std::size_t>& counts, const Shape& shape) {
    const std::vector<plan::RankPlan> plans = algo::BuildAll(algorithm, collective, ranks_, root);
    const auto batch = std::make_unique<Batch>();  // but for the code and the pointers the same on all ranks
    BatchCut cut;
    for (int r = 0; r < ranks_; ++r) {
      const Result<PreparedPlan> prepared = PreparePlan(plans, r);
      if (!prepared.ok()) return prepared.status().ToString();
      rank_[r].ins.clear();
      rank_[r].outs.clear();
      std::vector<Work> works;
      for (const std::size_t count : counts) {
        Fill(r, collective, count);
        works.push_back({.count = count, .type = DataType::kUint32});
        rank_[r].ins.push_back(std::move(rank_[r].in));
        rank_[r].outs.push_back(std::move(rank_[r].out));
      }
      rank_[r].plan = *prepared;
      CompileCommon(*prepared, works[0], shape, geometry_, rank_[r].program);
      cut = CompileItems(*prepared, works, shape, geometry_, *batch);
    }
    if (cut.blocks > shape.channels) return "more blocks than channels";
    std::vector<int> parts(counts.size(), 0);  // that have been done
    for (channel_ = 0; channel_ < cut.blocks; ++channel_) {
      for (std::uint16_t item = batch->first_item[channel_]; item != kNoItem; item = batch->items[item].next) {
        if (item >= counts.size()) return "a channel has an item that does not exist";
        part_ = channel_ - batch->items[item].first_channel;
        if (part_ != parts[item]++) return "a part is done twice or left out";
        Exchange(item);
        for (Rank& rank : rank_) static_cast<ProgramItem&>(rank.program) = batch->items[item];
        if (std::string error = RunChannel(static_cast<int>(shape.protocol)); !error.empty()) return error;
        Exchange(item);
      }
    }
    for (std::size_t item = 0; item < counts.size(); ++item) {
      Exchange(item);
      if (std::string error = Compare(collective, root, counts[item]); !error.empty()) return error;
      Exchange(item);
    }
    return "";
  }

 private:
  void Fill(int r, Collective collective, std::size_t count) {
    Rank& rank = rank_[r];
    rank.in.assign(count * plan::InPieces(collective, ranks_), 0);
    for (std::size_t i = 0; i < rank.in.size(); ++i) rank.in[i] = static_cast<std::uint32_t>(i * 31 + r * 1000003);
    rank.out.assign(count * plan::OutPieces(collective, ranks_), 0);
  }
  // Puts an item's buffers where those of a single operation are, or back.
  void Exchange(std::size_t item) {
    for (Rank& rank : rank_) {
      std::swap(rank.in, rank.ins[item]);
      std::swap(rank.out, rank.outs[item]);
    }
  }

  std::string RunShortChannel(int protocol, int channel) {
    ShortChannel::Units units;
    ShortChannel::Credits credits(ranks_, 0);
    std::vector<ShortChannel> ranks;
    for (Rank& rank : rank_) ranks.emplace_back(rank.program, protocol, channel, units, credits);
    for (bool moved = true; moved;) {
      moved = false;
      for (ShortChannel& rank : ranks) {
        while (!rank.done() && rank.Advance()) moved = true;
        if (!rank.error().empty()) return rank.error();
      }
    }
    if (!std::ranges::all_of(ranks, &ShortChannel::done)) return "all ranks wait";
    return units.empty() ? "" : "units were left unread";
  }

  std::string RunChannel(int protocol) {
    const Program& any = rank_[0].program;
    if (static_cast<std::uint64_t>(part_) * any.part_elements >= any.count) return "";
    std::uint64_t& base = base_[{protocol, channel_}];
    const std::uint64_t round_units = static_cast<std::uint64_t>(any.messages_per_round) * any.message_units;
    ring_ = std::uint64_t{1} << geometry_.log2_units[protocol];
    base_now_ = base;
    messages_.clear();
    if (any.rounds == 1 && round_units > ring_ / 2) return "no room for two operations of one round";
    for (int r = 0; r < ranks_; ++r) {
      rank_[r].slot = 0;
      rank_[r].step = 0;
      rank_[r].done = false;
    }
    credit_ = &credits_[{protocol, channel_}];
    credit_->resize(ranks_);
    for (int unfinished = ranks_; unfinished > 0;) {
      bool moved = false;
      for (int r = 0; r < ranks_; ++r) {
        if (rank_[r].done) continue;
        while (Advance(r, round_units)) moved = true;
        if (!error_.empty()) return error_;
        unfinished -= rank_[r].done ? 1 : 0;
        moved |= rank_[r].done;
      }
      if (!moved) return "all ranks wait";
    }
    if (!messages_.empty()) return "messages were left unread";
    base += any.rounds * round_units;
    return "";
  }

  // One step of a rank; false where it has to wait or has ended.
  bool Advance(int r, std::uint64_t round_units) {
    Rank& rank = rank_[r];
    const Program& p = rank.program;
    if (rank.slot == p.rounds + p.max_stage) {
      rank.done = true;
      return false;
    }
    if (rank.slot == 0 && rank.step == 0) {
      std::uint64_t& published = (*credit_)[r];
      if (base_now_ - published >= (p.rounds > 1 ? 1 : ring_ / 4)) published = base_now_;
      if (p.rounds == 1 && !HasRoom(r, base_now_ + round_units)) return false;
    }
    if (rank.step == 0 && p.rounds > 1) {
      const std::uint64_t end = base_now_ + std::min<std::uint64_t>(rank.slot + 1, p.rounds) * round_units;
      if (!HasRoom(r, end)) return false;
    }
    if (rank.step < p.steps) {
      const ProgramStep& step = p.step(rank.step);
      const std::uint32_t round = rank.slot - step.stage;
      if (round < p.rounds && !RunStep(r, step, round)) return false;
      ++rank.step;
      return true;
    }
    if (p.rounds > 1 && rank.slot >= p.max_stage) {
      (*credit_)[r] = base_now_ + (rank.slot - p.max_stage + 1) * round_units;
    }
    rank.step = 0;
    ++rank.slot;
    return true;
  }

  bool HasRoom(int r, std::uint64_t end) const {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer != r && (*credit_)[peer] + ring_ < end) return false;
    }
    return true;
  }
  const ProgramPart& Part(const Program& p) const {
    return p.parts[static_cast<std::uint32_t>(part_) < p.full_parts ? 0 : 1];
  }
  std::size_t Offset(const Program& p, std::uint32_t piece, std::uint32_t block, std::uint32_t round) const {
    return piece * p.count + part_ * p.part_elements + block * Part(p).block + round * p.chunk;
  }
  std::uint64_t Unit(const Program& p, std::uint32_t round, std::uint32_t message) const {
    return base_now_ + static_cast<std::uint64_t>(round * p.messages_per_round + message) * p.message_units;
  }

  bool RunStep(int r, const ProgramStep& step, std::uint32_t round) {
    Rank& rank = rank_[r];
    const Program& p = rank.program;
    const std::uint64_t begin = step.block * Part(p).block + round * p.chunk;
    const std::uint64_t end = std::min((step.block + 1) * Part(p).block, Part(p).count);
    if (begin >= end) return true;
    const std::size_t n = std::min<std::uint64_t>(end - begin, p.chunk);
    for (int k = 0; k < step.operands; ++k) {
      const ProgramOperand& o = p.operand(step.first_operand + k);
      if (o.kind == ProgramOperand::kRecv && !messages_.contains({o.peer, r, Unit(p, round, o.index)})) return false;
    }
    std::vector<std::uint32_t> value(n, 0);
    for (int k = 0; k < step.operands; ++k) {
      const ProgramOperand& o = p.operand(step.first_operand + k);
      if (o.kind == ProgramOperand::kRecv) {
        const auto message = messages_.find({o.peer, r, Unit(p, round, o.index)});
        if (message->second.size() != n) return Fail("a message has another length than its receiver expects");
        for (std::size_t i = 0; i < n; ++i) value[i] += message->second[i];
        messages_.erase(message);
      } else {
        const auto& from = o.kind == ProgramOperand::kIn ? rank.in : rank.out;
        const std::size_t at = Offset(p, o.index, o.block, round);
        if (at + n > from.size()) return Fail("an operand lies outside its buffer");
        for (std::size_t i = 0; i < n; ++i) value[i] += from[at + i];
      }
    }
    for (int t = 0; t < step.targets; ++t) {
      const ProgramTarget& target = p.target(step.first_target + t);
      const std::uint64_t unit = Unit(p, round, target.message);
      const std::size_t units = (n * 4 + transport::p2p::kUnitPayloadBytes[protocol_of(p)] - 1) /
                                transport::p2p::kUnitPayloadBytes[protocol_of(p)];
      if (units > p.message_units) return Fail("a message is longer than its place");
      for (const auto& [key, other] : messages_) {  // unread messages whose place this one would take
        const auto [from, to, at] = key;
        if (from != r || to != target.peer) continue;
        if (at == unit || unit + units > at + ring_) return Fail("a message overwrites another");
      }
      messages_[{r, target.peer, unit}] = value;
    }
    if (step.stores != 0) {
      const std::size_t at = Offset(p, step.piece, step.block, round);
      if (at + n > rank.out.size()) return Fail("a result lies outside its buffer");
      std::ranges::copy(value, rank.out.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return true;
  }
  int protocol_of(const Program& p) const {
    for (int i = 0; i < transport::p2p::kProtocols; ++i) {
      if (p.rings == geometry_.Ring(i, 0, 0)) return i;
    }
    return 0;
  }
  bool Fail(std::string why) {
    error_ = std::move(why);
    return false;
  }

  std::string Compare(Collective collective, int root, std::size_t count) {
    if (collective == Collective::kBarrier) return "";  // its value may hold a rank's input more than once
    for (int r = 0; r < ranks_; ++r) {
      if ((collective == Collective::kReduce || collective == Collective::kGather) && r != root) continue;
      for (std::size_t i = 0; i < rank_[r].out.size(); ++i) {
        std::uint32_t expected = 0;
        const int piece = static_cast<int>(i / count);
        const std::size_t at = i % count;
        switch (collective) {
          case Collective::kAllReduce:
          case Collective::kReduce:
            for (const Rank& rank : rank_) expected += rank.in[i];
            break;
          case Collective::kReduceScatter:
            for (const Rank& rank : rank_) expected += rank.in[r * count + i];
            break;
          case Collective::kBroadcast:
            expected = rank_[root].in[i];
            break;
          case Collective::kScatter:
            expected = rank_[root].in[r * count + i];
            break;
          case Collective::kAllToAll:
            expected = rank_[piece].in[r * count + at];
            break;
          default:
            expected = rank_[piece].in[at];
        }
        if (rank_[r].out[i] != expected) return "wrong result";
      }
    }
    return "";
  }

  int ranks_;
  Geometry geometry_;
  std::vector<Rank> rank_;
  std::vector<std::vector<std::byte>> segments_;                       // of RunShort
  std::map<std::pair<int, int>, std::vector<std::uint64_t>> credits_;  // what each rank has told all its peers
  std::vector<std::uint64_t>* credit_ = nullptr;
  std::map<std::pair<int, int>, std::uint64_t> base_;
  std::map<std::tuple<int, int, std::uint64_t>, std::vector<std::uint32_t>> messages_;  // from, to, unit
  std::uint64_t base_now_ = 0, ring_ = 0;
  int channel_ = 0;
  int part_ = 0;  // of the operation, on that channel
  std::string error_;
};

TEST(GpuPrograms, EveryAlgorithmEveryProtocolManySizes) {
  std::mt19937 random(7);
  for (int ranks : {1, 2, 3, 4, 5, 8}) {
    // Small rings, so that sizes of a few thousand elements take many rounds.
    Machine machine(ranks, {.ranks = ranks, .channels = kChannels, .log2_units = {9, 7, 10}});
    for (const algo::Entry& entry : algo::Registry()) {
      for (int c = 0; c < kCollectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        if (collective == Collective::kSendRecv || !entry.supports(collective, ranks)) continue;
        for (int protocol = 0; protocol < proto::kProtocols; ++protocol) {
          for (std::size_t count : {std::size_t{1}, std::size_t{37}, std::size_t{random() % 30000 + 1}}) {
            if (collective == Collective::kBarrier) count = 1;
            const int root = static_cast<int>(random() % ranks);
            const Shape shape{.protocol = static_cast<proto::Protocol>(protocol),
                              .channels = static_cast<int>(random() % kChannels) + 1};
            ASSERT_EQ(machine.Run(entry.algorithm, collective, root, count, shape), "")
                << entry.name << " " << Name(collective) << " " << ranks << " ranks, root " << root << ", " << count
                << " elements, protocol " << protocol << ", " << shape.channels << " channels";
          }
        }
      }
    }
  }
}

TEST(GpuPrograms, ShortFormsDoWhatTheirPlansSay) {
  for (int ranks : {1, 2, 3, 4, 8, 9}) {
    Machine machine(ranks, {.ranks = ranks, .channels = kChannels, .log2_units = {10, 7, 10}});
    for (const algo::Entry& entry : algo::Registry()) {
      for (int c = 0; c < kCollectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        if (collective == Collective::kSendRecv || !entry.supports(collective, ranks)) continue;
        for (const auto protocol : {proto::Protocol::kLl, proto::Protocol::kLl128}) {
          const bool one_shot = entry.algorithm == algo::Algorithm::kOneShot;
          const bool ll128 = protocol == proto::Protocol::kLl128;
          const bool two_shot = entry.algorithm == algo::Algorithm::kTwoShot && ll128;
          const std::uint32_t most_rounds = ll128 && Reduces(collective) ? 4 : 1;
          for (const std::size_t count : {1, 2, 131, 3000, 9000, 50000, 80000}) {
            if (collective == Collective::kBarrier && count != 1) continue;
            for (const int channels : {1, kChannels}) {
              const std::string result = machine.RunShort(entry.algorithm, collective, ranks / 2, count,
                                                          {.protocol = protocol, .channels = channels});
              const auto what = testing::Message()
                                << entry.name << " " << Name(collective) << " " << ranks << " ranks, " << count
                                << " elements, " << channels << " channels, " << proto::Name(protocol);
              const bool expected = ranks <= 8 && (one_shot || two_shot) && machine.rounds() <= most_rounds;
              EXPECT_TRUE(result.empty() || (result == "none" && !expected)) << what << ": " << result;
              EXPECT_TRUE(!result.empty() || !one_shot || ranks <= 8 || !Reduces(collective)) << what;
            }
          }
        }
      }
    }
  }
}

TEST(GpuPrograms, FewBlocksAskForOperandsOfSeveralPeersTogether) {
  const auto form = [](int ranks, int rank, Collective collective, proto::Protocol protocol, int channels) {
    const std::vector<plan::RankPlan> plans = algo::BuildAll(algo::Algorithm::kOneShot, collective, ranks);
    const Result<PreparedPlan> plan = PreparePlan(plans, rank);
    EXPECT_TRUE(plan.ok());
    std::byte buffer[8]{};
    const auto program = std::make_unique<Program>();
    Compile(*plan, {.in = buffer, .out = buffer, .count = 1, .type = DataType::kFloat32},
            {.protocol = protocol, .channels = channels}, Geometry::Fit(ranks, 32, std::size_t{32} << 20), *program);
    return program->is_short;
  };
  using proto::Protocol;
  for (const Collective c : {Collective::kAllReduce, Collective::kAllGather, Collective::kAllToAll}) {
    EXPECT_EQ(form(4, 1, c, Protocol::kLl, 1), kShortTogether);
    EXPECT_EQ(form(4, 1, c, Protocol::kLl, 8), kShortTogether);
    EXPECT_EQ(form(4, 1, c, Protocol::kLl, 9), kShort);
    EXPECT_EQ(form(2, 1, c, Protocol::kLl, 1), kShort);
    EXPECT_EQ(form(4, 1, c, Protocol::kLl128, 1), kShort);
    EXPECT_EQ(form(4, 1, c, Protocol::kSimple, 1), kSteps);
  }
  EXPECT_EQ(form(4, 1, Collective::kBroadcast, Protocol::kLl, 1), kShort);  // takes from the root alone
}

// A warp that got a little more than a unit would take a second turn for it.
TEST(GpuPrograms, PartsOfLl128AreWholeUnits) {
  constexpr int kRanks = 4, kMostChannels = 64;
  constexpr std::size_t kUnit = transport::p2p::kUnitPayloadBytes[1];
  const Geometry geometry = Geometry::Fit(kRanks, kMostChannels, std::size_t{64} << 20);
  const auto program = std::make_unique<Program>();
  for (const algo::Algorithm algorithm : {algo::Algorithm::kOneShot, algo::Algorithm::kTwoShot}) {
    const auto plan = PreparePlan(algo::BuildAll(algorithm, Collective::kAllReduce, kRanks), 0);
    ASSERT_TRUE(plan.ok());
    for (const DataType type : {DataType::kInt8, DataType::kFloat32, DataType::kFloat64}) {
      const std::size_t count = (std::size_t{256} << 10) * plan->blocks_per_piece / SizeOf(type);
      const int parts =
          CompileItem(*plan, {.count = count, .type = type},
                      {.protocol = proto::Protocol::kLl128, .channels = kMostChannels}, geometry, *program);
      EXPECT_EQ(program->part_elements * SizeOf(type), 5 * kUnit * plan->blocks_per_piece) << SizeOf(type);
      EXPECT_EQ(program->parts[0].block * SizeOf(type), 5 * kUnit) << SizeOf(type);
      EXPECT_EQ(parts, 55) << SizeOf(type);  // of 273 units
    }
  }
}

TEST(GpuPrograms, BatchesOfEveryAlgorithmAndProtocol) {
  std::mt19937 random(8);
  for (int ranks : {1, 2, 3, 4, 8}) {
    Machine machine(ranks, {.ranks = ranks, .channels = 8, .log2_units = {9, 7, 10}});
    for (const algo::Entry& entry : algo::Registry()) {
      for (int c = 0; c <= static_cast<int>(Collective::kAllToAll); ++c) {
        const auto collective = static_cast<Collective>(c);
        if (!entry.supports(collective, ranks)) continue;
        for (int protocol = 0; protocol < proto::kProtocols; ++protocol) {
          const std::size_t sizes[] = {1, 37, random() % 3000 + 1, random() % 30000 + 1};
          std::vector<std::size_t> counts(random() % 20 + 1);
          for (std::size_t& count : counts) count = sizes[random() % std::size(sizes)];
          const int root = static_cast<int>(random() % ranks);
          const Shape shape{.protocol = static_cast<proto::Protocol>(protocol),
                            .channels = static_cast<int>(random() % 8) + 1};
          ASSERT_EQ(machine.RunBatch(entry.algorithm, collective, root, counts, shape), "")
              << entry.name << " " << Name(collective) << " " << ranks << " ranks, root " << root << ", "
              << counts.size() << " items, protocol " << protocol << ", " << shape.channels << " channels";
        }
      }
    }
  }
}

// The channels that each of a batch's items gets.
std::vector<int> ChannelsOf(const std::vector<std::size_t>& counts, int channels, int& blocks) {
  const Result<PreparedPlan> plan =
      PreparePlan(algo::BuildAll(algo::Algorithm::kOneShot, Collective::kAllReduce, 2, 0), 0);
  EXPECT_TRUE(plan.ok());
  std::vector<Work> works;
  for (const std::size_t count : counts) works.push_back({.count = count, .type = DataType::kFloat32});
  const auto batch = std::make_unique<Batch>();
  const Geometry geometry = Geometry::Fit(2, kMaxBatchChannels, std::size_t{64} << 20);
  blocks =
      CompileItems(*plan, works, {.protocol = proto::Protocol::kLl128, .channels = channels}, geometry, *batch).blocks;
  std::vector<int> of_item(counts.size(), 0);
  for (int channel = 0; channel < blocks; ++channel) {
    for (std::uint16_t item = batch->first_item[channel]; item != kNoItem; item = batch->items[item].next)
      ++of_item[item];
  }
  return of_item;
}

TEST(GpuPrograms, ItemsOfABatchGetChannelsByTheirBytes) {
  int blocks = 0;
  // As many as there are channels: each has its own.
  EXPECT_EQ(ChannelsOf(std::vector<std::size_t>(64, 256), 64, blocks), std::vector<int>(64, 1));
  EXPECT_EQ(blocks, 64);
  // More than there are: in turn, and no channel is left out.
  EXPECT_EQ(ChannelsOf(std::vector<std::size_t>(64, 256), 5, blocks), std::vector<int>(64, 1));
  EXPECT_EQ(blocks, 5);
  // Fewer: all channels are used.
  EXPECT_EQ(ChannelsOf(std::vector<std::size_t>(8, 100000), 64, blocks), std::vector<int>(8, 8));
  EXPECT_EQ(blocks, 64);
  // A large one leaves the small ones a channel.
  const std::vector<int> mixed = ChannelsOf({10, 10000000, 10, 10}, 16, blocks);
  EXPECT_EQ(mixed, (std::vector<int>{1, 15, 1, 1}));
  EXPECT_EQ(blocks, 16);
  EXPECT_EQ(ChannelsOf({10, 10000000, 10, 10}, 1, blocks), std::vector<int>(4, 1));
  EXPECT_EQ(blocks, 1);
  // What is too small to be cut takes no more channels than it fills.
  EXPECT_EQ(ChannelsOf({1}, 16, blocks), std::vector<int>{1});
  EXPECT_EQ(blocks, 1);
}

TEST(GpuPrograms, APlanThatDoesNotFitIsAnError) {
  const std::vector<plan::RankPlan> plans = algo::BuildAll(algo::Algorithm::kOneShot, Collective::kAllReduce, 17);
  const Result<PreparedPlan> prepared = PreparePlan(plans, 0);
  EXPECT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.status().code(), Code::kUnsupported);
}

TEST(GpuPrograms, ScalingFollowsTheOperator) {
  const std::vector<plan::RankPlan> plans = algo::BuildAll(algo::Algorithm::kOneShot, Collective::kReduce, 4, 1);
  const Geometry geometry = Geometry::Fit(4, 8, std::size_t{16} << 20);
  std::byte buffer[64]{};
  Work work{.in = buffer, .out = buffer, .count = 4, .type = DataType::kFloat32, .op = ReduceOp::kAvg};
  const auto program = std::make_unique<Program>();
  for (int rank : {0, 1}) {
    const Result<PreparedPlan> plan = PreparePlan(plans, rank);
    ASSERT_TRUE(plan.ok());
    work.type = DataType::kFloat32;
    Compile(*plan, work, {}, geometry, *program);
    EXPECT_EQ(program->scale, kScaleByValue);
    EXPECT_EQ(program->scalar, 0.25);
    EXPECT_EQ(program->divisor, 0u);
    work.type = DataType::kInt32;
    Compile(*plan, work, {}, geometry, *program);
    EXPECT_EQ(program->scale, kNoScale);
    EXPECT_EQ(program->divisor, rank == 1 ? 4u : 0u);  // only the root has something to divide
    Work scaled = work;
    scaled.op = ReduceOp::kPreMulSum;
    Compile(*plan, scaled, {}, geometry, *program);
    EXPECT_EQ(program->scale, kScaleByValue);
    scaled.device_scalar = buffer + 8;
    Compile(*plan, scaled, {}, geometry, *program);
    EXPECT_EQ(program->scale, kScaleFromMemory);
    EXPECT_EQ(program->factor, buffer + 8);
  }
}

// What Compile makes of a call with other buffers, on top of the call before, and what ChangeBuffers makes of it.
TEST(GpuPrograms, OtherBuffersChangeNothingButAddresses) {
  std::vector<std::byte> memory(std::size_t{4} << 20);
  std::byte* const at = memory.data();
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  struct Buffers {
    std::byte *in, *out;
  };
  int changed = 0, changed_short = 0;
  for (int ranks : {1, 2, 3, 8}) {
    const Geometry geometry{.ranks = ranks, .channels = kChannels, .log2_units = {10, 7, 10}};
    for (const algo::Entry& entry : algo::Registry()) {
      for (int c = 0; c < kCollectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        if (collective == Collective::kSendRecv || !entry.supports(collective, ranks)) continue;
        for (int rank = 0; rank < std::min(ranks, 2); ++rank) {
          const Result<PreparedPlan> plan =
              PreparePlan(algo::BuildAll(entry.algorithm, collective, ranks, ranks - 1), rank);
          if (!plan.ok()) continue;
          for (const std::size_t count : {std::size_t{3}, std::size_t{700}, std::size_t{20000}}) {
            const std::size_t own = rank * count * 4;
            const Buffers all[] = {{at, at + kMiB},
                                   {at + kMiB, at + 16},
                                   {at, at},
                                   {at + own, at},
                                   {at, at + own},
                                   {at + 2 * kMiB + 4, at + 3 * kMiB},
                                   {at + kMiB, at + kMiB},
                                   {at + kMiB + own, at + kMiB}};
            for (int protocol = 0; protocol < proto::kProtocols; ++protocol) {
              const Shape shape{.protocol = static_cast<proto::Protocol>(protocol), .channels = 3};
              for (const Buffers& first : all) {
                const auto program = std::make_unique<Program>(), expected = std::make_unique<Program>();
                for (int p = 0; p < ranks; ++p) program->segments[p] = at + p * 4096;
                Work work{.in = first.in, .out = first.out, .count = count, .type = DataType::kFloat32};
                Compile(*plan, work, shape, geometry, *program);
                for (const Buffers& then : all) {
                  std::memcpy(expected.get(), program.get(), sizeof(Program));
                  work.in = then.in;
                  work.out = then.out;
                  Compile(*plan, work, shape, geometry, *expected);
                  const bool done = ChangeBuffers(then.in, then.out, *program);
                  if (!done) Compile(*plan, work, shape, geometry, *program);
                  for (Program* either : {program.get(), expected.get()}) {  // a form that was begun and given up
                    const bool begun = either->is_short == kSteps && plan->code_words <= Program::kShortAt;
                    if (begun) std::memset(either->code + Program::kShortAt, 0, sizeof(ShortForm));
                  }
                  changed += done ? 1 : 0;
                  changed_short += done && program->is_short != kSteps ? 1 : 0;
                  ASSERT_EQ(std::memcmp(expected.get(), program.get(), sizeof(Program)), 0)
                      << entry.name << " " << Name(collective) << " " << ranks << " ranks, rank " << rank << ", "
                      << count << " elements, protocol " << protocol << ", out - in " << then.out - then.in;
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(changed, 10000);
  EXPECT_GT(changed_short, 1000);
}

TEST(GpuPrograms, ItemsOfASizeAreAlikeButForTheirBuffers) {
  const Geometry geometry{.ranks = 2, .channels = kChannels, .log2_units = {10, 7, 10}};
  const Result<PreparedPlan> plan =
      PreparePlan(algo::BuildAll(algo::Algorithm::kOneShot, Collective::kAllGather, 2, 0), 0);
  ASSERT_TRUE(plan.ok());
  std::vector<std::byte> memory(100);
  std::vector<Work> works;
  for (int i = 0; i < 40; ++i) {  // runs of sizes and types, some with the same count and another type
    works.push_back({.in = memory.data() + i,
                     .out = memory.data() + 2 * i,
                     .count = i < 30 ? std::size_t{70} : std::size_t{9000},
                     .type = i % 8 < 4 ? DataType::kFloat32 : DataType::kFloat64});
  }
  for (const int channels : {1, kChannels}) {
    const auto batch = std::make_unique<Batch>();
    const Shape shape{.protocol = proto::Protocol::kLl, .channels = channels};
    (void)CompileItems(*plan, works, shape, geometry, *batch);
    for (std::size_t i = 0; i < works.size(); ++i) {
      const BatchItem& item = batch->items[i];
      Shape own = shape;
      own.channels = static_cast<int>(item.full_parts) + (item.parts[1].count != 0 ? 1 : 0);
      ProgramItem expected{};
      (void)CompileItem(*plan, works[i], own, geometry, expected);
      EXPECT_EQ(item.in, works[i].in) << i;
      EXPECT_EQ(item.out, works[i].out) << i;
      EXPECT_EQ(item.count, works[i].count) << i;
      EXPECT_EQ(item.element, SizeOf(works[i].type)) << i;
      EXPECT_EQ(item.part_elements, expected.part_elements) << i;
      EXPECT_EQ(item.message_units, expected.message_units) << i;
      EXPECT_EQ(item.rounds, expected.rounds) << i;
    }
  }
}

}  // namespace
}  // namespace tutti::exec::gpu
