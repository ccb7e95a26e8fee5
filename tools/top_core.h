// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOP_CORE_H_
#define TUTTI_TOOLS_TOP_CORE_H_

// What `tutti top FILE` shows: the black boxes in a core file, and what one look at them tells.

#include <cstdint>
#include <string>
#include <vector>

#include "diag/evidence.h"
#include "diag/verdict.h"
#include "sys/os/core_file.h"
#include "tools/json.h"
#include "tools/top_boxes.h"
#include "tools/top_jobs.h"

namespace tutti::tools {

struct CoreLook {
  std::string path;
  std::int32_t pid = 0;
  std::string program;
  int signal = 0;  // 0: none, or not known
  bool is_cut = false;
  // By communicator and rank: of the process itself, and of its peers on that host, whose pages it had mapped. Their time is the latest
  // that any of them has written down, as a core file does not tell when it was written.
  std::vector<BoxCopy> own, peers;
  diag::Look look;
};

// Errors: no core file, none of Tutti's pages in it.
Result<CoreLook> ReadCore(const std::string& path);
// The same from a core file that is open; `path` is for sentences.
Result<CoreLook> ReadCore(const sys::CoreFile& core, const std::string& path);

// What one look tells: who is behind, what does not match, who waits in a circle, and which error ended a communicator. Nothing of what
// only two looks tell apart, as a link on which nothing moves. None of it is proven where ranks of other processes may have gone on.
std::vector<diag::Verdict> JudgeCore(const CoreLook& core);

// Critical where a signal ended the process.
JobStatus StatusOf(const CoreLook& core, const std::vector<diag::Verdict>& verdicts);
std::string FormatCore(const CoreLook& core, const std::vector<diag::Verdict>& verdicts);
Json CoreAsJson(const CoreLook& core, const std::vector<diag::Verdict>& verdicts);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOP_CORE_H_
