// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "algo/hierarchy.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "algo/build.h"
#include "algo/switches.h"

namespace tutti::algo {

using plan::In;
using plan::kNoBlock;
using plan::Offered;
using plan::Operand;
using plan::Out;
using plan::RankPlan;
using plan::Recv;
using plan::Sending;
using plan::Step;

namespace {

int DivideUp(int a, int b) { return (a + b - 1) / b; }

Request AmongHosts(const Request& q) {
  return {.collective = q.collective,
          .rank = q.hosts.HostOf(q.rank),
          .ranks = q.hosts.count(),
          .root = HasRoot(q.collective) ? q.hosts.HostOf(q.root) : 0,
          .channel = q.channel};
}

int BlocksPerPiece(const RankPlan& plan) {
  return std::max(plan.in_blocks / plan::InPieces(plan.collective, plan.ranks),
                  plan.out_blocks / plan::OutPieces(plan.collective, plan.ranks));
}

class Composer {
 public:
  Composer(const Request& q, Lanes lanes, const Entry& outer, Inside inside);
  RankPlan Run();

 private:
  struct Use {
    int first_read = -1, last_read = -1, last_store = -1;  // steps of the outer plan, -1: none
    bool exchanged = false;
  };

  Use& UseOf(int block) { return uses_[static_cast<std::size_t>(block)]; }
  void FindUses();

  // The block of this rank's input or output that is the outer plan's `block` on `rail`, or kNoBlock.
  int InBlock(int rail, int block) const;
  int OutBlock(int rail, int block) const;
  bool ExistsOn(int rail, const Step& step) const;
  // Where the outer plan's messages to a host go.
  int TargetAt(int host, int rail) const;

  // What makes the host's value of a block, on the rank that owns it.
  std::vector<Operand> Source(int rail, int block) const;
  bool IsOwnInput(int rail, int block) const;
  // Whether the ranks of this host fold in a switch.
  bool Offers() const { return inside_ == Inside::kSwitch && Reduces(q_.collective) && !host_peers_.empty(); }

  void AddExchanges(int index);
  void AddExchange(int block, int stage);
  int NextExchange(int index) const;
  void AddStep(int index);
  void AddOnRail(int index, int rail);
  void AppendInput(int index, int rail, int block, std::vector<Operand>* operands, int* out);
  void AddHandOut(const std::vector<Operand>& operands, int out, int stage);
  void AddArrivals(int block, int stage);
  void AddResultAtRoot(int index);

