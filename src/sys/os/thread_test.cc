// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sys/os/huge_pages.h"
#include "sys/os/mappings.h"
#include "sys/os/thread_stack.h"
#include "tests/support/child_process.h"

namespace tutti::sys {
namespace {

// What a thread sees of itself.
struct Seen {
  std::uint64_t stack_begin = 0, stack_end = 0;  // addresses; without the guard
  bool takes_signals = true;
};

Seen Look() {
  Seen seen;
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return seen;
  pthread_attr_getstack(&attributes, &begin, &bytes);
  pthread_attr_destroy(&attributes);
  seen.stack_begin = reinterpret_cast<std::uintptr_t>(begin);
  seen.stack_end = seen.stack_begin + bytes;
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  seen.takes_signals = sigismember(&mask, SIGTERM) == 0 || sigismember(&mask, SIGINT) == 0;
  return seen;
}

std::uint64_t PageBytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

bool HasWholeHugePages(const Seen& seen) {
  return (seen.stack_begin - PageBytes()) % kHugePageBytes == 0 && seen.stack_end % kHugePageBytes == 0;
}

// Of all mappings of this process those that lie in a range.
std::vector<Mapping> MappingsIn(std::uint64_t begin, std::uint64_t end) {
  std::vector<Mapping> in;
  const Result<std::vector<Mapping>> all = ReadMappings(getpid());
  EXPECT_TRUE(all.ok());
  for (const Mapping& mapping : *all) {
    if (mapping.begin < end && mapping.end > begin) in.push_back(mapping);
  }
  return in;
}

// Threads that wait until they may end.
class Waiting {
 public:
  explicit Waiting(int count) : seen_(static_cast<std::size_t>(count)) {
    for (Seen& seen : seen_) {
      Result<std::unique_ptr<Thread>> thread = StartThread("a test", [this, &seen] {
        seen = Look();
        looked_.fetch_add(1);
        may_end_.wait(false);
      });
      EXPECT_TRUE(thread.ok());
      if (thread.ok()) threads_.push_back(std::move(*thread));
    }
    EXPECT_TRUE(tests::WaitUntil([&] { return looked_.load() == count; }));
  }
  ~Waiting() {
    may_end_ = true;
    may_end_.notify_all();
  }
  const std::vector<Seen>& seen() const { return seen_; }

 private:
  std::vector<Seen> seen_;
  std::atomic<int> looked_ = 0;
  std::atomic<bool> may_end_ = false;
  std::vector<std::unique_ptr<Thread>> threads_;  // end first
};

TEST(Thread, RunsAndIsJoined) {
  std::atomic<bool> ran = false;
  Result<std::unique_ptr<Thread>> thread = StartThread("a test", [&] { ran = true; });
  ASSERT_TRUE(thread.ok());
  thread->reset();
  EXPECT_TRUE(ran);
}

TEST(Thread, TakesNoSignals) {
  const Waiting waiting(1);
  EXPECT_FALSE(waiting.seen()[0].takes_signals);
  sigset_t mask;  // the starter's is as it was
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0);
}

TEST(Thread, StacksAreWholeHugePagesOfAddressesWithAGuard) {
  const Waiting waiting(5);
  for (const Seen& seen : waiting.seen()) {
    EXPECT_TRUE(HasWholeHugePages(seen)) << std::hex << seen.stack_begin << " to " << seen.stack_end;
    const std::vector<Mapping> guard = MappingsIn(seen.stack_begin - PageBytes(), seen.stack_begin);
    ASSERT_EQ(guard.size(), 1u);
    EXPECT_FALSE(guard[0].readable || guard[0].writable);
    const std::vector<Mapping> stack = MappingsIn(seen.stack_begin, seen.stack_end);
    ASSERT_EQ(stack.size(), 1u);
    EXPECT_TRUE(stack[0].readable && stack[0].writable);
  }
}

TEST(Thread, AStackIsGivenBackWhenItsThreadIsJoined) {
  Seen seen;
  {
    const Waiting waiting(1);
    seen = waiting.seen()[0];
  }
  for (const Mapping& mapping : MappingsIn(seen.stack_begin, seen.stack_end))
    EXPECT_FALSE(mapping.begin == seen.stack_begin && mapping.end == seen.stack_end);
}

// Each gives back what those before it had, so that many more than there are places have stacks like that.
TEST(Thread, DetachedOnesGiveTheirStacksBackToo) {
  for (int i = 0; i < 3 * ThreadStack::kMost; ++i) {
    const auto seen = std::make_shared<Seen>();
    const auto number = std::make_shared<std::atomic<std::int32_t>>(0);
    ASSERT_TRUE(StartDetachedThread("a test", [seen, number] {
                  *seen = Look();
                  *number = ThreadId();
                }).ok());
    ASSERT_TRUE(tests::WaitUntil([&] { return *number != 0; }));
    EXPECT_TRUE(HasWholeHugePages(*seen));
    const std::string task = "/proc/self/task/" + std::to_string(*number);
    ASSERT_TRUE(tests::WaitUntil([&] { return access(task.c_str(), F_OK) != 0; }));
  }
}

// What is more than that has stacks of the C library.
TEST(Thread, ThereAreAsManyAsTheSystemGives) {
  const Waiting waiting(ThreadStack::kMost + 5);
  int whole = 0;
  for (const Seen& seen : waiting.seen()) whole += HasWholeHugePages(seen) ? 1 : 0;
  EXPECT_GE(whole, ThreadStack::kMost - 5);  // others run in this process
}

TEST(Thread, AForkedChildStartsItsOwn) {
  const Waiting waiting(3);
  tests::ChildProcess child([&] {
    for (int i = 0; i < 2 * ThreadStack::kMost; ++i) {
      std::atomic<bool> ran = false;
      Result<std::unique_ptr<Thread>> thread = StartThread("a test", [&] { ran = true; });
      if (!thread.ok()) return 1;
      thread->reset();
      if (!ran) return 2;
    }
    return 0;
  });
  EXPECT_EQ(child.Wait(), 0);
}

TEST(Thread, ADetachedOneMayFork) {
  const auto code = std::make_shared<std::atomic<int>>(-1);
  ASSERT_TRUE(StartDetachedThread("a test", [code] {
                tests::ChildProcess child([] {
                  // The child looks for stacks of ended threads: this one's is not among them.
                  const Result<std::unique_ptr<Thread>> thread = StartThread("a test", [] {});
                  return thread.ok() ? 0 : 1;
                });
                *code = child.Wait();
              }).ok());
  ASSERT_TRUE(tests::WaitUntil([&] { return *code != -1; }));
  EXPECT_EQ(*code, 0);
}

}  // namespace
}  // namespace tutti::sys
