// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_PATIENCE_H_
#define TUTTI_DIAG_PATIENCE_H_

#include "diag/verdict.h"

namespace tutti::diag {

// How loud a verdict is, after its wait. What has an excuse stays at INFO.
Severity SeverityOf(const Verdict& verdict, const Rules& rules);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_PATIENCE_H_
