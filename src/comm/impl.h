// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_IMPL_H_
#define TUTTI_COMM_IMPL_H_

// The inside of a communicator. Its life is in create.cc, its operations in operations.cc, waiting in wait.cc, the
// comparison of its calls with its peers' in compare.cc.

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "exec/cpu/engine.h"
#include "exec/cpu/job.h"
#include "trace/recorder.h"
#include "trace/view.h"
#include "transport/shm/fabric.h"
#include "tune/chooser.h"
#include "tutti/communicator.h"

namespace tutti {

namespace comm {

// Sizes with the same top bits share a choice: four classes for each power of two.
inline constexpr int kSizeClasses = 256;
constexpr int SizeClass(std::size_t bytes) {
  if (bytes < 4) return static_cast<int>(bytes);
  const int width = 63 - __builtin_clzll(bytes);
  return width * 4 + static_cast<int>(bytes >> (width - 2) & 3);
}
constexpr std::size_t SmallestOfClass(int size_class) {
  if (size_class < 8) return size_class;
  const int width = size_class / 4;
  return (std::size_t{1} << width) + (static_cast<std::size_t>(size_class % 4) << (width - 2));
}

// What to do for a collective in a size class, decided at its first use.
struct Recipe {
  std::vector<const exec::cpu::PreparedPlan*> plans;  // one per channel; empty: not decided yet
  proto::Protocol protocol = proto::Protocol::kSimple;
  bool by_reference = false;
  std::size_t chunk_bytes = 0;
  std::size_t pool_chunk_bytes = 0;  // where an operation can not refer after all
  std::uint16_t how = 0;             // trace::How::Pack
};

// A job with the storage of a group's plan, reused from operation to operation.
struct OwnedJob : exec::cpu::Job {
  bool in_use = false;
};

}  // namespace comm

struct Communicator::Impl {
  Impl(const CommunicatorOptions& options);
  ~Impl();

  // create.cc
  Status Connect(const CommunicatorOptions& options);
  // `common_cpus`: rank 0's, because all must choose alike.
  Status CreateChooser(int common_cpus);
  void LogCreated(std::int64_t begin_ns) const;
  void CreateBlackBox();
  Status OpenBlackBoxes();
  // Waits until `ready`, before the deadline and while no peer fails. `what` completes "rank 3 of 4 ..." for errors.
  Status WaitAtInit(std::int64_t deadline_ns, const std::function<bool()>& ready, const char* what);
  Status Cancelled() const;
  // Ends what is unfinished and tells the peers that this rank has gone.
  void Leave();

  // operations.cc: from an operation to a job.
  Status Validate(const Operation& operation) const;
  Status Prepare(const Operation& operation, exec::cpu::Job& job);
  Status PrepareTransfers(std::span<const Operation> operations, exec::cpu::Job& job);
  // Whether run_job is prepared for a call that differs in its buffers at most.
  bool PreparedFor(const Operation& operation) const;
  // Validate, except where the same call with the same buffers was found valid before.
  Status ValidateCall(const Operation& operation) const;
  // Makes a job ready for one call, or for sends and receives together, and writes them into the black box. A call like
  // run_job's last one costs no more than its buffers: programs repeat themselves. REQUIRES: valid operations.
  Status PrepareCall(const Operation& operation, exec::cpu::Job& job);
  Status PrepareGroup(std::span<const Operation> operations, exec::cpu::Job& job);
  static void ChangeBuffers(const Operation& operation, exec::cpu::Job& job);
  Result<const comm::Recipe*> FindRecipe(Collective collective, std::size_t bytes, int root);
  const exec::cpu::PreparedPlan* FindPlan(algo::Algorithm algorithm, Collective collective, int root, int channel);
  const exec::cpu::PreparedPlan* FindTransferPlan(std::span<const Operation> operations);
  exec::cpu::Lane FindLane(std::size_t bytes);
  Result<double> PredictUs(const Operation& operation);
  exec::cpu::Job* NewJob();
  // Submits the jobs of a list of operations: one for each collective, one for all sends and receives together.
  Status SubmitAll(std::span<const Operation> operations, std::vector<exec::cpu::Job*>& jobs);
  void Submit(exec::cpu::Job* job);
  // Writes calls down in the black box and marks their messages.
  void RecordCollective(exec::cpu::Job& job);
  void RecordTransfers(std::span<const Operation> operations, exec::cpu::Job& job);
  std::uint64_t RecordTransfer(const Operation& o, std::uint64_t* its_mark);
  // Counts a send or receive; its number among those with the same peer.
  std::uint64_t NumberTransfer(const Operation& o);
  // A call that moves nothing.
  void RecordEmpty(const Operation& o);
  // A call that the GPU runs. It counts as ended here when it is in its stream.
  void RecordGpuCall(const Operation& o);
  void TimeCalls(exec::cpu::Job& job);
  // Collectives written down so far, which is the sequence number of the last.
  std::uint64_t Collectives() const { return recorder.last() - transfers; }
  // Runs run_job, which has been prepared, to its end.
  Status RunPrepared();
  void Release(exec::cpu::Job* job);

  // log_operation.cc: what NCCL_DEBUG=INFO shows of a call under COLL and TUNING.
  void LogOperation(const Operation& operation);

