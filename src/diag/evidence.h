// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_EVIDENCE_H_
#define TUTTI_DIAG_EVIDENCE_H_

// What one look at a job holds: its processes as the system shows them, and of each communicator what the black boxes of its
// ranks say. Values only: a look can be made of live black boxes, written by hand or come from a simulator, and is judged alike
// (verdict.h). What is not known has the value that its field names; nothing is guessed here.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diag/gpu_look.h"
#include "trace/call.h"
#include "trace/layout.h"
#include "tutti/status.h"

namespace tutti::trace {
class View;
}

namespace tutti::diag {

inline constexpr std::int64_t kMs = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000'000'000;

// Of a host that nothing comes from for so long nothing is known any more.
inline constexpr std::int64_t kSilentNs = kSecond;

// A host, as far as others can tell.
struct HostLook {
  std::string name;
  std::int64_t silent_ns = 0;  // how long nothing has come from any of its addresses; 0: it answers
};

enum class ProcessState : std::uint8_t {
  kUnknown,
  kRunning,
  kSleeping,         // a signal would wake it
  kUninterruptible,  // nothing would: it waits for a device, as a rule
  kStopped,          // SIGSTOP, SIGTSTP
  kFrozen,           // its control group is frozen
  kTraced,           // a debugger holds it
  kZombie,           // it has ended, and its parent has not asked how
  kGone,
  kSilent,  // of another host, which takes what is sent to the process: that does not answer
};
// "stopped"
const char* Name(ProcessState state);

struct ThreadLook {
  std::int32_t id = 0;
  std::string name;
  ProcessState state = ProcessState::kUnknown;
  std::string system_call;   // "write"; empty: none, or not known
  std::string object;        // what the call works on: "/ckpt/17.pt"; empty: not known
  std::string kernel_place;  // function of the kernel that it sleeps in; empty: not known
};

// What the system says of why a process has ended.
struct EndingLook {
  bool out_of_memory = false;        // the kernel's log: it was ended for want of memory
  bool of_group = false;             // of its control group, rather than of the host
  std::string group;                 // that lacked it, or that counts; empty: not known
  std::int64_t limit_bytes = -1;     // of the group; -1: none, or not known
  std::int64_t resident_bytes = -1;  // that the process had in use; -1: not known
  std::int64_t group_kills = 0;      // how many of the group's processes were ended so since it was first looked at
  std::string crash;  // what it did that ended it: "segfault at 0 ip ... in libfoo.so"; empty: nothing, or not known

  bool operator==(const EndingLook&) const = default;
};

// Time that a process has had on a core, and has not, since it began, some time before a look. -1: not known.
struct CoreTimes {
  std::int64_t before_ns = 0;                                        // how long before
  std::int64_t queue_ns = -1, throttled_ns = -1, group_run_ns = -1;  // as in ProcessLook
};

struct ProcessLook {
  std::string host;
  std::int32_t pid = 0;
  std::string name;
  ProcessState state = ProcessState::kUnknown;
  std::vector<ThreadLook> threads;    // the main thread first, then a few that run or sleep uninterruptibly
  std::vector<std::string> children;  // names of processes that it has started
  // Since it began: the main thread on a core, and ready without one. Of its control group, added up over the cores: kept off them, and on
  // them. -1: not known.
  std::int64_t run_ns = -1;
  std::int64_t queue_ns = -1;
  std::int64_t throttled_ns = -1;
  std::int64_t group_run_ns = -1;
  // The same, when its host last told of it. Not every look has an answer of a host that has hardly any time.
  std::optional<CoreTimes> earlier;
  std::int64_t written_bytes = -1;  // to files, since it began; -1: not known
  std::optional<int> end;           // of one that has ended: as waitpid has it
  EndingLook ending;                // likewise
  std::vector<GpuLook> gpus;        // of its ranks, where there was a reason to ask

