#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that tutorial and how-to pages quote, and compares what they print with the page.

    tests/docs/commands_test.py [PAGE...]       as docs/tutorial.md; without names those below

A ```console block has commands, after "$ ", and what they print. "..." stands for any text, a line of "..." for any lines. Lines of
several ranks may come in another order. The commands of a page share one environment and run in the root of the tree. What is said
of a block stands in a comment right before it:

    <!-- fails -->              its commands end with an error
    <!-- needs: PROGRAM -->     it is left out where there is no such program
    <!-- not run: WHY -->       it is left out

Of all other commands `tutti ...` on any page it is checked that there are such options. What the build makes has to be there.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TOOLS = os.path.join(ROOT, "build", "release", "tools")
LIMIT_S = 300  # for a command; `./dev demo` may have something to build
# Pages whose commands run. Others need packages of Python, GPUs or other machines, and have tests of their own.
RUN = ("README.md", "docs/tutorial.md", "docs/cost-model.md", "docs/howto/")
BLOCK = re.compile(r"((?:<!-- (?:fails|needs: [^\n]*|not run: [^\n]*) -->\n)*)```console\n(.*?)```", re.S)
# As README writes them; what has capitals or dots in place of words is no command yet.
INDENTED = re.compile(r"^    (build/release/tools/tutti run -n (?:(?!\.\.\.)[^\nA-Z])*)$", re.M)
# Not `python -m tutti ...`, which has commands of its own.
TUTTI = re.compile(r"(?:^|[`$/ ])(?<!-m )tutti ([a-z]+)((?: [^`\n|;&>#]*)?)", re.M)


def read(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read()


def all_pages():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True, capture_output=True,
                            text=True).stdout.split()
    return [page for page in listed if os.path.exists(os.path.join(ROOT, page))]


def steps(text):
    """(remarks, command, what it is to print) for each command of a page's blocks."""
    for remarks, block in BLOCK.findall(text):
        command, expected = None, []
        for line in block.split("\n"):
            if line.startswith("$ "):
                if command is not None:
                    yield remarks, command, "\n".join(expected)
                command, expected = line[2:], []
            else:
                expected.append(line)
        yield remarks, command, "\n".join(expected)
    for command in INDENTED.findall(text):
        yield "", command, "..."


def is_like(printed, expected):
    """Whether a program has printed what the page says."""
    def pattern(lines):
        parts = [".*" if line.strip() == "..." else ".*?".join(re.escape(part) for part in line.rstrip().split("..."))
                 for line in lines]
        return re.sub(r"\.\*\n", r"(?:.*\n)?", "\n".join(parts) + "\n")

    lines = [line.rstrip() for line in printed.strip().split("\n")]
    wanted = expected.strip("\n").split("\n")
    if re.fullmatch(pattern(wanted), "\n".join(lines) + "\n", re.S):
        return True
    return "..." not in wanted and re.fullmatch(pattern(sorted(wanted)), "\n".join(sorted(lines)) + "\n", re.S) is not None


class Session:
    """A shell whose variables last from one command to the next."""

    def __init__(self):
        self.kept = tempfile.NamedTemporaryFile(mode="w+", suffix=".sh")
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("TUTTI_", "NCCL_", "OMPI_", "PMI"))}
        self.environment["PATH"] = TOOLS + os.pathsep + self.environment["PATH"]

    def run(self, command):
        """(exit status, what was printed). What is left running after the time limit is ended."""
        script = f". {self.kept.name}\n{command}\nstatus=$?\nexport -p >{self.kept.name}\nexit $status\n"
        process = subprocess.Popen(["bash", "-c", script], cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            printed, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, _ = process.communicate()
            return None, printed
        return process.returncode, printed

    def close(self):
        self.kept.close()


class QuotedCommands(unittest.TestCase):
    pages = ()

    def test_they_do_what_the_pages_say(self):
        ran = 0
        for page in self.pages or [page for page in all_pages() if page.startswith(RUN)]:
            session = Session()
            self.addCleanup(session.close)
            for remarks, command, expected in steps(read(page)):
                with self.subTest(page=page, command=command):
                    needed = re.search(r"needs: (\S+)", remarks)
                    if "not run:" in remarks or (needed and not shutil.which(needed[1])):
                        print(f"left out: {command} ({remarks.strip()[5:-4]})", flush=True)
                        continue
                    status, printed = session.run(command)
                    ran += 1
                    self.assertIsNotNone(status, f"took more than {LIMIT_S} s; printed so far:\n{printed}")
                    if "<!-- fails -->" in remarks:
                        self.assertNotEqual(status, 0, printed)
                    else:
                        self.assertEqual(status, 0, printed)
                    self.assertTrue(is_like(printed, expected), f"printed:\n{printed}\nthe page says:\n{expected}")
        print(f"{ran} commands ran", flush=True)
        self.assertTrue(ran or self.pages)

    def test_options_of_all_others_exist(self):
        helps = {}
        checked = 0
        for page in self.pages or all_pages():
            for command, rest in TUTTI.findall(read(page)):
                if command not in helps:
                    done = subprocess.run([os.path.join(TOOLS, "tutti"), command, "--help"], capture_output=True, text=True,
                                          timeout=LIMIT_S, check=False)
                    helps[command] = done.stdout if done.returncode == 0 else None
                if helps[command] is None:
                    with self.subTest(page=page, command=f"tutti {command}{rest}"):  # "tutti has ..." is prose
                        self.assertFalse(re.match(r" -", rest), f"there is no command tutti {command}")
                    continue
                for option in options_of(command, rest, helps[command]):
                    checked += 1
                    with self.subTest(page=page, command=f"tutti {command}{rest}"):
                        self.assertRegex(helps[command], rf"(?<![\w-]){re.escape(option)}(?![\w-])")
        print(f"{checked} options of other commands exist", flush=True)
        self.assertTrue(checked or self.pages)


def options_of(command, rest, text):
    """The options of the tool itself: of what starts other programs, those before the program's name."""
    words = rest.split()
    index = 0
    while index < len(words):
        word = words[index].strip("[](),.:'\"")
        if re.fullmatch(r"--?[a-zA-Z][\w-]*(=.*)?", word):
            name = word.split("=")[0]
            yield name
            takes = re.search(rf"(?<![\w-]){re.escape(name)}(?:,--?[\w-]+)* [A-Z][^ :]*(?![\w:])", text)
            index += 1 if takes and "=" not in word else 0
        elif command in ("run", "preload"):
            return
        index += 1


class ReadsPages(unittest.TestCase):
    """The test above is worth what these are."""

    def test_blocks_and_their_remarks(self):
        text = "a\n<!-- fails -->\n```console\n$ x\n1\n$ y\n```\n\n```console\n$ z\n...\n```\n    build/release/tools/tutti run -n 2 a_b\n"
        self.assertEqual([step[1:] for step in steps(text)],
                         [("x", "1"), ("y", ""), ("z", "...\n"), ("build/release/tools/tutti run -n 2 a_b", "...")])
        self.assertEqual([step[0] for step in steps(text)], ["<!-- fails -->\n", "<!-- fails -->\n", "", ""])

    def test_what_is_printed(self):
        self.assertTrue(is_like("a 1\nb\nc\n", "a ...\n...\nc\n"))
        self.assertTrue(is_like("a 1\nc\n", "a ...\n...\nc\n"))
        self.assertTrue(is_like("b\na\n", "a\nb\n"))
        self.assertTrue(is_like("", ""))
        self.assertTrue(is_like("anything\n", "...\n"))
        self.assertFalse(is_like("a 1\nb\n", "a ...\n...\nc\n"))
        self.assertFalse(is_like("a\nb\nb\n", "a\nb\n"))
        self.assertFalse(is_like("a\n", ""))

    def test_a_wrong_command_is_noticed(self):
        session = Session()
        self.addCleanup(session.close)
        self.assertEqual(session.run("exit 3"), (3, ""))
        self.assertEqual(session.run("export TUTTI_X=1; echo one"), (0, "one\n"))
        self.assertEqual(session.run("echo $TUTTI_X"), (0, "1\n"))

    def test_options(self):
        text = "  -n,--ranks N   ...\n  --once   ...\n"
        self.assertEqual(list(options_of("run", " -n 4 --once prog --steps 3", text)), ["-n", "--once"])
        self.assertEqual(list(options_of("top", " --once 4711 --json", text)), ["--once", "--json"])
        self.assertEqual(TUTTI.findall("$ tutti top 1\n`tutti env -v`, python -m tutti demo -n 2"), [("top", " 1"), ("env", " -v")])


if __name__ == "__main__":
    QuotedCommands.pages = tuple(word for word in sys.argv[1:] if word.endswith(".md"))
    unittest.main(argv=[word for word in sys.argv if not word.endswith(".md")])
