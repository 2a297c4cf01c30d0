/** `set -v` makes bash print our hooks into the output: the result reports it, and is exact again after `set +v`. */
import { expect, test } from "bun:test";
import { Http } from "../support/http.ts";
import { SessionApi } from "../support/session-api.ts";
import { Wsh } from "../support/wsh.ts";

test("the output of a bash that prints its input is not reported as exact", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const api = await SessionApi.shell(new Http({ unix: wsh.instance.httpSocket }), "verbose", { shell: "bash" });
  await api.exec("set -v");
  const doubted = await api.exec("(exit 7)");
  expect(doubted).toMatchObject({ verified: false, warnings: [expect.stringMatching(/^set -v is on/)] });
  await api.exec("set +v");
  const exact = await api.exec("echo off; (exit 3)");
  expect(exact).toMatchObject({ output: "off", exit_code: 3 });
  expect(exact.warnings).toBeUndefined();
});
