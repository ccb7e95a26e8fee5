// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// tutti._core: what the Python package is built on. Programs use tutti, which adds all that need not be fast.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/src/buffers.h"
#include "python/src/errors.h"
#include "python/src/group.h"
#include "python/src/main_thread.h"
#include "tutti/communicator.h"

namespace nb = nanobind;

namespace tutti::python {
namespace {

// What is handed on to Python where a call cannot be done at once: communicator._prepare("all_reduce", x, out, op, root, scale).
nb::object Prepare(nb::handle self, const char* name, nb::handle x, nb::handle out, nb::handle op, nb::handle root,
                   nb::handle scale) {
  PyObject* frame = reinterpret_cast<PyObject*>(PyEval_GetFrame());
  return self.attr("_prepare")(name, x, out, op, root, scale, frame == nullptr ? nb::none() : nb::borrow(frame));
}

// The operator, if its name is one of Python's interned texts that were used before.
std::optional<ReduceOp> FindOp(nb::handle op) {
  struct Known {
    PyObject* name = nullptr;
    ReduceOp op = ReduceOp::kSum;
  };
  static Known last;
  if (op.ptr() == last.name) return last.op;
  const char* text = PyUnicode_Check(op.ptr()) ? PyUnicode_AsUTF8AndSize(op.ptr(), nullptr) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  const std::optional<ReduceOp> found = ParseReduceOp(text);
  if (!found || *found == ReduceOp::kPreMulSum) return std::nullopt;
  Py_INCREF(op.ptr());
  Py_XDECREF(last.name);
  last = {op.ptr(), *found};
  return found;
}

nb::object Reduces(nb::handle self, Collective kind, nb::handle x, nb::handle op, nb::handle out, nb::handle scale) {
  if (!out.is_none() && scale.is_none()) {
    const std::optional<ReduceOp> found = FindOp(op);
    if (found && nb::inst_ptr<Group>(self)->TryRun(self, kind, x, out, *found, 0)) return nb::borrow(out);
  }
  return Prepare(self, Name(kind).data(), x, out, op, nb::none(), scale);
}

nb::object Moves(nb::handle self, Collective kind, nb::handle x, nb::handle out) {
  if (!out.is_none() && nb::inst_ptr<Group>(self)->TryRun(self, kind, x, out, ReduceOp::kSum, 0))
    return nb::borrow(out);
  return Prepare(self, Name(kind).data(), x, out, nb::none(), nb::none(), nb::none());
}

Request Begin(nb::handle self, const RawCall& call, nb::object keep) {
  return nb::inst_ptr<Group>(self)->BeginRaw(self, call, std::move(keep));
}

void BindCalls(nb::class_<Group>& c) {
  using namespace nb::literals;
  c.def(
      "all_reduce",
      [](nb::handle self, nb::handle x, nb::handle op, nb::handle out, nb::handle scale) {
        return Reduces(self, Collective::kAllReduce, x, op, out, scale);
      },
      "x"_a, "op"_a = "sum", nb::kw_only(), "out"_a = nb::none(), "scale"_a = nb::none(),
      nb::sig("def all_reduce(self, x: typing.Any, op: str = 'sum', *, out: typing.Any = None, scale: float | None = "
              "None) -> "
              "typing.Any"),
      "The reduction of all ranks' `x`, on every rank: in `out`, which may be `x`, or in a new array like `x`.");
  c.def(
      "reduce_scatter",
      [](nb::handle self, nb::handle x, nb::handle op, nb::handle out, nb::handle scale) {
        return Reduces(self, Collective::kReduceScatter, x, op, out, scale);
      },
      "x"_a, "op"_a = "sum", nb::kw_only(), "out"_a = nb::none(), "scale"_a = nb::none(),
      nb::sig("def reduce_scatter(self, x: typing.Any, op: str = 'sum', *, out: typing.Any = None, scale: float | None "
              "= None) "
              "-> typing.Any"),
      "Rank r gets the reduction of all ranks' `x[r]`. The first axis of `x` has a length of `size` times that of the "
      "result.");
  c.def(
      "all_gather",
      [](nb::handle self, nb::handle x, nb::handle out) { return Moves(self, Collective::kAllGather, x, out); }, "x"_a,
      nb::kw_only(), "out"_a = nb::none(),
      nb::sig("def all_gather(self, x: typing.Any, *, out: typing.Any = None) -> typing.Any"),
      "All ranks' `x`, in an array with a new first axis of ranks.");
  c.def(
      "_all_to_all",
      [](nb::handle self, nb::handle x, nb::handle out) { return Moves(self, Collective::kAllToAll, x, out); }, "x"_a,
      "out"_a = nb::none());
  c.def(
      "barrier",
      [](nb::handle self) {
        nb::inst_ptr<Group>(self)->RunRaw(
            self, {.kind = static_cast<int>(Collective::kBarrier), .count = 0, .type = 1, .scale = 1});
      },
      "Returns once all ranks have called it.");
}

void BindRaw(nb::class_<Group>& c) {
  using namespace nb::literals;
  c.def("_run", [](nb::handle self, const RawCall& call) { nb::inst_ptr<Group>(self)->RunRaw(self, call); })
      .def("_begin", &Begin, "call"_a, "keep"_a.none())
      .def("_run_group",
           [](nb::handle self, const std::vector<RawCall>& calls) { nb::inst_ptr<Group>(self)->RunGroup(self, calls); })
      .def(
          "_begin_group",
          [](nb::handle self, const std::vector<RawCall>& calls, nb::object keep) {
            return nb::inst_ptr<Group>(self)->BeginGroup(self, calls, std::move(keep));
          },
          "calls"_a, "keep"_a.none())
      .def("_set_site", [](Group& g, nb::object frame) { g.SetSite(std::move(frame)); })
      .def("_find_site", [](Group& g, int rank, std::uint64_t number) { return g.FindSite(rank, number); })
      .def("_explain", [](Group& g, const RawCall& call) { return g.Explain(call); })
      .def("_shared",
           [](nb::handle self, std::size_t bytes) { return nb::inst_ptr<Group>(self)->AllocateShared(self, bytes); })
      .def("_who", [](Group& g) {
        StandingVerdict v = g.WhoHoldsItUp();
        return nb::make_tuple(v.kind, v.sentence, v.exclude);
      });
}

void BindLife(nb::class_<Group>& c) {
  using namespace nb::literals;
  c.def(
       "__init__", [](Group* place, const Recipe& recipe) { new (place) Group(Create(recipe)); }, "recipe"_a)
      .def(
          "_split",
          [](nb::handle self, std::optional<int> color, int key, std::string name) {
            return nb::inst_ptr<Group>(self)->Split(self, color, key, std::move(name));
          },
          "color"_a.none(), "key"_a, "name"_a)
      .def("_shrink",
           [](nb::handle self, const std::vector<int>& excluded, std::string name) {
             return nb::inst_ptr<Group>(self)->Shrink(self, excluded, std::move(name));
           })
      .def_prop_ro("rank", &Group::rank, "This rank's number, from 0.")
      .def_prop_ro("size", &Group::ranks, "How many ranks there are.")
      .def_prop_ro("closed", [](Group& g) { return !g.open(); })
      .def_prop_ro("_idle", &Group::idle)
      .def_prop_ro("broken", &Group::broken, "Whether an error has ended it.")
      .def_prop_ro("last_error", &Group::LastError, "The error that has broken it; empty: none has.")
      .def("_abort", &Group::Abort)
      .def("_set_timeout", &Group::SetTimeout)
      .def("_close", [](nb::handle self) { nb::inst_ptr<Group>(self)->Close(self); })
      .def("_abandon", &Group::Abandon);
}

}  // namespace
}  // namespace tutti::python

