// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// The machine's own limit on one host: plain copies and folds by as many cores, which meet at the ends of a batch only. The ranks
// are threads, so each reads and writes all others' buffers, as no library for processes can. Every operation's work is divided
// evenly: of each output that is to be written, every rank makes an equal part.
//
//   PEER_RANKS   how many

#include <atomic>
#include <barrier>
#include <thread>

#include "peer.h"

namespace {

using peer::kRoot;
using peer::Op;

// What the threads share.
struct Shared {
  explicit Shared(int ranks) : in(ranks), out(ranks), values(ranks), all(ranks) {}
  std::vector<const float*> in;
  std::vector<float*> out;
  std::vector<double> values;
  std::barrier<> all;
};

Shared* shared = nullptr;
thread_local int own_rank = 0;

// Elements [begin, end) of an operand.
struct Part {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};

class Plain {
 public:
  Plain(int*, char***) {}

  std::string Version() const { return "plain copies and folds"; }
  int rank() const { return own_rank; }
  int ranks() const { return static_cast<int>(shared->in.size()); }
  bool Supports(Op) const { return true; }
  void Barrier() { shared->all.arrive_and_wait(); }
  double Max(double value) {
    shared->values[own_rank] = value;
    Barrier();
    const double largest = *std::max_element(shared->values.begin(), shared->values.end());
    Barrier();
    return largest;
  }

  std::function<void()> Prepare(Op op, const float* in, float* out, std::size_t count) {
    shared->in[own_rank] = in;
    shared->out[own_rank] = out;
    Barrier();
    return [this, op, count] { Run(op, count); };
  }

 private:
  void Run(Op op, std::size_t count) const {
    const Part part = {count * own_rank / ranks(), count * (own_rank + 1) / ranks()};
    switch (op) {
      case Op::kAllReduce:
      case Op::kReduce: {
        float* first = shared->out[kRoot] + part.begin;
        Fold(first, part.begin, part.size());
        for (int to = 0; op == Op::kAllReduce && to < ranks(); ++to) {
          if (to != kRoot) Copy(shared->out[to] + part.begin, first, part.size());
        }
        return;
      }
      case Op::kReduceScatter:
        return Fold(shared->out[own_rank], own_rank * count, count);
      case Op::kSendRecv:
        return Copy(shared->out[own_rank], shared->in[(own_rank + ranks() - 1) % ranks()], count);
      case Op::kAllGather:
      case Op::kAllToAll:
        for (int from = 0; from < ranks(); ++from) {
          const std::size_t begin = op == Op::kAllToAll ? own_rank * count : 0;
          Copy(shared->out[own_rank] + from * count, shared->in[from] + begin, count);
        }
        return;
      case Op::kBroadcast:
      case Op::kGather:
      case Op::kScatter:
        return RunRooted(op, count, part);
    }
  }

  void RunRooted(Op op, std::size_t count, Part part) const {
    for (int other = 0; other < ranks(); ++other) {
      if (op == Op::kBroadcast && other != kRoot) {
        Copy(shared->out[other] + part.begin, shared->out[kRoot] + part.begin, part.size());
      } else if (op == Op::kGather) {
        Copy(shared->out[kRoot] + other * count + part.begin, shared->in[other] + part.begin, part.size());
      } else if (op == Op::kScatter) {
        Copy(shared->out[other] + part.begin, shared->in[kRoot] + other * count + part.begin, part.size());
      }
    }
  }

  static void Copy(float* to, const float* from, std::size_t count) { std::memcpy(to, from, count * sizeof(float)); }

  // The sum of all ranks' inputs from element `begin` on. Two inputs at a time while they are in the cache.
  void Fold(float* __restrict to, std::size_t begin, std::size_t count) const {
    constexpr std::size_t kBlock = 2048;
    for (std::size_t done = 0; done < count; done += kBlock) {
      const std::size_t here = std::min(kBlock, count - done);
      const float* __restrict a = shared->in[0] + begin + done;
      const float* __restrict b = shared->in[ranks() > 1 ? 1 : 0] + begin + done;
      float* __restrict sum = to + done;
      if (ranks() == 1) Copy(sum, a, here);
      for (std::size_t i = 0; i < here && ranks() > 1; ++i) sum[i] = a[i] + b[i];
      for (int rank = 2; rank < ranks(); ++rank) {
        const float* __restrict more = shared->in[rank] + begin + done;
        for (std::size_t i = 0; i < here; ++i) sum[i] += more[i];
      }
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const char* text = std::getenv("PEER_RANKS");
  const int ranks = text == nullptr ? 0 : std::atoi(text);
  if (ranks < 1) {
    std::fprintf(stderr, "plain_peer: PEER_RANKS must say how many ranks there are\n");
    return 2;
  }
  Shared of_all(ranks);
  shared = &of_all;
  std::atomic<int> worst = 0;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        own_rank = rank;
        if (const int status = peer::Main<Plain>(argc, argv); status != 0) worst = status;
      });
    }
  }
  return worst;
}
