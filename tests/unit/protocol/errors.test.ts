/** Errors of the system, as a caller gets them. */
import { expect, test } from "bun:test";
import { WshError } from "../../../src/protocol/errors.ts";

test.each(["EMFILE", "ENFILE"])("%s is a limit that was reached, not a bug of wsh", (code) => {
  const thrown = Object.assign(new Error(`${code}: too many open files, scandir '/run/wsh'`), { code });
  const error = WshError.from(thrown).bodyAt("http");
  expect(error).toMatchObject({ code: "resource_limit_reached", message: thrown.message });
  expect(error.hint).toContain("ulimit -n");
});
