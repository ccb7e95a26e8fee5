// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/cases.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/kernels/across.h"

namespace tutti::tests {

using exec::gpu::Plant;

namespace {

constexpr int kMostChannels = 4;

template <typename T>
T Any(Random& random, std::initializer_list<T> values) {
  return *(values.begin() + random.Below(values.size()));
}

// Bytes of a piece: few, some rounds, many.
std::size_t AnyBytes(Random& random) {
  switch (random.Below(4)) {
    case 0:
      return 1 + random.Below(64);
    case 1:
      return 1 + random.Below(1500);
    case 2:
      return 128 * (1 + random.Below(24));
    default:
      return 1 + random.Below(9000);
  }
}

bool MayBeInPlace(const Call& call) { return call.collective != Collective::kAllToAll; }

// Messages in any order, some of them to self.
void AnyTransfers(Call& call, int ranks, Random& random) {
  call.transfers.clear();
  const std::uint32_t count = 1 + random.Below(static_cast<std::uint64_t>(3 * ranks));
  for (std::uint32_t i = 0; i < count; ++i) {
    const int from = static_cast<int>(random.Below(static_cast<std::uint64_t>(ranks)));
    const int to = static_cast<int>(random.Below(static_cast<std::uint64_t>(ranks)));
    call.transfers.push_back({from, to, random.OneOf(16) ? 0 : AnyBytes(random) * (random.OneOf(4) ? 4 : 1)});
  }
}

// What a planted error would show itself in. The count is the least.
Call CallFor(Plant plant) {
  using algo::Algorithm;
  using proto::Protocol;
  Call call{.algorithm = Algorithm::kRing, .type = DataType::kFloat32, .whole_lines = false};
  switch (plant) {
    case Plant::kDoneNotCleared:  // RunAcross
    case Plant::kNoFenceOfAcross:
    case Plant::kNoBarrierBeforeReady:
    case Plant::kNoBarrierBehindDone:
      break;
    case Plant::kNone:
    case Plant::kNoBarrierBehindFlag:
    case Plant::kNoBarrierBeforeFlag:
    case Plant::kFlagWithoutAcquire:
    case Plant::kAnyFlag:
    case Plant::kNoFenceOfStep:
      call.protocol = Protocol::kSimple;
      break;
    case Plant::kNoRoomForSteps:
    case Plant::kNoBarrierBeforeCredit:
      call.collective = Collective::kBroadcast;  // a sender waits for nothing but room
      call.count = 1500;
      break;
    case Plant::kRoundLeftOut:
    case Plant::kHalfALine:
    case Plant::kFlagOfEveryPass:
      call.count = 1500;  // several rounds
      break;
    case Plant::kNoBarrierBeforeDivision:
      call.op = ReduceOp::kAvg;
      call.type = DataType::kUint8;
      call.protocol = Protocol::kSimple;
      call.algorithm = Algorithm::kTwoShot;
      break;
    case Plant::kHalfAUnit:
      call.protocol = Protocol::kLl128;
      break;
    case Plant::kNoRoomForShort:
    case Plant::kNoBarrierBeforeShortCredit:
      call.algorithm = Algorithm::kOneShot;
      call.collective = Collective::kReduce;
      call.protocol = Protocol::kLl128;
      call.count = 3000;
      break;
    case Plant::kHalfALineOfShort:
      call.algorithm = Algorithm::kOneShot;
      break;
    case Plant::kNoFenceOfTransfer:
    case Plant::kNoRoomForTransfer:
    case Plant::kCreditOfOneThread:
    case Plant::kHeraldLeftBehind:
      call.form = Form::kGroup;
      break;
    case Plant::kNoFenceOfRelay:
    case Plant::kNoRoomForRelay:
    case Plant::kOnlyAVote:
    case Plant::kPostOfOneThread:
      call.form = Form::kRelay;
      call.algorithm = Algorithm::kTwoShot;
      break;
  }
  return call;
}

}  // namespace

Gpus& Fleet::Of(int ranks, Rings rings) {
  std::unique_ptr<Gpus>& gpus = gpus_[ranks][static_cast<int>(rings)];
  if (gpus == nullptr) gpus = std::make_unique<Gpus>(ranks, rings);
  return *gpus;
}

std::uint64_t Fleet::launched() const {
  std::uint64_t launched = 0;
  for (const auto& both : gpus_) {
    for (const auto& gpus : both) launched += gpus == nullptr ? 0 : gpus->launched();
  }
  return launched;
}

void Vary(Call& call, Random& random) {
  call.count = std::max<std::size_t>(1, AnyBytes(random) / SizeOf(call.type));
  if (call.form == Form::kRelay) call.count *= Any<std::size_t>(random, {1, 1, 4});
  if (call.collective == Collective::kBarrier) call.count = 1;
  call.channels = 1 + static_cast<int>(random.Below(kMostChannels));
  call.threads = Any(random, {32, 64, 128, 128});
  call.blocks = 1 + static_cast<int>(random.Below(3));
  call.chunk_bytes = random.OneOf(4) ? 128 * (1 + random.Below(8)) : 0;
  call.in_place = MayBeInPlace(call) && random.OneOf(2);
  call.misalign = random.OneOf(3) ? 1 + random.Below(15) : 0;
  call.whole_lines = !random.OneOf(2);
  call.factor_in_memory = call.op == ReduceOp::kPreMulSum && random.OneOf(2);
  call.items = call.form != Form::kBatch ? 1 : 1 + static_cast<int>(random.Below(random.OneOf(4) ? 20 : 6));
  if (call.items > 6) call.count = 1 + call.count % 100;
}

Call AnyCall(Gpus& gpus, const std::vector<DataType>& types, Random& random) {
  Call call;
  do {
    call.form = Any(random, {Form::kProgram, Form::kProgram, Form::kProgram, Form::kBatch, Form::kRelay, Form::kGroup});
    if (call.form == Form::kGroup) break;
    const auto registry = algo::Registry();
    call.algorithm = registry[random.Below(registry.size())].algorithm;
    call.collective = static_cast<Collective>(random.Below(kCollectives));
    call.protocol = static_cast<proto::Protocol>(random.Below(proto::kProtocols));
    call.root = HasRoot(call.collective) ? static_cast<int>(random.Below(static_cast<std::uint64_t>(gpus.ranks()))) : 0;
    call.type = types[random.Below(types.size())];
    call.op = static_cast<ReduceOp>(random.Below(kNcclReduceOps));
    if (call.form == Form::kBatch) call.op = random.OneOf(2) ? ReduceOp::kSum : ReduceOp::kAvg;
    if (!Reduces(call.collective)) call.op = ReduceOp::kSum;
    if (call.collective == Collective::kBarrier) {
      call.form = Form::kProgram;
      call.type = DataType::kUint8;
      call.op = ReduceOp::kMax;
    }
  } while (call.collective == Collective::kSendRecv || !std::ranges::count(types, call.type) || !gpus.Supports(call));
  Vary(call, random);
  if (call.form == Form::kGroup) AnyTransfers(call, gpus.ranks(), random);
  return call;
}

std::string RunAll(Gpus& gpus, const std::vector<Call>& calls, std::uint64_t seed, Plant plant) {
  const std::string error = gpus.Run(calls, seed, plant);
  if (error.empty()) return "";
  std::string text = fmt::format("seed {}, {} ranks: {}", seed, gpus.ranks(), error);
  for (const Call& call : calls) text += "\n  " + Describe(call);
  return text;
}

std::string RunAny(Fleet& fleet, const std::vector<DataType>& types, std::uint64_t seed) {
  Random random(seed);
  const int ranks = 1 + static_cast<int>(random.OneOf(3) ? random.Below(8) : 1 + random.Below(3));
  Gpus& gpus = fleet.Of(ranks, random.OneOf(2) ? Rings::kWide : Rings::kTight);
  std::vector<Call> calls(1 + random.Below(4));
  for (Call& call : calls) call = AnyCall(gpus, types, random);
  return RunAll(gpus, calls, seed);
}

std::string RunMany(Fleet& fleet, int ranks, const std::vector<DataType>& types, std::uint64_t seed) {
  Random random(seed);
  Gpus& gpus = fleet.Of(ranks, random.OneOf(2) ? Rings::kWide : Rings::kTight);
  std::vector<Call> calls(1 + random.Below(3));
  for (Call& call : calls) {
    call = AnyCall(gpus, types, random);
    call.threads = std::min(call.threads, 64);  // of many fibres
    call.channels = std::min(call.channels, 2);
    call.items = std::min(call.items, 4);
    call.count = std::min<std::size_t>(call.count, 2000);
  }
  return RunAll(gpus, calls, seed);
}

std::string RunFor(Fleet& fleet, Plant shown, Plant plant, std::uint64_t seed) {
  if (shown >= Plant::kDoneNotCleared) return RunAcross(seed, plant);
  Random random(seed);
  constexpr int kManyRanks = 8;  // a herald has more links than its team has warps
  const int ranks = shown == Plant::kOnlyAVote ? kManyRanks : 2 + static_cast<int>(random.Below(3));
  Gpus& gpus = fleet.Of(ranks, Rings::kTight);
  std::vector<Call> calls(2, CallFor(shown));
  for (Call& call : calls) {
    const Call wanted = call;
    Vary(call, random);
    if (call.form == Form::kGroup) AnyTransfers(call, ranks, random);
    call.count = std::max<std::size_t>(call.count, wanted.count);
    call.whole_lines = wanted.whole_lines;
    call.threads = wanted.threads;
  }
  return RunAll(gpus, calls, seed, plant);
}

int FindPlant(Fleet& fleet, Plant plant, std::string& found) {
  for (int seed = 1; seed <= kMostSeedsOfPlant; ++seed) {
    found = RunFor(fleet, plant, plant, static_cast<std::uint64_t>(seed));
    if (!found.empty()) return seed;
  }
  return 0;
}

std::vector<Call> EveryCall(Gpus& gpus, const std::vector<DataType>& types) {
  std::vector<Call> all;
  for (const algo::Entry& entry : algo::Registry()) {
    for (int c = 0; c < kCollectives; ++c) {
      Call call{.algorithm = entry.algorithm, .collective = static_cast<Collective>(c)};
      if (call.collective == Collective::kSendRecv || call.collective == Collective::kBarrier) continue;
      const int ops = Reduces(call.collective) ? kNcclReduceOps : 1;
      for (const Form form : {Form::kProgram, Form::kBatch, Form::kRelay}) {
        for (int p = 0; p < (form == Form::kRelay ? 1 : proto::kProtocols); ++p) {
          call.form = form;
          call.protocol = static_cast<proto::Protocol>(p);
          if (!gpus.Supports(call)) continue;
          for (const DataType type : types) {
            for (int op = 0; op < ops; ++op) {
              call.type = type;
              call.op = static_cast<ReduceOp>(op);
              const bool sums = call.op == ReduceOp::kSum || call.op == ReduceOp::kAvg;
              if (form != Form::kBatch || sums) all.push_back(call);
            }
          }
        }
      }
    }
  }
  return all;
}

}  // namespace tutti::tests
