// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PYTHON_SRC_ERRORS_H_
#define TUTTI_PYTHON_SRC_ERRORS_H_

#include <nanobind/nanobind.h>

#include "tutti/status.h"

namespace tutti::python {

// `make(code, message, peer, communicator)` is called to make the exceptions of this module: tutti/errors.py sets it.
void SetErrorFactory(nanobind::object make);

// Throws what `make` makes of it. `communicator`: the Python object that it is about; may be null. REQUIRES: !status.ok(), the GIL.
[[noreturn]] void Raise(const Status& status, nanobind::handle communicator = {});

}  // namespace tutti::python

#endif  // TUTTI_PYTHON_SRC_ERRORS_H_