  const GpuLook* FindGpu(const std::string& bus_id) const;  // null where nothing is known of it
};

// A rank's life, in the order in which it goes.
enum class RankState : std::uint8_t { kUnknown, kStarting, kReady, kLeft, kFailed };

// Links in both directions between a rank and a peer, on one channel, as the rank sees them. Counted as in trace::LinkWords, in the
// units of each protocol.
struct LinkLook {
  int peer = -1;
  int channel = 0;
  std::array<std::uint64_t, trace::kBoxProtocols> sent{}, received{}, credit{};
  std::int64_t data_wait_ns = 0;
  std::int64_t room_wait_ns = 0;
  // To a peer on another host: bytes/s of the last second in which there was enough to send for half of the time, 0 else; what is usual; and
  // by which card.
  std::uint64_t pace_bytes_per_s = 0, usual_bytes_per_s = 0;
  std::string card;
  std::uint64_t arrived_bytes_per_s = 0;  // likewise, of all that there was to send; 0 also where it is not known
  // Of the time in which it was slow, or what the rank waited for, in which something waited in the card's own queues.
  int queued_percent = 0;
};

// What goes from a rank to a peer of another host by one card.
struct FlowLook {
  int peer = -1;
  std::string card;
  // Bytes that it was handed, and how many of these are known to have reached the other host; and for how long something has been
  // on its way and none of it arrived.
  std::uint64_t posted = 0, completed = 0;
  std::int64_t stuck_ns = 0;
  bool peer_is_full = false;  // what is on its way waits for the other process, which takes no more
  // What it carries in seconds in which much waits to be sent, and in those with little under way at a time: the latter takes as long as it
  // takes to and fro, so it tells the least that it could carry. 0: not known.
  std::uint64_t carries_bytes_per_s = 0, carries_little_bytes_per_s = 0;

  bool operator==(const FlowLook&) const = default;
};

struct WaitLook {
  trace::WaitKind kind = trace::WaitKind::kNothing;
  int peer = -1;  // -1: nobody in particular
  int channel = 0;
  std::uint64_t number = 0;    // of the call that waits
  std::int64_t since_ns = 0;   // when something last moved
  std::int64_t looked_ns = 0;  // when the rank last found itself waiting
  // Of the last wait, also where that is over: which thread waited, and whether it can do nothing else meanwhile. 0: not known.
  std::int32_t thread = 0;
  bool inside = false;
  std::int64_t longest_ns = 0;  // the longest wait that has ended
  bool on_gpu = false;          // kernels of the rank wait, and no thread
};

// Collectives first..last, which are alike.
struct CallRun {
  std::uint64_t first = 0, last = 0;  // sequence numbers: the same call on all ranks
  trace::Call call;
};

// One rank of a communicator.
// Long because a field is what one question asks for.
struct RankLook {
  int rank = 0;
  int rank_of_whole = -1;  // CommunicatorLook::whole; -1: none, or not known
  // Of a part: the whole's call that it waits in, with the whole's ranks in it; none: not known.
  std::optional<trace::WholeCall> for_whole;
  int process = -1;  // its place in Look::processes; -1: not known
  // Ranks with the same number share memory; others have a network between them.
  int island = 0;
  int gpu = -1;            // of its calls; -1: host memory
  std::string gpu_bus_id;  // of the GPU that its communicator uses; empty: none, or not known
  // Of its latest call on the GPU, by a number that is the same in all communicators of its process; 0: not known.
  std::uint64_t stream = 0;
  RankState state = RankState::kUnknown;
  bool records_calls = true;
  std::int32_t thread = 0;  // that made the communicator; 0: not known
  std::int64_t created_ns = 0;
  std::uint64_t called = 0, finished = 0;                // numbers of calls
  std::array<std::uint64_t, trace::kFunctions> calls{};  // that were called, of each function, by Collective
  // False: so many transfers came after the last collective that it is recorded no more, and `sequence` says nothing.
  bool knows_collectives = true;
  // Collectives called, and ended, by their sequence.
  std::uint64_t sequence = 0, finished_sequence = 0;
  // Of a GPU's calls: every call up to this number has begun on it, and every collective up to this sequence. None: not known, as where
  // nobody asks. Calls there count as ended once they are in a stream (finished_is_done), or up to the one in which the GPU waits.
  std::optional<std::uint64_t> started;
  std::uint64_t started_sequence = 0;
  // The call after `finished`, where there is one and it is still written down.
  struct Running {
    std::uint64_t number = 0;  // 0: none
    std::uint64_t sequence = 0;
    trace::Call call;
    int protocol = -1;
  } running;
  std::vector<CallRun> history;  // collectives, the latest first
  // Of those with a peer, the sequence of the latest send and receive that was called and is still written down; 0: none.
  struct Transfers {
    int peer = -1;
    std::uint64_t sends = 0, receives = 0;
    std::uint64_t started_sends = 0, started_receives = 0;  // on a GPU; 0 where `started` is not known
  };
  std::vector<Transfers> transfers;
  // Whether the call up to `finished` that came last has ended on the rank's own side, rather than in a GPU's stream.
  bool finished_is_done = true;
  WaitLook wait;
  // Where its process waits in another communicator, as that says itself; communicator 0: nowhere that is known.
  struct Elsewhere {
    std::uint64_t communicator = 0;
    std::int32_t thread = 0;
  } elsewhere;
  std::vector<LinkLook> links;  // those that were used
  std::vector<FlowLook> flows;  // likewise, to other hosts
  Code failure_code = Code::kOk;
  std::string failure;  // the error that broke the communicator; empty: none
  int blamed = -1;      // the rank that it names
  // Units of the running operation that it has done; none: not known.
  std::optional<std::uint64_t> progress;

