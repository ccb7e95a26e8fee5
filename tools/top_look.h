// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOP_LOOK_H_
#define TUTTI_TOOLS_TOP_LOOK_H_

// A look at all jobs of this host (diag/evidence.h), from /proc and from black boxes in the memory of their processes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "diag/evidence.h"
#include "tools/top_boxes.h"
#include "trace/layout.h"
#include "transport/shm/segment.h"

namespace tutti::tools {

// The processes that have pages of Tutti mapped.
struct Processes {
  std::vector<std::int32_t> pids;
  int denied = 0;  // others, that may not be looked at
};
Processes FindProcesses();

// The first bytes of a rank's pages: enough for what is asked of them below.
inline constexpr std::size_t kBeginningBytes = transport::shm::kBoxOffset + sizeof(trace::BoxHeader);
// Whether these are the first bytes of a rank's pages. REQUIRES: `page` is aligned to 64 bytes.
bool IsBeginning(const std::byte* page);
// A rank's look, from its black box and the first bytes of its pages; without its process.
diag::RankLook ReadRankLook(const trace::View& box, transport::RankState state, std::int32_t culprit);

// What these processes are seen to do. A rank whose process has ended is read from the pages that its peers have mapped. A process
// that ends meanwhile, or may not be read, is left out. `boxes`, where given, gets the black boxes that it was read from.
diag::Look TakeLook(const std::vector<std::int32_t>& pids, std::vector<BoxCopy>* boxes = nullptr);

// How far apart two looks are at least whose verdicts count, ns: `least_ns`, and more where ranks are many.
std::int64_t ApartNs(const diag::Look& look, std::int64_t least_ns);

// That no process has a communicator, in a sentence. `denied`: of Processes.
std::string NothingHere(int denied);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOP_LOOK_H_
