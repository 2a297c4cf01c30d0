/** Questions of ssh and wsh at one terminal about several machines. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { Wsh } from "../support/wsh.ts";
import { isCompiled } from "../support/wsh-program.ts";

/** An ssh that accepts a password alone, to machines without wsh, and records the input for each machine. */
function asksPassword(dir: string): string {
  const path = join(dir, "ssh");
  const script = `#!/bin/sh
for host; do [ "$before" = -- ] && break; before=$host; done
case "$*" in
  *" -O "*) exit 255;;
  *BatchMode=yes*) echo "$host: Permission denied (password)." >&2; exit 255;;
esac
printf "password: " >/dev/tty
read -r password </dev/tty
echo "$host $password" >>${dir}/asked
if [ "$password" = right ]; then echo "wsh-link-1 missing $(uname -s) $(uname -m)"; exit 0; fi
echo "$host: Permission denied (password)." >&2
exit 255
`;
  fs.writeFileSync(path, script, { mode: 0o755 });
  return path;
}

const names = ["m1", "m2", "m3"];

/** Machines that were added before they asked for passwords. */
async function startMachines() {
  const local = new Wsh();
  for (const name of names) await local.run("servers", "add", `ssh://${name}`);
  const asked = (): string[] => fs.readFileSync(join(local.dir, "asked"), "utf8").trim().split("\n");
  const env = { WSH_SSH_COMMAND: asksPassword(local.dir) };
  const person = EmulatorTerminal.run(local, ["servers"], { cols: 140, env });
  return {
    person,
    asked,
    async [Symbol.asyncDispose]() {
      await person[Symbol.asyncDispose]();
      await local[Symbol.asyncDispose]();
    },
  };
}

/** Answers questions one after another, each of which is displayed alone. */
async function answerAll(person: EmulatorTerminal, question: RegExp, answer: (name: string) => string, count: number) {
  const order: string[] = [];
  while (order.length < count) {
    const shown = await person.sees((text) => [...text.matchAll(question)].length > order.length);
    const all = [...shown.matchAll(question)];
    expect(all).toHaveLength(order.length + 1);
    const name = all.at(-1)?.[1] ?? "";
    order.push(name);
    // The second line is there before the next question is.
    person.type(answer(name));
  }
  await person.exited;
  return order;
}

test("passwords are asked for one machine at a time, each named, and earlier input does not count", async () => {
  await using remote = await startMachines();
  const question = /ssh logs in to (m\d)\s+password:/g;
  const order = await answerAll(remote.person, question, (name) => `for-${name}\rtoo-early\r`, 3);
  expect(order.toSorted()).toEqual(names);
  expect(remote.asked()).toEqual(order.map((name) => `${name} for-${name}`));
});

test.skipIf(!isCompiled)("permission to copy is asked for one machine at a time, each named", async () => {
  await using remote = await startMachines();
  const question = /(ssh logs in to m\d\s+password:|m\d has no wsh\. Copy .*\[y\/N\])/g;
  await answerAll(remote.person, question, (asked) => (asked.startsWith("ssh") ? "right\ry\r" : "n\ry\r"), 6);
  expect(await remote.person.text()).toContain("m3 has no wsh");
  expect(remote.asked().toSorted()).toEqual(names.map((name) => `${name} right`));
});

const changed = `@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
Someone could be eavesdropping on you right now (man-in-the-middle attack)!
It is also possible that a host key has just been changed.
The fingerprint for the ED25519 key sent by the remote host is
SHA256:${"x".repeat(43)}.
Please contact your system administrator.
Add correct host key in /home/${"long".repeat(40)}/.ssh/known_hosts to get rid of this message.
Offending ED25519 key in /home/${"long".repeat(40)}/.ssh/known_hosts:7
Host key for m1 has changed and you have requested strict checking.
Host key verification failed.
`;

test("the message about a changed host key is complete, in its own lines", async () => {
  await using local = new Wsh();
  const path = join(local.dir, "ssh");
  fs.writeFileSync(path, `#!/bin/sh\ncat >&2 <<'END'\n${changed}END\nexit 255\n`, { mode: 0o755 });
  const { stderr } = await local.runWith({ env: { WSH_SSH_COMMAND: path } }, "list", "--server", "ssh://m1");
  for (const line of changed.trim().split("\n").slice(3))
    expect(stderr).toMatch(new RegExp(`^ +${RegExp.escape(line)}$`, "m"));
  expect(stderr).toContain("m1: ");
});
