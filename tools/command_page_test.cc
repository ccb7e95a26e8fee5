// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/command_page.h"

#include <gtest/gtest.h>

#include "tools/command_line.h"

namespace tutti::tools {
namespace {

struct Values {
  std::string word, mode, file;
  std::vector<std::string> program;
  int number = 0;
  bool flag = false;
};

void AddTo(CommandLine& line, Values& v) {
  line.Add("WORD", v.word, "what: it's [this] or that").Required().Suggest({"all", "none"});
  line.Add("-n,--number", v.number, "how often; .5 is too few").Between(1, 9);
  line.AddFlag("--flag", v.flag, "a back\\slash");
  line.Group("Others");
  line.Add("--mode", v.mode, "how").OneOf({"fast", "exact"}).Shown("MODE");
  line.Add("--out", v.file, "where to").Shown("FILE");
  line.Footer(
      "It is\nsaid here.\n  a  drawing\n\nExit code: 0, or 1.\n\nExamples:\n  tutti try all --mode fast\n  tutti try "
      "-n 2 "
      "x");
}

CommandPage Page() {
  CommandLine line("Tries options. And more.", "tutti try");
  Values values;
  AddTo(line, values);
  return line.Page();
}

TEST(CommandPage, HasWhatWasAdded) {
  const CommandPage page = Page();
  EXPECT_EQ(page.Command(), "try");
  ASSERT_EQ(page.options.size(), 7u);  // with --help and --version
  EXPECT_TRUE(page.options[0].IsPositional());
  EXPECT_TRUE(page.options[0].required);
  EXPECT_EQ(page.options[3].names, (std::vector<std::string>{"-n", "--number"}));
  EXPECT_EQ(page.options[3].value, "N");
  EXPECT_EQ(page.options[4].value, "");
  EXPECT_EQ(page.options[5].values, (std::vector<std::string>{"fast", "exact"}));
  EXPECT_EQ(page.options[5].group, "Others");
  EXPECT_TRUE(page.options[6].TakesFile());
}

TEST(CommandPage, ManualPageHasAllOfTheHelp) {
  const std::string page = ManPage(Page());
  const auto has = [&page](std::string_view text) {
    EXPECT_NE(page.find(text), page.npos) << text << "\nin\n" << page;
  };
  has(".TH \"TUTTI\\-TRY\" \"1\"");
  has("tutti\\-try \\- tries options\n");
  has("\\fBtutti try\\fR [\\fIOPTIONS\\fR] \\fIWORD\\fR\n");
  has(".SH DESCRIPTION\nTries options. And more.\n");
  has("\\fB\\-n\\fR, \\fB\\-\\-number\\fR \\fIN\\fR\nhow often; .5 is too few\n");
  has("\\fB\\-\\-flag\\fR\na back\\eslash\n");
  has(".SS Others\n");
  has(".SH NOTES\nIt is\nsaid here.\n.RS 2\n.nf\na  drawing\n.fi\n.RE\n.SH EXIT STATUS\nExit code: 0, or 1.\n");
  has(".SH EXAMPLES\n.RS 2\n.nf\ntutti try all \\-\\-mode fast\ntutti try \\-n 2 x\n.fi\n.RE\n");
}

TEST(CommandPage, NoLineOfTextIsARequestOfRoff) {
  CommandPage page = Page();
  page.about = ".so /etc/passwd";
  page.options[0].help = "'quoted";
  const std::string text = ManPage(page);
  EXPECT_EQ(text.find("\n.so"), text.npos) << text;
  EXPECT_EQ(text.find("\n'quoted"), text.npos) << text;
  EXPECT_NE(text.find("\n\\&'quoted\n"), text.npos) << text;
}

TEST(CommandPage, ShellsGetNamesAndWords) {
  const CommandPage page = Page();
  const std::string bash = CompletionPiece(Shell::kBash, page);
  EXPECT_NE(bash.find("    try)\n"), bash.npos) << bash;
  EXPECT_NE(bash.find("-n | --number) :; return ;;"), bash.npos) << bash;
  EXPECT_NE(bash.find("compgen -W 'fast exact'"), bash.npos) << bash;
  EXPECT_NE(bash.find("--out) compopt -o default; return ;;"), bash.npos) << bash;
  EXPECT_NE(bash.find("words='all none'"), bash.npos) << bash;
  EXPECT_NE(bash.find("options='-h --help --version -n --number --flag --mode --out'"), bash.npos) << bash;
  const std::string zsh = CompletionPiece(Shell::kZsh, page);
  EXPECT_NE(zsh.find("'1:WORD:(all none)'"), zsh.npos) << zsh;
  EXPECT_NE(zsh.find("'*'{-n,--number}'[how often; .5 is too few]:N: '"), zsh.npos) << zsh;
  EXPECT_NE(zsh.find("'*--flag[a back\\\\slash]'"), zsh.npos) << zsh;
  EXPECT_NE(zsh.find("'*--mode[how]:MODE:(fast exact)'"), zsh.npos) << zsh;
  const std::string fish = CompletionPiece(Shell::kFish, page);
  EXPECT_NE(fish.find("-s n -l number -x -d 'how often; .5 is too few'\n"), fish.npos) << fish;
  EXPECT_NE(fish.find("-l out -r -F -d 'where to'\n"), fish.npos) << fish;
  EXPECT_NE(fish.find(" -f -a 'all none' -d 'what: it\\'s [this] or that'\n"), fish.npos) << fish;
}

}  // namespace
}  // namespace tutti::tools
