#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Opens every page of the site, build/site, in headless Chromium on a phone, and some on a wide screen.

No page may say an error to the browser, ask for anything from a network, be wider than the screen, or show a picture that did not
load. Needs what explorer_test.py needs, and is skipped without it.
"""

import os
import unittest

import explorer_test

SITE = os.path.join(explorer_test.ROOT, "build", "site")
PAGE_LIMIT_S = 180
# Wide as a phone and as a screen, and the colours that are asked for there.
PHONE, WIDE = (390, 844, "dark"), (1440, 1000, "light")
ON_WIDE = ("index.html", "drawings.html", "explorer.html", "performance_explorer.html", "errors.html", "reference/cpp.html")


class Screen:
    """A browser's page that notes what goes wrong on it."""

    def __init__(self, browser, width, height, colours):
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=colours)
        self.page = self.context.new_page()
        self.page.set_default_timeout(explorer_test.LIMIT_MS)
        self.faults = []
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", self.note_request)

    def note_request(self, request):
        if request.url.startswith("http"):
            self.faults.append(f"asks for {request.url}")

    def faults_of(self, address):
        """What is wrong with the page at this address, in sentences."""
        self.faults.clear()
        self.page.goto(address)
        self.page.evaluate("document.querySelectorAll('img').forEach(image => { image.loading = 'eager'; })")
        self.page.wait_for_function("[...document.images].every(image => image.complete)")
        width, screen = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        wide = [f"is {width} wide on a screen of {screen}"] if width > screen else []
        bad = "[...document.images].filter(image => image.naturalWidth == 0).map(image => image.src + ' did not load')"
        return self.faults + wide + self.page.evaluate(bad)


class Pages(explorer_test.BrowserTest):
    limit_s = 1800  # some sixty pages, each of which has a limit of its own

    def screen(self, which):
        screen = Screen(self.browser, *which)
        self.addCleanup(screen.context.close)
        return screen

    def test_every_page_can_be_read(self):
        pages = [os.path.join(folder, name) for folder, _, names in os.walk(SITE) for name in names if name.endswith(".html")]
        self.assertGreater(len(pages), 20, "there is no site: ./dev docs")
        for which, shown in ((PHONE, sorted(pages)), (WIDE, [os.path.join(SITE, name) for name in ON_WIDE])):
            screen = self.screen(which)
            for path in shown:
                name = os.path.relpath(path, SITE)
                with self.subTest(page=name, screen=which), explorer_test.Deadline(f"{name} on a screen of {which}", PAGE_LIMIT_S):
                    self.assertEqual(screen.faults_of("file://" + path), [])

    def test_faults_are_noticed(self):
        page = ("data:text/html,<div style='width:900px'>wide</div><img src='data:,none'><script>console.error('no')</script>"
                "<img src='http://127.0.0.1:9/x.png'>")
        faults = "\n".join(self.screen(PHONE).faults_of(page))
        for wanted in ("no", "asks for http://127.0.0.1:9/x.png", "is 9", "data:,none did not load"):
            self.assertIn(wanted, faults)


if __name__ == "__main__":
    unittest.main()
