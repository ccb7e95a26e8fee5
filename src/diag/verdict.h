// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_VERDICT_H_
#define TUTTI_DIAG_VERDICT_H_

// Who or what holds a job up, from two looks at it: by what stands still, not by for how long. docs/diagnosis.md tells what is
// asked in which order.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diag/edges.h"
#include "diag/evidence.h"

namespace tutti::diag {

enum class Kind : std::uint8_t {
  kLateHost,        // a rank has not made the call that others wait in, or does not drive it on
  kStarved,         // its process gets no time on a core
  kStopped,         // its process is stopped or frozen
  kTraced,          // a debugger holds its process
  kDead,            // its process has ended
  kHostGone,        // its host does not answer
  kGpuLate,         // it has called, and its GPU has not begun
  kGpuSlow,         // its GPU takes or gives data far more slowly than it could
  kGpuHung,         // its GPU has begun, waits for nobody and does not go on
  kLinkSlow,        // data move on a link, far more slowly than they could
  kLinkStalled,     // they do not move
  kNvLinkFault,     // either, between two GPUs of a host, and an NVLink is down or counts errors
  kMismatch,        // ranks have called different things
  kDeadlock,        // ranks wait for each other in different calls
  kInitIncomplete,  // ranks that a communicator needs have not come
  kBroken,          // a communicator has been ended by an error of another kind, or by the program
  kUnknown,         // none of these is shown, or what is shown contradicts itself
};
inline constexpr int kKinds = 17;
// "late host"
const char* Name(Kind kind);

enum class Severity : std::uint8_t { kQuiet, kInfo, kWarn };
const char* Name(Severity severity);

// How sure: kProven follows from states that cannot change by themselves; kLikely could be something else that looks the same.
enum class Confidence : std::uint8_t { kProven, kLikely, kUnsure };
const char* Name(Confidence confidence);

// A rank, and where it runs.
struct Place {
  std::uint64_t communicator = 0;
  std::string communicator_name;  // may be empty
  int rank = -1;
  std::string host;  // empty: not known
  std::int32_t pid = 0;
  int gpu = -1;

  bool operator==(const Place&) const = default;
};

struct LinkPlace {
  Place from, to;
  int channel = 0;
  std::string nic_from, nic_to;
  double bytes_per_s = 0, rated_bytes_per_s = 0;  // of kLinkSlow
  bool beside_others = false;                     // likewise, as in Verdict
};

// A call of a rank.
struct CallOf {
  Place who;
  trace::Call call;
  std::uint64_t sequence = 0;
};

// Long because a field is what some kind of verdict tells.
struct Verdict {
  Kind kind = Kind::kUnknown;
  Severity severity = Severity::kQuiet;
  Confidence confidence = Confidence::kProven;
  std::vector<Place> culprits;   // none where it is a link, or nobody can be named
  std::vector<LinkPlace> links;  // of kLinkSlow, kLinkStalled, kNvLinkFault
  std::string
      common;  // what several such links have in common: "host node31", "NVLink 4 of GPU 0000:3b:00.0"; empty: nothing
  // kLateHost, kGpuLate and the like: what the culprits owe. kMismatch: the odd call, then the usual. kDeadlock: what each culprit is in.
  std::vector<CallOf> calls;
  std::vector<CallOf> owed;            // kDeadlock: what each culprit has not called
  std::vector<int> missing;            // kInitIncomplete: ranks that have not come
  int ranks = 0;                       // of the communicator
  bool called = false;                 // kLateHost: it has made the call, and does not drive it on
  bool in_graph = false;               // kLateHost: others wait in an operation of a CUDA graph, which has no number
  bool on_gpu = false;                 // kDeadlock: kernels are in the calls, and no thread need be
  std::optional<ProcessLook> process;  // of the first culprit
  std::int64_t held_ns = 0;            // for how long something has waited
  std::int64_t since_unix_ns = 0;      // 0: not known
  std::int64_t stood_ns = 0;           // kLinkStalled: for how long it has at least; 0: not known
  std::int64_t longest_before_ns = 0;  // the longest wait of those who wait now that has ended well
  // kLinkSlow (of the first link), kGpuSlow, and kNvLinkFault where data still move.
  double bytes_per_s = 0, rated_bytes_per_s = 0;
  bool beside_others = false;  // kLinkSlow: it was never faster, and what is rated is what links of other hosts carry
  std::string
      quote;  // of kBroken, kMismatch, kDead: what the ranks themselves say; may be empty. Of kInitIncomplete the silent place
  std::string excuse;  // of kLateHost: what its host shows as a reason: "writes /ckpt/17.pt"; empty: none
  // What the system says of why, of a process that has ended or of a GPU: "Xid 79 at 02:16:30 UTC (...)"; and what to do then.
  std::vector<std::string> reasons;
  std::string remedy;             // empty: what the kind says
  Kind without = Kind::kUnknown;  // kNvLinkFault: what it is but for what the system says
  std::vector<std::string> evidence;
  std::vector<Place> direct, indirect;  // innocent: who waits for the culprit, and who for these
};

// Bounds of a kind. A verdict is told at INFO and at WARN after something has waited for so long.
struct Patience {
  Kind kind;
  std::int64_t info_ns;
  std::int64_t warn_ns;  // kNever: it is no more than INFO
  bool past_counts;      // WARN not before three times the longest wait that has ended well
};
inline constexpr std::int64_t kNever = INT64_MAX;
const std::array<Patience, kKinds>& DefaultPatience();

struct Rules {
  EdgeTable edges = kEdgeTable;
  std::array<Patience, kKinds> patience = DefaultPatience();
  double slow_below = 0.5;  // of what is rated, and of its own past
};

// What holds up the job that the looks show; several causes are several verdicts, and nothing where nobody waits. Pure; any thread.
// REQUIRES: `now` was taken at least kLeastApartNs after `before`.
inline constexpr std::int64_t kLeastApartNs = 100 * kMs;
std::vector<Verdict> Judge(const Look& before, const Look& now, const Rules& rules = {});

// How far apart looks must be for every rank of a communicator of so many to have told where it stands.
std::int64_t ApartNs(int ranks);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_VERDICT_H_
