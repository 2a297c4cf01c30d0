/**
 * bash 3.2, which is /bin/bash of macOS: the person's unchanged shell, no integration, the reason on request,
 * and exec and run as far as possible without it.
 */
import { afterAll, describe, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { portableScript } from "../../src/shell/integration.ts";
import { realBash32, standIn } from "../support/bash32.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-b32-"));
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }));

const fake = process.platform === "linux" ? standIn(dir) : null;

describe.each([
  ["a bash 3.2", realBash32],
  ["a bash that says it is 3.2", fake],
] as const)("%s as SHELL", (_, bash) => {
  const on = test.skipIf(bash === null);
  const start = () => new Wsh({ env: { SHELL: bash ?? "", BASH_SILENCE_DEPRECATION_WARNING: "1" } });

  on("is the person's usual login shell: their files, no posix mode, nothing of ours", async () => {
    await using wsh = start();
    fs.appendFileSync(join(wsh.env.HOME ?? "", ".bash_profile"), "profile_was_read=yes\n");
    await wsh.session("one");
    await wsh.shows("one", /^\$ *$/m);
    const asked = 'shopt -q login_shell && echo "login=yes profile=$profile_was_read env=[$ENV] $SHELLOPTS"';
    await wsh.call("one", "input.send", {
      data: `${asked}; set | grep -c __wsh; env | grep -c WSH_SHELL`,
      submit: true,
    });
    const screen = await wsh.shows("one", /login=yes profile=yes env=\[\] [\s\S]*\n0\n0\n/);
    expect(screen).not.toContain("posix");
  });

  on("status and exec say why there is no integration, and run answers", async () => {
    await using wsh = start();
    await wsh.session("one");
    await wsh.shows("one", /^\$ *$/m);
    const reason = "bash 3.2 is older than 4.4";
    expect(JSON.parse(await wsh.ok("status", "one", "--json")).shell_integration).toMatchObject({
      active: false,
      reason,
    });
    const refused = await wsh.run("exec", "one", "--", "true");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain(reason);
    const ran = await wsh.ok("run", "one", 'echo "from $' + "{BASH_VERSINFO[0]}.$" + '{BASH_VERSINFO[1]}"');
    expect(ran).toContain("from 3.2");
  });

  on("exec in a session of its own needs no integration: output and exit code are the command's", async () => {
    await using wsh = start();
    const { code, stdout } = await wsh.run("exec", "--", 'echo "$' + '{BASH_VERSINFO[0]}"; exit 7');
    expect({ code, stdout }).toEqual({ code: 7, stdout: "3\n" });
  });

  on("the doctor names it", async () => {
    await using wsh = start();
    const { stdout } = await wsh.run("doctor", "--json");
    const texts: string[] = JSON.parse(stdout).map(({ text }: { text: string }) => text);
    expect(texts.some((text) => text.includes("bash 3.2 is older than 4.4"))).toBe(true);
  });

  on("our script, sourced there by hand, ends without a word and without a change", async () => {
    await using wsh = start();
    const script = join(wsh.dir, "wsh.bash");
    fs.writeFileSync(script, portableScript("bash"));
    await wsh.session("one");
    await wsh.shows("one", /^\$ *$/m);
    await wsh.call("one", "input.send", {
      data: `. ${script}; echo "status=$? PS1=[$PS1] [$PROMPT_COMMAND] [$PS0]"`,
      submit: true,
    });
    const screen = await wsh.shows("one", /status=0 PS1=\[\$ \] \[\] \[\]/);
    expect(screen).not.toMatch(/error|unexpected|bad |syntax/i);
    await until("the shell to be at its prompt", async () => /^\$ *$/m.test(await wsh.screen("one")));
  });
});

test.skipIf(fake === null)("an old bash behind a script: status and exec report the reason at once", async () => {
  const bin = join(dir, "bin");
  fs.mkdirSync(bin);
  const wrapper = join(bin, "bash");
  fs.writeFileSync(wrapper, `#!/bin/sh\nexec ${fake} "$@"\n`, { mode: 0o755 });
  await using wsh = new Wsh({ env: { SHELL: wrapper } });
  await wsh.session("one");
  const reason = "bash 3.2 is older than 4.4";
  await until("the reason", async () => {
    const { shell_integration } = JSON.parse(await wsh.ok("status", "one", "--json"));
    return shell_integration.active === false && shell_integration.reason === reason;
  });
  const refused = await wsh.run("exec", "one", "--", "true");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain(`the session has no shell integration: ${reason}`);
  await wsh.shows("one", /\$ *$/m);
  expect(await wsh.ok("run", "one", "echo from''here")).toContain("fromhere");
});

test.skipIf(realBash32 === null)("bash 3.2 parses our scripts for bash", () => {
  const script = join(dir, "parsed.bash");
  fs.writeFileSync(script, portableScript("bash"));
  const { exitCode, stderr } = Bun.spawnSync([realBash32 ?? "", "-n", script]);
  expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: "" });
});

/** Grammar of bash after 3.2: a script that contains it anywhere is refused there completely. */
const newer: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["|& (4.0)", /\|&/],
  ["&>> (4.0)", /&>>/],
  [";& and ;;& (4.0)", /;;?&/],
  ["coproc (4.0)", /\bcoproc\b/],
  ["{name}> (4.1)", /\{[A-Za-z_]\w*\}[<>]/],
  ["[[ -v (4.2) and [[ -R (4.3)", /\[\[[^\]]*\s-[vR]\s/],
  ["a case in $( ) whose pattern has one parenthesis (4.0)", /\$\([^()]*\bcase\b/],
  ["$( ) with a quote in a comment (4.0)", /\$\([^()]*\s#[^\n]*['"`]/],
  ["time as a function's or group's first word with options (4.2)", /\btime\s+-p\s+--/],
];

test("our script for bash has no grammar from after 3.2", () => {
  const code = portableScript("bash").replace(/^\s*#.*$/gm, "");
  for (const [what, pattern] of newer)
    expect({ what, found: pattern.exec(code)?.[0] }).toEqual({ what, found: undefined });
  // The patterns do match their targets.
  const examples = "a |& b; c &>> d; e) f;;& coproc g; exec {fd}>h; [[ -n $i && -v j ]]; $(case k in l) m;; esac)";
  for (const [, pattern] of newer.slice(0, 7)) expect(pattern.test(examples)).toBe(true);
});
