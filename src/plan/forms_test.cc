// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/forms.h"

#include <gtest/gtest.h>

namespace tutti::plan {
namespace {

std::vector<RankPlan> Blank(Collective collective, int ranks) {
  std::vector<RankPlan> plans;
  for (int rank = 0; rank < ranks; ++rank) {
    plans.emplace_back(collective, rank, ranks);
    plans.back().in_blocks = InPieces(collective, ranks);
    plans.back().out_blocks = OutPieces(collective, ranks);
  }
  return plans;
}

// Rank 0 to all others.
std::vector<RankPlan> Broadcast(int ranks) {
  std::vector<RankPlan> plans = Blank(Collective::kBroadcast, ranks);
  for (int rank = 1; rank < ranks; ++rank) {
    plans[0].Add({In(0)}, {rank}, kNoBlock);
    plans[static_cast<std::size_t>(rank)].Add({Recv(0)}, {}, 0);
  }
  plans[0].Add({In(0)}, {}, 0);
  return plans;
}

// Each to the next, from rank 0 on, folding where `collective` does.
std::vector<RankPlan> Line(Collective collective, int ranks) {
  std::vector<RankPlan> plans = Blank(collective, ranks);
  plans[0].Add({In(0)}, {1}, Reduces(collective) ? kNoBlock : 0);
  for (int rank = 1; rank < ranks; ++rank) {
    RankPlan& plan = plans[static_cast<std::size_t>(rank)];
    const std::vector<std::int32_t> to =
        rank + 1 < ranks ? std::vector<std::int32_t>{rank + 1} : std::vector<std::int32_t>{};
    const bool folds = Reduces(collective);
    const std::vector<Operand> operands =
        folds ? std::vector<Operand>{Recv(rank - 1), In(0)} : std::vector<Operand>{Recv(rank - 1)};
    plan.Add(operands, to, folds && !to.empty() ? kNoBlock : 0);
  }
  return plans;
}

// Everybody sends block b to rank b, which folds it; and, of an all_reduce, hands the result around. Of `blocks` 1: all of it.
std::vector<RankPlan> Fold(Collective collective, int ranks, bool to_all) {
  std::vector<RankPlan> plans = Blank(collective, ranks);
  for (RankPlan& plan : plans) {
    const bool parts = to_all || collective == Collective::kReduceScatter;
    if (to_all) plan.in_blocks = plan.out_blocks = ranks;
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != plan.rank) plan.Add({In(parts ? peer : 0)}, {peer}, kNoBlock);
    }
    std::vector<Operand> operands;
    std::vector<std::int32_t> to;
    for (int peer = 0; peer < ranks; ++peer) {
      operands.push_back(peer == plan.rank ? In(parts ? peer : 0) : Recv(peer));
      if (to_all && peer != plan.rank) to.push_back(peer);
    }
    plan.Add(operands, to, to_all ? plan.rank : 0);
    for (int peer = 0; to_all && peer < ranks; ++peer) {
      if (peer != plan.rank) plan.Add({Recv(peer)}, {}, peer);
    }
  }
  return plans;
}

TEST(Forms, WhatIsSentAndStoredIsMoves) {
  const Forms forms = FindForms(Broadcast(4));
  EXPECT_TRUE(forms.moves);
  EXPECT_TRUE(forms.lists.exist);
  EXPECT_FALSE(forms.relay);
  EXPECT_TRUE(forms.ForTeams());
  const Moves root = ListMoves(Broadcast(4), 0), leaf = ListMoves(Broadcast(4), 2);
  EXPECT_EQ(root.sends, (std::vector<Moves::Send>{{1, 0, 0, 0}, {2, 0, 0, 1}, {3, 0, 0, 2}}));
  EXPECT_EQ(root.copies, (std::vector<Moves::Copy>{{0, 0}}));
  EXPECT_EQ(leaf.receives, (std::vector<Moves::Receive>{{0, 0, 0}}));
  EXPECT_EQ(root.most_directions, 1);
}

TEST(Forms, OfAGroupARankKnowsItsOwnPart) {
  RankPlan group(Collective::kSendRecv, 1, 3);
  group.in_blocks = 3;
  group.out_blocks = 2;
  group.Add({In(2)}, {2}, kNoBlock);
  group.Add({Recv(0)}, {}, 1);
  group.Add({In(1)}, {}, 0);
  group.Add({In(0)}, {0}, kNoBlock);
  const Moves moves = ListMoves(group);
  EXPECT_EQ(moves.sends, (std::vector<Moves::Send>{{0, 0, kNoBlock, 3}, {2, 2, kNoBlock, 0}}));
  EXPECT_EQ(moves.receives, (std::vector<Moves::Receive>{{0, 1, 1}}));
  EXPECT_EQ(moves.copies, (std::vector<Moves::Copy>{{1, 0}}));
}

