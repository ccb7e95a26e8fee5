// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_GLANCE_H_
#define TUTTI_WATCH_GLANCE_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace tutti::watch {

enum class Due : std::uint8_t;
struct Subject;

// What the monitor does all the time: looks at what the ranks of this process say of themselves, for what is due. Notes for the peers of
// each where else its thread is held up, and what it has on its way to other hosts. Waits for nobody; costs some 0.1 us for each, and
// once a second, or where one waits for long, some system calls for each of its connections to other hosts. REQUIRES: all are open.
Due Glance(const std::vector<std::shared_ptr<Subject>>& subjects, std::int64_t now_ns);

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_GLANCE_H_
