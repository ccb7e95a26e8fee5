// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Calls that do not match between ranks: every rank must end in an error that quotes both calls, within a second; and
// programs whose calls match, however late some ranks are, must never see it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tutti/tutti.h"

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxRanks = 4;
// What a user is promised is a second; sanitizers and a busy machine get some more before a test fails.
constexpr std::int64_t kSoonMs = 5000;
constexpr std::int64_t kGiveUpMs = 20000;
// For 500000 elements of 4 bytes, and 100001 of each of 4 ranks.
constexpr std::size_t kBufferBytes = 2100000;

struct Outcome {
  char said[1024];  // "OK", or the first error
  Code code;
  std::int64_t ms;  // from the call that does not match to the error
};

// A page that the test and all its ranks share.
struct Board {
  std::atomic<int> ready;
  Outcome outcomes[kMaxRanks];
};

using Body = std::function<Status(Communicator&, std::atomic<int>& ready, Clock::time_point& begin)>;

void RunRank(const Body& body, int rank, int ranks, const UniqueId& id, const Settings& settings, Board& board) {
  Clock::time_point begin = Clock::now();
  Result<Communicator> c = Communicator::Create({.rank = rank, .ranks = ranks, .id = id, .settings = settings});
  const Status s = c.ok() ? body(*c, board.ready, begin) : c.status();
  Outcome& outcome = board.outcomes[rank];
  snprintf(outcome.said, sizeof(outcome.said), "%s", s.ToString().c_str());
  outcome.code = s.code();
  outcome.ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
}

enum class As { kThreads, kProcesses };