TEST(Forms, SendsBeginBehindTheRank) {
  std::vector<RankPlan> plans = Blank(Collective::kAllGather, 3);
  for (RankPlan& plan : plans) {
    for (int peer = 0; peer < 3; ++peer) {
      if (peer != plan.rank) plan.Add({In(0)}, {peer}, kNoBlock);
    }
    plan.Add({In(0)}, {}, plan.rank);
    for (int peer = 0; peer < 3; ++peer) {
      if (peer != plan.rank) plan.Add({Recv(peer)}, {}, peer);
    }
  }
  const Moves moves = ListMoves(plans, 1);
  EXPECT_EQ(moves.sends, (std::vector<Moves::Send>{{2, 0, 1, 1}, {0, 0, 1, 0}}));
  EXPECT_EQ(moves.receives, (std::vector<Moves::Receive>{{0, 0, 3}, {2, 2, 4}}));
  EXPECT_EQ(moves.copies, (std::vector<Moves::Copy>{{0, 1}}));
  EXPECT_EQ(moves.most_directions, 2);
}

TEST(Forms, LinesAreChains) {
  for (const Collective collective : {Collective::kBroadcast, Collective::kReduce}) {
    const Forms forms = FindForms(Line(collective, 4));
    EXPECT_TRUE(forms.relay && forms.chain && forms.lists.exist) << Name(collective);
    EXPECT_EQ(forms.most_roles, 1);
  }
  EXPECT_FALSE(FindForms(Line(Collective::kReduce, 2)).chain);
  EXPECT_TRUE(FindForms(Line(Collective::kBroadcast, 2)).moves);
}

TEST(Forms, WhatIsFoldedOrPassedOnOnceIsARelay) {
  const Forms all = FindForms(Fold(Collective::kAllReduce, 4, true));
  EXPECT_TRUE(all.relay && all.lists.exist);
  EXPECT_FALSE(all.chain || all.moves);
  EXPECT_EQ(all.most_roles, 3);
  EXPECT_TRUE(FindForms(Fold(Collective::kReduceScatter, 4, false)).relay);
}

TEST(Forms, CopyEnginesCanDoMovesOfWholePiecesAndTheSecondOfTwoShots) {
  using Copies = Forms::Copies;
  EXPECT_EQ(FindForms(Broadcast(4)).copies, Copies::kAll);
  EXPECT_EQ(FindForms(Line(Collective::kBroadcast, 4)).copies, Copies::kNone);
  const std::vector<RankPlan> shots = Fold(Collective::kAllReduce, 3, true);
  EXPECT_EQ(FindForms(shots).copies, Copies::kSecondShot);
  const Moves second = ListSecondShot(shots, 1);
  EXPECT_EQ(second.sends, (std::vector<Moves::Send>{{2, 1, 1, 2}, {0, 1, 1, 2}}));
  EXPECT_EQ(second.receives, (std::vector<Moves::Receive>{{0, 0, 3}, {2, 2, 4}}));
  EXPECT_TRUE(second.copies.empty());
  // Not where nothing follows the folds, where a rank folds another's block, or where one is left out.
  EXPECT_EQ(FindForms(Fold(Collective::kReduceScatter, 3, false)).copies, Copies::kNone);
  EXPECT_EQ(FindForms(Fold(Collective::kAllReduce, 3, false)).copies, Copies::kNone);
  std::vector<RankPlan> turned = Blank(Collective::kAllReduce, 2);
  for (RankPlan& plan : turned) {
    const int peer = 1 - plan.rank;
    plan.in_blocks = plan.out_blocks = 2;
    plan.Add({In(plan.rank)}, {peer}, kNoBlock);
    plan.Add({In(peer), Recv(peer)}, {peer}, peer);
    plan.Add({Recv(peer)}, {}, plan.rank);
  }
  EXPECT_TRUE(FindForms(turned).relay);
  EXPECT_EQ(FindForms(turned).copies, Copies::kNone);
}

