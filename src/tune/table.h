// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_TABLE_H_
#define TUTTI_TUNE_TABLE_H_

// The text form of a machine's constants, as they are shipped, stored and printed: for host memory and for GPUs alike.
//
//   file := { line }
//   line := "[" kind "]"   a table begins; kind: host, gpu
//         | name value     a name ends in the unit of its number: ll_hop_us, least_chunk_bytes
//         | "#" text       a comment
//         |                nothing
//
// A file has any number of tables. Each has every name of its kind once, in any order; those that came later than the kind may
// be missing. A table knows no formula: which number means what is said by those who read them (tune/machine.h, tune/gpu_machine.h).

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tutti/status.h"

namespace tutti::tune {

inline constexpr std::string_view kHostTable = "host", kGpuTable = "gpu";

// The comments above the constants of a table that are fitted, and above those behind them.
inline constexpr std::string_view
    kFitted = "Times and rates, fitted by `tutti tune --gpu`.",
    kNotFitted = "Not fitted: sizes that select a way, shapes of kernels, and their part of a GPU.";

// A table as it stands in a file: views of its text.
struct TableText {
  struct Line {
    int number = 0;  // from 1
    std::string_view name, value;
  };
  std::string_view kind;
  int number = 0;  // of the line where it begins
  std::vector<Line> lines;
};

// Fails for a line that no table can have. `text` must outlive the result.
Result<std::vector<TableText>> SplitTables(std::string_view text);

// A name of a kind of tables, and where its value is. Words are text without blanks at either end.
struct Constant {
  std::string_view name;
  std::variant<double*, int*, std::size_t*, std::string*> value;
  double least = 0;  // of numbers
  double most = 1e15;
  bool optional = false;  // where it is missing the value stays as it is
  bool fitted = false;    // by measurements on the machine; all other values are somebody's choice
};

// Stores what a table says. Fails, with the number of the line, for a name that is not among `constants`, one that is
// missing and not optional or there twice, and a value that is no number within the bounds.
Status ReadTable(const TableText& table, std::span<const Constant> constants);

// "[gpu]\nstart_us 2.1\n...". Numbers have six digits, whole ones all. Where some constants are fitted, comments say which.
std::string WriteTable(std::string_view kind, std::span<const Constant> constants);

// The value as WriteTable writes it.
std::string ToText(const Constant& constant);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_TABLE_H_
