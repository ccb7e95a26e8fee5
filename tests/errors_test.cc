// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Makes errors happen and finds their sentences in docs/errors.md: each has a row, and the row names a test that provokes
// it. (That the page's words are the sources', and that the tests exist, is checked by scripts/check_errors.py.) Those
// that take a broken outside are in faults_test.cc.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/settings_reader.h"
#include "comm/agree/rank_profile.h"
#include "comm/host/queue.h"
#include "comm/host/validate.h"
#include "comm/identity/launch.h"
#include "comm/identity/unique_id.h"
#include "comm/life/subset.h"
#include "comm/meet/bootstrap.h"
#include "nccl.h"
#include "sys/job/job_store.h"
#include "sys/net/resolve.h"
#include "sys/os/clock.h"
#include "sys/os/memory.h"
#include "tests/support/errors_page.h"
#include "tune/tuning_file.h"
#include "tutti/communicator.h"
#include "tutti/variable.h"

namespace tutti {
namespace {

using namespace tests;

TEST_F(Provoke, Arguments) {
  Result<Communicator> alone = Communicator::Create({.rank = 0, .ranks = 1, .settings = Settings()});
  ASSERT_TRUE(alone.ok());
  std::vector<float> in(8), out(8);
  const auto run = [&](const std::function<void(Operation&)>& change, Operation o) {
    change(o);
    Expect(alone->Run(o));
  };
  run([](Operation& o) { o.kind = static_cast<Collective>(99); }, Barrier());
  run([](Operation& o) { o.kind = Collective::kSendRecv; }, Barrier());
  run([](Operation& o) { o.type = static_cast<DataType>(77); }, AllReduce(in, out));
  run([](Operation& o) { o.op = static_cast<ReduceOp>(77); }, AllReduce(in, out));
  run([](Operation& o) { o.op = ReduceOp::kAnd; }, AllReduce(in, out));
  run([](Operation& o) { o.root = 5; }, Broadcast(in, 0));
  run([](Operation& o) { o.count = ~std::size_t{0} / 2; }, AllReduce(in, out));
  run([](Operation& o) { o.in = nullptr; }, AllReduce(in, out));
  run([](Operation& o) { o.out = nullptr; }, AllReduce(in, out));
  run([](Operation&) {}, Send(in, 0));
  for (const DataType type : {DataType::kInt16, DataType::kUint8}) {
    Operation o = AllReduce(in, out);
    o.type = type;
    o.op = ReduceOp::kXor;
    Expect(comm::ValidateForGpu(o, 0, 1));
  }
  const std::size_t eight[] = {8}, four[] = {4}, huge[] = {~std::size_t{0}, 9};
  Expect(AllToAllV(in, eight, out, four).status());
  Expect(AllToAllV(in, huge, out, huge).status());
  Expect(AllToAllV(in, huge, out, eight).status());
  Expect(AllGatherV(in, out, eight, 1).status());
  Expect(alone->AllocateShared(0).status());
  Expect(Communicator::Create({.rank = 3, .ranks = 2, .settings = Settings()}).status());
  Expect(Communicator::Create({.rank = 3, .ranks = 20'000'000, .settings = Settings()}).status());
  for (const Status& s : OnCommunicators(2, [](Communicator& c) {
         std::vector<float> data(8);
         return c.Run(AllReduce(data, std::span(data).subspan(1, 7)));
       })) {
    Expect(s);
  }
  for (const Status& s : OnCommunicators(2, [](Communicator& c) {
         std::vector<float> data(8);
         return c.Run(AllToAll(data, data, 2));
       })) {
    Expect(s);
  }
}

TEST_F(Provoke, TuningFiles) {
  const std::string host = tune::Machine().ToText();
  tune::GpuTable on_disk = tune::ShippedGpuTable("generic");
  on_disk.memory = "disk";
  for (const std::string& text :
       {std::string("[disk]\n"), std::string("switch_us 1\n"), host + "speed_of_light 1\n", host + "switch_us 1\n",
        std::string("[host]\nswitch_us -1\n"), std::string("[host]\n"), host + host, std::string("[gpu]\nclass\n"),
        on_disk.ToText()}) {
    Expect(tune::TuningFile::Parse(text).status());
  }
}

TEST_F(Provoke, Settings) {
  const auto create = [&](const std::function<void(Settings&)>& change) {
    Settings settings;
    change(settings);
    Expect(Communicator::Create({.rank = 0, .ranks = 1, .settings = settings}).status());
  };
  create([](Settings& s) { s.algo = "rung"; });
  create([](Settings& s) { s.algo = "allreduuuce:ring"; });
  Expect(SaidByChild([] {
    tutti::Settings settings;
    settings.algo = "nvls,CollNetChain";
    return Communicator::Create({.rank = 0, .ranks = 1, .settings = settings}).status().message();
  }));
  for (const Status& s : OnCommunicators(
           2, [](Communicator& c) { return c.Run(AllReduce(std::vector<int>(1), std::vector<int>(1))); },
           [](int, CommunicatorOptions& options) { options.settings.algo = "allreduce:pairwise"; })) {
    Expect(s);
  }
  for (const Status& s : OnCommunicators(
           2, [](Communicator&) { return Status::Ok(); },
           [](int rank, CommunicatorOptions&options) {
             if (rank == 1) options.settings.shared_bytes = 1 << 20;
           })) {
    Expect(s);
  }
  Settings settings;
  settings.algo = std::string(10000, 'x');
  Expect(comm::MakeProfile(settings, {}, 1).status());
  Expect(comm::ParseProfile({}).status());
  const std::vector<std::string> environment = {"TUTTI_TIMEOUT_MS=soon", "NCCL_DEBGU=1", "NCCL_MIN_NCHANNELS=9",
                                                "NCCL_MAX_NCHANNELS=2"};
  const std::vector<ConfigFile> files = {{"f", "TUTTI_RANK=1\nrubbish\n=\nNCCL_ALGO=ring\nNCCL_ALGO=tree\n"}};
  for (const std::string& line : SplitText(ReadSettings(environment, files).warnings, "\n")) {
    if (!line.empty()) Expect(line);
  }
}

TEST_F(Provoke, Ids) {
  Expect(UniqueId::FromHex("abc").status());
  Expect(UniqueId::FromHex(std::string(256, 'x')).status());
  Expect(comm::ReadId(UniqueId()).status());
  UniqueId id;
  id.bytes.fill(7);
  Expect(comm::ReadId(id).status());
  // Bytes one by one, of an id that is good: they must be refused, or belong to secret and name.
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    id = *CreateUniqueId();
    id.bytes[i] ^= 0x40;
    if (const Result<comm::IdParts> parts = comm::ReadId(id); !parts.ok()) Expect(parts.status());
  }
}

TEST_F(Provoke, Launch) {
  const auto context = [](std::map<std::string, std::string> variables) {
    return comm::LaunchContext{
        .variable = [variables](const char* name) -> std::optional<std::string> {
          const auto found = variables.find(name);
          return found == variables.end() ? std::nullopt : std::optional(found->second);
        },
        .launcher = [](std::string_view) { return sys::ProcessId{.pid = 100, .start_ticks = 7}; },
        .uid = 1000,
        .secret = []() -> Result<std::vector<std::byte>> { return std::vector<std::byte>{std::byte{7}}; },
        .resolve = [](const std::string& host) { return sys::ResolveHost(host, 0); },
        .ports = {},
        .shared_id = [](sys::JobStore, int) -> Result<UniqueId> { return Status(Code::kUnsupported, "no store"); }};
  };
  const auto refused = [&](std::map<std::string, std::string> variables) {
    Expect(comm::IdentityFrom(context(std::move(variables)), 0).status());
  };
  refused({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  refused({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  refused({{"NCCL_COMM_ID", "nohost"}});
  refused({{"TUTTI_RANK", "0"}});
  refused({{"TUTTI_RANK", "0"}, {"TUTTI_RANKS", "2"}});
  refused({{"OMPI_COMM_WORLD_RANK", "0"}});
  refused({{"RANK", "0"}});
  refused({{"OMPI_COMM_WORLD_RANK", "0"},
           {"OMPI_COMM_WORLD_SIZE", "4"},
           {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  Expect(comm::JobIdentityFrom(context({{"TUTTI_UNIQUE_ID", "fresh"}}), 0).status());
  Expect(comm::JobIdentityFrom(context({{"TUTTI_UNIQUE_ID", "job"}}), 0).status());
}

// What launchers hand to the ranks of several hosts, and names of hosts.
TEST_F(Provoke, Stores) {
  unsetenv("PMI_FD");
  const std::int64_t soon_ns = sys::NowNs() + 50 * sys::kNsPerMs;
  Expect(sys::ShareText(sys::JobStore::kPmi, 0, "a", soon_ns).status());
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Expect(sys::internal::ShareByPmi(ends[0], 0, "a", soon_ns).status());
  ASSERT_EQ(write(ends[1], "no\n", 3), 3);
  Expect(sys::internal::ShareByPmi(ends[0], 0, "a", sys::NowNs() + sys::kNsPerSecond).status());
  close(ends[1]);
  Expect(sys::internal::ShareByPmi(ends[0], 0, "a", sys::NowNs() + sys::kNsPerSecond).status());
  close(ends[0]);
  Expect(sys::ResolveHost("no such host", sys::NowNs() + 10 * sys::kNsPerSecond).status());
}

TEST_F(Provoke, Meetings) {
  const auto meet = [](const UniqueId& id, int rank, int ranks, std::int64_t timeout_ms) {
    return comm::Meet({.id = id, .rank = rank, .ranks = ranks, .timeout_ms = timeout_ms}).status();
  };
  const UniqueId id = *CreateUniqueId();
  Expect(meet(id, 0, 0, 1000));
  Expect(meet(id, 0, 2, 0));
  Expect(meet(id, 5, 2, 300));
  Expect(meet(id, 0, 2, 300));  // nobody else comes
  const std::vector<std::byte> huge(1 << 20);
  Expect(comm::Meet({.id = id, .rank = 0, .ranks = 1, .payload = huge}).status());
  const sys::Fd closed;
  Expect(comm::Meet({.id = id, .rank = 0, .ranks = 1, .shared = &closed}).status());
  for (const Status& s :
       OnRankThreads(2, [&](int rank) { return meet(*UniqueId::FromHex(id.ToHex()), rank, 3 + rank, 2000); })) {
    Expect(s);
  }
  for (const Status& s : OnRankThreads(2, [&](int) { return meet(id, 1, 3, 2000); })) Expect(s);
  Expect(sys::CreateSharedMemory("x", 0).status());
}

TEST_F(Provoke, Running) {
  std::vector<Status> outcomes = OnCommunicators(2, [](Communicator& c) {
    TUTTI_RETURN_IF_ERROR(c.Run(Barrier()));
    if (c.rank() == 1) return Status::Ok();  // leaves
    return c.Run(Barrier());
  });
  Expect(outcomes[0]);
  outcomes = OnCommunicators(
      2,
      [](Communicator& c) {
        if (c.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // too late
        return c.Run(Barrier());
      },
      [](int, CommunicatorOptions& options) { options.settings.timeout_ms = 300; });
  Expect(outcomes[0]);
  outcomes = OnCommunicators(2, [](Communicator& c) {
    TUTTI_RETURN_IF_ERROR(c.Run(Barrier()));
    if (c.rank() == 1) c.Abort("the loss is no number");
    return c.Run(Barrier());
  });
  for (const Status& s : outcomes) Expect(s);
  outcomes = OnCommunicators(2, [](Communicator& c) { return c.AllocateShared(4096u << c.rank()).status(); });
  for (const Status& s : outcomes) Expect(s);
}

// What each of two ranks calls at last; all calls end well, and the later rank to leave tells of it.
TEST_F(Provoke, CallsThatDifferUntilTheEnd) {
  using Kind = Collective;
  struct {
    Operation calls[2];
    std::vector<std::string> quotes;
  } const cases[] = {
      {{{.kind = Kind::kBroadcast, .count = 3, .root = 0}, {.kind = Kind::kBroadcast, .count = 3, .root = 1}},
       {"broadcast(count 3, uint8, root 0)", "broadcast(count 3, uint8, root 1)"}},
      {{{.kind = Kind::kBroadcast, .count = 5, .root = 0}, {.kind = Kind::kBroadcast, .count = 0, .root = 0}},
       {"broadcast(count 5, uint8, root 0)", "broadcast(count 0, uint8, root 0)"}},
      {{{.kind = Kind::kScatter, .count = 2, .root = 0}, {.kind = Kind::kScatter, .count = 2, .root = 1}},
       {"scatter(count 2, uint8, root 0)", "scatter(count 2, uint8, root 1)"}},
      {{{.kind = Kind::kSend, .count = 5, .root = 1}, {.kind = Kind::kRecv, .count = 0, .root = 0}},
       {"send(count 5, uint8, to rank 1)", "recv(count 0, uint8, from rank 0)"}},
      {{{.kind = Kind::kSend, .count = 2, .type = DataType::kFloat32, .root = 1},
        {.kind = Kind::kRecv, .count = 8, .type = DataType::kInt8, .root = 0}},
       {"send(count 2, float32, to rank 1)", "recv(count 8, int8, from rank 0)"}},
  };
  for (const auto& one : cases) {
    const std::string said = SaidByChild([&] {
      for (const Status& s : OnCommunicators(2, [&](Communicator& c) {
             std::vector<float> in(8), out(8);
             TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
             Operation call = one.calls[c.rank()];
             call.in = in.data();
             call.out = call.kind == Kind::kBroadcast ? in.data() : out.data();
             return c.Run(call);
           })) {
        if (!s.ok()) return s.ToString();
      }
      return std::string();
    });
    Expect(said);
    for (const std::string& quote : one.quotes) EXPECT_NE(said.find(quote), std::string::npos) << said;
  }
}

TEST_F(Provoke, Subsets) {
  const UniqueId id = *CreateUniqueId();
  const auto each = [&](const std::function<Status(comm::Queue&, int rank)>& body) {
    const UniqueId id = *CreateUniqueId();
    for (const Status& s : OnRankThreads(2, [&](int rank) {
           Result<Communicator> c = Communicator::Create({.rank = rank, .ranks = 2, .id = id, .settings = Quick()});
           if (!c.ok()) return c.status();
           comm::Queue queue(std::move(*c));
           return body(queue, rank);
         })) {
      Expect(s);
    }
  };
  each([](comm::Queue& queue, int) { return comm::Split(queue, -5, 0).status(); });
  each([](comm::Queue& queue, int) { return comm::CheckShrink(queue.rank(), queue.ranks(), std::vector{7}); });
  each([](comm::Queue& queue, int rank) {
    return comm::CheckShrink(queue.rank(), queue.ranks(), std::vector{1 - rank, 1 - rank});
  });
  each([](comm::Queue& queue, int rank) { return comm::CheckShrink(queue.rank(), queue.ranks(), std::vector{rank}); });
  each([&](comm::Queue& queue, int) { return comm::Grow(queue, 2, &id).status(); });
  each([](comm::Queue& queue, int) { return comm::Grow(queue, 3, nullptr).status(); });
}

// Runs `body` on two ranks of nccl.h, one after the other on this thread; aborts both afterwards.
void OnTwoHandles(const std::function<void(ncclComm_t* comms)>& body) {
  ncclComm_t comms[2];
  ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  body(comms);
  for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
}

TEST_F(Provoke, CInit) {
  const auto told = [this](ncclResult_t result) { ExpectLast(result); };
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm, comms[2];
  told(ncclCommInitRank(&comm, 0, id, 0));
  told(ncclCommInitRank(&comm, 2, id, 2));
  told(ncclCommInitRank(&comm, 20'000'000, id, 0));
  told(ncclCommInitAll(&comm, 20'000'000, nullptr));
  told(ncclCommInitRankScalable(&comm, 2, 0, 3, &id, nullptr));
  told(ncclCommInitAll(comms, 0, nullptr));
  const int negative[] = {0, -1}, twice[] = {1, 1};
  told(ncclCommInitAll(comms, 2, negative));
  told(ncclCommInitAll(comms, 2, twice));
  const auto with = [&](const std::function<void(ncclConfig_t&)>& change) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    change(config);
    told(ncclCommInitRankConfig(&comm, 1, id, 0, &config));
  };
  with([](ncclConfig_t& c) { c.magic = 7; });
  with([](ncclConfig_t& c) { c.size = 8; });
  with([](ncclConfig_t& c) { c.minCTAs = 0; });
  with([](ncclConfig_t& c) { c.blocking = 7; });
  with([](ncclConfig_t& c) {
    c.minCTAs = 8;
    c.maxCTAs = 4;
  });
}

TEST_F(Provoke, CGroups) {
  const auto told = [this](ncclResult_t result) { ExpectLast(result); };
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t background = NCCL_CONFIG_INITIALIZER;
  background.blocking = 0;
  ncclComm_t one, two;
  int count;
  told(ncclGroupEnd());
  (void)ncclGroupStart();
  EXPECT_EQ(ncclCommInitRank(&one, 1, id, 0), ncclSuccess);
  told(ncclCommCount(one, &count));
  told(ncclCommDestroy(one));
  EXPECT_EQ(ncclCommInitRankConfig(&two, 1, id, 0, &background), ncclSuccess);
  told(ncclGroupEnd());
  (void)ncclGroupStart();
  const float in = 1;
  float out;
  EXPECT_EQ(ncclCommInitRankConfig(&two, 1, id, 0, &background), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&in, &out, 1, ncclFloat32, ncclSum, two, nullptr), ncclSuccess);
  told(ncclGroupEnd());
  (void)ncclGroupStart();
  EXPECT_EQ(ncclCommInitRank(&one, 1, id, 0), ncclSuccess);
  told(ncclGroupSimulateEnd(nullptr));
  // In the background: first it is busy, since rank 1 does not come, and then it has failed.
  ASSERT_EQ(ncclCommInitRankConfig(&one, 2, id, 0, &background), ncclInProgress);
  told(ncclCommCount(one, &count));
  ASSERT_EQ(ncclCommInitRankConfig(&two, 2, id, 0, &background), ncclInProgress);  // the same rank again
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    ASSERT_EQ(ncclCommGetAsyncError(one, &state), ncclSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  told(ncclCommCount(one, &count));
  EXPECT_EQ(ncclCommAbort(one), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(two), ncclSuccess);
  told(ncclCommCount(one, &count));
}

TEST_F(Provoke, CLife) {
  const auto told = [this](ncclResult_t result) { ExpectLast(result); };
  ncclComm_t child;
  int list[] = {1};
  float in = 1, out;
  const auto reduce = [&](ncclComm_t comm) { return ncclAllReduce(&in, &out, 1, ncclFloat32, ncclSum, comm, nullptr); };
  OnTwoHandles([&](ncclComm_t* comms) {
    told(ncclCommSplit(comms[0], -7, 0, &child, nullptr));
    told(ncclCommShrink(comms[0], list, 1, &child, nullptr, 9));
    told(ncclCommShrink(comms[0], list, 0, &child, nullptr, 0));
    told(ncclCommGrow(comms[0], 3, nullptr, 1, &child, nullptr));
    told(ncclCommGrow(comms[0], 2, nullptr, -1, &child, nullptr));
    told(ncclCommRevoke(comms[0], 9));
    (void)ncclGroupStart();
    told(ncclTuttiSynchronize(comms[0]));
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(ncclCommFinalize(comms[0]), ncclSuccess);
    told(ncclCommFinalize(comms[0]));
    told(ncclCommRevoke(comms[0], 0));
    told(reduce(comms[0]));
  });
  OnTwoHandles([&](ncclComm_t* comms) {
    EXPECT_EQ(ncclCommRevoke(comms[0], 0), ncclSuccess);
    told(ncclCommRevoke(comms[0], 0));
    told(ncclCommFinalize(comms[0]));
    told(reduce(comms[0]));
    told(ncclTuttiSynchronize(comms[0]));
  });
  OnTwoHandles([&](ncclComm_t* comms) {
    EXPECT_EQ(ncclCommShrink(comms[0], list, 1, &child, nullptr, NCCL_SHRINK_ABORT), ncclSuccess);
    told(ncclTuttiSynchronize(comms[0]));
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
  });
  OnTwoHandles([&](ncclComm_t* comms) {
    (void)ncclGroupStart();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(ncclCommSuspend(comms[i], NCCL_SUSPEND_MEM), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    told(ncclCommSuspend(comms[0], NCCL_SUSPEND_MEM));
    told(reduce(comms[0]));
  });
  ncclComm_t comms[2];
  ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess);
  EXPECT_EQ(reduce(comms[0]), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(comms[1]), ncclSuccess);
  told(ncclTuttiSynchronize(comms[0]));
  EXPECT_EQ(ncclCommAbort(comms[0]), ncclSuccess);
}

TEST_F(Provoke, CMemory) {
  const auto told = [this](ncclResult_t result) { ExpectLast(result); };
  void* memory;
  void* handle;
  ncclWindow_t window;
  float buffer[4];
  told(ncclMemAlloc(&memory, SIZE_MAX));
  OnTwoHandles([&](ncclComm_t* comms) {
    told(ncclCommRegister(comms[0], nullptr, 4, &handle));
    told(ncclCommDeregister(comms[0], &memory));
    told(ncclCommWindowRegister(comms[0], buffer, 0, &window, 0));
    told(ncclCommWindowRegister(comms[0], buffer, 4, &window, 0x100));
    told(ncclCommWindowDeregister(comms[0], reinterpret_cast<ncclWindow_t>(buffer)));
    told(ncclSignal(1, 0, 0, 0, comms[0], nullptr));
    told(ncclSignal(1, 7, 0, 0, comms[0], nullptr));
    ncclWaitSignalDesc_t wait{.opCnt = 1, .peer = 5, .sigIdx = 0, .ctx = 0};
    told(ncclWaitSignal(1, &wait, comms[0], nullptr));
    told(ncclWaitSignal(-1, &wait, comms[0], nullptr));
    told(ncclCommSuspend(comms[0], 0));
    told(ncclCommResume(comms[0]));
    std::uint64_t value;
    told(ncclCommMemStats(comms[0], static_cast<ncclCommMemStat_t>(9), &value));
  });
}

TEST_F(Provoke, COperations) {
  const auto told = [this](ncclResult_t result) { ExpectLast(result); };
  ncclComm_t comm;
  ASSERT_EQ(ncclCommInitAll(&comm, 1, nullptr), ncclSuccess);
  float in = 1, out, factor = 2;
  const auto reduce = [&](ncclDataType_t type, ncclRedOp_t op) {
    return ncclAllReduce(&in, &out, 1, type, op, comm, nullptr);
  };
  told(reduce(static_cast<ncclDataType_t>(77), ncclSum));
  told(reduce(ncclFloat32, ncclNumOps));
  told(ncclRedOpDestroy(ncclSum, comm));
  ncclRedOp_t op;
  told(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, static_cast<ncclScalarResidence_t>(7), comm));
  const auto create = [&] {
    return ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, comm);
  };
  ASSERT_EQ(create(), ncclSuccess);
  told(reduce(ncclFloat64, op));
  ASSERT_EQ(ncclRedOpDestroy(op, comm), ncclSuccess);
  told(reduce(ncclFloat32, op));
  while (create() == ncclSuccess) {
  }
  told(create());
  int ranks = -1;
  told(ncclTuttiVerdict(comm, nullptr, 0, nullptr, &ranks));
  told(ncclTuttiVerdict(comm, nullptr, 0, nullptr, nullptr));
  ranks = 1;
  told(ncclTuttiVerdict(comm, nullptr, 0, nullptr, &ranks));
  told(ncclTuttiVerdict(comm, nullptr, 1, nullptr, &ranks));
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST_F(Provoke, CParameters) {
  const auto told = [this](ncclResult_t result) { ExpectLast(result); };
  ncclParamHandle_t* handle;
  const char* text;
  std::int64_t number;
  std::int8_t small;
  int bytes;
  told(ncclParamBind(&handle, "NCCL_DEBG"));
  told(ncclParamGetStr(reinterpret_cast<ncclParamHandle_t*>(8), &text));
  ASSERT_EQ(ncclParamBind(&handle, "NCCL_DEBUG_SUBSYS"), ncclSuccess);
  told(ncclParamGetI64(handle, &number));
  ASSERT_EQ(ncclParamBind(&handle, "TUTTI_TIMEOUT_MS"), ncclSuccess);
  told(ncclParamGetI8(handle, &small));
  told(ncclParamGet(handle, &number, -1, &bytes));
}

// The host side of NCCL's device interface, as nccl_device.h declares it.
struct Team {
  int ranks, rank, stride;
};
extern "C" {
int ncclTeamRankToWorld(ncclComm_t, Team, int);
ncclResult_t ncclLsaBarrierCreateRequirement(Team, int, void*, void*);
ncclResult_t ncclDevCommCreate(ncclComm_t, const void*, void*);
ncclResult_t ncclDevCommDestroy(ncclComm_t, const void*);
ncclResult_t ncclCommQueryProperties(ncclComm_t, void*);
}

TEST_F(Provoke, CDevice) {
  const auto told = [this](ncclResult_t result) { ExpectLast(result); };
  ncclComm_t comm;
  ASSERT_EQ(ncclCommInitAll(&comm, 1, nullptr), ncclSuccess);
  alignas(16) char memory[256] = {};
  EXPECT_EQ(ncclTeamRankToWorld(comm, {.ranks = 1, .rank = 0, .stride = 1}, 1), -1);
  Expect(std::string(ncclGetLastError(nullptr)));
  told(ncclLsaBarrierCreateRequirement({.ranks = 1, .rank = 0, .stride = 1}, -1, memory, memory));
  told(ncclDevCommCreate(comm, memory, memory));
  told(ncclDevCommDestroy(comm, memory));
  told(ncclCommQueryProperties(comm, memory));
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST_F(Provoke, Fork) {
  ncclComm_t comm;
  ASSERT_EQ(ncclCommInitAll(&comm, 1, nullptr), ncclSuccess);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    int count;
    (void)ncclCommCount(comm, &count);
    const std::string said = ncclGetLastError(nullptr);
    _exit(write(ends[1], said.data(), said.size()) > 0 ? 0 : 1);
  }
  char said[1024] = {};
  EXPECT_GT(read(ends[0], said, sizeof(said) - 1), 0);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  Expect(std::string(said));
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

// Whoever gives up is named to all.
TEST_F(Provoke, Cancellation) {
  const UniqueId id = *CreateUniqueId();
  std::atomic<bool> cancel{true};
  for (const Status& s : OnRankThreads(2, [&](int rank) {
         const auto* wish = rank == 0 ? &cancel : nullptr;
         return comm::Meet({.id = id, .rank = rank, .ranks = 3, .timeout_ms = 2000, .cancel = wish}).status();
       })) {
    Expect(s);
  }
}

// A call on a queue that was closed.
TEST_F(Provoke, Queue) {
  Result<Communicator> c = Communicator::Create({.rank = 0, .ranks = 1, .settings = Quick()});
  ASSERT_TRUE(c.ok());
  const auto queue = std::make_shared<comm::Queue>(std::move(*c));
  queue->Close();
  Expect(queue->Wait());
}

TEST_F(Provoke, Death) {
  const UniqueId id = *CreateUniqueId();
  const pid_t child = fork();
  if (child == 0) {
    Result<Communicator> c = Communicator::Create({.rank = 1, .ranks = 2, .id = id, .settings = Quick()});
    if (c.ok()) (void)c->Run(Barrier());
    kill(getpid(), SIGKILL);
  }
  CommunicatorOptions options = {.rank = 0, .ranks = 2, .id = id, .settings = Settings()};
  Result<Communicator> c = Communicator::Create(options);
  ASSERT_TRUE(c.ok()) << c.status().message();
  EXPECT_TRUE(c->Run(Barrier()).ok());
  waitpid(child, nullptr, 0);
  Expect(c->Run(Barrier()));
}

TEST_F(Provoke, AnAbortAfterADeath) {
  const UniqueId id = *CreateUniqueId();
  const pid_t child = fork();
  if (child == 0) {
    const Result<Communicator> c = Communicator::Create({.rank = 1, .ranks = 2, .id = id, .settings = Quick()});
    kill(getpid(), SIGKILL);
  }
  Result<Communicator> c = Communicator::Create({.rank = 0, .ranks = 2, .id = id, .settings = Quick()});
  ASSERT_TRUE(c.ok()) << c.status().message();
  waitpid(child, nullptr, 0);
  c->Abort("a watchdog saw something");
  Expect(c->Run(Barrier()));
}

// The comparison itself must be able to fail.
TEST(ErrorsTest, AnotherSentenceDoesNotFit) {
  const ErrorRow row = {
      .message = "", .pieces = SplitText("rank ... died: its process is gone", "..."), .provoked_by = "", .seen = ""};
  EXPECT_TRUE(Fits(row, "all_reduce: rank 3 (pid 5) died: its process is gone, while"));
  EXPECT_FALSE(Fits(row, "rank 3 left: its process is gone"));
  EXPECT_FALSE(Fits(row, "died: its process is gone; rank 3"));
}

}  // namespace
}  // namespace tutti