  const Request& q_;
  Inside inside_;
  int lag_;  // stages that one rank of a host is behind another
  Rails rails_;
  int host_;
  RankPlan outer_;
  int blocks_;            // of the outer plan's piece
  bool to_root_;          // what the outer plan sends to the root's host goes to the root itself
  std::vector<int> own_;  // rails
  std::vector<std::int32_t> host_peers_;
  std::vector<std::int32_t> audience_;  // ranks of the host that want what this one completes
  std::vector<Use> uses_;               // by the outer plan's block
  bool looks_ahead_;                    // links hold the messages of two exchanges
  RankPlan plan_;
};

Composer::Composer(const Request& q, Lanes lanes, const Entry& outer, Inside inside)
    : q_(q),
      inside_(inside),
      lag_(inside == Inside::kSwitch ? 1 : 0),
      rails_(q, lanes),
      host_(q.hosts.HostOf(q.rank)),
      outer_(outer.build(AmongHosts(q))),
      blocks_(BlocksPerPiece(outer_)),
      to_root_(q.collective == Collective::kReduce &&
               (outer.algorithm == Algorithm::kOneShot || outer.algorithm == Algorithm::kTwoShot)),
      own_(rails_.Of(q.rank)),
      host_peers_(HostPeersAfter(q.hosts, q.rank)) {
  const bool pieces = q.collective == Collective::kReduceScatter || q.collective == Collective::kAllGather;
  int shared = rails_.MostShared();
  if (to_root_ || outer.algorithm == Algorithm::kSharp) shared = DivideUp(rails_.count(), q.hosts.fewest());
  if (pieces && outer.algorithm == Algorithm::kOneShot) shared = 1;  // every link has one receiver's own piece
  // In a reduce, what the root's host exchanges and what comes of it share a link. Through a switch a link has two rounds under way, each
  // with all blocks of a rank's parts, beside what a rank offers to itself among hosts.
  const bool all_of_one = q.collective == Collective::kReduce || lag_ > 0;
  const int exchanged = all_of_one ? rails_.MostOfOne() : rails_.MostOfTwo();
  const int between = outer_.link_slots * shared;
  const int hosts = q.hosts.count(), in_round = exchanged * blocks_ * (pieces ? hosts : 1);
  const int slots = lag_ > 0 ? between + 2 * in_round : std::max(between, exchanged);
  looks_ahead_ = lag_ == 0 && slots >= 2 * exchanged;
  plan_ = Start(q, pieces ? 1 : rails_.count() * blocks_, slots);
  if (q.collective != Collective::kReduceScatter && q.collective != Collective::kReduce) {
    audience_ = host_peers_;
    if (q.collective == Collective::kBroadcast) std::erase(audience_, q.root);
  }
  FindUses();
}

void Composer::FindUses() {
  uses_.resize(static_cast<std::size_t>(std::max({outer_.in_blocks, outer_.out_blocks, 1})));
  std::vector<int> order(static_cast<std::size_t>(outer_.step_count()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int index) { return outer_.step(index).stage; });
  for (const int index : order) {
    const Step step = outer_.step(index);
    for (const Operand& operand : step.operands) {
      if (operand.kind != Operand::Kind::kIn) continue;
      Use& use = UseOf(operand.index);
      if (use.first_read < 0) use.first_read = index;
      use.last_read = index;
    }
    if (step.out != kNoBlock) UseOf(step.out).last_store = index;
  }
}

int Composer::InBlock(int rail, int block) const {
  switch (q_.collective) {
    case Collective::kReduceScatter: {
      const auto ranks = q_.hosts.RanksOf(block);
      return rail < std::ssize(ranks) ? ranks[static_cast<std::size_t>(rail)] : kNoBlock;
    }
    case Collective::kAllGather:
      return rail == q_.hosts.IndexOf(q_.rank) ? 0 : kNoBlock;
    default:
      return rail * blocks_ + block;
  }
}

int Composer::OutBlock(int rail, int block) const {
  switch (q_.collective) {
    case Collective::kReduceScatter:
      return rail == q_.hosts.IndexOf(q_.rank) ? 0 : kNoBlock;
    case Collective::kAllGather: {
      const auto ranks = q_.hosts.RanksOf(block);
      return rail < std::ssize(ranks) ? ranks[static_cast<std::size_t>(rail)] : kNoBlock;
    }
    default:
      return rail * blocks_ + block;
  }
}

bool Composer::ExistsOn(int rail, const Step& step) const {
  if (step.out != kNoBlock && OutBlock(rail, step.out) == kNoBlock) return false;
  return std::ranges::all_of(step.operands, [&](const Operand& operand) {
    return operand.kind != Operand::Kind::kIn || InBlock(rail, operand.index) != kNoBlock;
  });
}

int Composer::TargetAt(int host, int rail) const {
  return to_root_ && host == outer_.root ? q_.root : rails_.Owner(host, rail);
}

std::vector<Operand> Composer::Source(int rail, int block) const {
  if (q_.collective == Collective::kBroadcast && q_.rank != q_.root) return {Recv(q_.root)};
  if (!Reduces(q_.collective) && q_.collective != Collective::kBarrier) return {In(InBlock(rail, block))};
  if (Offers()) return algo::Offers(q_.hosts.RanksOf(host_));
  return Fold(q_.rank, InBlock(rail, block), host_peers_);
}

bool Composer::IsOwnInput(int rail, int block) const {
  const std::vector<Operand> source = Source(rail, block);
  return source.size() == 1 && source[0].kind == Operand::Kind::kIn;
}

// The step of the outer plan after `index` that comes with the next exchange; -1 where something else comes before that.
int Composer::NextExchange(int index) const {
  for (int i = index; i < outer_.step_count(); ++i) {
    const Step step = outer_.step(i);
    const auto reads_first = [&](const Operand& operand) {
      return operand.kind == Operand::Kind::kIn && uses_[static_cast<std::size_t>(operand.index)].first_read == i;
    };
    if (i > index && std::ranges::any_of(step.operands, reads_first)) return i;
    if (step.out != kNoBlock && uses_[static_cast<std::size_t>(step.out)].last_store == i) return -1;
  }
  return -1;
}

// For a step of the outer plan that reads a block for the first time; the block after it too, where there is room.
void Composer::AddExchanges(int index) {
  const auto add = [this](int i) {
    const Step step = outer_.step(i);
    bool added = false;
    for (const Operand& operand : step.operands) {
      if (operand.kind != Operand::Kind::kIn || UseOf(operand.index).first_read != i) continue;
      if (!UseOf(operand.index).exchanged) AddExchange(operand.index, step.stage);
      UseOf(operand.index).exchanged = added = true;
    }
    return added;
  };
  if (!add(index) || !looks_ahead_) return;
  if (const int next = NextExchange(index); next >= 0) add(next);
}

// Every rank of the host to the owners of the other rails; in a broadcast, the root alone.
void Composer::AddExchange(int block, int stage) {
  if (q_.collective == Collective::kAllGather) return;
  if (q_.collective == Collective::kBroadcast && q_.rank != q_.root) return;
  std::vector<std::int32_t> owners = host_peers_;
  if (Offers()) owners.push_back(q_.rank);
  for (const std::int32_t owner : owners) {
    for (const int rail : rails_.Of(owner)) {
      const int in = InBlock(rail, block);
      if (in != kNoBlock) plan_.Add({In(in)}, {owner}, kNoBlock, stage, Offers() ? Sending::kOffer : Sending::kEach);
    }
  }
}

void Composer::AppendInput(int index, int rail, int block, std::vector<Operand>* operands, int* out) {
  const Step step = outer_.step(index);
  const std::vector<Operand> source = Source(rail, block);
  const Use use = UseOf(block);
  const bool stores = q_.collective == Collective::kReduceScatter || q_.collective == Collective::kReduce
                          ? step.out != kNoBlock && plan_.out_blocks > 0
                          : true;
  const int place = q_.collective == Collective::kReduceScatter ? 0 : rail * blocks_ + block;
  if (IsOwnInput(rail, block)) {
    operands->push_back(source[0]);
  } else if (use.first_read != index) {
    operands->push_back(Out(place));
  } else if (step.operands.size() == 1 &&
             !(Offers() && stores)) {  // a switch's fold would name no block of the rank's own
    *operands = source;
    if (*out == kNoBlock && use.last_read != index) *out = place;
  } else if (stores) {
    plan_.Add(source, {}, place, step.stage + lag_);
    operands->push_back(Out(place));
  } else {
    operands->insert(operands->end(), source.begin(), source.end());
  }
}

void Composer::AddOnRail(int index, int rail) {
  const Step step = outer_.step(index);
  int out = step.out == kNoBlock ? kNoBlock : OutBlock(rail, step.out);
  std::vector<std::int32_t> to;
  for (const std::int32_t host : step.to) to.push_back(TargetAt(host, rail));
  const bool completes = step.out != kNoBlock && UseOf(step.out).last_store == index && !audience_.empty();
  const bool by_messages = inside_ == Inside::kLinks && step.sending == Sending::kEach;
  if (completes && by_messages) to.insert(to.end(), audience_.begin(), audience_.end());
  std::vector<Operand> operands;
  for (const Operand& operand : step.operands) {
    if (operand.kind == Operand::Kind::kRecv) operands.push_back(Recv(rails_.Owner(operand.index, rail)));
    if (operand.kind == Operand::Kind::kOffered) operands.push_back(Offered(rails_.Owner(operand.index, rail)));
    if (operand.kind == Operand::Kind::kOut) operands.push_back(Out(OutBlock(rail, operand.index)));
    if (operand.kind == Operand::Kind::kIn) AppendInput(index, rail, operand.index, &operands, &out);
  }
  if (q_.collective == Collective::kReduce && out != kNoBlock && q_.rank != q_.root) {
    to.push_back(q_.root);
    out = kNoBlock;
  }
  const int stored = step.out == kNoBlock ? kNoBlock : OutBlock(rail, step.out);
  const int stage = step.stage + lag_;
  if (completes && !by_messages && to.empty()) return AddHandOut(operands, stored, stage);
  if (operands.size() == 1 && out != kNoBlock && operands[0] == Out(out)) out = kNoBlock;  // it is there already
  if (out != kNoBlock || !to.empty()) plan_.Add(operands, to, out, stage, step.sending);
  if (completes && !by_messages) AddHandOut({Out(stored)}, stored, stage);
}

// To the host's ranks, what is complete.
void Composer::AddHandOut(const std::vector<Operand>& operands, int out, int stage) {
  if (inside_ == Inside::kSwitch) return plan_.Add(operands, audience_, out, stage, Sending::kMulticastBack);
  const bool there = operands.size() == 1 && operands[0] == Out(out);
  plan_.Add(operands, audience_, there ? kNoBlock : out, stage);
}

// What the host's other ranks complete.
void Composer::AddArrivals(int block, int stage) {
  if (q_.collective == Collective::kReduceScatter) return;
  const bool has_it = q_.collective == Collective::kBroadcast && q_.rank == q_.root;
  if (q_.collective == Collective::kReduce && q_.rank != q_.root) return;
  for (auto peer = host_peers_.rbegin(); peer != host_peers_.rend(); ++peer) {
    for (const int rail : rails_.Of(*peer)) {
      const int out = OutBlock(rail, block);
      if (out != kNoBlock) plan_.Add({has_it ? In(out) : Recv(*peer)}, {}, out, stage);
    }
  }
}

// Of a reduce whose last messages go to the root itself: owners of rails in its host send it the host's value, the root folds
// that with the other hosts' in their order.
void Composer::AddResultAtRoot(int index) {
  const Step step = outer_.step(index);
  const bool folds = std::ranges::any_of(step.operands, [](const Operand& o) { return o.kind == Operand::Kind::kIn; });
  for (const int rail : own_) {
    const int block = rail * blocks_ + step.out;
    if (!folds || IsOwnInput(rail, step.out)) continue;
    if (q_.rank == q_.root) {
      plan_.Add(Source(rail, step.out), {}, block, step.stage);
    } else {
      plan_.Add(Source(rail, step.out), std::vector<std::int32_t>{q_.root}, kNoBlock, step.stage);
    }
  }
  if (q_.rank != q_.root) return;
  for (int rail = 0; rail < rails_.count(); ++rail) {
    const int block = rail * blocks_ + step.out;
    std::vector<Operand> operands;
    for (const Operand& operand : step.operands) {
      if (operand.kind == Operand::Kind::kRecv) {
        operands.push_back(Recv(rails_.Owner(operand.index, rail)));
      } else if (const int owner = rails_.Owner(host_, rail); owner != q_.rank) {
        operands.push_back(Recv(owner));
      } else {
        operands.push_back(IsOwnInput(rail, step.out) ? In(block) : Out(block));
      }
    }
    plan_.Add(operands, {}, block, step.stage);
  }
}

void Composer::AddStep(int index) {
  const Step step = outer_.step(index);
  AddExchanges(index);
  if (to_root_ && step.out != kNoBlock) {
    AddResultAtRoot(index);
    return;
  }
  for (const int rail : own_) {
    if (ExistsOn(rail, step)) AddOnRail(index, rail);
  }
  if (step.out != kNoBlock && UseOf(step.out).last_store == index) AddArrivals(step.out, step.stage + 2 * lag_);
}

RankPlan Composer::Run() {
  for (int index = 0; index < outer_.step_count(); ++index) AddStep(index);
  return plan_;
}

}  // namespace

Rails::Rails(const Request& request, Lanes lanes)
    : hosts_(request.hosts),
      count_(lanes == Lanes::kLeader ? 1 : request.hosts.most()),
      root_(lanes == Lanes::kLeader && HasRoot(request.collective) ? request.root : -1) {}

int Rails::Owner(int host, int rail) const {
  if (root_ >= 0 && hosts_.HostOf(root_) == host) return root_;
  const std::span<const std::int32_t> ranks = hosts_.RanksOf(host);
  return ranks[static_cast<std::size_t>(rail) % ranks.size()];
}

std::vector<int> Rails::Of(int rank) const {
  const int host = hosts_.HostOf(rank);
  const bool roots = root_ >= 0 && hosts_.HostOf(root_) == host;
  if (roots && rank != root_) return {};
  std::vector<int> rails;
  for (int rail = roots ? 0 : hosts_.IndexOf(rank); rail < count_; rail += roots ? 1 : hosts_.SizeOf(host)) {
    rails.push_back(rail);
  }
  return rails;
}

int Rails::MostOfOne() const {
  int most = 1;
  for (int host = 0; host < hosts_.count(); ++host) {
    if (hosts_.SizeOf(host) > 1) most = std::max(most, DivideUp(count_, hosts_.SizeOf(host)));
  }
  return most;
}

int Rails::MostOfTwo() const {
  int most = 1;
  for (int host = 0; host < hosts_.count(); ++host) {
    const int size = hosts_.SizeOf(host);
    if (size > 1) most = std::max(most, count_ % size == 1 ? count_ / size : DivideUp(count_, size));
  }
  return most;
}

// Two ranks that own a common rail own one in lcm of their hosts' sizes.
int Rails::MostShared() const {
  std::set<int> sizes;
  int most = 1;
  for (int host = 0; host < hosts_.count(); ++host) {
    const int size = hosts_.SizeOf(host);
    for (const int other : sizes) most = std::max(most, DivideUp(count_, std::lcm(size, other)));
    if (!sizes.insert(size).second) most = std::max(most, DivideUp(count_, size));
  }
  return most;
}

RankPlan ComposeHierarchy(const Request& request, Lanes lanes, const Entry& outer, Inside inside) {
  return Composer(request, lanes, outer, inside).Run();
}

std::vector<std::int32_t> HostPeersAfter(const Hosts& hosts, int rank) {
  const std::span<const std::int32_t> ranks = hosts.RanksOf(hosts.HostOf(rank));
  std::vector<std::int32_t> peers(ranks.begin(), ranks.end());
  std::rotate(peers.begin(), peers.begin() + hosts.IndexOf(rank),
              peers.end());  // clang 14 knows no std::ranges::rotate
  peers.erase(peers.begin());
  return peers;
}

}  // namespace tutti::algo
