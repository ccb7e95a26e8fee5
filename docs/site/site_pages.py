# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What the site adds to Sphinx: drawings and help that the tool `tutti` prints, and an anchor for each error.

TUTTI_TOOL names the tool. Two directives ask it while the site is built:

    ```{drawing} all_reduce ring --ranks 4     a plan as `tutti plan --svg` draws it; the text below is its caption
    ```{command-help} perf                     what `tutti perf --help` prints

On errors.md each row of a table becomes an entry of its own, with the address that `tutti explain` prints.
"""

import hashlib
import html
import os
import re
import subprocess

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.util import logging

LOG = logging.getLogger(__name__)
LIMIT_S = 60
ROW = re.compile(r"^\| ``(.*?)`` \| (.*) \| (.*) \| (.*) \|$")
LETTERS_OF_ANCHOR = 80
LETTERS_OF_TABLES = 130


def tool(*words):
    """What the tool prints. Raises RuntimeError with its own words."""
    done = subprocess.run([os.environ["TUTTI_TOOL"], *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"tutti {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def anchor(sentence):
    """An error's address on its page, from its words; tools/explain_command.cc does the same."""
    words = re.findall(r"[a-z0-9]+", sentence.lower())
    text = words[0]
    for word in words[1:]:
        if len(text) + 1 + len(word) > LETTERS_OF_ANCHOR:
            break
        text += "-" + word
    return text


class Drawing(Directive):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        environment = self.state.document.settings.env
        words = self.arguments[0].split()
        operation, algorithm, rest = words[0], words[1], words[2:]
        name = re.sub(r"[^a-z0-9]+", "_", " ".join(words)) + ".svg"
        folder = os.path.join(environment.app.outdir, "_images", "plans")
        os.makedirs(folder, exist_ok=True)
        try:
            tool("plan", operation, "--algo", algorithm, *rest, "--svg", os.path.join(folder, name))
        except RuntimeError as error:
            raise self.error(str(error)) from error
        command = f"tutti plan {operation} --algo {algorithm} {' '.join(rest)} --svg FILE"
        up = "../" * environment.docname.count("/")
        caption = html.escape(" ".join(self.content))
        text = (f'<figure class="drawing"><a href="{up}_images/plans/{name}"><img loading="lazy" src="{up}_images/plans/{name}" '
                f'alt="The plan of {operation} by {algorithm}: a row per rank, a box per step, an arrow per message."></a>'
                f"<figcaption>{caption} <code>{html.escape(command)}</code></figcaption></figure>")
        if not hasattr(environment, "tutti_drawn"):
            environment.tutti_drawn = set()
        environment.tutti_drawn.add((operation, algorithm))
        return [nodes.raw("", text, format="html")]


class CommandHelp(Directive):
    optional_arguments = 1

    def run(self):
        try:
            text = tool(*self.arguments, "--help")
        except RuntimeError as error:
            raise self.error(str(error)) from error
        return [nodes.literal_block(text, text, language="none")]


def entry(match, place):
    message, cause, remedy, _ = match.groups()
    sentences = [f"**{title}** {text}" + ("" if text.endswith((".", "?")) else ".")
                 for title, text in (("Cause", cause), ("Remedy", remedy))]
    return [f'<dt id="{place}"><code>{html.escape(message)}</code> '
            f'<a class="mark" href="#{place}" title="address of this message">¶</a></dt>',
            "<dd>", "", sentences[0], "", sentences[1], "", "</dd>", ""]


OUTSIDE = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?:README|CONTRIBUTING|bench/[^)]*)\.md[^)]*\)")


def without_pages_outside(app, docname, source):
    """Markdown pages outside docs/ are no part of the site, so links to them become plain text."""
    source[0] = OUTSIDE.sub(r"\1", source[0])


def page_names(app, docname, source):
    """A link that is called by the name of a file gets the page's title instead."""
    source[0] = re.sub(r"\[[\w./-]+\.md\]\((?=[^)]*\.md)", "[](", source[0])


