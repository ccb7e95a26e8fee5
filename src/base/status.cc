// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tutti/status.h"

namespace tutti {

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "OK";
    case Code::kSystem:
      return "SYSTEM";
    case Code::kInternal:
      return "INTERNAL";
    case Code::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case Code::kInvalidUsage:
      return "INVALID_USAGE";
    case Code::kRemote:
      return "REMOTE";
    case Code::kInProgress:
      return "IN_PROGRESS";
    case Code::kTimeout:
      return "TIMEOUT";
    case Code::kUnsupported:
      return "UNSUPPORTED";
  }
  return "UNKNOWN";
}

const std::string& Status::message() const {
  static const std::string kNone;
  return ok() ? kNone : detail_->message;
}

std::string Status::ToString() const { return ok() ? "OK" : std::string(CodeName(code())) + ": " + message(); }

}  // namespace tutti
