/** A session process writes to a person's terminal itself, and never ahead of what its client has yet to write there. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { linuxPlatform } from "../../src/platform/linux/platform.ts";
import { messageTypes } from "../../src/protocol/messages.ts";
import { parseTarget } from "../../src/protocol/names.ts";
import { findSession } from "../../src/registry/registry.ts";
import { Connection } from "../../src/wire/connection.ts";
import { splitServer } from "../support/panes.ts";
import { attachment, personContext } from "../support/terminals/attached-peer.ts";
import { until } from "../support/until.ts";

/** A terminal that a client holds. `direct`: what came there, which its client has not written. */
function openTerminal() {
  const came: Uint8Array[] = [];
  const { rows, cols } = attachment;
  const data = (_: Bun.Terminal, bytes: Uint8Array) => void came.push(bytes);
  const child = Bun.spawn(["cat"], { terminal: { rows, cols, data } });
  const path = linuxPlatform.processes.terminalPath(linuxPlatform.processes.stat(child.pid)?.tty ?? 0) ?? "";
  const { dev, ino, rdev } = fs.statSync(path);
  return {
    device: { path, device: dev, inode: ino, number: rdev, pid: child.pid },
    direct: () => Buffer.concat(came).toString(),
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await child.exited;
      child.terminal?.close();
    },
  };
}

test.if(process.platform === "linux")("a late confirmation of a picture is none of the program's bytes", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await using terminal = openTerminal();
  await wsh.session("dev", "--", "stty raw -echo; printf ready; exec cat");
  await wsh.shows("dev", "ready");
  let passed: string[] = [];
  let bytes = 0;
  let pictures = 0;
  const { connection } = await Connection.open(findSession(wsh.instance, parseTarget("dev")).socket, "attach", {
    message: ({ type, payload }) => {
      if (type === messageTypes.frame) pictures++;
      if (type !== messageTypes.output) return;
      passed.push(new TextDecoder().decode(payload));
      bytes += payload.length;
    },
  });
  await connection.request("peer.attach", { ...attachment, terminal: terminal.device }, personContext);
  const written = () => connection.request("peer.written", { bytes, pictures }, personContext);
  const print = async (text: string) => {
    await wsh.type("dev", text);
    await wsh.shows("dev", text);
  };
  await until("the screen", () => passed.join("").includes("ready"));
  await print("1st");
  await until("the program's bytes", () => passed.join("").includes("1st"));
  const confirmedLate = bytes;

  const overlay = await http.post("/sessions/dev/overlay", {
    x: 40,
    y: 0,
    width: 4,
    height: 1,
    spans: [{ text: "over" }],
  });
  await until("a picture", () => pictures > 0);
  passed = [];
  await http.delete(`/sessions/dev/overlay/${(overlay.body as { id: string }).id}`);
  await until("the screen again", () => passed.join("").includes("ready1st"));
  // So the numbers of bytes alone do not tell the screen from what was passed through earlier.
  expect(Buffer.byteLength(passed.join(""))).toBe(confirmedLate);
  await connection.request("peer.written", { bytes: confirmedLate, pictures }, personContext);
  await print("2nd");
  await until("the program's bytes", () => passed.join("").includes("2nd"));
  expect(terminal.direct()).toBe("");

  await written();
  await print("3rd");
  await until("the program's bytes at the terminal", () => terminal.direct().includes("3rd"));
  expect(passed.join("")).not.toContain("3rd");
  connection.close();
});
