# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What type checkers read of the extension."""

import ast
import os

from tutti import _core


def names_in(nodes):
    """The names that statements of a stub define."""
    found = set()
    for node in nodes:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            found.add(node.target.id)
    return found


def test_the_stub_names_what_the_extension_has():
    with open(os.path.join(os.path.dirname(_core.__file__), "_core.pyi"), encoding="utf-8") as file:
        stub = ast.parse(file.read())
    have = {name for name in vars(_core) if not name.startswith("__")} | {"__version__"}
    assert names_in(stub.body) == have
    classes = [node for node in stub.body if isinstance(node, ast.ClassDef)]
    assert "Communicator" in {node.name for node in classes}
    for node in classes:
        members = {name for name in vars(getattr(_core, node.name)) if not name.startswith("__")}
        assert {name for name in names_in(node.body) if not name.startswith("__")} == members, node.name
