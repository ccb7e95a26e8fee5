// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// A rank that takes a communicator of several hosts through its life, by NCCL's interface: several roots, grow, split across and
// within hosts, shrink, revoke, abort.
//
//   life_rank FOLDER HOSTS...   FOLDER: where ids are passed on; HOSTS: the host's number of each rank
//
// TUTTI_RANK says which rank it is. The last one is not there at first, and is grown into the communicator.
// Exit codes: 0 all was as it should be, 1 it was not, and the last line says what.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "nccl.h"
#include "sys/os/clock.h"

namespace tutti::tests {
namespace {

// Ends the program where a sum or an answer is not what it should be.
void Require(bool condition, const std::string& what) {
  if (condition) return;
  fmt::print("{} (last error: {})\n", what, ncclGetLastError(nullptr));
  std::fflush(stdout);
  std::_Exit(1);
}
void Call(ncclResult_t result, const char* call) {
  Require(result == ncclSuccess, fmt::format("{}: {}", call, ncclGetErrorString(result)));
}

class LifeRank {
 public:
  LifeRank(std::string folder, int rank, std::vector<int> host_of)
      : folder_(std::move(folder)),
        rank_(rank),
        ranks_(static_cast<int>(host_of.size())),
        host_of_(std::move(host_of)) {}

  void Live() {
    ncclComm_t all = Grow();
    Add(all, Where([](int) { return true; }), "all");
    SplitByHost(all);
    SplitAcrossHosts(all);
    ncclComm_t fewer = Shrink(all);
    if (fewer != nullptr) Abort(fewer);
    Revoke(all);
  }

