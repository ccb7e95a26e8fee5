#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Drives the performance explorer in headless Chromium, as somebody with a mouse, a keyboard or a link would.

Needs Python's playwright and a Chromium: Debian's, or playwright's own. Without them it is skipped, and says so.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "bench", "results"))
import explorer
import results

try:
    from playwright.sync_api import Error as PlaywrightError
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

HOST = "2026-11-22-epyc-2-cores/peers"
LIMIT_MS = 60000  # for what a page is waited for; a busy machine has 60 s too
LIMIT_S = 600  # for a test, and for the browser's start and end


class Deadline:
    """Ends the program, and says what has not ended, after a time. Most of playwright's calls wait without a limit, and nothing
    else ends them when the browser stands still."""

    def __init__(self, name, limit_s=LIMIT_S):
        self.timer = threading.Timer(limit_s, self.give_up, [f"{name} has not ended after {limit_s} s"])
        self.timer.daemon = True

    @staticmethod
    def give_up(said):
        print(said, file=sys.stderr, flush=True)
        os._exit(1)  # the browser goes with it

    def __enter__(self):
        self.timer.start()
        return self

    def __exit__(self, *_):
        self.timer.cancel()


class BrowserTest(unittest.TestCase):
    """Tests that have a browser, and a deadline each."""

    limit_s = LIMIT_S

    @classmethod
    def setUpClass(cls):
        with Deadline("the start of the browser"):
            cls.browser, end = browser()
        cls.addClassCleanup(end)

    def run(self, result=None):
        with Deadline(self.id(), self.limit_s):
            return super().run(result)


def browser():
    """(a running browser, what ends it). Raises SkipTest with what is missing; one that is there has to start."""
    if sync_playwright is None:
        raise unittest.SkipTest("Python has no playwright here: pip install playwright")
    engine = sync_playwright().start()
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    # As root, which is who runs in containers, Chromium starts without its sandbox only.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    try:
        found = engine.chromium.launch(executable_path=program, args=options, timeout=LIMIT_S * 1000)
    except PlaywrightError as error:
        engine.stop()
        if program:
            raise
        raise unittest.SkipTest("there is no Chromium here (apt-get install chromium): " + str(error).strip().split("\n")[0]) from error

    def end():
        with Deadline("the end of the browser"):
            found.close()
            engine.stop()

    return found, end


def rgb(text):
    return [int(part) / 255 for part in re.findall(r"\d+", text)[:3]]


