// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Evidence from black boxes: what a rank has written down is what is judged.
#include "diag/evidence.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "trace/recorder.h"
#include "trace/view.h"

namespace tutti::diag {
namespace {

using trace::WaitKind;

class Box {
 public:
  Box() : memory_(static_cast<std::byte*>(std::aligned_alloc(4096, trace::BoxBytes(3, 1))), &std::free) {
    std::memset(memory_.get(), 0, trace::BoxBytes(3, 1));
    recorder = trace::Recorder(memory_.get(), {.communicator = 0xab,
                                               .name = "dp",
                                               .rank = 1,
                                               .ranks = 3,
                                               .pid = 7,
                                               .created_ns = 5,
                                               .thread = 8,
                                               .window = {128, 256, 32},
                                               .gpu_bus_id = "0000:1b:00.0",
                                               .gpu = 3});
  }
  std::byte* memory() const { return memory_.get(); }
  trace::View View() const { return *trace::View::Open(memory_.get(), trace::BoxBytes(3, 1)); }
  std::uint64_t Add(Collective kind, std::uint64_t count, std::uint64_t sequence, int root = 0) {
    return recorder.Add(trace::PackCall({.kind = kind, .type = DataType::kFloat32, .root = root}), count, sequence,
                        trace::How{.algorithm = 1, .protocol = 2}.Pack());
  }
  trace::Recorder recorder;