std::vector<Outcome> RunAll(As as, int ranks, const Settings& settings, const Body& body) {
  void* page = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Board* board = new (page) Board{};
  const UniqueId id = *CreateUniqueId();
  if (as == As::kThreads) {
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r) threads.emplace_back([&, r] { RunRank(body, r, ranks, id, settings, *board); });
    for (std::thread& thread : threads) thread.join();
  } else {
    std::vector<pid_t> children;
    for (int r = 0; r < ranks; ++r) {
      const pid_t pid = fork();
      if (pid == 0) {
        RunRank(body, r, ranks, id, settings, *board);
        _exit(0);
      }
      children.push_back(pid);
    }
    const auto deadline = Clock::now() + std::chrono::milliseconds(2 * kGiveUpMs);
    for (const pid_t pid : children) {
      while (waitpid(pid, nullptr, WNOHANG) == 0) {
        if (Clock::now() > deadline) kill(pid, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }
  std::vector<Outcome> outcomes(board->outcomes, board->outcomes + ranks);
  munmap(page, sizeof(Board));
  return outcomes;
}

// Buffers of one rank, large enough for every operation in these tests.
struct Buffers {
  explicit Buffers(std::size_t bytes) : in(bytes, std::byte{1}), out(bytes) {}
  std::vector<std::byte> in, out;
  Operation With(Operation o) {
    o.in = in.data();
    o.out = out.data();
    if (o.kind == Collective::kBroadcast) o.in = o.out = out.data();
    return o;
  }
};

// What each rank calls, one list per rank; afterwards all call all_reduces until one fails.
struct Scenario {
  const char* name;
  std::function<std::vector<Operation>(int rank, int ranks, std::size_t count)> calls;
  // What every rank's error must contain.
  std::vector<std::string> quotes(int ranks, std::size_t count) const {
    std::vector<std::string> all;
    for (const char* q : must_say) {
      std::string text = q;
      for (const auto& [name, value] : {std::pair<std::string, std::size_t>{"$n", count},
                                        {"$m", count + 1},
                                        {"$l", static_cast<std::size_t>(ranks) - 1}}) {
        for (std::size_t at; (at = text.find(name)) != std::string::npos;) {
          text.replace(at, name.size(), std::to_string(value));
        }
      }
      all.push_back(text);
    }
    return all;
  }
  std::vector<const char*> must_say;
};

Operation Make(Collective kind, std::size_t count, int root = 0, DataType type = DataType::kFloat32,
               ReduceOp op = ReduceOp::kSum) {
  return {.kind = kind, .count = count, .type = type, .op = op, .root = root};
}

// The last rank is the odd one. Every rank has made three matching calls before, so this is operation 4. Any other rank may
// be quoted against it: on a busy machine some have not called yet when the first two calls are compared.
const Scenario kCollectives[] = {
    {"function",
     [](int r, int n, std::size_t count) {
       return std::vector{Make(r == n - 1 ? Collective::kAllGather : Collective::kAllReduce, count)};
     },
     {"rank $l called all_gather(count $n, float32) as its operation 4 where rank ",
      " called all_reduce(count $n, float32, sum);"}},
    {"function_one_way",
     [](int r, int n, std::size_t count) {
       return std::vector{Make(r == n - 1 ? Collective::kAllReduce : Collective::kBroadcast, count)};
     },
     {"rank $l called all_reduce(count $n, float32, sum) as its operation 4", "broadcast(count $n, float32, root 0)"}},
    {"count",
     [](int r, int n, std::size_t count) {
       return std::vector{Make(Collective::kAllReduce, r == n - 1 ? count + 1 : count)};
     },
     {"rank $l called all_reduce(count $m, float32, sum) as its operation 4 where rank ",
      " called all_reduce(count $n, float32, sum);"}},
    {"count_far",
     [](int r, int n, std::size_t count) {
       return std::vector{Make(Collective::kBroadcast, r == n - 1 ? count : 500000)};
     },
     {"broadcast(count $n, float32, root 0)", "broadcast(count 500000, float32, root 0)"}},
    {"count_zero",
     [](int r, int n, std::size_t count) { return std::vector{Make(Collective::kAllReduce, r == n - 1 ? 0 : count)}; },
     {"rank $l called all_reduce(count 0, float32, sum) as its operation 4", "all_reduce(count $n, float32, sum)"}},
    {"type",
     [](int r, int n, std::size_t count) {
       return std::vector{Make(Collective::kAllReduce, count, 0, r == n - 1 ? DataType::kInt32 : DataType::kFloat32)};
     },
     {"all_reduce(count $n, int32, sum)", "all_reduce(count $n, float32, sum)"}},
    {"operator",
     [](int r, int n, std::size_t count) {
       return std::vector{Make(Collective::kReduceScatter, count, 0, DataType::kFloat32,
                               r == n - 1 ? ReduceOp::kMax : ReduceOp::kSum)};
     },
     {"reduce_scatter(count $n, float32, max)", "reduce_scatter(count $n, float32, sum)"}},
    {"root",
     [](int r, int n, std::size_t count) {
       return std::vector{Make(Collective::kReduce, count, r == n - 1 ? n - 1 : 0)};
     },
     {"reduce(count $n, float32, sum, root $l)", "reduce(count $n, float32, sum, root 0)"}},
    {"both_are_roots",
     [](int r, int n, std::size_t count) {
       return std::vector{Make(Collective::kBroadcast, count, r == n - 1 ? n - 1 : 0)};
     },
     {"broadcast(count $n, float32, root $l)", "broadcast(count $n, float32, root 0)"}},
    {"order",
     [](int r, int n, std::size_t count) {
       std::vector<Operation> calls = {Make(Collective::kAllReduce, count), Make(Collective::kAllGather, count)};
       if (r == n - 1) std::swap(calls[0], calls[1]);
       return calls;
     },
     {"rank $l called all_gather(count $n, float32) as its operation 4 where rank ",
      " called all_reduce(count $n, float32, sum);"}},
    // Small and large one after the other travel in different rings, which would deliver them in either order.
    {"order_of_protocols",
     [](int r, int n, std::size_t) {
       std::vector<Operation> calls = {Make(Collective::kBroadcast, 2), Make(Collective::kBroadcast, 50000)};
       if (r == n - 1) std::swap(calls[0], calls[1]);
       return calls;
     },
     {"broadcast(count 2, float32, root 0)", "broadcast(count 50000, float32, root 0)"}},
    {"skipped",
     [](int r, int n, std::size_t count) {
       std::vector<Operation> calls = {Make(Collective::kAllReduce, count), Make(Collective::kScatter, count, 1),
                                       Make(Collective::kAllToAll, count)};
       if (r == n - 1) calls.erase(calls.begin() + 1);
       return calls;
     },
     {"rank $l called all_to_all(count $n, float32) as its operation 5 where rank ",
      " called scatter(count $n, float32, root 1);"}},
    {"barrier",
     [](int r, int n, std::size_t count) {
       return std::vector{Make(r == n - 1 ? Collective::kBarrier : Collective::kGather, count)};
     },
     {"rank $l called barrier() as its operation 4", "gather(count $n, float32, root 0)"}},
};

struct Way {
  const char* name;
  const char* proto;
  SingleCopy single_copy;
};
constexpr Way kWays[] = {{"default", "", SingleCopy::kAuto},
                         {"LL", "LL", SingleCopy::kOff},
                         {"LL128", "LL128", SingleCopy::kOff},
                         {"Simple", "Simple", SingleCopy::kOff},
                         {"by reference", "Simple", SingleCopy::kForce}};

Body BodyOf(const Scenario& scenario, std::size_t count) {
  return [&scenario, count](Communicator& c, std::atomic<int>& ready, Clock::time_point& begin) -> Status {
    Buffers buffers(kBufferBytes);
    for (int i = 0; i < 3; ++i) TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kAllReduce, 10))));
    ++ready;
    while (ready < c.ranks()) std::this_thread::yield();
    begin = Clock::now();
    for (const Operation& o : scenario.calls(c.rank(), c.ranks(), count)) {
      TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(o)));
    }
    while (Clock::now() - begin < std::chrono::milliseconds(kGiveUpMs)) {
      TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kAllReduce, 10))));
    }
    return Status::Ok();
  };
}

