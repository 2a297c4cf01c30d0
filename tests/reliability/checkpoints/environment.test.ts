/** A killed session of several panes leaves its programs' environment on disk without secrets, in no file. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { readBlocks } from "../../../src/checkpoints/files/blocks.ts";
import { readLayout } from "../../../src/checkpoints/files/part-reader.ts";
import { Http } from "../../support/http.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { folderOf, kill, written } from "./crashed-sessions.ts";

/** Null when it is no file, or is gone: newer states of a pane replace older ones. */
function contentsOf(path: string): Buffer | null {
  try {
    return fs.readFileSync(path);
  } catch {
    return null;
  }
}

/** Every text in a folder: raw files, and their blocks unpacked. */
function textsIn(directory: string): [name: string, text: string][] {
  const names = fs.readdirSync(directory, { recursive: true, encoding: "utf8" });
  return names.flatMap((name) => {
    const bytes = contentsOf(join(directory, name));
    if (bytes === null) return [];
    const blocks = readBlocks(bytes).blocks.map(({ text }) => text);
    return [[name, [bytes.toString("latin1"), ...blocks].join("\n")]];
  });
}

test("of all its panes, however each got its variables", async () => {
  await using wsh = new Wsh({
    env: { BUILD_TOKEN: "hidden-1", MYSQL_PWD: "hidden-2", DB_URL: "pg://me:hidden-3@db/x", HARMLESS: "plain-1" },
  });
  await wsh.server();
  await wsh.session("dev", "--env", "NEW_SECRET=hidden-4", "--env", "NEW_PLAIN=plain-2");
  const http = new Http({ unix: wsh.instance.httpSocket });
  const env = { SPLIT_KEY: "hidden-5", SPLIT_PLAIN: "plain-3" };
  await http.post("/sessions/dev/panes", { direction: "right", env });
  await http.post("/sessions/dev/windows", { env: { WINDOW_PASSWORD: "hidden-6", WINDOW_PLAIN: "plain-4" } });
  // Read by the shell from a file, so that no command line contains it.
  fs.writeFileSync(join(wsh.dir, "later"), "export LATER_TOKEN=hidden-7\n");
  for (const pane of [1, 2, 3]) {
    await wsh.exec(`@${pane}`, `. ${join(wsh.dir, "later")}; echo "\${BUILD_TOKEN#hidden-} there"`);
    await written(wsh, "1 there", pane);
  }
  await wsh.ok("checkpoint", "save", "dev", "mine");
  await until("the layout", () => {
    try {
      return readLayout(folderOf(wsh)).record.panes.length === 3;
    } catch {
      return false;
    }
  });
  await kill(wsh);
  const texts = textsIn(wsh.instance.stateDir);
  const all = texts.map(([, text]) => text).join("\n");
  for (const plain of ["plain-1", "plain-2", "plain-3", "plain-4"]) expect(all).toContain(plain);
  expect(texts.filter(([, text]) => /hidden-[1-7]/.test(text)).map(([name]) => name)).toEqual([]);
});