  // wait.cc
  Status WaitFor(const exec::cpu::Job& job);
  struct WaitState {
    std::int64_t since_ns;       // when something last moved
    std::int64_t last_probe_ns;  // when the peers' processes were last looked for
    std::uint64_t moves;
    std::int64_t begin_ns;
    std::int64_t waited_ns = 0;
    std::int64_t now_ns;
    std::int64_t looked_ns = 0;  // LookAround's: when it last looked, and from when on the wait counts
    std::int64_t counts_from_ns = 0;
    std::int64_t useless_ns = 0;  // spent in yields that let no other rank run
  };
  Status WaitOn(const exec::cpu::Job& job, WaitState& wait);
  void BalanceCores();
  void LookAround(WaitState& wait, std::int64_t now_ns);
  void Pause(const exec::cpu::Job& job, const WaitState& wait);
  Status CheckPeers(bool probe_processes);
  // The cause of a failed operation: where a peer has broken its communicator because calls do not match, that.
  Status CauseOf(const Status& status);
  void AddWaited(std::int64_t ns);
  // Writes down what this rank waits for, and how far its links are.
  void ReportWait(std::int64_t since_ns, std::int64_t now_ns);
  void ReportLinks();
  void EndReport();
  // CheckPeers at a bearable rate, for callers that poll.
  Status TestPeers();
  void Break(const Status& status);
  Status Broken();
  void JoinThread();
  void LeaveThread();

  // compare.cc: whether the calls of all ranks match, as far as they can be seen. An error quotes two calls that do not.
  // Looks at what has arrived here in place of what is waited for; and, if `since_ns` is not 0, at the calls that the
  // peers have written down, where this rank has waited since then.
  Status CompareCalls(std::int64_t since_ns);
  Status CompareCollectives(std::uint64_t sequence);
  Status CompareHistory(int peer);
  Status CompareTransfers(const exec::cpu::Job& job);
  Status CompareTransfers(std::vector<trace::CallRecord> own);
  // The same for calls on GPUs, whose messages carry no marks: all that the ranks still have written down. Any thread.
  Status CompareGpuCalls();
  Status ExplainForeign(const exec::cpu::Job& job, const exec::cpu::Foreign& foreign);
  Status FindStandoff(const exec::cpu::Job& job, std::int64_t since_ns);

  const int rank;
  const int ranks;
  const std::string who;  // for the log: "comm 0x55... rank 1 nranks 4", and the user's name for it
  Settings settings;
  tune::Machine machine;  // the constants that the chooser works with
  tune::Chooser chooser;
  int cpus = 1;
  bool crowded = false;                            // more ranks than cores
  std::int64_t spin_ns = 0;                        // how long a wait spins before it gives the core away
  std::unique_ptr<transport::shm::Fabric> fabric;  // null where ranks == 1
  trace::Recorder recorder;
  std::unique_ptr<exec::cpu::Engine> engine;
  std::vector<trace::View> boxes;              // of all ranks; none where ranks == 1
  std::uint64_t transfers = 0;                 // sends and receives called so far; the other calls are collectives,
  std::uint64_t own_collectives = 0;           // some by the library itself while it was made; alike on all ranks
  std::uint64_t mark = 0;                      // of the last collective (trace/call.h)
  std::vector<std::uint64_t> sends, receives;  // called so far, by peer
  // The last collective on the GPU: its word and count, and the run of the black box that it is in.
  struct {
    trace::CallWord word = 0;
    std::uint64_t count = 0, run = 0;
  } gpu_call;
  bool wait_reported = false;
  std::int64_t last_report_ns = 0;
  UniqueId id;
  const std::string name;                     // what the user calls it; may be empty
  const std::atomic<bool>* cancel = nullptr;  // of Create; null afterwards
  int shared_allocations = 0;
  int children = 0;  // communicators split off so far
  int shrinks = 0;
  std::vector<sys::SharedMapping> own_regions;  // where ranks == 1

  // Plans and recipes, filled as they are first used.
  std::map<std::tuple<algo::Algorithm, Collective, int, int>, std::unique_ptr<exec::cpu::PreparedPlan>> plans;
  using RecipeTable = std::array<comm::Recipe, comm::kSizeClasses>;
  std::array<std::unique_ptr<RecipeTable>, kCollectives> recipes;
  std::array<std::vector<std::unique_ptr<RecipeTable>>, kCollectives> rooted_recipes;
  struct CachedGroup {
    std::vector<Operation> shape;  // kind and peer of each operation
    std::unique_ptr<exec::cpu::PreparedPlan> plan;
  };
  std::vector<CachedGroup> groups;
  std::size_t next_group = 0;                                            // the next to be forgotten
  std::size_t last_group = 0;                                            // the last that was used
  std::array<std::optional<exec::cpu::Lane>, comm::kSizeClasses> lanes;  // of sends and receives, by size
  std::vector<std::unique_ptr<comm::OwnedJob>> jobs;
  std::vector<comm::OwnedJob*> free_jobs;  // those of `jobs` that are not in use
  std::optional<Operation> prepared;       // what run_job is ready for
  std::uint8_t barrier_output = 0;
  exec::cpu::Job run_job;  // Run's, so that it need not look for one

  // Set by any thread.
  std::atomic<bool> broken{false};
  std::mutex failure_mutex;
  Status failure;  // guarded by failure_mutex
  bool in_thread_list = false;
  bool left = false;
  std::int64_t last_test_ns = 0;
  std::uint64_t test_moves = 0;    // when the peers were last looked at by Test,
  std::int64_t test_since_ns = 0;  // and since when they are the same
  std::uint32_t pauses = 0;
  std::uint64_t logged_operations = 0;
};

}  // namespace tutti

#endif  // TUTTI_COMM_IMPL_H_
