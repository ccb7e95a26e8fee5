#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of release.py and sbom.py: all but the builds themselves."""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../tests/packages")]
import release  # noqa: E402
import sbom  # noqa: E402
import walks  # noqa: E402

FILES = {name: f"{at:064x}" for at, name in enumerate((
    "tutti-0.1.0.tar.gz", "tutti-0.1.0-linux-x86_64.tar.zst", "libtutti0_0.1.0-1_amd64.deb", "libnccl2-tutti_0.1.0-1_amd64.deb",
    "libtutti-dev_0.1.0-1_amd64.deb", "tutti-tools_0.1.0-1_amd64.deb", "tutti_collectives-0.1.0-cp311-abi3-linux_x86_64.whl"))}


class FolderTest(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="tutti-release-")
        self.addCleanup(held.cleanup)
        self.folder = held.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def made(self, *names):
        os.makedirs(self.path(*names), exist_ok=True)
        return self.path(*names)


class SourceTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.tree = self.made("tree")
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(tutti VERSION 4.5.6 LANGUAGES C)\n")
        self.git("init", "--quiet")
        self.git("add", "CMakeLists.txt")
        self.git("commit", "--quiet", "-m", "one")

    def git(self, *words):
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "a"), ("EMAIL", "a@example.org"), ("DATE", "1700000000 +0000"))}
        subprocess.run(["git", "-c", "commit.gpgsign=false", *words], cwd=self.tree, check=True, env={**os.environ, **who})

    def write(self, name, text):
        with open(os.path.join(self.tree, name), "w", encoding="utf-8") as file:
            file.write(text)

    def test_version_and_time_are_those_of_the_commit(self):
        self.assertEqual(release.version_of(self.tree), "4.5.6")
        self.assertEqual(release.commit_of(self.tree)[1], 1700000000)

    def test_a_tree_with_changes_is_refused(self):
        self.write("other", "a file that git does not know is no change")
        release.commit_of(self.tree)
        self.write("CMakeLists.txt", "changed")
        with self.assertRaisesRegex(release.Wrong, "commit them, or make the release in a fresh clone(.|\n)*CMakeLists.txt"):
            release.commit_of(self.tree)

    def test_the_same_commit_gives_the_same_tar(self):
        paths = [self.path(name) for name in ("one.tar.gz", "other.tar.gz")]
        for path in paths:
            release.source_tar(self.tree, path, "tutti-4.5.6", 1700000000)
        self.assertEqual(release.digest(paths[0]), release.digest(paths[1]))
        with tarfile.open(paths[0]) as tar:
            self.assertEqual([(m.name, m.mtime, m.mode) for m in tar if m.isfile()], [("tutti-4.5.6/CMakeLists.txt", 1700000000, 0o644)])


