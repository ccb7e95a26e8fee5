// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// A rank for the tests of several hosts: makes a communicator, runs an all_reduce, and says how that went.
//
//   host_rank                 who it is stands in TUTTI_RANK, TUTTI_RANKS and TUTTI_ID, as `tutti run` sets them
//   host_rank FILE            the same without TUTTI_ID: rank 0 makes the id and writes it to the file, the others read it
//   host_rank FILE STOP       the same, and then one all_reduce after the other until rank 0 sees the file STOP; says "going" soon
//                             after the beginning, and at the end how many there were
//   host_rank --until STOP    as FILE STOP, with an id from the environment; a rank that has TUTTI_TEST_LATE_MS comes so much
//                             later to a large sum after "going" (FILE STOP, too)
//   host_rank --make-id FILE  no rank: makes the id, writes it to the file, and waits until it is killed
//   host_rank --twice         as without words, and a second communicator after the first
//   host_rank --two-ids FILE  by NCCL's interface: the first and the last rank make an id each, and all pass both
//   host_rank --job-id        by NCCL's interface, with the job's id (TUTTI_UNIQUE_ID=job); RANK and WORLD_SIZE say who it is
//
// By NCCL's interface ranks also split into those of even and of odd number.
//
// Exit codes: 0 the sums are right, 1 they are not, or the ranks did not come together.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "nccl.h"
#include "sys/os/clock.h"
#include "tutti/tutti.h"

namespace tutti::tests {
namespace {

Status MakeId(const std::string& path) {
  const Result<UniqueId> id = CreateUniqueId();
  if (!id.ok()) return id.status();
  std::ofstream(path + ".part") << id->ToHex() << '\n';
  std::filesystem::rename(path + ".part", path);  // so that nobody reads half of it
  setenv("TUTTI_ID", id->ToHex().c_str(), 1);
  return Status::Ok();
}

Status AwaitId(const std::string& path) {
  const std::int64_t until_ns = sys::NowNs() + 30 * sys::kNsPerSecond;
  std::string hex;
  while (!std::getline(std::ifstream(path), hex)) {
    if (sys::NowNs() > until_ns) return Status(Code::kTimeout, "rank 0 has written no id");
    sys::SleepNs(5 * sys::kNsPerMs);
  }
  setenv("TUTTI_ID", hex.c_str(), 1);
  return Status::Ok();
}

// Sums that differ from round to round, and from element to element.
Status AddUp(Communicator& world, std::size_t count, std::size_t round) {
  std::vector<float> mine(count), sum(count);
  const auto factor = [&](std::size_t i) { return static_cast<float>((i + round) % 61 + 1); };
  for (std::size_t i = 0; i < count; ++i) mine[i] = static_cast<float>(world.rank() + 1) * factor(i);
  TUTTI_RETURN_IF_ERROR(world.Run(AllReduce(mine, sum)));
  const auto ranks = static_cast<float>(world.ranks() * (world.ranks() + 1) / 2);
  for (std::size_t i = 0; i < count; ++i) {
    if (sum[i] == ranks * factor(i)) continue;
    return Status(Code::kInternal,
                  fmt::format("round {}, element {}: {} is not {}", round, i, sum[i], ranks * factor(i)));
  }
  return Status::Ok();
}

Status AddUpUntil(const std::string& stop) {
  Result<Communicator> world = Communicator::FromEnvironment();
  if (!world.ok()) return world.status();
  constexpr std::size_t kCounts[] = {1, 1000, 33333, std::size_t{1} << 18, std::size_t{1} << 20};
  std::vector<int> ends(1);
  std::size_t round = 0;
  const char* const late_ms = std::getenv("TUTTI_TEST_LATE_MS");
  constexpr std::size_t kGoing = 2 * std::size(kCounts);
  for (; ends[0] == 0; ++round) {
    if (round == kGoing + std::size(kCounts) - 1 && late_ms != nullptr) {
      sys::SleepNs(std::atoi(late_ms) * sys::kNsPerMs);
    }
    TUTTI_RETURN_IF_ERROR(AddUp(*world, kCounts[round % std::size(kCounts)], round));
    const std::vector<int> mine(1, world->rank() == 0 && std::filesystem::exists(stop) ? 1 : 0);
    TUTTI_RETURN_IF_ERROR(world->Run(AllReduce(mine, ends)));
    if (round == kGoing) {
      fmt::print("going\n");
      std::fflush(stdout);
    }
  }
  fmt::print("{} rounds\n", round);
  return Status::Ok();
}

Status AddUp() {
  Result<Communicator> world = Communicator::FromEnvironment();
  if (!world.ok()) return world.status();
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 18}) {
    const std::vector<float> mine(count, static_cast<float>(world->rank() + 1));
    std::vector<float> sum(count);
    TUTTI_RETURN_IF_ERROR(world->Run(AllReduce(mine, sum)));
    const auto expected = static_cast<float>(world->ranks() * (world->ranks() + 1) / 2);
    for (const float value : sum) {
      if (value != expected) return Status(Code::kInternal, fmt::format("{} is not {}", value, expected));
    }
  }
  return Status::Ok();
}

std::string NcclError(const char* call) { return fmt::format("{}: {}", call, ncclGetLastError(nullptr)); }