 private:
  // The ranks of which something is true.
  template <typename Is>
  std::vector<int> Where(Is&& is) const {
    std::vector<int> list;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (is(rank)) list.push_back(rank);
    }
    return list;
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const ncclUniqueId& id) const {
    std::ofstream(Path(name) + ".part", std::ios::binary).write(id.internal, sizeof(id.internal));
    std::filesystem::rename(Path(name) + ".part", Path(name));
  }
  // Until `is_there` is true, for 20 s at most.
  template <typename IsThere>
  static void Await(IsThere&& is_there, const std::string& what_if_not) {
    const std::int64_t until_ns = sys::NowNs() + 20 * sys::kNsPerSecond;
    while (!is_there()) {
      Require(sys::NowNs() < until_ns, what_if_not);
      sys::SleepNs(5 * sys::kNsPerMs);
    }
  }
  ncclUniqueId Read(const std::string& name) const {
    ncclUniqueId id;
    Await([&] { return !!std::ifstream(Path(name), std::ios::binary).read(id.internal, sizeof(id.internal)); },
          "an id was not written");
    return id;
  }
  // Returns when all ranks have come here, by files: the communicators are what is tested.
  void Meet(const std::string& name, const std::vector<int>& members) const {
    std::ofstream(Path(fmt::format("{}.{}", name, rank_))).close();
    for (const int rank : members) {
      Await([&] { return std::filesystem::exists(Path(fmt::format("{}.{}", name, rank))); },
            fmt::format("rank {} did not come to {}", rank, name));
    }
  }
  // Sums of several lengths over a communicator that has these ranks.
  void Add(ncclComm_t comm, const std::vector<int>& members, const std::string& which) const {
    for (const std::size_t count : {std::size_t{1}, std::size_t{777}, std::size_t{200'003}}) {
      std::vector<std::int64_t> mine(count), sum(count);
      for (std::size_t i = 0; i < count; ++i) mine[i] = (rank_ + 1) * static_cast<std::int64_t>(i % 97 + 1);
      Call(ncclAllReduce(mine.data(), sum.data(), count, ncclInt64, ncclSum, comm, nullptr), "ncclAllReduce");
      Call(ncclTuttiSynchronize(comm), "ncclTuttiSynchronize");
      std::int64_t factor = 0;
      for (const int rank : members) factor += rank + 1;
      for (std::size_t i = 0; i < count; ++i) {
        Require(sum[i] == factor * static_cast<std::int64_t>(i % 97 + 1),
                fmt::format("{}: element {} of {} is wrong: {}", which, i, count, sum[i]));
      }
    }
  }

  // All but the last rank meet by two ids, made by the first and the last of them; then the last rank of all joins.
  ncclComm_t Grow() const {
    const int before = ranks_ - 1;
    ncclComm_t old = nullptr, grown = nullptr;
    if (rank_ == before) {
      const ncclUniqueId id = Read("grow");
      Call(ncclCommGrow(nullptr, ranks_, &id, rank_, &grown, nullptr), "ncclCommGrow of a new rank");
      return grown;
    }
    for (const auto& [maker, name] : {std::pair{0, "first"}, std::pair{before - 1, "second"}}) {
      if (rank_ != maker) continue;
      ncclUniqueId id;
      Call(ncclGetUniqueId(&id), "ncclGetUniqueId");
      Write(name, id);
    }
    ncclUniqueId ids[2] = {Read("first"), Read("second")};
    Call(ncclCommInitRankScalable(&old, before, rank_, 2, ids, nullptr), "ncclCommInitRankScalable");
    Add(old, Where([&](int rank) { return rank < before; }), "before it grew");
    ncclUniqueId id;
    if (rank_ == 0) {
      Call(ncclCommGetUniqueId(old, &id), "ncclCommGetUniqueId");
      Write("grow", id);
    }
    Call(ncclCommGrow(old, ranks_, rank_ == 0 ? &id : nullptr, -1, &grown, nullptr), "ncclCommGrow");
    Call(ncclCommDestroy(old), "ncclCommDestroy");
    return grown;
  }

  void SplitByHost(ncclComm_t all) const {
    const int own = host_of_[static_cast<std::size_t>(rank_)];
    ncclComm_t part = nullptr;
    Call(ncclCommSplit(all, own, rank_, &part, nullptr), "ncclCommSplit by host");
    Add(part, Where([&](int rank) { return host_of_[static_cast<std::size_t>(rank)] == own; }), "a host");
    Call(ncclCommDestroy(part), "ncclCommDestroy");
  }
  // Even and odd ranks, in the opposite order.
  void SplitAcrossHosts(ncclComm_t all) const {
    ncclComm_t part = nullptr;
    Call(ncclCommSplit(all, rank_ % 2, -rank_, &part, nullptr), "ncclCommSplit across hosts");
    Add(part, Where([&](int rank) { return rank % 2 == rank_ % 2; }), "even or odd");
    Call(ncclCommDestroy(part), "ncclCommDestroy");
  }
  // Without rank 1. NULL on that one.
  ncclComm_t Shrink(ncclComm_t all) const {
    int leaves = 1;
    if (rank_ == leaves) return nullptr;
    ncclComm_t fewer = nullptr;
    Call(ncclCommShrink(all, &leaves, 1, &fewer, nullptr, NCCL_SHRINK_DEFAULT), "ncclCommShrink");
    Add(fewer, Where([&](int rank) { return rank != leaves; }), "without rank 1");
    return fewer;
  }
  // Its rank 0 aborts it, while the others wait for a sum.
  void Abort(ncclComm_t comm) const {
    Meet("abort", Where([](int rank) { return rank != 1; }));
    if (rank_ == 0) {
      sys::SleepNs(100 * sys::kNsPerMs);
      return Call(ncclCommAbort(comm), "ncclCommAbort");
    }
    std::vector<float> in(70'000, 1), out(70'000);
    ncclResult_t result = ncclAllReduce(in.data(), out.data(), in.size(), ncclFloat, ncclSum, comm, nullptr);
    if (result == ncclSuccess) result = ncclTuttiSynchronize(comm);
    const std::string said = ncclGetLastError(nullptr);
    Require(result != ncclSuccess, "a sum with a rank that has aborted came to be");
    Require(said.find("rank 0") != said.npos && said.find("abort") != said.npos, "the abort was not named");
    Call(ncclCommAbort(comm), "ncclCommAbort after it");
  }
  // The last rank revokes, while the others wait; what can be made of a revoked one still works.
  void Revoke(ncclComm_t all) const {
    Meet("revoke", Where([](int) { return true; }));
    if (rank_ == ranks_ - 1) {
      sys::SleepNs(100 * sys::kNsPerMs);
      Call(ncclCommRevoke(all, NCCL_REVOKE_DEFAULT), "ncclCommRevoke");
    } else {
      std::vector<float> in(70'000, 1), out(70'000);
      ncclResult_t result = ncclAllReduce(in.data(), out.data(), in.size(), ncclFloat, ncclSum, all, nullptr);
      if (result == ncclSuccess) result = ncclTuttiSynchronize(all);
      const std::string said = ncclGetLastError(nullptr);
      Require(result != ncclSuccess, "a sum with a rank that has revoked came to be");
      Require(said.find(fmt::format("rank {}", ranks_ - 1)) != said.npos && said.find("revoked") != said.npos,
              "the revoke was not named");
    }
    ncclComm_t again = nullptr;
    int leaves = 0;
    if (rank_ != leaves) {
      Call(ncclCommShrink(all, &leaves, 1, &again, nullptr, NCCL_SHRINK_ABORT), "ncclCommShrink of a revoked one");
      Add(again, Where([&](int rank) { return rank != leaves; }), "after the revoke");
      Call(ncclCommDestroy(again), "ncclCommDestroy");
    }
    Call(ncclCommDestroy(all), "ncclCommDestroy");
  }

  const std::string folder_;
  const int rank_, ranks_;
  const std::vector<int> host_of_;
};

}  // namespace
}  // namespace tutti::tests

int main(int argc, char** argv) {
  std::vector<int> host_of;
  for (int i = 2; i < argc; ++i) host_of.push_back(std::atoi(argv[i]));
  const int rank = std::atoi(std::getenv("TUTTI_RANK"));
  tutti::tests::LifeRank(argv[1], rank, host_of).Live();
  fmt::print("rank {}: all is right\n", rank);
  return 0;
}