std::int64_t g_slowest_ms = 0;

// Which of the ranks that agree is quoted depends on who had called when it was found: let it be rank 0.
std::string WithRankZeroQuoted(std::string said) {
  const std::string before = " where rank ";
  const std::size_t at = said.find(before);
  if (at != std::string::npos) said.replace(at + before.size(), 1, "0");
  return said;
}

void Expect(const std::vector<Outcome>& outcomes, const std::vector<std::string>& quotes) {
  for (std::size_t r = 0; r < outcomes.size(); ++r) {
    EXPECT_EQ(outcomes[r].code, Code::kInvalidUsage) << "rank " << r << ": " << outcomes[r].said;
    const std::string said = WithRankZeroQuoted(outcomes[r].said);
    for (const std::string& quote : quotes) {
      EXPECT_TRUE(said.find(quote) != std::string::npos ||
                  std::string(outcomes[r].said).find(quote) != std::string::npos)
          << "rank " << r << " does not say: " << quote << "\nbut: " << outcomes[r].said;
    }
    EXPECT_LT(outcomes[r].ms, kSoonMs) << "rank " << r;
    g_slowest_ms = std::max(g_slowest_ms, outcomes[r].ms);
  }
}

struct Param {
  As as;
  int ranks;
};

class Mismatch : public testing::TestWithParam<Param> {
 protected:
  ~Mismatch() override { RecordProperty("slowest_ms", static_cast<int>(g_slowest_ms)); }
};

