// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_WHOLE_H_
#define TUTTI_DIAG_WHOLE_H_

// Between hosts, operations on GPU memory run in communicators that the library makes for itself, of the ranks of a host or of one rank of
// each: parts. The program knows nothing of them, so verdicts tell of the whole.

#include "diag/evidence.h"

namespace tutti::diag {

// Whether a look has parts.
bool HasParts(const Look& look);
// Numbers the ranks of parts as in the whole. A part of which that is not known of every rank that is named in it, in both looks, or which is
// being made, becomes a communicator like others.
void NumberAsWholes(Look& before, Look& now);
// The whole of a part in a look of that kind; `c` itself where it is no part.
const CommunicatorLook& WholeOf(const Look& look, const CommunicatorLook& c);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_WHOLE_H_
