// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "python/src/errors.h"

#include <nanobind/stl/string.h>

#include <utility>

namespace tutti::python {
namespace {

namespace nb = nanobind;

// Never freed: the interpreter may be gone when static objects end.
nb::object* g_make = nullptr;

}  // namespace

void SetErrorFactory(nb::object make) {
  delete g_make;
  g_make = new nb::object(std::move(make));
}

void Raise(const Status& status, nb::handle communicator) {
  if (g_make == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, status.ToString().c_str());
    throw nb::python_error();
  }
  const nb::object about = communicator.is_valid() ? nb::borrow(communicator) : nb::none();
  const nb::object made = (*g_make)(static_cast<int>(status.code()), status.message(), status.peer(), about);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw nb::python_error();
}

}  // namespace tutti::python