TEST(Forms, ListsAreAsLongAsThoseOfTheBusiestRank) {
  const FlatLists all = FindForms(Fold(Collective::kAllReduce, 4, true)).lists;
  EXPECT_EQ(all,
            (FlatLists{.exist = true, .passes_on = true, .sends = 3, .passed = 3, .takes = 4, .late = 3, .blocks = 4}));
  EXPECT_EQ(ListFlat(Broadcast(4)[0], 1), (FlatLists{.exist = true, .sends = 3, .takes = 1, .copies = 1}));
  EXPECT_EQ(ListFlat(Broadcast(4)[1], 1), (FlatLists{.exist = true, .takes = 1}));
  // Two values are passed on; a block is made of one with another number.
  std::vector<RankPlan> twice = Line(Collective::kBroadcast, 3);
  twice[1].Add({Recv(0)}, {2}, kNoBlock);
  EXPECT_FALSE(ListFlat(twice[1], 1).exist);
  RankPlan crossed(Collective::kAllReduce, 0, 2);
  crossed.in_blocks = crossed.out_blocks = 2;
  crossed.Add({In(0), Recv(1)}, {}, 1);
  EXPECT_FALSE(ListFlat(crossed, 2).exist);
  EXPECT_TRUE(ListFlat(crossed, 1).exist);
}

TEST(Forms, AFormOfListsDependsOnProtocolAndRoom) {
  constexpr int kLl = 0, kLl128 = 1, kSimple = 2;
  const auto has = [](const FlatLists& lists, int protocol) { return HasFlatForm(lists, protocol, Copied::kIsStored); };
  const FlatLists direct = FindForms(Broadcast(8)).lists,
                  shots = FindForms(Fold(Collective::kAllReduce, 8, true)).lists;
  EXPECT_TRUE(has(direct, kLl) && has(direct, kLl128) && has(shots, kLl128));
  EXPECT_FALSE(has(shots, kLl) || has(direct, kSimple) || has(FlatLists{}, kLl128));
  EXPECT_FALSE(has(FindForms(Broadcast(9)).lists, kLl) ||
               has(FindForms(Fold(Collective::kAllReduce, 9, true)).lists, kLl128));
  const FlatLists full{.exist = true, .takes = kMostFlatTakes + 1, .copies = 1};
  EXPECT_FALSE(has(full, kLl));
  EXPECT_TRUE(HasFlatForm(full, kLl, Copied::kStays));
}

TEST(Forms, OutputsAreAlikeWhereAllHaveOneAndNoneIsAPieceOfTheInput) {
  EXPECT_TRUE(FindForms(Broadcast(3)).outputs_alike);
  EXPECT_TRUE(FindForms(Fold(Collective::kAllReduce, 3, true)).outputs_alike);
  EXPECT_FALSE(FindForms(Fold(Collective::kReduceScatter, 3, false)).outputs_alike);
  std::vector<RankPlan> reduce = Line(Collective::kReduce, 3);
  for (int rank = 0; rank < 2; ++rank) reduce[static_cast<std::size_t>(rank)].out_blocks = 0;
  EXPECT_FALSE(FindForms(reduce).outputs_alike);
}

// In place it would store results over inputs that have not been sent.
TEST(Forms, ARankThatSendsWhatItFoldsIsNoRelay) {
  const Forms forms = FindForms(Fold(Collective::kAllReduce, 4, false));
  EXPECT_FALSE(forms.relay || forms.moves);
  EXPECT_TRUE(forms.lists.exist);
}

TEST(Forms, WhatIsFoldedTwiceIsNoRelay) {
  std::vector<RankPlan> plans = Blank(Collective::kReduce, 4);  // a tree: 3 to 1, 1 and 2 to 0
  plans[3].Add({In(0)}, {1}, kNoBlock);
  plans[2].Add({In(0)}, {0}, kNoBlock);
  plans[1].Add({In(0), Recv(3)}, {0}, kNoBlock);
  plans[0].Add({In(0), Recv(1), Recv(2)}, {}, 0);
  const Forms forms = FindForms(plans);
  EXPECT_FALSE(forms.relay);
  EXPECT_TRUE(forms.lists.exist);
}

TEST(Forms, WhatIsReadFromOutputsHasStepsOnly) {
  std::vector<RankPlan> plans = Broadcast(3);
  plans[0].Add({Out(0)}, {1}, kNoBlock);
  plans[1].Add({Recv(0)}, {}, 0);
  const Forms forms = FindForms(plans);
  EXPECT_FALSE(forms.moves || forms.relay || forms.chain || forms.lists.exist);
  EXPECT_EQ(forms.copies, Forms::Copies::kNone);
}

TEST(Forms, StoresOfWhatIsSentBecomePartOfThat) {
  EXPECT_EQ(StoredBlocks(Broadcast(3)[0]), (std::vector<int>{0, kNoBlock, kMergedStore}));
}

}  // namespace
}  // namespace tutti::plan