 private:
  std::unique_ptr<std::byte, decltype(&std::free)> memory_;
};

TEST(Evidence, OfAnIdleRank) {
  Box box;
  box.Add(Collective::kAllReduce, 4, 1);
  box.recorder.Repeat();
  box.recorder.Finish(2);
  const RankLook rank = ReadRank(box.View());
  EXPECT_EQ(rank.rank, 1);
  EXPECT_EQ(rank.thread, 8);
  EXPECT_EQ(rank.gpu_bus_id, "0000:1b:00.0");
  EXPECT_EQ(rank.called, 2u);
  EXPECT_EQ(rank.sequence, 2u);
  EXPECT_EQ(rank.finished_sequence, 2u);
  EXPECT_TRUE(rank.finished_is_done);
  EXPECT_FALSE(rank.inside());
  EXPECT_EQ(rank.running.number, 0u);
  ASSERT_EQ(rank.history.size(), 1u);
  EXPECT_EQ(rank.history[0].first, 1u);
  EXPECT_EQ(rank.history[0].last, 2u);
  EXPECT_TRUE(rank.links.empty());
  const CommunicatorLook c = ReadCommunicator(box.View());
  EXPECT_EQ(c.id, 0xabu);
  EXPECT_EQ(c.name, "dp");
  EXPECT_EQ(c.ranks, 3);
  EXPECT_EQ(c.window[1], 256u);
}

// Its calls count as ended once they are in a stream, but for the one in which its kernels are seen to wait.
TEST(Evidence, OfCallsThatAGpuRuns) {
  Box box;
  const auto add = [&](Collective kind, std::uint64_t sequence, int root = 0) {
    const std::uint64_t number = box.recorder.Add(
        trace::PackCall({.kind = kind, .type = DataType::kFloat32, .root = root}), 4, sequence, trace::How{}.Pack());
    box.recorder.Finish(number);
  };
  add(Collective::kAllReduce, 1);
  add(Collective::kSend, 1, 2);
  add(Collective::kRecv, 1, 2);
  add(Collective::kAllReduce, 2);
  RankLook rank = ReadRank(box.View());
  EXPECT_FALSE(rank.started);
  EXPECT_FALSE(rank.queues()) << "nothing is known of its GPU";
  box.recorder.NoteGpu({.begun = 3});
  rank = ReadRank(box.View());
  EXPECT_TRUE(rank.queues());
  EXPECT_EQ(rank.started, 3u);
  EXPECT_EQ(rank.started_sequence, 1u);
  EXPECT_EQ(rank.finished, 4u);
  EXPECT_EQ(rank.gpu, 3);
  EXPECT_EQ(rank.TransfersWith(2).started_receives, 1u);
  // A group's kernel has the number of its last call.
  box.recorder.NoteGpu({.begun = 3, .kind = WaitKind::kRoom, .number = 3, .peer = 2, .since_ns = 100, .now_ns = 900});
  rank = ReadRank(box.View());
  EXPECT_TRUE(rank.inside());
  EXPECT_EQ(rank.finished, 2u);
  EXPECT_TRUE(rank.wait.on_gpu);
  EXPECT_FALSE(rank.wait.inside);
  EXPECT_EQ(rank.running.call.function(), Collective::kSend);
  EXPECT_EQ(rank.running.sequence, 1u);
  box.recorder.NoteGpu({.begun = 4, .kind = WaitKind::kData, .number = 4, .peer = 0, .since_ns = 100, .now_ns = 900});
  rank = ReadRank(box.View());
  EXPECT_EQ(rank.running.call.function(), Collective::kAllReduce);
  EXPECT_EQ(rank.running.sequence, 2u);
  EXPECT_EQ(rank.started_sequence, 2u);
}

TEST(Evidence, OfHowFastDataGoToAnotherHost) {
  Box box;
  trace::NotePace(box.memory(), 2,
                  {.bytes_per_s = 5'000'000,
                   .usual_bytes_per_s = 50'000'000,
                   .arrived_bytes_per_s = 3 << 20,
                   .queued_percent = 70,
                   .card = "mlx5_1"});
  const RankLook rank = ReadRank(box.View());
  const LinkLook* link = rank.LinkTo(2, 0);
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->pace_bytes_per_s, 5'000'000u);
  EXPECT_EQ(link->usual_bytes_per_s, 50'000'000u);
  EXPECT_EQ(link->arrived_bytes_per_s, 3u << 20);
  EXPECT_EQ(link->queued_percent, 70);
  EXPECT_EQ(link->card, "mlx5_1");
}

TEST(Evidence, OfWhatIsOnItsWayToOtherHosts) {
  Box box;
  EXPECT_TRUE(ReadRank(box.View()).flows.empty());
  trace::NoteFlow(box.memory(), 2, 0, {.posted = 100, .completed = 100, .card = "eth0"});
  trace::NoteFlow(box.memory(), 2, trace::kBoxFlows - 1,
                  {.posted = 90,
                   .completed = 60,
                   .stuck_ns = 3 * kSecond,
                   .peer_is_full = true,
                   .carries_bytes_per_s = 25'000'000'000,
                   .carries_little_bytes_per_s = 5,
                   .card = "a card with a long name"});
  trace::NoteFlow(box.memory(), 1, 0, {.posted = 0, .card = "eth0"});
  const RankLook rank = ReadRank(box.View());
  EXPECT_EQ(rank.flows, (std::vector<FlowLook>{{.peer = 2, .card = "eth0", .posted = 100, .completed = 100},
                                               {.peer = 2,
                                                .card = "a card with a lo",
                                                .posted = 90,
                                                .completed = 60,
                                                .stuck_ns = 3 * kSecond,
                                                .peer_is_full = true,
                                                .carries_bytes_per_s = 25'000'000'000,
                                                .carries_little_bytes_per_s = 5}}));
  // The one over which nothing arrives.
  ASSERT_NE(rank.FlowTo(2), nullptr);
  EXPECT_EQ(rank.FlowTo(2)->posted, 90u);
  EXPECT_EQ(rank.FlowTo(1), nullptr);
}

TEST(Evidence, OfARankThatWaits) {
  Box box;
  box.recorder.Finish(box.Add(Collective::kAllReduce, 4, 1));
  box.Add(Collective::kBroadcast, 9, 2, 2);
  box.recorder.Wait(2, 2, WaitKind::kData, 0, 100, 200, {.thread = 8, .inside = true});
  box.recorder.Count(0, 2, {.sent = {5}, .received = {6}, .credit = {4}});
  box.recorder.AddWaited(0, 2, WaitKind::kData, 70);
  const RankLook rank = ReadRank(box.View());
  EXPECT_TRUE(rank.inside());
  EXPECT_EQ(rank.running.call.ToString(), "broadcast(count 9, float32, root 2)");
  EXPECT_EQ(rank.running.sequence, 2u);
  EXPECT_EQ(rank.running.protocol, 2);
  EXPECT_EQ(rank.finished_sequence, 1u);
  EXPECT_EQ(rank.wait.kind, WaitKind::kData);
  EXPECT_EQ(rank.wait.peer, 2);
  EXPECT_EQ(rank.wait.thread, 8);
  EXPECT_TRUE(rank.wait.inside);
  ASSERT_EQ(rank.links.size(), 1u);
  EXPECT_EQ(rank.LinkTo(2, 0)->sent[0], 5u);
  EXPECT_EQ(rank.LinkTo(2, 0)->credit[0], 4u);
  EXPECT_EQ(rank.LinkTo(2, 0)->data_wait_ns, 70);
  EXPECT_EQ(rank.LinkTo(0, 0), nullptr);
}

// Of a group of sends and receives the one that waits is told.
TEST(Evidence, OfAGroup) {
  Box box;
  box.Add(Collective::kSend, 4, 3, 0);
  box.Add(Collective::kRecv, 5, 2, 2);
  const std::uint64_t last = box.Add(Collective::kRecv, 6, 9, 0);
  box.recorder.Wait(last, 2, WaitKind::kData, 0, 100, 200);
  const RankLook rank = ReadRank(box.View());
  EXPECT_EQ(rank.running.call.ToString(), "recv(count 5, float32, from rank 2)");
  EXPECT_EQ(rank.running.sequence, 2u);
  EXPECT_EQ(rank.TransfersWith(0).sends, 3u);
  EXPECT_EQ(rank.TransfersWith(0).receives, 9u);
  EXPECT_EQ(rank.TransfersWith(2).receives, 2u);
  EXPECT_EQ(rank.TransfersWith(1).sends, 0u);
  EXPECT_EQ(rank.sequence, 0u);
}

TEST(Evidence, OfABrokenCommunicator) {
  Box box;
  box.recorder.Switch(false);
  box.recorder.Fail(Code::kRemote, "rank 0 failed");
  const RankLook rank = ReadRank(box.View());
  EXPECT_EQ(rank.state, RankState::kFailed);
  EXPECT_EQ(rank.failure, "rank 0 failed");
  EXPECT_EQ(rank.failure_code, Code::kRemote);
  EXPECT_FALSE(rank.records_calls);
}

}  // namespace
}  // namespace tutti::diag