TEST_P(Mismatch, OfCollectivesEndsOnAllRanksAndQuotesBoth) {
  for (const Scenario& scenario : kCollectives) {
    for (const Way& way : kWays) {
      // One message, and many chunks.
      for (const std::size_t count : {std::size_t{4}, std::size_t{100000}}) {
        SCOPED_TRACE(testing::Message() << scenario.name << ", " << way.name << ", count " << count);
        Settings settings;
        settings.proto = way.proto;
        settings.single_copy = way.single_copy;
        settings.timeout_ms = kGiveUpMs;
        Expect(RunAll(GetParam().as, GetParam().ranks, settings, BodyOf(scenario, count)),
               scenario.quotes(GetParam().ranks, count));
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(As, Mismatch,
                         testing::Values(Param{As::kThreads, 2}, Param{As::kThreads, 3}, Param{As::kThreads, 4},
                                         Param{As::kProcesses, 2}, Param{As::kProcesses, 4}),
                         [](const auto& test) {
                           return (test.param.as == As::kThreads ? "Threads" : "Processes") +
                                  std::to_string(test.param.ranks);
                         });

// ---- Sends and receives

struct Pairing {
  const char* name;
  std::function<std::vector<Operation>(int rank)> calls;  // of ranks 0 and 1; the others only wait in all_reduces
  std::vector<const char*> must_say;
};

const Pairing kPairings[] = {
    {"small sizes",
     [](int r) { return std::vector{Make(r == 0 ? Collective::kSend : Collective::kRecv, r == 0 ? 4 : 5, 1 - r)}; },
     {"send(count 4, float32, to rank 1)", "recv(count 5, float32, from rank 0)"}},
    {"a small send to a large receive",
     [](int r) {
       return std::vector{Make(r == 0 ? Collective::kSend : Collective::kRecv, r == 0 ? 4 : 400000, 1 - r)};
     },
     {"send(count 4, float32, to rank 1)", "recv(count 400000, float32, from rank 0)"}},
    {"a large send to a small receive",
     [](int r) {
       return std::vector{Make(r == 0 ? Collective::kSend : Collective::kRecv, r == 0 ? 400000 : 4, 1 - r)};
     },
     {"send(count 400000, float32, to rank 1)", "recv(count 4, float32, from rank 0)"}},
    {"nothing sent",
     [](int r) { return std::vector{Make(r == 0 ? Collective::kSend : Collective::kRecv, r == 0 ? 0 : 4, 1 - r)}; },
     {"send(count 0, float32, to rank 1)", "recv(count 4, float32, from rank 0)"}},
    {"order",
     [](int r) {
       std::vector calls = {Make(r == 0 ? Collective::kSend : Collective::kRecv, 4, 1 - r),
                            Make(r == 0 ? Collective::kSend : Collective::kRecv, 50000, 1 - r)};
       if (r == 0) std::swap(calls[0], calls[1]);
       return calls;
     },
     {"send(count 50000, float32, to rank 1)", "recv(count 4, float32, from rank 0)"}},
    {"a receive against a collective",
     [](int r) { return std::vector{r == 0 ? Make(Collective::kRecv, 4, 1) : Make(Collective::kAllReduce, 4)}; },
     {"recv(count 4, float32, from rank 1)", "all_reduce(count 4, float32, sum)"}},
    {"a large send against a collective",
     [](int r) { return std::vector{r == 0 ? Make(Collective::kSend, 400000, 1) : Make(Collective::kAllReduce, 4)}; },
     {"send(count 400000, float32, to rank 1)", "all_reduce(count 4, float32, sum)"}},
};

class Pairs : public testing::TestWithParam<Param> {};

TEST_P(Pairs, ThatDoNotMatchEndOnAllRanksAndQuoteBoth) {
  for (const Pairing& pairing : kPairings) {
    for (const Way& way : kWays) {
      SCOPED_TRACE(testing::Message() << pairing.name << ", " << way.name);
      Settings settings;
      settings.proto = way.proto;
      settings.single_copy = way.single_copy;
      settings.timeout_ms = kGiveUpMs;
      const Body body = [&](Communicator& c, std::atomic<int>& ready, Clock::time_point& begin) -> Status {
        Buffers buffers(kBufferBytes);
        TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kAllReduce, 10))));
        ++ready;
        while (ready < c.ranks()) std::this_thread::yield();
        begin = Clock::now();
        if (c.rank() < 2) {
          for (const Operation& o : pairing.calls(c.rank())) TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(o)));
        }
        // One that matches, in the case that all went through so far.
        while (Clock::now() - begin < std::chrono::milliseconds(kGiveUpMs)) {
          TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kAllReduce, 4))));
        }
        return Status::Ok();
      };
      Expect(RunAll(GetParam().as, GetParam().ranks, settings, body),
             {pairing.must_say.begin(), pairing.must_say.end()});
      if (HasFailure()) return;
    }
  }
}

