// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_WRITTEN_BY_OTHERS_H_
#define TUTTI_TESTS_SUPPORT_WRITTEN_BY_OTHERS_H_

// What tests share in which ranks, as processes, write to each other's buffers.

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "sys/os/process.h"
#include "tests/support/child_process.h"
#include "tests/support/rank_processes.h"
#include "tutti/tutti.h"

namespace tutti::tests {

// From now on the kernel refuses this process these system calls: it does as if it had no permission.
inline Status Forbid(std::initializer_list<int> calls) {
  constexpr auto kRefuse = static_cast<std::uint32_t>(SECCOMP_RET_ERRNO) | EPERM;
  std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const int call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, kRefuse));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, static_cast<std::uint32_t>(SECCOMP_RET_ALLOW)));
  const sock_fprog program = {.len = static_cast<unsigned short>(filter.size()), .filter = filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    return Status(Code::kSystem, std::string("no seccomp filter: ") + strerror(errno));
  }
  for (const int call : calls) {
    if (syscall(call, 0, nullptr, 0, nullptr, 0, 0) == 0 || errno != EPERM)
      return Status(Code::kInternal, "system call " + std::to_string(call) + " is still allowed");
  }
  return Status::Ok();
}

inline std::int32_t Value(int rank, std::size_t i) {
  return static_cast<std::int32_t>((i * 7 + i / 61) % 251) + 1000 * rank;
}

inline std::int32_t SumOf(int ranks, std::size_t i) {
  std::int32_t total = 0;
  for (int rank = 0; rank < ranks; ++rank) total += Value(rank, i);
  return total;
}

using Ints = std::span<std::int32_t>;

template <typename Expected>
Status Expect(const char* what, Ints got, Expected&& expected) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected(i)) continue;
    return Status(Code::kInternal, std::string(what) + " of " + std::to_string(got.size()) + ": element " +
                                       std::to_string(i) + " is " + std::to_string(got[i]) + ", must be " +
                                       std::to_string(expected(i)));
  }
  return Status::Ok();
}

inline Result<Ints> AllocateInts(Communicator& c, std::size_t count) {
  const Result<void*> memory = c.AllocateShared(count * sizeof(std::int32_t));
  if (!memory.ok()) return memory.status();
  return Ints(static_cast<std::int32_t*>(*memory), count);
}

// Data go from buffer to buffer wherever the algorithm allows it.
inline Settings ByReference() {
  Settings settings;
  settings.proto = "Simple";
  settings.single_copy = SingleCopy::kForce;
  return settings;
}

// What a rank that stands still tells the others.
struct Meeting {
  std::atomic<std::int32_t> pid;
  std::atomic<std::uint64_t> output;
};

// Rank 0 of two starts an operation on `count` elements and stops. Whether from element `begin` on its output becomes what `expected` says,
// without its help; and then, whether all is well once it goes on. `Memory` allocates input and output, then says what else there is to do.
template <typename Memory, typename Make, typename Expected>
void ExpectWrittenByOthers(const Settings& settings, std::size_t count, std::size_t begin, Make make,
                           Expected expected) {
  auto* const meeting =
      static_cast<Meeting*>(mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(meeting), MAP_FAILED);
  RankProcesses job(2);
  job.Start(
      [&](const CommunicatorOptions& options, Board&) -> Status {
        Result<Communicator> c = Communicator::Create(options);
        if (!c.ok()) return c.status();
        Result<Ints> in = Memory::Allocate(*c, count), out = Memory::Allocate(*c, count);
        if (!in.ok() || !out.ok()) return in.ok() ? out.status() : in.status();
        for (std::size_t i = 0; i < count; ++i) (*in)[i] = Value(c->rank(), i);
        TUTTI_RETURN_IF_ERROR(Memory::Prepare());
        const Operation operation = make(*in, *out);
        if (c->rank() == 1) {
          const auto stands_still = [&] {
            const auto stat = sys::ReadProcessStat(meeting->pid);
            return stat && stat->state == 'T';
          };
          if (!WaitUntil(stands_still)) return Status(Code::kInternal, "rank 0 does not stand still");
          return c->Run(operation);
        }
        Request started = c->Start(operation);
        // Another thread may hold the queue at one moment or another. What has to be sent is on its way in the end.
        for (int look = 0; look < 40; ++look) {
          (void)started.Test();
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        meeting->output = reinterpret_cast<std::uint64_t>(operation.out);
        meeting->pid = getpid();
        raise(SIGSTOP);
        TUTTI_RETURN_IF_ERROR(started.Wait());
        return Expect("the output", Ints(static_cast<std::int32_t*>(operation.out), count), expected);
      },
      settings);
  std::vector<std::int32_t> there(count - begin);
  EXPECT_TRUE(WaitUntil([&] {
    if (meeting->pid == 0) return false;
    const auto* output = reinterpret_cast<const std::int32_t*>(meeting->output.load());
    return sys::ReadProcessMemory(meeting->pid, output + begin, there.data(), there.size() * sizeof(std::int32_t))
               .ok() &&
           Expect("the output", there, [&](std::size_t i) { return expected(begin + i); }).ok();
  }));
  ASSERT_NE(meeting->pid, 0);
  kill(meeting->pid, SIGCONT);
  ASSERT_TRUE(job.Join(std::chrono::minutes(1)));
  for (const int rank : {0, 1}) EXPECT_EQ(job.said(rank), "OK");
  munmap(meeting, sizeof(Meeting));
}

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_WRITTEN_BY_OTHERS_H_
