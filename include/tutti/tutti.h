// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUTTI_H_
#define TUTTI_TUTTI_H_

// All of Tutti's C++ interface.
#include "tutti/communicator.h"  // IWYU pragma: export
#include "tutti/settings.h"      // IWYU pragma: export
#include "tutti/status.h"        // IWYU pragma: export
#include "tutti/types.h"         // IWYU pragma: export
#include "tutti/variable.h"      // IWYU pragma: export

#endif  // TUTTI_TUTTI_H_
