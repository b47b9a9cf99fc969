"""The console's map: its groups, and the page in a real browser."""

from itertools import pairwise

import numpy as np
import pytest
from playwright.async_api import Browser, Page, expect

from memorist import Memory
from memorist.serve.console.groups import Group, Layout, lay_out, names_of
from memorist.serve.console.map import places_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def test_groups_lie_apart_and_are_named_by_their_own_words() -> None:
    noise, axes = np.random.default_rng(1), np.eye(16, dtype=np.float32)
    subjects = ["tea", "trains", "taxes"]
    texts = [f"she spoke of {subjects[number % 3]} that day" for number in range(300)]
    rows = [axes[number % 3] + noise.normal(0, 0.05, 16).astype(np.float32) for number in range(300)]
    layout = lay_out(np.stack([row / np.linalg.norm(row) for row in rows]))
    assert ((layout.positions >= 0) & (layout.positions <= 1)).all()
    named = {group.words[0]: group.count for group in names_of(texts, layout) if group.words}
    assert set(named) == set(subjects)
    middles = [layout.positions[number::3].mean(axis=0) for number in range(3)]
    spread = max(float(layout.positions[number::3].std()) for number in range(3))
    assert all(np.linalg.norm(middles[one] - middles[two]) > spread for one, two in ((0, 1), (0, 2), (1, 2)))


def test_texts_that_point_much_the_same_way_form_groups_and_an_outlier_crowds_none() -> None:
    noise, axes = np.random.default_rng(1), np.eye(16, dtype=np.float32)
    rows = [4 * axes[0] + axes[1 + number % 3] + noise.normal(0, 0.1, 16).astype(np.float32) for number in range(90)]
    rows[0] = -4 * axes[0]
    layout = lay_out(np.stack([row / np.linalg.norm(row) for row in rows]))
    assert np.bincount(layout.group).max() < 45
    assert (layout.positions[1:].std(axis=0) > 0.1).all()


def test_one_record_and_equal_records_stand_in_the_middle() -> None:
    for number in (1, 2, 40):
        layout = lay_out(np.tile(np.eye(8, dtype=np.float32)[:1], (number, 1)))
        assert np.allclose(layout.positions, 0.5) and layout.groups == 1
        assert [group.count for group in names_of(["tea"] * number, layout)] == [number]


async def test_the_map_shows_every_record_with_and_without_the_script(
    browser: Browser, site: str, alice: Memory, bob: Memory
) -> None:
    await alice.remember([f"about {word}" for word in ("tea", "trains", "tax", "tulips")])
    await bob.remember("bob's secret")
    page = await (await browser.new_context(java_script_enabled=False)).new_page()
    await page.goto(f"{site}/map?user=alice&q=tulips&colour=time")
    await expect(page.locator(".map circle")).to_have_count(4)
    await expect(page.locator(".map circle.ring").first).to_be_visible()
    await page.locator(".map a").first.dispatch_event("click")
    page = await browser.new_page()
    await page.goto(f"{site}/map?user=alice")
    await expect(page.locator("canvas")).to_be_visible()
    await expect(page.locator("#still")).not_to_be_visible()
    assert "bob" not in (await page.content())
    await page.get_by_role("button", name="Zoom in").click()
    await page.get_by_role("button", name="Reset").click()
    await page.evaluate("map.scrollIntoView({block: 'end'})")
    [x, y] = await page.evaluate(
        """() => { const {x, y} = JSON.parse(map.dataset.points), unit = map.clientWidth / 1000;
        return [x[0] * unit, y[0] * unit] }"""
    )
    await page.locator("canvas").hover(position={"x": x, "y": y})
    await expect(page.locator("#peek")).to_contain_text("about")
    await page.locator("canvas").click(position={"x": x, "y": y})
    await expect(page.locator(".whole")).to_contain_text("about")


async def test_many_records_are_drawn_as_density_without_the_script(browser: Browser, site: str, alice: Memory) -> None:
    await alice.remember([f"note {number} about {'tea' if number % 2 else 'trains'}" for number in range(1600)])
    page = await (await browser.new_context(java_script_enabled=False)).new_page()
    await page.goto(f"{site}/map?user=alice")
    await expect(page.locator("main")).to_contain_text("1,600 records")
    assert 0 < await page.locator(".map .cell").count() <= 60 * 34
    assert await page.locator(".map circle").count() == 0


async def test_the_map_of_nobody_is_empty(page: Page, site: str) -> None:
    await page.goto(f"{site}/map?user=nobody")
    await expect(page.locator(".empty")).to_be_visible()
    await page.goto(f"{site}/map?everyone=1&colour=user")
    await expect(page.locator(".empty")).to_be_visible()


def test_names_of_groups_do_not_cover_each_other_and_each_has_one() -> None:
    groups = [Group(9, ("homestays", "travel", "quiet"), 0.5, 0.5 + each / 500) for each in range(6)]
    heights = sorted(y for _, y, _ in places_of(groups))
    assert len(heights) == 6 and all(below - above >= 15 for above, below in pairwise(heights))
    layout = Layout(np.full((3, 2), 0.5), np.zeros(3, dtype=np.int64), 1)
    [named] = names_of(["今天我们去京都", "今天我们去京都", "去京都"], layout)
    assert named.words
