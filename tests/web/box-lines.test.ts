/** Box-drawing lines in sessions that are shown scaled down: unbroken, on whole pixels, at every density. */
import { expect } from "bun:test";
import { type Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";

let gateway: Gateway;
/** Of density 1. */
let plain: TestBrowser;
beforeTests((...both) => {
  [gateway, plain] = both;
});

const BOX = ["┌─┬┐", "│x││", "├─┼┤", "└─┴┘", "╔═╦╗", "║x║║", "╚═╩╝"];
/** Cells of BOX that a line crosses from edge to edge: row, column, and direction. */
const through = BOX.flatMap((line, row) =>
  [...line].flatMap((text, col) => [
    ...("─┬┴┼═╦╩".includes(text) ? [{ row, col, upright: false }] : []),
    ...("│├┤┼║".includes(text) ? [{ row, col, upright: true }] : []),
  ]),
);
const COLS = 110;
/** Widths of the page, in CSS pixels: a phone, and others that give several cell sizes. */
const WIDTHS = [390, 520, 640, 770];

/** Device pixels per CSS pixel: in brief the one at which a line has the fewest. */
const DENSITIES = process.env.WSH_TEST_FULL === "1" ? [1, 2, 3] : [1];

for (const density of DENSITIES) {
  browserTest(`lines of boxes are whole at density ${density}, however small the session is shown`, async () => {
    const name = `boxes${density}`;
    const text = BOX.map((line) => `${line}\\n`).join("");
    await gateway.create({ name, command: `/bin/sh -c "printf '${text}'; exec cat"`, rows: 20, cols: COLS });
    await using own = density === 1 ? null : await TestBrowser.start(density);
    const browser = own ?? plain;
    const { page, faults } = await browser.page();
    const other = (await browser.page()).page;
    await page.evaluateOnNewDocument(() =>
      localStorage.setItem("wsh.settings", JSON.stringify({ size: "follow", sidebar: false, theme: "light" })),
    );
    const sizes = new Set<string>();
    await page.setViewport({ width: WIDTHS[0] ?? 0, height: 500, deviceScaleFactor: 0 });
    await page.goto(`${gateway.origin}/#t=${TOKEN}&session=${name}`);
    await page.waitForFunction(() => document.querySelectorAll(".x").length > 10);
    for (const width of WIDTHS) {
      await page.setViewport({ width, height: 500, deviceScaleFactor: 0 });
      await page.waitForFunction((wanted) => innerWidth === wanted, {}, width);
      expect(await page.evaluate(() => devicePixelRatio)).toBe(density);
      const seen = () =>
        page.evaluate(() => {
          const grid = document.querySelector(".grid");
          const { x = 0, y = 0, width: wide = 0 } = document.querySelector(".screen")?.getBoundingClientRect() ?? {};
          const row = document.querySelector(".screen .row")?.getBoundingClientRect();
          return { look: grid?.className ?? "", x, y, width: wide, height: row?.height ?? 0 };
        });
      // Every line is checked in the picture itself, decoded where no policy forbids it.
      let broken: readonly string[] = ["nothing was looked at"];
      const isWhole = async (): Promise<boolean> => {
        const { look, x, y, width: wide, height } = await seen();
        const cell = { width: Math.round((wide * density) / COLS), height: Math.round(height * density) };
        if (!look.includes(`cell-${cell.width}x${cell.height}`)) return false;
        const picture = await page.screenshot({ encoding: "base64" });
        broken = await other.evaluate(
          async (base64, cells, origin, size) => {
            const image = new Image();
            image.src = `data:image/png;base64,${base64}`;
            await image.decode();
            const canvas = new OffscreenCanvas(image.width, image.height);
            const context = canvas.getContext("2d");
            if (context === null) throw new Error("no canvas");
            context.drawImage(image, 0, 0);
            const { data } = context.getImageData(0, 0, image.width, image.height);
            const isDark = (px: number, py: number): boolean => (data[(py * image.width + px) * 4] ?? 255) < 100;
            return cells.flatMap(({ row, col, upright }) => {
              const left = Math.round(origin.x) + col * size.width;
              const top = Math.round(origin.y) + row * size.height;
              const [along, across] = upright ? [size.height, size.width] : [size.width, size.height];
              for (let at = 0; at < along; at++) {
                const hits = Array.from({ length: across }, (_, side) =>
                  upright ? isDark(left + side, top + at) : isDark(left + at, top + side),
                );
                if (!hits.includes(true)) return [`row ${row} column ${col} pixel ${at}`];
              }
              return [];
            });
          },
          picture,
          through,
          { x: x * density, y: y * density },
          cell,
        );
        if (broken.length > 0) return false;
        sizes.add(look);
        return true;
      };
      // The page takes its new size during the check.
      await until(`whole lines at ${width}`, isWhole).catch(() => undefined);
      expect({ width, broken }).toEqual({ width, broken: [] });
    }
    expect(sizes.size).toBeGreaterThan(2);
    expect(faults).toEqual([]);
  });
}

browserTest("shapes of boxes are made anew each time the page is zoomed", async () => {
  await gateway.create({ name: "zoomed", command: "/bin/sh -c \"printf '┌─┐\\n│x│\\n└─┘\\n'; exec cat\"" });
  const { page, faults } = await plain.page();
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=zoomed`);
  await page.waitForFunction(() => document.querySelectorAll(".x").length >= 6);
  for (const deviceScaleFactor of [2, 3, 1.5, 1]) {
    await page.setViewport({ width: Math.round(1200 / deviceScaleFactor), height: 500, deviceScaleFactor });
    await page.waitForFunction(
      (density) => {
        const grid = document.querySelector<HTMLElement>(".grid");
        if (grid === null || devicePixelRatio !== density) return false;
        const style = getComputedStyle(grid);
        const [width, height] = ["--cell-width", "--cell-height"].map((name) =>
          Math.round(Number.parseFloat(style.getPropertyValue(name)) * density),
        );
        const masks = Array.from(grid.querySelectorAll(".x"), (each) => getComputedStyle(each, "::before").maskImage);
        const isMade = masks.every((mask) => decodeURIComponent(mask).includes(`width="${width}" height="${height}"`));
        return isMade && grid.classList.contains(`cell-${width}x${height}`);
      },
      {},
      deviceScaleFactor,
    );
  }
  expect(faults).toEqual([]);
});