NB_MODULE(_core, m) {
  using namespace tutti;
  using namespace tutti::python;
  using namespace nb::literals;
  nb::set_leak_warnings(false);  // communicators live until the program ends
  m.attr("__version__") = TUTTI_VERSION;
  nb::class_<Recipe>(m, "Recipe", "How a communicator will be made.");
  nb::class_<RawCall>(m, "Call", "An operation whose buffers are addresses; type, op and kind by number.")
      .def(nb::init<int, std::uintptr_t, std::uintptr_t, std::size_t, int, int, int, double,
                    std::optional<std::int64_t>>(),
           "kind"_a, "input"_a, "output"_a, "count"_a, "type"_a, "op"_a = 0, "root"_a = 0, "scale"_a = 1.0,
           "integer_scale"_a = nb::none());
  nb::class_<python::Request>(m, "Request", "A running operation.")
      .def("_wait", &python::Request::Wait, "timeout_s"_a)
      .def("test", &python::Request::Test, "Whether it has ended, without waiting. Raises its error.");
  nb::class_<Group> group(m, "Communicator", nb::is_weak_referenceable(),
                          "Ranks that call the same collectives in the same order; tutti.Communicator builds on it.");
  BindLife(group);
  BindCalls(group);
  BindRaw(group);

  m.def("recipe", [](int rank, int ranks, nb::bytes id, std::string name, std::optional<std::int64_t> timeout_ms,
                     std::optional<std::int64_t> init_timeout_ms, std::optional<std::int64_t> shared_bytes,
                     bool from_environment) {
    const NewGroup options{.rank = rank,
                           .ranks = ranks,
                           .id = std::string(id.c_str(), id.size()),
                           .name = std::move(name),
                           .timeout_ms = timeout_ms,
                           .init_timeout_ms = init_timeout_ms,
                           .shared_bytes = shared_bytes};
    return from_environment ? RecipeFromEnvironment(options) : RecipeOf(options);
  });
  m.def("unique_id", [] {
    const Result<UniqueId> id = CreateUniqueId();
    if (!id.ok()) Raise(id.status());
    return nb::bytes(reinterpret_cast<const char*>(id->bytes.data()), id->bytes.size());
  });
  m.def("describe_buffer", &DescribeBuffer);
  m.def("describe_dlpack", &DescribeDlpack);
  m.def("type_number", [](const std::string& name) -> std::optional<int> {
    const std::optional<DataType> type = ParseDataType(name);
    return type ? std::optional(static_cast<int>(*type)) : std::nullopt;
  });
  m.def("op_number", [](const std::string& name) -> std::optional<int> {
    const std::optional<ReduceOp> op = ParseReduceOp(name);
    return op ? std::optional(static_cast<int>(*op)) : std::nullopt;
  });
  m.def("defined", [](int op, int type) { return Defined(static_cast<ReduceOp>(op), static_cast<DataType>(type)); });
  m.def("set_error_factory", &SetErrorFactory);
  m.def("is_main_thread", &IsMainThread);
}
