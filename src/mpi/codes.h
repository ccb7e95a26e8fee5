// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_MPI_CODES_H_
#define TUTTI_MPI_CODES_H_

#include <string>

#include "mpi/abi.h"
#include "tutti/status.h"

namespace tutti::mpi {

// The number by which a sentence is returned from a function of MPI, for MPI_Error_string: one of kCodes, from kFirstCode on. The same
// sentence gets the same number; where there are more, the oldest loses its. Threads: any.
int CodeOf(const std::string& sentence);
// What a code or a class means.
std::string SentenceOf(int code);

// What a function of MPI returns for a Status: 0, or the code of "MPI_Allreduce: sentence".
int Answer(const char* function, const Status& status);
// The same; the sentence goes to standard error too, as a line. For what programs are known not to look at.
int AnswerAloud(const char* function, const Status& status);
// A line on standard error.
void Say(const std::string& sentence);

}  // namespace tutti::mpi

#endif  // TUTTI_MPI_CODES_H_