// In one group with others that match.
TEST_P(Pairs, OneOfAGroup) {
  const Body body = [&](Communicator& c, std::atomic<int>&, Clock::time_point& begin) -> Status {
    Buffers buffers(kBufferBytes);
    TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kAllReduce, 10))));
    begin = Clock::now();
    const int n = c.ranks(), r = c.rank();
    std::vector<std::vector<std::byte>> in(n), out(n);
    std::vector<Operation> group;
    for (int p = 0; p < n; ++p) {
      in[p].resize(8000), out[p].resize(8000);
      Operation send = Make(Collective::kSend, 2000, p),
                receive = Make(Collective::kRecv, r == n - 1 && p == 0 ? 1999 : 2000, p);
      send.in = in[p].data();
      receive.out = out[p].data();
      group.push_back(send);
      group.push_back(receive);
    }
    TUTTI_RETURN_IF_ERROR(c.RunGroup(group));
    while (Clock::now() - begin < std::chrono::milliseconds(kGiveUpMs)) {
      TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kAllReduce, 4))));
    }
    return Status::Ok();
  };
  Settings settings;
  settings.timeout_ms = kGiveUpMs;
  const int last = GetParam().ranks - 1;
  Expect(RunAll(GetParam().as, GetParam().ranks, settings, body),
         {"send(count 2000, float32, to rank " + std::to_string(last) + ")", "recv(count 1999, float32, from rank 0)"});
}

// Requests that are only asked for, never waited for.
TEST_P(Pairs, RequestsThatArePolledEndToo) {
  const Body body = [&](Communicator& c, std::atomic<int>&, Clock::time_point& begin) -> Status {
    Buffers buffers(1 << 20);
    TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kAllReduce, 10))));
    begin = Clock::now();
    Request request = c.Start(buffers.With(Make(Collective::kAllReduce, c.rank() == 0 ? 20000 : 10000)));
    while (Clock::now() - begin < std::chrono::milliseconds(kGiveUpMs)) {
      if (const Status s = request.Test(); s.code() != Code::kInProgress) return s;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return Status::Ok();
  };
  Expect(RunAll(GetParam().as, GetParam().ranks, {}, body),
         {"all_reduce(count 20000, float32, sum)", "all_reduce(count 10000, float32, sum)"});
}
INSTANTIATE_TEST_SUITE_P(As, Pairs,
                         testing::Values(Param{As::kThreads, 2}, Param{As::kThreads, 3}, Param{As::kProcesses, 2},
                                         Param{As::kProcesses, 4}),
                         [](const auto& test) {
                           return (test.param.as == As::kThreads ? "Threads" : "Processes") +
                                  std::to_string(test.param.ranks);
                         });

// ---- No false alarms