  bool inside() const { return called > finished; }
  // Whether it shows by its GPU that it gets on, rather than by what it calls and what has ended.
  bool queues() const { return wait.on_gpu || (started && !finished_is_done); }
  const LinkLook* LinkTo(int peer, int channel) const;  // null where it was not used
  // Of those to a peer that by which nothing has arrived for longest, else that which was handed most; null where there is none.
  const FlowLook* FlowTo(int peer) const;
  Transfers TransfersWith(int peer) const;
  const trace::Call* CollectiveAt(std::uint64_t number) const;  // by its sequence; null where it is not written down
};

// What is known of the way from one rank to another beyond the counters.
struct EdgeFacts {
  int from = 0, to = 0;
  std::string nic_from, nic_to;  // "mlx5_1"; empty: not known
  // Bytes that a unit of each protocol carries; 0: not known.
  std::array<std::uint32_t, trace::kBoxProtocols> unit_bytes{32, 120, 0};
  double rated_bytes_per_s = 0;  // as measured when the communicator was made; 0: not known
  double past_bytes_per_s = 0;   // the edge's own, while it was the limit; 0: not known
};

struct CommunicatorLook {
  std::uint64_t id = 0;
  std::string name;         // what the user called it; may be empty
  std::uint64_t whole = 0;  // of a part (whole.h): what it was made from; 0: it is none
  int ranks = 0;
  std::array<std::uint32_t, trace::kBoxProtocols> window{};  // room of a link; 0: not known
  std::int64_t created_unix_ns = 0;
  std::uint64_t own_collectives = 0;  // the first so many are the library's own
  // While it is made: where its hosts meet, if that does not answer, so that ranks which are not seen may have come to other hosts:
  // "10.0.0.1:500 of the process that made the id". Else empty.
  std::string silent_place;
  std::vector<RankLook> seen;  // by rank; those of which nothing can be seen are missing
  std::vector<EdgeFacts> edges;

  const RankLook* Find(int rank) const;  // null where it is not seen
  // A collective's number as its program counts.
  std::uint64_t NumberOf(std::uint64_t sequence) const {
    return sequence >= own_collectives ? sequence - own_collectives : sequence;
  }
  const EdgeFacts* FactsOf(int from, int to) const;
};

struct Look {
  std::int64_t taken_ns = 0;       // CLOCK_MONOTONIC
  std::int64_t taken_unix_ns = 0;  // the same moment, since 1970; 0: not known
  std::vector<HostLook> hosts;
  std::vector<ProcessLook> processes;
  std::vector<CommunicatorLook> communicators;

  const CommunicatorLook* Find(std::uint64_t id) const;
  const ProcessLook* ProcessOf(const RankLook& rank) const;  // null where it is not known
};

// A rank as its black box tells; process, island, state and `blamed` are not in it and stay as they are in RankLook.
RankLook ReadRank(const trace::View& box);
// The same of its communicator, without ranks.
CommunicatorLook ReadCommunicator(const trace::View& box);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_EVIDENCE_H_
