// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What the system says of processes that have ended and of GPUs, as sentences, from evidence written by hand.
#include "diag/reasons.h"

#include <gtest/gtest.h>

#include "diag/sentence.h"
#include "diag/story.h"
#include "diag/test_looks.h"
#include "diag/what.h"
#include "diag/xid.h"

namespace tutti::diag {
namespace {

constexpr const char* kBusIds[] = {"0000:1b:00.0", "0000:2b:00.0", "0000:3b:00.0", "0000:4b:00.0"};
constexpr const char* kNvLinkStep =
    "Look at nvidia-smi nvlink --status and --errorcounters, at bridges and the fabric manager's log; then reset the "
    "GPUs at both ends";

// Four ranks with a GPU each, of which something is known.
Job WithGpus() {
  Job job(4);
  for (int r = 0; r < 4; ++r) {
    job.rank(r).gpu = r;
    job.rank(r).gpu_bus_id = kBusIds[r];
    job.process(r).gpus.push_back({.bus_id = kBusIds[r]});
  }
  return job;
}
GpuLook& GpuOf(Job& job, int r) { return job.process(r).gpus.front(); }

// Rank 2's GPU has begun, waits for nobody, and rank 3 waits for it.
Job Hung() {
  Job job = WithGpus();
  job.WaitOnRing(5, {2});
  job.Call(2);
  return job;
}

const Verdict& One(const std::vector<Verdict>& verdicts, Kind kind) {
  static const Verdict kNone;
  EXPECT_EQ(verdicts.size(), 1u);
  if (verdicts.empty()) return kNone;
  EXPECT_EQ(Name(verdicts[0].kind), std::string(Name(kind))) << Sentence(verdicts[0]);
  return verdicts[0];
}

std::string Said(const Job& job, Kind kind) {
  const std::vector<Verdict> verdicts = job.Judged();
  return Sentence(One(verdicts, kind));
}

std::string DeadBecause(const EndingLook& ending, int end = 9) {
  Job job(4);
  job.WaitOnRing(0.3, {1});
  job.process(1).state = ProcessState::kZombie;
  job.process(1).end = end;
  job.process(1).ending = ending;
  return Said(job, Kind::kDead);
}

constexpr const char* kDead = "rank 1 (host a, pid 101) is gone: its process was ended by signal ";
constexpr const char* kWaits = "; ranks 0, 2 and 3 have waited for 0.3 s, since 02:16:39 UTC. ";
constexpr const char* kMoreForGroup =
    "Give the control group more memory (memory.max, --memory of a container, limits.memory of a pod), or use less";

TEST(Reasons, OfWhoLackedMemory) {
  EXPECT_EQ(DeadBecause({.out_of_memory = true,
                         .of_group = true,
                         .group = "/job",
                         .limit_bytes = 64 << 20,
                         .resident_bytes = 63 << 20}),
            std::string(kDead) +
                "9: the kernel ended it because control group /job lacked memory (limit 64.0 MiB; it had 63.0 MiB)" +
                kWaits + kMoreForGroup);
  EXPECT_EQ(DeadBecause({.out_of_memory = true, .resident_bytes = std::int64_t{3} << 30}),
            std::string(kDead) + "9: the kernel ended it because the host lacked memory (it had 3.0 GiB)" + kWaits +
                "Use less memory on that host, or run fewer ranks there");
  // No log: the group counts. That says nothing of one that another signal has ended.
  const EndingLook counted{.group = "/job", .limit_bytes = 64 << 20, .group_kills = 1};
  EXPECT_EQ(DeadBecause(counted),
            std::string(kDead) +
                "9: the kernel has ended 1 process of control group /job for want of memory (limit "
                "64.0 MiB)" +
                kWaits + kMoreForGroup);
  EXPECT_EQ(DeadBecause(counted, 15),
            std::string(kDead) + "15" + kWaits +
                "Look at its output and exit status, and in the kernel's log for a lack of memory "
                "or a fault of its GPU");
}

TEST(Reasons, OfWhoCrashed) {
  EXPECT_EQ(DeadBecause({.crash = "segfault at 0 ip 7f sp 7e error 4 in libfoo.so[10+20]"}, 11),
            std::string(kDead) + "11: the kernel's log has segfault at 0 ip 7f sp 7e error 4 in libfoo.so[10+20]" +
                kWaits + "Look at its core file and its output: gdb, tutti top FILE");
}

TEST(Reasons, OfWhoseGpuFailed) {
  Job job = WithGpus();
  job.WaitOnRing(0.3, {1});
  job.process(1).state = ProcessState::kGone;
  GpuOf(job, 1).xids = {{.number = 79, .at_ns = Job::kNow - 2 * kSecond}, {.number = 45, .at_ns = Job::kNow - kSecond}};
  GpuOf(job, 1).clock_mhz = 345;  // how fast it ran says nothing of an end
  GpuOf(job, 1).most_clock_mhz = 1980;
  EXPECT_EQ(
      Said(job, Kind::kDead),
      "rank 1 (host a, pid 101, GPU 1) is gone: its process has ended: Xid 79 of GPU 0000:2b:00.0 at 02:16:38 UTC "
      "(the GPU is gone from the PCIe bus)" +
          std::string(kWaits) +
          "Leave the host out and power it off and on; look at power, cooling and the seat of the GPU");
}

TEST(Reasons, OfAGpuThatHangs) {
  Job job = Hung();
  GpuLook& gpu = GpuOf(job, 2);
  gpu.clock_mhz = gpu.most_clock_mhz = 1980;
  gpu.power_w = 118;
  gpu.power_limit_w = 700;
  gpu.temperature_c = 45;
  const std::string hung =
      "the GPU of rank 2 (host a, pid 102, GPU 2) makes no progress in all_reduce(count 1024, float32, sum), operation "
      "11 of "
      "communicator dp and waits for nobody";
  const std::string waits = "; ranks 0, 1 and 3 have waited for 5.0 s, since 02:16:35 UTC. ";
  const std::string numbers = "GPU 0000:3b:00.0 runs at 1980 of 1980 MHz, takes 118 of 700 W and has 45 C";
  EXPECT_EQ(Said(job, Kind::kGpuHung),
            hung + ": " + numbers + waits + "Look for its faults: dmesg | grep Xid, nvidia-smi -q");
  gpu.throttle = kSetByUser;  // which explains no GPU that hangs
  gpu.clock_mhz = 345;
  EXPECT_TRUE(Said(job, Kind::kGpuHung).ends_with(". Look for its faults: dmesg | grep Xid, nvidia-smi -q"));
  gpu.throttle = 0;
  gpu.clock_mhz = 1980;
  gpu.xids = {{.number = 119}};
  EXPECT_EQ(Said(job, Kind::kGpuHung),
            hung +
                ": Xid 119 of GPU 0000:3b:00.0 (the GPU's system processor (GSP) does not answer the "
                "driver); " +
                numbers + waits + FindXid(119).next_step);
  gpu.xids = {{.number = 999}};
  EXPECT_EQ(Said(job, Kind::kGpuHung), hung + ": Xid 999 of GPU 0000:3b:00.0; " + numbers + waits +
                                           "Look the number up in NVIDIA's list of Xid errors");
  gpu = {.bus_id = kBusIds[2], .silent_ns = 3200 * kMs};
  EXPECT_EQ(Said(job, Kind::kGpuHung),
            hung + ": NVML has not answered for 3.2 s" + waits +
                "Its driver does not answer: look at dmesg | grep NVRM, then reset the GPU or reboot the host");
  gpu = {.bus_id = kBusIds[2], .lost = true};
  EXPECT_EQ(Said(job, Kind::kGpuHung), hung + ": NVML does not reach GPU 0000:3b:00.0" + waits + FindXid(79).next_step);
  gpu = {.bus_id = kBusIds[2], .uncorrected = 3, .uncorrected_rise = 1, .rows_pending = true};
  EXPECT_EQ(
      Said(job, Kind::kGpuHung),
      hung +
          ": GPU 0000:3b:00.0 has had 1 error of its memory, that could not be corrected, while it was looked at; "
          "GPU 0000:3b:00.0 waits for a reset to replace bad rows of its memory" +
          waits + "Drain the host and reset the GPU (nvidia-smi --gpu-reset); if it comes back, replace the GPU");
  gpu = {.bus_id = kBusIds[2], .uncorrected = 3, .rows_failed = true};
  EXPECT_EQ(Said(job, Kind::kGpuHung), hung +
                                           ": GPU 0000:3b:00.0 has had 3 errors of its memory, that could not be "
                                           "corrected, since the driver was loaded; "
                                           "GPU 0000:3b:00.0 could not replace a bad row of its memory" +
                                           waits + "Replace the GPU");
}

// Of a rank that stands still elsewhere only what is certainly a fault is told, and nobody takes it for a pause.
TEST(Reasons, OfALateHost) {
  Job job = WithGpus();
  job.WaitOnRing(12, {2});
  job.process(2).threads.push_back(
      {.id = 102, .state = ProcessState::kUninterruptible, .system_call = "write", .object = "/ckpt/17.pt"});
  GpuOf(job, 2).xids = {{.number = 63}};
  GpuOf(job, 2).temperature_c = 90;
  std::vector<Verdict> verdicts = job.Judged();
  EXPECT_TRUE(One(verdicts, Kind::kLateHost).reasons.empty());
  EXPECT_EQ(verdicts[0].severity, Severity::kInfo);
  GpuOf(job, 2).xids = {{.number = 95}};
  verdicts = job.Judged();
  EXPECT_EQ(
      What(One(verdicts, Kind::kLateHost)),
      "rank 2 (host a, pid 102, GPU 2) has not called all_reduce(count 1024, float32, sum), operation 11 of "
      "communicator dp; its "
      "main thread is in write() on /ckpt/17.pt: it writes /ckpt/17.pt; Xid 95 of GPU 0000:3b:00.0 (an error of its "
      "memory could not be corrected, and may have hit all programs)")
      << Sentence(verdicts[0]);
  EXPECT_EQ(verdicts[0].severity, Severity::kWarn);
  EXPECT_EQ(NextStep(verdicts[0]), FindXid(95).next_step);
}

// A GPU that moves a tenth of what it could, because of this.
std::string SlowBecause(const GpuLook& gpu) {
  Verdict v{.kind = Kind::kGpuSlow, .bytes_per_s = 1.6e9, .rated_bytes_per_s = 31e9};
  Job job = WithGpus();
  GpuOf(job, 1) = gpu;
  v.culprits.push_back({.communicator = job.communicator().id, .rank = 1, .host = "a", .pid = 101, .gpu = 1});
  AddReasons(job.now, v);
  return Sentence(v);
}

TEST(Reasons, OfAGpuThatIsSlow) {
  const std::string slow = "the GPU of rank 1 (host a, pid 101, GPU 1) moves 1.60 of 31.00 GB/s";
  const std::string gpu = ": GPU 0000:2b:00.0 ";
  GpuLook look{.bus_id = kBusIds[1],
               .clock_mhz = 345,
               .most_clock_mhz = 1980,
               .throttle = kTooHot | kHeldByHardware,
               .power_w = 210,
               .power_limit_w = 700,
               .temperature_c = 92};
  EXPECT_EQ(SlowBecause(look),
            slow + gpu +
                "runs at 345 of 1980 MHz (too hot, held down by its hardware), takes 210 of 700 W and has 92 "
                "C. Look at cooling and power of that host, and leave it out until then");
  look.throttle = kPowerCap;
  look.uncorrected = 1;
  EXPECT_EQ(
      SlowBecause(look),
      slow + gpu +
          "has had 1 error of its memory, that could not be corrected, since the driver was loaded; GPU 0000:2b:00.0 "
          "runs at 345 of 1980 MHz (at its power limit), takes 210 of 700 W and has 92 C. Its power limit holds it "
          "down: "
          "nvidia-smi -q -d POWER shows it, nvidia-smi -pl sets it");
  // At full speed its clocks are no reason, whatever bit is set.
  look = {.bus_id = kBusIds[1], .clock_mhz = 1960, .most_clock_mhz = 1980, .throttle = kPowerCap};
  EXPECT_EQ(SlowBecause(look),
            slow + gpu +
                "runs at 1960 of 1980 MHz (at its power limit). Look at clocks, power and temperature, and "
                "for other programs: nvidia-smi -q");
  EXPECT_EQ(SlowBecause({.bus_id = kBusIds[1]}),
            slow + ". Look at clocks, power and temperature, and for other programs: nvidia-smi -q");
}

TEST(Reasons, OfAnNvLinkBetweenTwoGpus) {
  Job job = Hung();
  GpuOf(job, 2).nvlinks = {{.number = 4, .to = kBusIds[1], .replays = 90'000, .recoveries = 2, .check_errors = 12}};
  const std::vector<Verdict> verdicts = job.Judged();
  const Verdict& v = One(verdicts, Kind::kNvLinkFault);
  EXPECT_EQ(
      Sentence(v),
      "NVLink fault between rank 2 (host a, pid 102, GPU 2) and rank 1 (host a, pid 101, GPU 1): NVLink 4 of GPU "
      "0000:3b:00.0 to GPU 0000:2b:00.0 has counted 90000 replays, 2 recoveries and 12 wrong check sums while it was "
      "looked at; nothing moves; ranks 0, 1 and 3 have waited for 5.0 s, since 02:16:35 UTC. " +
          std::string(kNvLinkStep));
  EXPECT_TRUE(v.culprits.empty());
  EXPECT_EQ(v.severity, Severity::kWarn);
  // What it was taken for before is the same thing.
  EXPECT_EQ(Subject(v), Subject(Hung().Judged().at(0)));
  // A link mends a few errors without harm.
  GpuOf(job, 2).nvlinks = {{.number = 4, .to = kBusIds[1], .replays = 40, .check_errors = 12}};
  One(job.Judged(), Kind::kGpuHung);
  // A GPU that is gone has no links either.
  GpuOf(job, 2).nvlinks = {{.number = 4, .down = true, .to = kBusIds[1]}};
  GpuOf(job, 2).xids = {{.number = 79}, {.number = 74}};
  One(job.Judged(), Kind::kGpuHung);
}

// With switches nobody knows whose data a link has carried: it is told with who waits.
TEST(Reasons, OfAnNvLinkToASwitch) {
  Job job = Hung();
  GpuOf(job, 2).nvlinks = {{.number = 7, .down = true}};
  GpuOf(job, 2).nvlinks_up = 17;
  GpuOf(job, 2).nvlinks_usual = 18;
  const std::string who = "NVLink fault between rank 2 (host a, pid 102, GPU 2) and rank 3 (host a, pid 103, GPU 3): ";
  EXPECT_EQ(What(One(job.Judged(), Kind::kNvLinkFault)),
            who + "NVLink 7 of GPU 0000:3b:00.0 is down, 17 of 18 are up; nothing moves");
  GpuOf(job, 2).nvlinks.clear();
  GpuOf(job, 2).xids = {{.number = 74, .at_ns = Job::kNow - kSecond}};
  EXPECT_EQ(What(One(job.Judged(), Kind::kNvLinkFault)),
            who + "Xid 74 of GPU 0000:3b:00.0 at 02:16:39 UTC (an NVLink had an error); nothing moves");
  // Of a rank without a partner that has a GPU it is a reason.
  for (const int other : {0, 1, 3}) job.process(other).host = "b";
  const std::string said = Said(job, Kind::kGpuHung);
  EXPECT_NE(said.find("waits for nobody: Xid 74 of GPU 0000:3b:00.0"), std::string::npos) << said;
}

// What has been sent over an NVLink and is not there.
TEST(Reasons, OfAnNvLinkThatLosesData) {
  Job job = WithGpus();
  job.WaitOnRing(5);
  job.Edge(1, 2, 500, 400, 380);
  job.Wait(1, 2, 5, 0, trace::WaitKind::kRoom);
  EXPECT_NE(Said(job, Kind::kUnknown).find("though they share memory"), std::string::npos);
  GpuOf(job, 1).nvlinks = {{.number = 3, .recoveries = 5}};
  EXPECT_EQ(
      What(One(job.Judged(), Kind::kNvLinkFault)),
      "NVLink fault between rank 1 (host a, pid 101, GPU 1) and rank 2 (host a, pid 102, GPU 2): NVLink 3 of GPU "
      "0000:2b:00.0 has counted 0 replays, 5 recoveries and 0 wrong check sums while it was looked at; nothing moves");
}

TEST(Reasons, OfSlowNvLinks) {
  Job job = WithGpus();
  GpuOf(job, 1).nvlinks = {{.number = 3, .recoveries = 5}};
  Verdict v{.kind = Kind::kLinkSlow, .bytes_per_s = 1.6e9, .rated_bytes_per_s = 31e9};
  const auto place = [&](int rank) {
    return Place{.communicator = job.communicator().id, .rank = rank, .host = "a", .pid = 100 + rank, .gpu = rank};
  };
  v.links.push_back({.from = place(1), .to = place(2)});
  AddReasons(job.now, v);
  EXPECT_EQ(What(v),
            "NVLink fault between rank 1 (host a, pid 101, GPU 1) and rank 2 (host a, pid 102, GPU 2): NVLink 3 of GPU "
            "0000:2b:00.0 has counted 0 replays, 5 recoveries and 0 wrong check sums while it was looked at; data move "
            "at 1.60 "
            "of 31.00 GB/s");
  // Whoever suffers from it, and however much it has counted.
  Verdict other{.kind = Kind::kLinkSlow, .bytes_per_s = 1.6e9, .rated_bytes_per_s = 31e9};
  other.links.push_back({.from = place(0), .to = place(1)});
  GpuOf(job, 1).nvlinks[0].recoveries = 9;
  AddReasons(job.now, other);
  EXPECT_EQ(Subject(v), Subject(other));
  EXPECT_EQ(v.common, "NVLink 3 of GPU 0000:2b:00.0");
  // Between hosts there is another network.
  job.process(2).host = "b";
  Verdict far{.kind = Kind::kLinkSlow, .bytes_per_s = 1.6e9, .rated_bytes_per_s = 31e9};
  far.links.push_back({.from = place(1), .to = place(2)});
  AddReasons(job.now, far);
  EXPECT_EQ(far.kind, Kind::kLinkSlow);
}

// A reason that comes later makes the sentence worth saying again, once.
TEST(Reasons, AreToldWhenTheyCome) {
  Story story;
  Job job = Hung();
  EXPECT_EQ(story.Update(job.Judged(), kSecond).size(), 1u);
  EXPECT_TRUE(story.Update(job.Judged(), 2 * kSecond).empty());
  GpuOf(job, 2).temperature_c = 50;  // that is none
  EXPECT_TRUE(story.Update(job.Judged(), 3 * kSecond).empty());
  GpuOf(job, 2).nvlinks = {{.number = 3, .recoveries = 5}};
  std::vector<Story::Line> lines = story.Update(job.Judged(), 4 * kSecond);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].text.substr(0, 21), "NVLink fault between ");
  EXPECT_TRUE(story.Update(job.Judged(), 5 * kSecond).empty());
  GpuOf(job, 2).nvlinks.clear();
  EXPECT_TRUE(story.Update(job.Judged(), 6 * kSecond).empty());
  GpuOf(job, 2).nvlinks = {{.number = 3, .recoveries = 6}};
  EXPECT_TRUE(story.Update(job.Judged(), 7 * kSecond).empty());
  (void)story.Update({}, 8 * kSecond);
  lines = story.Update({}, 9 * kSecond);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].text.find(": NVLink fault between "), std::string::npos) << lines[0].text;
}

TEST(Xid, Table) {
  for (const int number : {13, 31, 43, 45, 48, 61, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120}) {
    EXPECT_EQ(FindXid(number).number, number);
    EXPECT_NE(std::string(FindXid(number).meaning), "");
    EXPECT_NE(std::string(FindXid(number).next_step), "");
  }
  EXPECT_EQ(FindXid(1).sign, XidSign::kUnknown);
}

}  // namespace
}  // namespace tutti::diag
