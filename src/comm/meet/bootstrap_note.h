// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_BOOTSTRAP_NOTE_H_
#define TUTTI_COMM_MEET_BOOTSTRAP_NOTE_H_

// The note that ranks leave where their meeting has failed because one of them is gone: who comes later finds no process
// that could tell it, and would wait for its whole timeout. Part of bootstrap.h.
//
// It is a small file in /dev/shm, for the eyes of the ranks' user, under a name that only the ranks can compute; and it
// carries a code that only they can make. It says what has failed and which ranks have not heard. Whoever takes the name of
// the job's socket looks for it, so one rank at a time reads or changes it; who holds that name in vain has left it before
// letting the name go. Each reader takes itself off the list, and the last one removes the file. What is left after the meeting's deadline is
// removed with the next note that is left.
//
// A rank that is not on the list has heard, or is the one that is gone: then the ranks try again under the same id, and the
// note is removed. It is also not meant for others than the number of ranks that met, for nobody after the meeting's
// deadline, and, where ids follow from a launcher's variables, for no process that was started later: a job that is started
// again may have the same id. Without /dev/shm, or where ranks have different users, there is no note.

#include <string>
#include <vector>

#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap_attendance.h"
#include "tutti/status.h"

namespace tutti::comm {

// Leaves word of `fault` to the ranks that have not heard, but for the one that it blames. REQUIRES: this rank holds the name
// of the job's socket.
void LeaveNote(const Attendance& attendance, const Status& fault, const std::vector<bool>& heard);
// What was left for this rank; Ok: nothing. REQUIRES: this rank holds the name of the job's socket.
Status TakeNote(const Attendance& attendance);

namespace internal {
// The path of the note for a job, for tests.
std::string NotePath(const IdParts& id);
}  // namespace internal

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_BOOTSTRAP_NOTE_H_