// Ranks that are late by more than it takes to find a mismatch, in collectives and in sends and receives, while the
// others have gone ahead as far as they can. All ways at the same time: ranks sleep for most of it.
TEST(NoMismatch, WhereRanksAreLate) {
  std::vector<pid_t> children;
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    Settings settings;
    settings.proto = way.proto;
    settings.single_copy = way.single_copy;
    settings.timeout_ms = kGiveUpMs;
    const Body body = [&](Communicator& c, std::atomic<int>&, Clock::time_point&) -> Status {
      const int n = c.ranks(), r = c.rank();
      Buffers buffers(50000 * sizeof(double) * n);
      for (int late = 0; late < n; ++late) {
        if (r == late) std::this_thread::sleep_for(std::chrono::milliseconds(400));
        for (const std::size_t count : {std::size_t{1}, std::size_t{0}, std::size_t{900}, std::size_t{50000}}) {
          TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kBroadcast, count, 1))));
          TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kReduce, count, 2))));
          const Operation pair[] = {buffers.With(Make(Collective::kSend, count, (r + 1) % n, DataType::kInt8)),
                                    buffers.With(Make(Collective::kRecv, count, (r + n - 1) % n, DataType::kUint8))};
          TUTTI_RETURN_IF_ERROR(c.RunGroup(pair));
          TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kAllReduce, count))));
        }
        if (r == late) std::this_thread::sleep_for(std::chrono::milliseconds(400));
        // A send that nobody receives for a while, and a receive that nobody sends to.
        if (r == 0) TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kSend, 50000, 1))));
        if (r == 1) {
          TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kRecv, 7, 2))));
          TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kRecv, 50000, 0))));
        }
        if (r == 2) {
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
          TUTTI_RETURN_IF_ERROR(c.Run(buffers.With(Make(Collective::kSend, 7, 1))));
        }
      }
      return Status::Ok();
    };
    for (const As as : {As::kThreads, As::kProcesses}) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      for (const Outcome& outcome : RunAll(as, 3, settings, body)) EXPECT_STREQ(outcome.said, "OK") << way.name;
      _exit(HasFailure() ? 1 : 0);
    }
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

// More calls than the black box holds are queued on one rank while the others are behind.
TEST(NoMismatch, WhereOneRankIsFarAhead) {
  const Body body = [&](Communicator& c, std::atomic<int>&, Clock::time_point&) -> Status {
    constexpr int kCalls = 5000;
    std::vector<float> in(4, 1.0f), out(4);
    if (c.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (c.rank() == 1) {
      for (int i = 0; i < kCalls; ++i) TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
      return Status::Ok();
    }
    std::vector<Request> requests;
    for (int i = 0; i < kCalls; ++i) requests.push_back(c.Start(AllReduce(in, out)));
    for (Request& request : requests) TUTTI_RETURN_IF_ERROR(request.Wait());
    return Status::Ok();
  };
  for (const Outcome& outcome : RunAll(As::kThreads, 2, {}, body)) EXPECT_STREQ(outcome.said, "OK");
}

// Two communicators of the same ranks, each with calls of its own, in groups of both.
TEST(NoMismatch, BetweenCommunicators) {
  const UniqueId second_id = *CreateUniqueId();
  const Body body = [&](Communicator& c, std::atomic<int>&, Clock::time_point&) -> Status {
    Result<Communicator> second = Communicator::Create({.rank = c.rank(), .ranks = c.ranks(), .id = second_id});
    if (!second.ok()) return second.status();
    std::vector<float> in(100, 1.0f), out(100), in2(7, 2.0f), out2(7);
    for (int i = 0; i < 300; ++i) {
      if (i % 100 == c.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(150));
      const GroupItem items[] = {{&c, AllReduce(in, out)}, {&*second, AllReduce(in2, out2, ReduceOp::kMax)}};
      const GroupItem swapped[] = {items[1], items[0]};
      TUTTI_RETURN_IF_ERROR(RunGroup(c.rank() == 0 ? items : swapped));
      if (i % 3 == 0) TUTTI_RETURN_IF_ERROR(second->Run(Broadcast(out2, 1)));
    }
    return Status::Ok();
  };
  for (const Outcome& outcome : RunAll(As::kProcesses, 2, {}, body)) EXPECT_STREQ(outcome.said, "OK");
}

}  // namespace
}  // namespace tutti
