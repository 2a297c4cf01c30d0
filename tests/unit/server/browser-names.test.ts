/** The name of a browser in lists of devices and viewers, from what it calls itself. */
import { expect, test } from "bun:test";
import { browserKind } from "../../../src/server/auth/login-routes.ts";

const webkit = "AppleWebKit/537.36 (KHTML, like Gecko)";
const linux = `Mozilla/5.0 (X11; Linux x86_64) ${webkit}`;
const android = `Mozilla/5.0 (Linux; Android 14; SM-S921B) ${webkit}`;
const iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)";

test.each([
  ["chrome", `${linux} Chrome/150.0.0.0 Safari/537.36`],
  ["chrome", `${linux} HeadlessChrome/150.0.0.0 Safari/537.36`],
  ["chrome", `${android} Chrome/150.0.0.0 Mobile Safari/537.36`],
  ["chrome", `${iphone} CriOS/150.0.0.0 Mobile/15E148 Safari/604.1`],
  ["edge", `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/150.0.0.0 Safari/537.36 Edg/150.0.0.0`],
  ["edge", `${linux} HeadlessChrome/150.0.0.0 Safari/537.36 HeadlessEdg/150.0.0.0`],
  ["edge", `${android} Chrome/150.0.0.0 Mobile Safari/537.36 EdgA/150.0.0.0`],
  ["edge", `${iphone} Version/17.0 EdgiOS/150.0.0.0 Mobile/15E148 Safari/604.1`],
  ["firefox", "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0"],
  ["firefox", "Mozilla/5.0 (Android 14; Mobile; rv:153.0) Gecko/153.0 Firefox/153.0"],
  ["firefox", `${iphone} FxiOS/153.0 Mobile/15E148 Safari/605.1.15`],
  ["opera", `${linux} Chrome/150.0.0.0 Safari/537.36 OPR/130.0.0.0`],
  ["samsung", `${android} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36`],
  ["safari", `${iphone} Version/17.5 Mobile/15E148 Safari/604.1`],
  ["safari", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/17.5 Safari/605.1.15"],
  ["browser", "curl/8.9.0"],
  ["browser", ""],
])("%s: %s", (name, agent) => {
  expect(browserKind(agent)).toBe(name);
});