def luminance(colour):
    """As the contrast rules of the web define it."""
    parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    light, dark = sorted((luminance(rgb(one)), luminance(rgb(other))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


class ExplorerTest(BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix="tutti-explorer-")
        cls.addClassCleanup(folder.cleanup)
        path = os.path.join(folder.name, "explorer.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(explorer.page(results.load_all()))
        cls.address = "file://" + path

    def setUp(self):
        self.complaints = []  # of all pages that the test opens

    def tearDown(self):
        self.assertEqual(self.complaints, [])

    def open(self, choice="", width=1400, scheme="light"):
        page = self.browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme)
        self.addCleanup(page.close)
        page.set_default_timeout(LIMIT_MS)
        note = self.complaints.append
        page.on("pageerror", lambda error: note(f"the page's script failed: {error}"))
        page.on("console", lambda message: note(f"the page complains: {message.text}") if message.type == "error" else None)
        page.on("request", lambda request: None if request.url.startswith(self.address) else note(f"the page asks for {request.url}"))
        page.goto(self.address + choice)
        page.wait_for_selector("#chart svg, #chart .empty")
        return page

    def table(self, page):
        """{line: {size: text}}"""
        head = page.locator("#figures thead th").all_text_contents()[1:]
        found = {name: {} for name in head}
        for row in page.locator("#figures tbody tr").all():
            size, *cells = row.locator("th, td").all_text_contents()
            for name, text in zip(head, cells):
                found[name][size] = text
        return found

    def lines(self, page):
        return page.locator("#chart svg > path[stroke-width='2'][stroke-linejoin]").count()

    def test_it_opens_with_a_chart(self):
        page = self.open()
        self.assertEqual(self.lines(page), 2)
        self.assertIn("all_reduce", page.locator("#title").text_content())
        sources = page.locator("#sources").text_content()
        shown = [run for run in results.load_all() if f"File: {run.path}." in sources]
        self.assertEqual(len(shown), 1, sources)
        self.assertIn(f"Tutti {shown[0].library}", sources)

    def test_what_a_page_does_wrong_is_noticed(self):
        page = self.open()
        page.evaluate("console.error('planted')")
        page.evaluate("void fetch('http://127.0.0.1:9/planted').catch(() => null)")
        page.evaluate("setTimeout(() => { throw Error('planted'); })")
        page.wait_for_timeout(200)
        said = "; ".join(self.complaints)
        self.assertIn("complains: planted", said)
        self.assertIn("script failed: planted", said)
        self.assertIn("Content Security Policy", said, "the page may not even ask")
        self.complaints.clear()

    def test_figures_are_those_of_the_file(self):
        page = self.open(f"#run={HOST}&op=all_reduce&ranks=4")
        with open(os.path.join(ROOT, "bench", "results", HOST + ".json"), encoding="utf-8") as file:
            rows = [row for row in json.load(file)["results"] if (row["op"], row["ranks"]) == ("all_reduce", 4)]
        shown = self.table(page)
        self.assertEqual(set(shown), {"Tutti", "Open MPI", "MPICH", "Gloo"})
        scale = {"us": 1, "ms": 1e3, "s": 1e6}
        for row in rows:
            number, unit = shown[results.TITLES[row["library"]]][explorer_size(row["bytes"])].split()
            self.assertAlmostEqual(float(number) * scale[unit] / row["us"], 1, delta=0.006)
        page.get_by_label("Ratio", exact=True).check()
        shown = self.table(page)
        self.assertEqual(set(shown), {"Open MPI", "MPICH", "Gloo"})
        for row in rows:
            if row["ratio"]:
                self.assertAlmostEqual(float(shown[results.TITLES[row["library"]]][explorer_size(row["bytes"])]) / row["ratio"], 1,
                                       delta=0.006)

    def test_bandwidth_is_bytes_by_time_and_bus_bandwidth_by_the_operations_factor(self):
        page = self.open(f"#run={HOST}&op=all_reduce&ranks=4&show=bandwidth")
        row = next(r for r in results.load(HOST + ".json").rows
                   if (r["op"], r["ranks"], r["bytes"], r["library"]) == ("all_reduce", 4, 32 << 20, "tutti"))
        wanted = (32 << 20) / row["us"] / 1000
        self.assertEqual(self.table(page)["Tutti"]["32 MiB"], f"{wanted:.2f} GB/s")
        page.get_by_label("Bus bandwidth", exact=True).check()
        self.assertEqual(self.table(page)["Tutti"]["32 MiB"], f"{wanted * 2 * 3 / 4:.2f} GB/s")

    def test_the_address_keeps_the_choice(self):
        page = self.open()
        page.select_option("#run", HOST)
        page.select_option("#op", "send_recv")
        page.select_option("#ranks", "2")
        page.get_by_label("Gloo", exact=True).uncheck()
        address, title, table = page.evaluate("location.href"), page.locator("#title").text_content(), self.table(page)
        self.assertEqual(set(table), {"Tutti", "Open MPI", "MPICH"})
        other = self.open(address[len(self.address):])
        self.assertEqual(other.locator("#title").text_content(), title)
        self.assertEqual(self.table(other), table)
        self.assertFalse(other.get_by_label("Gloo", exact=True).is_checked())
        # A link followed in the open page counts too.
        other.evaluate("location.hash = '#op=gather&ranks=4&run=" + HOST + "'")
        other.wait_for_function("document.getElementById('title').textContent.includes('gather')")

    def test_an_address_that_names_nothing_shows_something(self):
        page = self.open("#run=nothing&op=juggle&ranks=-3&show=everything&by=colour&on=x&theme=plaid")
        self.assertGreater(page.locator("#figures tbody tr").count() + page.locator("#chart .empty").count(), 0)
        self.assertTrue(page.get_by_label("Time", exact=True).is_checked())

    def test_every_dimension_can_be_lines(self):
        for by, least in (("op", 9), ("ranks", 3), ("mode", 2), ("run", 1), ("library", 2)):
            page = self.open(f"#by={by}")
            self.assertGreaterEqual(page.locator("#lines input").count(), least, by)
            self.assertEqual(self.lines(page), page.locator("#lines input:checked").count(), by)
        page = self.open("#by=run&op=all_reduce&ranks=2&mode=&library=tutti")
        self.assertGreater(self.lines(page), 3, "one of each machine")

    def test_all_and_none(self):
        page = self.open("#by=op")
        page.get_by_role("button", name="none").click()
        self.assertEqual(page.locator("#chart .empty").text_content(), "All lines are switched off.")
        page.get_by_role("button", name="all").click()
        self.assertEqual(self.lines(page), 9)

    def test_a_keyboard_is_enough(self):
        page = self.open(f"#run={HOST}&op=all_reduce&ranks=4")
        focused = "document.activeElement.id || document.activeElement.value"
        page.keyboard.press("Tab")
        self.assertEqual(page.evaluate(focused), "show-time")
        for _ in range(3):
            page.keyboard.press("ArrowDown")
        self.assertTrue(page.get_by_label("Ratio", exact=True).is_checked())
        seen = []
        for _ in range(20):
            page.keyboard.press("Tab")
            seen.append(page.evaluate(focused))
            if seen[-1] == "gloo":
                page.keyboard.press("Space")
                self.assertEqual(page.evaluate(focused), "gloo", "the focus stays where it was")
                self.assertEqual(set(self.table(page)), {"Open MPI", "MPICH"})
            if seen[-1] == "chart":
                break
        self.assertEqual(seen[-1], "chart", f"Tab reached {seen}")
        self.assertTrue({"run", "op", "ranks"} <= set(seen))
        page.keyboard.press("ArrowRight")
        self.assertRegex(page.locator("#said").text_content(), r"^8 B, Open MPI \d+\.\d+, MPICH \d+$")
        page.keyboard.press("ArrowRight")
        self.assertTrue(page.locator("#said").text_content().startswith("32 B, "))
        page.keyboard.press("End")
        self.assertTrue(page.locator("#said").text_content().startswith("32 MiB, "))
        page.keyboard.press("ArrowRight")
        self.assertTrue(page.locator("#said").text_content().startswith("32 MiB, "))
        page.keyboard.press("Home")
        self.assertTrue(page.locator("#tip").text_content().startswith("8 B"))
        page.keyboard.press("Escape")
        self.assertEqual((page.locator("#tip").count(), page.locator("#said").text_content()), (0, ""))

    def test_the_mouse_shows_the_figures_of_a_size(self):
        page = self.open(f"#run={HOST}&op=all_reduce&ranks=4")
        page.hover("#chart svg", position={"x": 90, "y": 100})
        self.assertTrue(page.locator("#tip").text_content().startswith("8 B"))
        self.assertIn("2.40 us", page.locator("#tip").text_content())
        self.assertEqual(page.locator("#figures tr.at").get_attribute("data-bytes"), "8")
        page.mouse.move(5, 5)
        self.assertEqual(page.locator("#tip").count(), 0)

    def test_light_and_dark_can_both_be_read(self):
        colours = """() => { const of = (n) => getComputedStyle(n);
            const paper = of(document.body).backgroundColor, line = (n) => of(n).stroke;
            return { paper, ink: of(document.body).color, faint: of(document.querySelector('#keys')).color,
                     axis: of(document.querySelector('#chart .axis')).fill,
                     lines: [...document.querySelectorAll("#chart svg > path[stroke-linejoin]")].map(line) }; }"""
        papers = []
        for scheme, theme in (("light", ""), ("dark", ""), ("light", "&theme=dark")):
            found = self.open("#by=op" + theme, scheme=scheme).evaluate(colours)
            papers.append(found["paper"])
            for name in ("ink", "faint", "axis"):
                self.assertGreater(contrast(found[name], found["paper"]), 4.5, f"{name}, {scheme}{theme}")
            self.assertEqual(len(found["lines"]), 9)
            for line in found["lines"]:
                self.assertGreater(contrast(line, found["paper"]), 3, f"{line}, {scheme}{theme}")
        self.assertGreater(luminance(rgb(papers[0])), 0.8)
        self.assertLess(luminance(rgb(papers[1])), 0.05)
        self.assertEqual(papers[1], papers[2])

    def test_lines_differ_in_more_than_their_colour(self):
        page = self.open("#by=op")
        samples = page.locator("#lines label svg").evaluate_all(
            "all => all.map(one => one.innerHTML.replace(/var\\(--c\\d\\)/g, ''))")
        self.assertEqual(len(samples), 9)
        self.assertEqual(len(set(samples)), 9)

    def test_labels_are_large_enough_and_do_not_touch(self):
        boxes = """() => [...document.querySelectorAll("#chart svg text")].map((n) => { const b = n.getBoundingClientRect();
            return { text: n.textContent, size: parseFloat(getComputedStyle(n).fontSize),
                     left: b.left, right: b.right, top: b.top + 3, bottom: b.bottom - 3 }; })"""
        for width in (1400, 1000, 390):
            for choice in ("#by=op&show=bus", "#show=ratio", f"#run={HOST}&op=all_reduce&ranks=4", "#by=run&mode=&op=all_reduce&ranks=2"):
                page = self.open(choice, width=width)
                found = page.evaluate(boxes)
                self.assertGreater(len(found), 8)
                for index, one in enumerate(found):
                    self.assertGreaterEqual(one["size"], 14)
                    for other in found[index + 1:]:
                        apart = (one["right"] <= other["left"] or other["right"] <= one["left"] or
                                 one["bottom"] <= other["top"] or other["bottom"] <= one["top"])
                        self.assertTrue(apart, f"'{one['text']}' and '{other['text']}' touch, {choice}, {width} wide")
                self.assertLessEqual(page.evaluate("document.scrollingElement.scrollWidth"), width, f"{choice}: wider than the window")


def explorer_size(size):
    for unit, one in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= one:
            return f"{size // one} {unit}"
    return f"{size} B"


class DeadlineTest(unittest.TestCase):
    def test_what_does_not_end_is_named(self):
        program = "import explorer_test, time\nwith explorer_test.Deadline('the nap', 0.1):\n  time.sleep(600)"
        done = subprocess.run([sys.executable, "-c", program], cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True,
                              text=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "the nap has not ended after 0.1 s\n"))


if __name__ == "__main__":
    unittest.main()
