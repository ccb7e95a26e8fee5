// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/host_stages.h"

#include <algorithm>

#include "comm/gpu/work.h"

namespace tutti::comm {
namespace {

using Kind = Collective;

// From so many bytes of input on a rank the two stages more cost less than what they save.
constexpr std::size_t kLeastBytes = std::size_t{128} << 10;
// The same of what goes to each peer in a gather, a scatter or an all_to_all.
constexpr std::size_t kLeastBytesOfPeer = std::size_t{64} << 10;
// Shares are multiples of it, so that all of them lie as the buffer does.
constexpr std::size_t kGranuleBytes = 256;
// What needs more scratch memory than this goes as if each rank were a host of its own.
constexpr std::size_t kMostScratchBytes = std::size_t{256} << 20;

const std::byte* At(const void* base, std::size_t bytes) { return static_cast<const std::byte*>(base) + bytes; }
std::byte* At(void* base, std::size_t bytes) { return static_cast<std::byte*>(base) + bytes; }

// How a block of `count` elements is cut.
struct Shares {
  Shares(const Operation& o, const HostShape& shape)
      : element(SizeOf(o.type)),
        granule(std::max<std::size_t>(kGranuleBytes / element, 1)),
        share(o.count / static_cast<std::size_t>(shape.places) / granule * granule),
        rest(o.count - share * static_cast<std::size_t>(shape.places)),
        rest_at(share * static_cast<std::size_t>(shape.places) * element) {}

  std::size_t BeginOf(int place) const { return static_cast<std::size_t>(place) * share * element; }

  const std::size_t element;
  const std::size_t granule;
  const std::size_t share;    // elements
  const std::size_t rest;     // elements behind the shares
  const std::size_t rest_at;  // bytes
};

class Cutter {
 public:
  Cutter(const Operation& operation, const HostShape& shape, std::byte* scratch)
      : o_(operation), shape_(shape), shares_(operation, shape), scratch_(scratch) {}

  HostStages Cut() {
    switch (o_.kind) {
      case Kind::kAllReduce:
        CutAllReduce();
        break;
      case Kind::kBroadcast:
        CutBroadcast();
        break;
      case Kind::kReduce:
        CutReduce();
        break;
      case Kind::kAllGather:
        CutAllGather();
        break;
      default:
        CutReduceScatter();
    }
    return std::move(stages_);
  }

 private:
  // An operation like this one, of so many elements; of reductions, one that has the factor of this rank's or does not.
  Operation Like(Kind kind, const void* in, void* out, std::size_t count, int root = 0) const {
    Operation made = o_;
    made.kind = kind;
    made.in = in;
    made.out = out;
    made.count = count;
    made.root = root;
    return made;
  }
  Operation Further(Kind kind, const void* in, void* out, std::size_t count, int root = 0) const {
    Operation made = Like(kind, in, out, count, root);
    if (made.op == ReduceOp::kPreMulSum) {  // each factor has been applied
      made.op = ReduceOp::kSum;
      made.device_scalar = nullptr;
      made.integer_scalar = std::nullopt;
    }
    return made;
  }
  // The rest belongs to the share of `owner`.
  std::size_t CountOf(int place, int owner) const { return shares_.share + (place == owner ? shares_.rest : 0); }
  // All shares of a block, each of which lies where it belongs at one rank of the host.
  void Spread(std::byte* out) {
    const int last = shape_.places - 1;
    stages_.after.push_back(Like(Kind::kAllGather, At(out, shares_.BeginOf(shape_.place)), out, shares_.share));
    std::byte* rest = At(out, shares_.rest_at);
    if (shares_.rest > 0) stages_.after.push_back(Like(Kind::kBroadcast, rest, rest, shares_.rest, last));
  }

