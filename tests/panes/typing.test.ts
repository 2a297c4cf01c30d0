/** Input in one of several panes is echoed at once, before the next picture, and is never left wrong. */
import { expect, test } from "bun:test";
import { composedAttach } from "../../src/protocol/attach.ts";
import { messageTypes } from "../../src/protocol/messages.ts";
import { parseTarget } from "../../src/protocol/names.ts";
import { findSession } from "../../src/registry/registry.ts";
import { Connection } from "../../src/wire/connection.ts";
import { splitServer } from "../support/panes.ts";
import { attachment, personContext } from "../support/terminals/attached-peer.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

/** Four panes, of which the active one runs a program; two terminals: one types, the other shows the whole. */
async function typist(command: string) {
  const all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev", "--", command);
  for (let at = 1; at < 4; at++) {
    await http.post("/sessions/dev/panes", { command: "cat" });
    await http.post("/sessions/dev/layout/preset", { preset: "tiled" });
  }
  const person = await EmulatorTerminal.attach(wsh, "dev", { seen: /ready/ });
  const same = async (): Promise<boolean> => {
    await using other = await EmulatorTerminal.attach(wsh, "dev", { seen: /ready/ });
    return (await other.text()) === (await person.text());
  };
  return {
    ...all,
    person,
    same,
    [Symbol.asyncDispose]: async () => {
      await person[Symbol.asyncDispose]();
      await all[Symbol.asyncDispose]();
    },
  };
}

test("an echo that the program takes back does not remain on the screen", async () => {
  await using all = await typist(
    `bash -c 'stty raw -echo; printf "ready "; while IFS= read -rn1 k; do printf %s "$k"; sleep 0.01; printf "\\b%s" "\${k^^}"; done'`,
  );
  const { person, same } = all;
  for (const key of "abcdefgh") {
    person.type(key);
    await person.sees(new RegExp(`ready ${"ABCDEFGH".slice(0, "abcdefgh".indexOf(key) + 1)}`));
  }
  await until("what another terminal shows", same);
});

test("keys that reach the pane's edge continue in its next row, not in its neighbour", async () => {
  await using all = await typist("stty raw -echo; printf 'ready '; exec cat");
  const { person, same } = all;
  const text = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const [at, key] of [...text].entries()) {
    person.type(key);
    await until(`key ${at}`, async () => (await person.text()).includes(key, 0));
  }
  // 40 columns, of which 6 are taken.
  await person.sees(/^ready abcdefghijklmnopqrstuvwxyz01234567[│┃]/m);
  await person.sees(/^89ABCDEFGHIJKLMNOPQRSTUVWXYZ +[│┃]/m);
  expect(await person.text()).toContain("ready");
  await until("what another terminal shows", same);
});

test("beside panes that print, input is displayed in its place", async () => {
  await using all = await typist("stty raw -echo; printf 'ready '; exec cat");
  const { http, person, same } = all;
  const noise = "bash -c 'for i in $(seq 1 400); do echo line $i; read -rt 0.005 _; done; echo over; exec cat'";
  await http.post("/sessions/dev:0.1/pane/respawn", { command: noise });
  let typed = "";
  for (let at = 0; !(await person.text()).includes("over"); at++) {
    const key = String.fromCharCode(65 + (at % 26));
    typed += key;
    person.type(key);
    const [row = "", next = ""] = [typed.slice(0, 34), typed.slice(34, 68)];
    if (at === 60) break;
    await until(key, async () => (await person.text()).includes(next === "" ? `ready ${row}` : next));
  }
  await until("the end of the neighbour", async () => (await person.text()).includes("over"));
  await until("what another terminal shows", same);
});

test("an echo is sent ahead of its picture", async () => {
  await using all = await typist("stty raw -echo; printf 'ready '; exec cat");
  const { wsh, person } = all;
  const came: string[] = [];
  const { connection } = await Connection.open(findSession(wsh.instance, parseTarget("dev")).socket, "attach", {
    message: ({ type, payload }) => {
      if (type === messageTypes.output) came.push(new TextDecoder().decode(payload));
      else if (type === messageTypes.frame) came.push("picture");
    },
  });
  await connection.request("peer.attach", { ...attachment, ...composedAttach, rows: 24, cols: 80 }, personContext);
  const keys = "abcdefghijklmnopqrst";
  let ahead = 0;
  for (const [at, key] of [...keys].entries()) {
    const before = came.length;
    connection.sendBytes(messageTypes.input, new TextEncoder().encode(key));
    // A picture may be of something else: once another terminal shows the key, the next one is pressed.
    await person.sees(`ready ${keys.slice(0, at + 1)}`);
    await until(`the picture with ${key}`, () => came.slice(before).includes("picture"));
    if (came[before] === key) ahead++;
  }
  // The first show that keys are echoed unchanged; beside a picture of something else, none is sent ahead.
  expect(ahead).toBeGreaterThan(keys.length / 2);
  connection.close();
});