# What the sources of a folder are about; the longest name that fits counts.
TOPICS = {
    "src/comm/life": "Making and ending communicators",
    "src/comm/identity": "Launchers, ids and secrets",
    "src/comm/meet": "Ranks that meet",
    "src/comm/agree": "What ranks have to agree on",
    "src/comm/host": "Operations in host memory",
    "src/exec/cpu": "Operations in host memory",
    "src/comm/gpu": "Operations on GPUs",
    "src/exec/gpu": "Operations on GPUs",
    "src/transport/p2p": "Operations on GPUs",
    "src/capi": "NCCL's functions",
    "src/transport/shm": "Shared memory",
    "src/transport/net": "The network between hosts",
    "src/sys/net": "The network between hosts",
    "src/sys": "The operating system and launchers' stores",
    "src/tune": "Settings, tables and plugins that choose",
    "src/base": "Settings, tables and plugins that choose",
    "src/topo": "The machine as a graph",
    "src/profiler": "Profiler plugins",
    "src/watch": "Who holds a job up",
    "src/diag": "Who holds a job up",
    "src/mpi": "JAX and MPI's functions",
    "python": "Python",
    "src": "Others",
}


def topic(source):
    return TOPICS[max((folder for folder in TOPICS if source.startswith(folder)), key=len, default="src")]


def rows_to_entries(app, docname, source):
    """Turns the tables of errors.md, one for each source, into lists by topic, which a narrow page can show. What only those need
    who change Tutti is left out: the column of tests, and what the page says of it."""
    if docname != "errors":
        return
    head, *sections = re.split(r"^## ", source[0], flags=re.M)
    head = "\n\n".join(part for part in head.split("\n\n") if not part.startswith("`scripts/check_errors.py`"))
    entries, prose, seen, again = {}, {}, {}, 0
    for section in sections:
        name, _, text = section.partition("\n")
        about = topic(name)
        for line in text.split("\n"):
            match = ROW.match(line)
            if not match:
                if not re.match(r"\| message \||\|---", line):
                    prose.setdefault(about, []).append(line)
                continue
            here = anchor(match[1])
            if here not in seen:
                seen[here] = match[1]
            elif seen[here] == match[1]:  # two sources say the same
                again += 1
                here += f"--{again}"
            else:
                LOG.warning("two messages have the address #%s: %r, %r", here, seen[here], match[1], location=docname)
            entries.setdefault(about, []).extend(entry(match, here))
    result = [head]
    for about in dict.fromkeys(TOPICS.values()):
        if about in prose or about in entries:
            result += [f"## {about}", "", *prose.get(about, [])]
        if about in entries:
            result += ["", '<dl class="errors">', "", *entries[about], "</dl>", ""]
    source[0] = "\n".join(result)


def long_lines_wrap(app, doctree):
    """Sentences that a command prints are wrapped, so that they can be read without a scroll bar. Tables have shorter lines."""
    for block in doctree.findall(nodes.literal_block):
        if any(len(line) > LETTERS_OF_TABLES for line in block.astext().split("\n")):
            block["classes"].append("wrap")


def all_are_drawn(app, exception):
    """Every algorithm of algorithms.md has a drawing somewhere on the site."""
    if exception is not None:
        return
    with open(os.path.join(app.srcdir, "algorithms.md"), encoding="utf-8") as file:
        known = set(re.findall(r"^\*\*(\w+)\*\*", file.read(), re.M)) - {"hier_"}
    drawn = {algorithm for _, algorithm in getattr(app.env, "tutti_drawn", set())}
    for name in sorted(known - drawn):
        LOG.warning("no page draws the algorithm %s", name)


def setup(app):
    app.add_directive("drawing", Drawing)
    app.add_directive("command-help", CommandHelp)
    app.connect("source-read", without_pages_outside)
    app.connect("source-read", page_names)
    app.connect("source-read", rows_to_entries)
    app.connect("doctree-read", long_lines_wrap)
    app.connect("build-finished", all_are_drawn)
    return {"version": hashlib.sha256(open(__file__, "rb").read()).hexdigest()[:8], "parallel_read_safe": False}