  void CutAllReduce() {
    const int last = shape_.places - 1;
    auto* out = static_cast<std::byte*>(o_.out);
    std::byte* own = At(out, shares_.BeginOf(shape_.place));
    stages_.before.push_back(Like(Kind::kReduceScatter, o_.in, own, shares_.share));
    if (shares_.rest > 0) {
      stages_.before.push_back(
          Like(Kind::kReduce, At(o_.in, shares_.rest_at), At(out, shares_.rest_at), shares_.rest, last));
    }
    stages_.between.push_back(Further(Kind::kAllReduce, own, own, CountOf(shape_.place, last)));
    Spread(out);
  }

  void CutBroadcast() {
    const int last = shape_.places - 1;
    const int root_host = shape_.HostOf(o_.root);
    const bool root = o_.root == shape_.rank();
    auto* whole = root ? const_cast<std::byte*>(static_cast<const std::byte*>(o_.in)) : static_cast<std::byte*>(o_.out);
    std::byte* own = At(whole, shares_.BeginOf(shape_.place));
    if (shape_.host == root_host) {
      stages_.before.push_back(Like(Kind::kBroadcast, o_.in, o_.out, o_.count, shape_.PlaceOf(o_.root)));
    } else {
      Spread(whole);
    }
    stages_.between.push_back(Like(Kind::kBroadcast, own, own, CountOf(shape_.place, last), root_host));
  }

  void CutReduce() {
    const int root_place = shape_.PlaceOf(o_.root), root_host = shape_.HostOf(o_.root);
    std::byte* rest = At(scratch_, shares_.share * shares_.element);
    stages_.before.push_back(Like(Kind::kReduceScatter, o_.in, scratch_, shares_.share));
    if (shares_.rest > 0) {
      stages_.before.push_back(Like(Kind::kReduce, At(o_.in, shares_.rest_at), rest, shares_.rest, root_place));
    }
    stages_.between.push_back(Further(Kind::kReduce, scratch_, scratch_, CountOf(shape_.place, root_place), root_host));
    if (shape_.host != root_host) return;
    stages_.after.push_back(Like(Kind::kGather, scratch_, o_.out, shares_.share, root_place));
    if (shares_.rest == 0 || shape_.place != root_place) return;
    stages_.after.push_back(Like(Kind::kSend, rest, nullptr, shares_.rest, root_place));
    stages_.after.push_back(Like(Kind::kRecv, nullptr, At(o_.out, shares_.rest_at), shares_.rest, root_place));
  }

  // Each rank gets the blocks of its rail, then each host's ranks exchange what they have of every host.
  void CutAllGather() {
    const std::size_t block = BytesOf(o_);
    auto* out = static_cast<std::byte*>(o_.out);
    const auto place_of = [&](int host) {
      return At(out, static_cast<std::size_t>(shape_.RankOf(host, shape_.place)) * block);
    };
    for (int host = 0; host < shape_.hosts; ++host) {
      const bool own = host == shape_.host;
      if (!own) {
        stages_.between.push_back(Like(Kind::kSend, o_.in, nullptr, o_.count, host));
        stages_.between.push_back(Like(Kind::kRecv, nullptr, place_of(host), o_.count, host));
      }
      const void* in = own ? o_.in : place_of(host);
      stages_.after.push_back(
          Like(Kind::kAllGather, in, At(out, static_cast<std::size_t>(shape_.RankOf(host, 0)) * block), o_.count));
    }
  }

  // Each rank folds what its host has for the ranks of its rail, then the rail's ranks fold that.
  void CutReduceScatter() {
    const std::size_t block = BytesOf(o_);
    for (int host = 0; host < shape_.hosts; ++host) {
      stages_.before.push_back(Like(Kind::kReduceScatter,
                                    At(o_.in, static_cast<std::size_t>(shape_.RankOf(host, 0)) * block),
                                    At(scratch_, static_cast<std::size_t>(host) * block), o_.count));
    }
    stages_.between.push_back(Further(Kind::kReduceScatter, scratch_, o_.out, o_.count));
  }

