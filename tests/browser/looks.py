"""What every page must look like, on both sizes of screen and in both themes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.conftest import AXE

SIZES = {"desktop": {"width": 1100, "height": 900}, "phone": {"width": 390, "height": 844}}
CONTRAST = """() => {
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest("svg, noscript, .skip")) continue;
    const [one, two] = [numbers(getComputedStyle(element).color), behind(element)].map(light).sort((a, b) => b - a);
    if ((one + 0.05) / (two + 0.05) < 4.5) faint.push(element.outerHTML.slice(0, 100));
  }
  return faint;
}"""
"""Texts whose contrast to what is behind them is below 4.5."""

REPAINTED = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  .then(() => Promise.all(document.getAnimations().map((animation) => animation.finished)))"""
"""Waits until the page has its new colors."""


def in_both_themes(page: Page, name: str) -> Iterator[str]:
    """The page as it is, light and then dark. Pictures go to the folder that DENIABLE_SCREENSHOTS names, for people to look at."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.evaluate(REPAINTED)
        if "DENIABLE_SCREENSHOTS" in os.environ:
            page.screenshot(path=Path(os.environ["DENIABLE_SCREENSHOTS"]) / f"{name}-{theme}.png", full_page=True)
        yield theme


def serious_faults(page: Page) -> list[tuple[str, str]]:
    """What axe complains about, and where."""
    if not page.evaluate("typeof axe === 'object'"):
        page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run().then((result) => result.violations)")
    return [(fault["id"], fault["nodes"][0]["html"]) for fault in found if fault["impact"] in ("serious", "critical")]
