# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings for the site of docs/. `./dev docs` builds it by build.py beside this file."""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, HERE)

with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
    release = re.search(r"\n?project\(tutti\b[^)]*?VERSION\s+([\d.]+)", file.read(), re.S)[1]

project = "Tutti"
author = "The Tutti Authors"
project_copyright = "2026, The Tutti Authors"

extensions = ["myst_parser", "breathe", "sphinx_copybutton", "site_pages"]
exclude_patterns = ["site"]
source_suffix = {".md": "markdown"}
nitpicky = True
# Breathe makes references of all names of types; these have no page here.
nitpick_ignore_regex = [(r"(cpp|c):\w+", r"(?!(tutti::)?(Communicator|GpuCommunicator|Request|Status|Result)$).*")]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4
highlight_language = "none"

# build.py says where Doxygen has put them.
breathe_projects = {part: os.path.join(os.environ.get("TUTTI_DOXYGEN", ""), part, "xml") for part in ("cpp", "c")}
breathe_default_project = "cpp"
breathe_domain_by_extension = {"h": "cpp"}
breathe_domain_by_file_pattern = {"*nccl.h": "c"}

html_theme = "furo"
html_title = f"Tutti {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_exclude = ".linenos, .gp, .go"
