// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_SENTENCE_H_
#define TUTTI_DIAG_SENTENCE_H_

#include <string>

#include "diag/verdict.h"

namespace tutti::diag {

// A verdict as one line: who, where, what, the evidence in numbers, who waits for how long and since when (UTC), what to do.
std::string Sentence(const Verdict& verdict);
// Its parts, for machines.
std::string What(const Verdict& verdict);  // "rank 3 (host a, pid 77) is stopped"
std::string Effect(
    const Verdict& verdict);  // "ranks 0-2 have waited for 3.1 s, since 02:58:11 UTC"; empty: nobody waits
std::string NextStep(const Verdict& verdict);  // "Continue it with kill -CONT 77, or end it"

// Two verdicts with equal subjects are about the same thing, at different moments. Nothing in it grows with time.
std::string Subject(const Verdict& verdict);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_SENTENCE_H_