class CompareTest(FolderTest):
    def wheel(self, build, content, moment=(2026, 1, 1, 0, 0, 0)):
        with zipfile.ZipFile(os.path.join(self.made(build), "a.whl"), "w") as archive:
            archive.writestr(zipfile.ZipInfo("same", moment), "as ever")
            archive.writestr(zipfile.ZipInfo("tutti/_core.so", (2026, 1, 1, 0, 0, 0)), content)

    def differences(self):
        return release.differences(self.path("one"), self.path("other"), self.folder)

    def test_the_same_bytes(self):
        self.wheel("one", "content")
        self.wheel("other", "content")
        self.assertEqual(self.differences(), [])
        release.compare(self.path("one"), self.path("other"), self.folder)

    def test_what_differs_is_named(self):
        self.wheel("one", "content")
        self.wheel("other", "contents")
        self.assertEqual(self.differences(), ["a.whl: tutti/_core.so"])
        with self.assertRaisesRegex(release.Wrong, "a.whl: tutti/_core.so(.|\n)*diffoscope"):
            release.compare(self.path("one"), self.path("other"), self.folder)

    def test_a_time_stamp_differs(self):
        self.wheel("one", "content")
        self.wheel("other", "content", (2026, 1, 1, 0, 0, 2))
        self.assertEqual(self.differences(), ["a.whl: same"])

    def test_one_build_lacks_a_package(self):
        self.wheel("one", "content")
        self.made("other")
        self.assertEqual(self.differences(), ["a.whl: only the first build has made it"])

    @unittest.skipUnless(shutil.which("zstd") and shutil.which("dpkg-deb"), "needs zstd and dpkg-deb")
    def test_members_of_tars_and_debian_packages(self):
        for build, content in (("one", "a"), ("other", "b")):
            root = self.made(build + "-root", "usr")
            with open(os.path.join(root, "file"), "w", encoding="utf-8") as file:
                file.write(content)
            os.utime(os.path.join(root, "file"), (0, 0))
            os.makedirs(os.path.join(root, "../DEBIAN"))
            with open(os.path.join(root, "../DEBIAN/control"), "w", encoding="utf-8") as file:
                file.write(f"Package: a\nVersion: 1{content}\nArchitecture: all\nMaintainer: A <a@example.org>\nDescription: a\n")
            self.made(build)
            subprocess.run(["dpkg-deb", "--build", "--root-owner-group", os.path.dirname(root), self.path(build, "a.deb")], check=True,
                           stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
            subprocess.run(["tar", "--zstd", "--mtime=@0", "-cf", self.path(build, "a.tar.zst"), "-C", root, "file"], check=True)
        found = self.differences()
        self.assertRegex(found[0], r"^a\.deb: .*\./usr/file")
        self.assertIn("control: ./control", found[0])
        self.assertEqual(found[1], "a.tar.zst: file")


class ListTest(FolderTest):
    def document(self, cache="", versions=lambda package: "1.2+3"):
        return sbom.document("0.1.0", "c" * 40, 1700000000, FILES, cache, versions)

    def links(self, document):
        """file -> parts that it holds"""
        names = {package["SPDXID"]: package["name"] for package in document["packages"]}
        found = {}
        for relation in document["relationships"]:
            if relation["relationshipType"] == "STATIC_LINK":
                found.setdefault(names[relation["spdxElementId"]], set()).add(names[relation["relatedSpdxElement"]])
        return found

    def test_the_notices_and_the_licences_name_the_same_parts(self):
        self.assertEqual(set(sbom.table(release.read(sbom.NOTICES))), set(sbom.PARTS))
        places = set().union(*sbom.table(release.read(sbom.NOTICES)).values())
        self.assertEqual(places, set().union(*(held for _, held in sbom.HOLDS)))

    def test_what_a_file_holds(self):
        links = self.links(self.document())
        self.assertNotIn("tutti-0.1.0.tar.gz", links)
        self.assertEqual(links["libtutti-dev_0.1.0-1_amd64.deb"], {"libsodium", "pugixml", "{fmt}", "libfabric"})
        self.assertLess({"CLI11", "JSON for Modern C++", "libstdc++, libgcc"}, links["tutti-tools_0.1.0-1_amd64.deb"])
        self.assertIn("nanobind", links["tutti_collectives-0.1.0-cp311-abi3-linux_x86_64.whl"])

    def test_headers_that_were_not_there_are_in_nothing(self):
        links = self.links(self.document("TUTTI_NVTX_INCLUDE:PATH=TUTTI_NVTX_INCLUDE-NOTFOUND\n"))
        self.assertNotIn("NVTX", links["libnccl2-tutti_0.1.0-1_amd64.deb"])
        self.assertIn("libfabric", links["libnccl2-tutti_0.1.0-1_amd64.deb"])

    def test_a_file_of_an_unknown_kind_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "what tutti.rpm holds"):
            sbom.holds("tutti.rpm")

    def test_versions_and_sums(self):
        packages = {package["name"]: package for package in self.document()["packages"]}
        self.assertEqual(packages["libsodium"]["versionInfo"], "1.2+3")
        self.assertEqual(packages["libsodium"]["externalRefs"][0]["referenceLocator"], "pkg:deb/debian/libsodium-dev@1.2%2B3")
        self.assertNotIn("versionInfo", {p["name"]: p for p in self.document(versions=lambda package: "")["packages"]}["libsodium"])
        for name, digest in FILES.items():
            self.assertEqual(packages[name]["checksums"], [{"algorithm": "SHA256", "checksumValue": digest}])
        identities = [package["SPDXID"] for package in packages.values()]
        self.assertEqual(len(identities), len(set(identities)))
        for identity in identities:
            self.assertTrue(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identity), identity)

    def test_the_sums_are_those_of_all_files(self):
        for name in FILES:
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(name)
        release.write_lists(self.folder, "0.1.0", "c" * 40, 1700000000, "")
        listed = [line.split("  ")[1] for line in release.read(self.path("SHA256SUMS")).splitlines()]
        self.assertEqual(listed, sorted([*FILES, "sbom.spdx.json"]))
        with open(self.path("tutti-0.1.0.tar.gz"), "a", encoding="utf-8") as file:
            file.write("changed")
        with self.assertRaises(release.Wrong):
            release.run("sha256sum", "--check", "--quiet", "SHA256SUMS", folder=self.folder)


class WaysTest(unittest.TestCase):
    """The ways of docs/install.md that tests/packages/walks.py goes."""

    def test_they_name_files_of_a_release(self):
        ways = walks.ways(release.read(walks.PAGE))
        self.assertEqual([sorted(way.files) for way in ways], [["sums.py"], [], ["train.py"]])
        for way in ways:
            named = re.findall(r"\./(\S+)|(?<=-xf )(\S+)", " ".join(way.commands))
            self.assertTrue(named, way.name)
            for pattern in ("".join(words) for words in named):
                self.assertEqual(len(fnmatch.filter(FILES, pattern)), 1, pattern)

    def test_a_way_says_what_it_prints(self):
        page = "## On a bare machine\n### One\n\n    true        # a remark\n\nIt prints `x`.\n### Two\n\n    false\n\n## Other\n"
        with self.assertRaisesRegex(walks.Wrong, "'Two' of"):
            walks.ways(page)
        way = walks.ways(page.replace("false\n", "false\n\nIt prints `y`.\n"))[0]
        self.assertEqual((way.name, way.commands, way.prints), ("One", ["true"], "x"))
        with self.assertRaisesRegex(walks.Wrong, "no section"):
            walks.ways("## Other\n")


class RunTest(FolderTest):
    def test_a_command_that_fails_shows_its_last_lines_and_its_log(self):
        log = self.path("log")
        with self.assertRaisesRegex(release.Wrong, "exit status 3; all that was printed: .*log\nplanted"):
            release.run(sys.executable, "-c", "print('planted'); raise SystemExit(3)", log=log)
        with self.assertRaisesRegex(release.Wrong, "setup build dist"):
            release.run("tutti-no-such-program")


if __name__ == "__main__":
    unittest.main()
