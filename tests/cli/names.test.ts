/** Sessions and windows can have any name, and no name is ever executed as code. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { personAt } from "../support/person.ts";
import { testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

test("a name in any script is one name everywhere, in either form of its accents", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const name = "café 日本 👩‍💻 $(touch pwned)";
  expect((await wsh.session("cafe\u0301 日本 👩‍💻 $(touch pwned)")).name).toBe(name);
  expect((await wsh.ok("list", "--names")).trimEnd()).toBe(name);
  expect(await wsh.exec(name, 'echo "$WSH_SESSION"')).toContain(name);
  const { windows } = (await (await wsh.fetch(`/sessions/${encodeURIComponent(name)}`)).json()) as {
    windows: { id: string }[];
  };
  await wsh.ok("window", "rename", windows[0]?.id ?? "", "Übersicht 1");
  expect(await wsh.ok("screen", `${name}:Übersicht 1.0`)).toContain(name);
  expect((await wsh.run("new", "café 日本 👩‍💻 $(touch pwned)")).stderr).toContain("already");
  await wsh.ok("rename", name, "50% `id`");
  expect((await wsh.list())[0]?.name).toBe("50% `id`");
  expect((await wsh.run("new", "a\u202eb")).stderr).toContain("not a session name");
  await wsh.ok("kill", "50% `id`");
  expect(fs.existsSync(join(wsh.dir, "pwned"))).toBe(false);
});

testWith("bash")("completions offer names quoted for the shell, and execute none", async () => {
  await using wsh = new Wsh();
  for (const name of ["my work", "$(touch pwned)", "dev"]) await wsh.session(name);
  const words = ["''", `"'my"`, `'"my'`, String.raw`'my\ w'`, `'"$'`].map(
    (word) => `COMP_WORDS=(wsh kill ${word}); _wsh; printf '%s\\n' "\${COMPREPLY[@]}"`,
  );
  const script = `source <(wsh completions bash); COMP_CWORD=2; ${words.join("; ")}`;
  const bin = join(wsh.dir, "bin");
  fs.mkdirSync(bin);
  const [program = "", ...rest] = wsh.command();
  fs.writeFileSync(join(bin, "wsh"), `#!/bin/sh\nexec '${[program, ...rest].join("' '")}' "$@"\n`, { mode: 0o755 });
  const env = { ...wsh.env, PATH: `${bin}:${wsh.env.PATH}` };
  const child = Bun.spawn(["bash", "--norc", "-c", script], { cwd: wsh.dir, env, stdout: "pipe", stderr: "pipe" });
  const offered = (await new Response(child.stdout).text()).trimEnd().split("\n");
  expect(offered.slice(0, 3).sort()).toEqual(["\\$\\(touch\\ pwned\\)", "dev", "my\\ work"]);
  // Literally after an opened quote, and after a typed blank.
  expect(offered.slice(3)).toEqual(["my work", "my work", "my\\ work"]);
  expect(fs.existsSync(join(wsh.dir, "pwned"))).toBe(false);
});

test("the status line shows wide names in the right cells", async () => {
  await using all = await personAt({ status: "on" });
  const { person, wsh } = all;
  await wsh.ok("window", "rename", "dev:0", "日本 é");
  await until("the line", async () =>
    /^\s*dev\s+0:日本 é\*/.test((await person.text()).trimEnd().split("\n").at(-1) ?? ""),
  );
});
