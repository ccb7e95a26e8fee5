// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_FLIGHT_H_
#define TUTTI_TOOLS_RECORD_FLIGHT_H_

// What PyTorch's flight recorder would have dumped of a job, from its black boxes: one dump for each rank, which `torchfrtrace`
// reads as a pickle (record_pickle.h). docs/diagnosis.md says what is in it.

#include <memory>
#include <string>
#include <vector>

#include "tools/json.h"
#include "tools/record_job.h"

namespace tutti::tools {

// A process group for each communicator with its collectives, and one for the sends of each rank to each other with both sides of
// them: there the reader compares what belongs together, by its number.
//
// The reader takes a call that one rank has and another has not for a fault. So calls are left out that are forgotten on a
// rank which made them, and of a communicator whose ranks all go on, which are copied one after the other, those that have not ended
// everywhere. Times are ns since 1970. Threads: one at a time.
class FlightRecord {
 public:
  // REQUIRES: `job` outlives this.
  explicit FlightRecord(const RecordJob& job);
  ~FlightRecord();
  FlightRecord(const FlightRecord&) = delete;
  FlightRecord& operator=(const FlightRecord&) = delete;

  // A sentence for each communicator that is left out, or whose collectives are: why.
  const std::vector<std::string>& notes() const;
  // Whether collectives are left out because boxes were copied too far apart; another copy may have them.
  bool apart() const;
  // The ranks of the job that have a dump, ascending.
  std::vector<int> ranks() const;
  // Some kilobytes for each call, so it is made each time. REQUIRES: one of ranks().
  Json DumpOf(int rank) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_FLIGHT_H_
