// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_JOB_H_
#define TUTTI_TOOLS_RECORD_JOB_H_

// A job as `tutti record` writes it: its ranks under one numbering, and the black boxes of its communicators.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "diag/evidence.h"
#include "tools/top_boxes.h"
#include "tools/top_jobs.h"
#include "trace/view.h"

namespace tutti::tools {

// A rank of the job. Its number is that in the job's largest communicator, of several alike the oldest. Who is not in that one gets
// a number after those, by the process and thread that has made its communicator.
struct RecordRank {
  int number = 0;
  // Whether that is certain. Not where a process has several ranks and the thread does not tell which of them it is.
  bool sure = true;
  std::string host;  // empty: not known
  std::int32_t pid = 0;
  std::string process;  // its name; may be empty
};

// A rank of one communicator.
struct RecordMember {
  std::size_t place = 0;  // in RecordJob::ranks
  const diag::RankLook* look = nullptr;
  const trace::View* box = nullptr;  // null where none was copied
  std::int64_t taken_ns = 0;         // CLOCK_MONOTONIC: when that was copied
  bool moved = false;                // whether calls have ended since the look before
};

struct RecordCommunicator {
  const diag::CommunicatorLook* look = nullptr;
  std::string title;                  // its name, else its id in hexadecimal
  std::vector<RecordMember> members;  // those that are seen, by rank

  const RecordMember* Find(int rank) const;  // null where it is not seen
};

struct RecordJob {
  std::vector<RecordRank> ranks;
  std::vector<RecordCommunicator> communicators;  // the largest first
  std::vector<diag::Verdict> verdicts;
  std::int64_t taken_ns = 0;        // CLOCK_MONOTONIC
  std::int64_t unix_offset_ns = 0;  // what turns that clock's times into those since 1970

  // Null where it is not of this job.
  const RecordCommunicator* Find(std::uint64_t id) const;
};

// REQUIRES: `job` is of FindJobs(before, now, ...); `now` and `boxes` outlive what is returned. Pure; any thread.
RecordJob MakeRecordJob(const diag::Look& before, const diag::Look& now, const TopJob& job,
                        const std::vector<BoxCopy>& boxes);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_JOB_H_
