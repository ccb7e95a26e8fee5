// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_OWN_LOOK_H_
#define TUTTI_WATCH_OWN_LOOK_H_

#include <functional>
#include <memory>
#include <vector>

#include "diag/evidence.h"
#include "watch/inquiry.h"

namespace tutti::watch {

struct Subject;

// A look at this host's ranks of those communicators that exist, and that `wanted` wants; it is asked with the subject locked.
// Of one that is being made nothing is said before it is known who has come.
diag::Look LookAtOwn(const std::vector<std::shared_ptr<Subject>>& subjects,
                     const std::function<bool(Subject& subject)>& wanted);

// Whether some rank of this host, of whatever process, waits in it. REQUIRES: it is locked.
bool IsWaitedInHere(const Subject& subject);

// Of the same those that have ranks on other hosts: what to ask these about.
std::vector<Inquiry::About> AboutOwn(const std::vector<std::shared_ptr<Subject>>& subjects,
                                     const std::function<bool(Subject& subject)>& wanted);

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_OWN_LOOK_H_