  const Operation& o_;
  const HostShape& shape_;
  const Shares shares_;
  std::byte* const scratch_;
  HostStages stages_;
};

}  // namespace

std::optional<HostShape> FindHostShape(std::span<const std::int32_t> host_of, int rank) {
  const int ranks = static_cast<int>(host_of.size());
  const int places = static_cast<int>(std::ranges::count(host_of, host_of[0]));
  if (places < 2 || places == ranks || ranks % places != 0) return std::nullopt;
  for (int other = 0; other < ranks; ++other) {
    if (host_of[static_cast<std::size_t>(other)] != other / places) return std::nullopt;
  }
  return HostShape{.hosts = ranks / places, .places = places, .host = rank / places, .place = rank % places};
}

bool GoesInStages(const Operation& o, const HostShape& shape) {
  if (o.kind != Kind::kAllReduce && o.kind != Kind::kBroadcast && o.kind != Kind::kReduce &&
      o.kind != Kind::kAllGather && o.kind != Kind::kReduceScatter) {
    return false;
  }
  // Integers are divided once, when all are summed.
  if (Reduces(o.kind) && o.op == ReduceOp::kAvg && IsInteger(o.type)) return false;
  const bool many_blocks = o.kind == Kind::kAllGather || o.kind == Kind::kReduceScatter;
  const std::size_t bytes = BytesOf(o) * static_cast<std::size_t>(many_blocks ? shape.ranks() : 1);
  return bytes >= kLeastBytes && ScratchBytes(o, shape) <= kMostScratchBytes;
}

std::size_t ScratchBytes(const Operation& o, const HostShape& shape) {
  if (o.kind == Kind::kReduceScatter) return BytesOf(o) * static_cast<std::size_t>(shape.hosts);
  if (o.kind != Kind::kReduce) return 0;
  const Shares shares(o, shape);
  return (shares.share + shares.rest) * shares.element;
}

HostStages CutIntoStages(const Operation& o, const HostShape& shape, std::byte* scratch) {
  return Cutter(o, shape, scratch).Cut();
}

std::vector<Operation> AsTransfers(const Operation& o, const HostShape& shape) {
  const bool root = o.root == shape.rank();
  const bool sends_all = o.kind == Kind::kAllToAll || (o.kind == Kind::kScatter && root);
  const bool receives_all = o.kind == Kind::kAllToAll || (o.kind == Kind::kGather && root);
  if (o.kind != Kind::kAllToAll && o.kind != Kind::kScatter && o.kind != Kind::kGather) return {};
  if (BytesOf(o) < kLeastBytesOfPeer) return {};
  const auto transfer = [&](Kind kind, const void* in, void* out, int peer) {
    return Operation{.kind = kind, .in = in, .out = out, .count = o.count, .type = o.type, .root = peer};
  };
  std::vector<Operation> transfers;
  const auto block = [&](int rank) { return static_cast<std::size_t>(rank) * BytesOf(o); };
  // A root's own block may be in its place.
  const bool in_place = root && ((o.kind == Kind::kGather && o.in == At(o.out, block(o.root))) ||
                                 (o.kind == Kind::kScatter && o.out == At(o.in, block(o.root))));
  if (o.kind == Kind::kGather && !in_place) transfers.push_back(transfer(Kind::kSend, o.in, nullptr, o.root));
  if (o.kind == Kind::kScatter && !in_place) transfers.push_back(transfer(Kind::kRecv, nullptr, o.out, o.root));
  for (int rank = 0; rank < shape.ranks(); ++rank) {
    if (in_place && rank == o.root) continue;
    if (sends_all) transfers.push_back(transfer(Kind::kSend, At(o.in, block(rank)), nullptr, rank));
    if (receives_all) transfers.push_back(transfer(Kind::kRecv, nullptr, At(o.out, block(rank)), rank));
  }
  return transfers;
}

}  // namespace tutti::comm
