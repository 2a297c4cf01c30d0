/** Limits of a system on arguments are checked before anything starts, and reported with the way out. */
import { expect, test } from "bun:test";
import { planProgram } from "../../../src/pane/spawn-plan.ts";
import { usePlatform } from "../../../src/platform/platform.ts";
import type { WshError } from "../../../src/protocol/errors.ts";
import { fakeDarwin } from "../../support/fake-darwin/platform.ts";

const MIB = 1024 * 1024;

function plan(command: string, env: Readonly<Record<string, string>> = {}): unknown {
  const caller = { cwd: "/", env: { PATH: "/usr/bin:/bin", SHELL: "/bin/sh", ...env } };
  const place = { env: caller.env, scriptsDir: "", keyFile: "", loginShell: false, integration: false };
  try {
    return planProgram({ command, caller }, place);
  } catch (error) {
    return error;
  }
}

test("macOS passes 1 MiB of arguments and environment together", () => {
  using _ = usePlatform(fakeDarwin);
  expect(plan(`: ${"x".repeat(MIB / 2)}`)).toMatchObject({ ok: true });
  expect(plan(":", { A: "a".repeat(MIB / 2) })).toMatchObject({ ok: true });
  const error = plan(`: ${"x".repeat(MIB / 2)}`, { A: "ä".repeat(MIB / 4) }) as WshError;
  expect(error).toMatchObject({ code: "payload_too_large" });
  expect(error.message).toMatch(
    /^arguments and environment have 10\d{5} bytes together; the system's limit is 1048576/,
  );
  const many = Object.fromEntries(Array.from({ length: 70_000 }, (_, n) => [`V${n}`, ""]));
  expect(plan(":", many)).toMatchObject({ code: "payload_too_large" });
});
