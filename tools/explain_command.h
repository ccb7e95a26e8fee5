// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_EXPLAIN_COMMAND_H_
#define TUTTI_TOOLS_EXPLAIN_COMMAND_H_

// `tutti explain`: finds an error sentence on the page of errors, by its words.

#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

// A row of docs/errors.md. Three dots in `message` stand for names, numbers and other sentences.
struct ErrorRow {
  std::string message, cause, remedy, source;

  // Where the sentence stands on the site's page of errors: "the-ranks-did-not-meet-within". docs/site/site_pages.py does the same.
  std::string Anchor() const;
};

std::vector<ErrorRow> ParseErrorsPage(std::string_view page);

// The rows whose sentences `said` consists of or contains, those with most words in common first. `said` may be a line of the log,
// or a sentence that hands on another one. Where there is none: those whose beginning it contains, as of a sentence that was cut off;
// else those that contain `said` itself, a piece of a sentence.
std::vector<const ErrorRow*> FindErrors(const std::vector<ErrorRow>& rows, std::string_view said);

int ExplainCommand(int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_EXPLAIN_COMMAND_H_