// An id as a file that all can read.
Status WriteNcclId(const std::string& path) {
  ncclUniqueId id;
  if (ncclGetUniqueId(&id) != ncclSuccess) return Status(Code::kInternal, NcclError("ncclGetUniqueId"));
  std::ofstream(path + ".part", std::ios::binary).write(id.internal, sizeof(id.internal));
  std::filesystem::rename(path + ".part", path);
  return Status::Ok();
}

// Adds up the numbers of the ranks that have the same parity as `from`, or of all where step is 1; ends the communicator.
Status AddUp(ncclComm_t comm, int rank, int from, int step, int ranks) {
  int sum = -1, expected = 0;
  for (int other = from; other < ranks; other += step) expected += other;
  if (ncclAllReduce(&rank, &sum, 1, ncclInt, ncclSum, comm, nullptr) != ncclSuccess) {
    return Status(Code::kInternal, NcclError("ncclAllReduce"));
  }
  if (ncclCommDestroy(comm) != ncclSuccess) return Status(Code::kInternal, NcclError("ncclCommDestroy"));
  if (sum == expected) return Status::Ok();
  return Status(Code::kInternal, fmt::format("the sum is {} and not {}", sum, expected));
}

Status AddUpAndSplit(ncclComm_t comm, int rank, int ranks) {
  ncclComm_t part = nullptr;
  if (ncclCommSplit(comm, rank % 2, rank, &part, nullptr) != ncclSuccess) {
    return Status(Code::kInternal, NcclError("ncclCommSplit"));
  }
  TUTTI_RETURN_IF_ERROR(AddUp(part, rank, rank % 2, 2, ranks));
  return AddUp(comm, rank, 0, 1, ranks);
}

Status AddUpWithTwoIds(const std::string& path, int rank, int ranks) {
  const std::string paths[] = {path + ".0", path + ".1"};
  if (rank == 0) TUTTI_RETURN_IF_ERROR(WriteNcclId(paths[0]));
  if (rank == ranks - 1) TUTTI_RETURN_IF_ERROR(WriteNcclId(paths[1]));
  ncclUniqueId ids[2];
  const std::int64_t until_ns = sys::NowNs() + 30 * sys::kNsPerSecond;
  for (int i = 0; i < 2; ++i) {
    while (!std::ifstream(paths[i], std::ios::binary).read(ids[i].internal, sizeof(ids[i].internal))) {
      if (sys::NowNs() > until_ns) return Status(Code::kTimeout, "an id was not written");
      sys::SleepNs(5 * sys::kNsPerMs);
    }
  }
  ncclComm_t comm = nullptr;
  if (ncclCommInitRankScalable(&comm, ranks, rank, 2, ids, nullptr) != ncclSuccess) {
    return Status(Code::kInternal, NcclError("ncclCommInitRankScalable"));
  }
  return AddUpAndSplit(comm, rank, ranks);
}

Status AddUpWithTheJobsId(int rank, int ranks) {
  setenv("TUTTI_UNIQUE_ID", "job", 1);
  ncclUniqueId id;
  if (ncclGetUniqueId(&id) != ncclSuccess) return Status(Code::kInternal, NcclError("ncclGetUniqueId"));
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) {
    return Status(Code::kInternal, NcclError("ncclCommInitRank"));
  }
  return AddUpAndSplit(comm, rank, ranks);
}

int Main(int argc, char** argv) {
  const char* rank = std::getenv("TUTTI_RANK");
  const std::string_view rank_text = rank != nullptr ? rank : "none";
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word == "--two-ids" || word == "--job-id") {
    const bool job = word == "--job-id";
    const int own = std::atoi(std::getenv(job ? "RANK" : "TUTTI_RANK"));
    const int ranks = std::atoi(std::getenv(job ? "WORLD_SIZE" : "TUTTI_RANKS"));
    const Status summed = job ? AddUpWithTheJobsId(own, ranks) : AddUpWithTwoIds(argv[2], own, ranks);
    fmt::print("rank {}: {}\n", own, summed.ok() ? "the sums are right" : summed.ToString());
    return summed.ok() ? 0 : 1;
  }
  if (argc == 3 && std::string_view(argv[1]) == "--make-id") {
    const Status made = MakeId(argv[2]);
    fmt::print("id: {}\n", made.ToString());
    std::fflush(stdout);
    while (made.ok()) pause();
    return 1;
  }
  if (argc == 3 && word == "--until") {
    const Status summed = AddUpUntil(argv[2]);
    fmt::print("rank {}: {}\n", rank_text, summed.ok() ? "the sums are right" : summed.ToString());
    return summed.ok() ? 0 : 1;
  }
  const bool twice = word == "--twice";
  Status status;
  if (argc >= 2 && !twice) status = rank_text == "0" ? MakeId(argv[1]) : AwaitId(argv[1]);
  if (status.ok()) status = argc == 3 ? AddUpUntil(argv[2]) : AddUp();
  if (status.ok() && twice) status = AddUp();
  fmt::print("rank {}: {}\n", rank_text, status.ok() ? "the sums are right" : status.ToString());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace tutti::tests

int main(int argc, char** argv) { return tutti::tests::Main(argc, argv); }
