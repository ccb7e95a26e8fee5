// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_XID_H_
#define TUTTI_DIAG_XID_H_

// Errors of GPUs by the numbers that NVIDIA's driver gives them in the kernel's log.

namespace tutti::diag {

// What such an error is a sign of, the weightiest last.
enum class XidSign : unsigned char {
  kAftermath,  // of something that came before, as of a process that was ended
  kUnknown,    // a number that the table does not have
  kProgram,    // what the GPU was told to do was wrong, as a rule
  kWarning,    // the GPU goes on
  kNvLink,     // a link to another GPU or to a switch
  kGpu,        // the GPU, its memory or its driver
};

struct Xid {
  int number = 0;
  XidSign sign = XidSign::kUnknown;
  const char* meaning = "";    // "the GPU is gone from the PCIe bus"
  const char* next_step = "";  // without a full stop
};
inline constexpr int kNvLinkXid = 74;
// Of a number that the table does not have: that it is to be looked up.
const Xid& FindXid(int number);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_XID_H_
