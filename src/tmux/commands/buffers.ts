/** Paste buffers: those of wsh's sessions, with the names that tmux's callers give them. */
import { WshError } from "../../protocol/errors.ts";
import { TmuxError } from "../error.ts";
import { isTrue } from "../formats/syntax.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { type Command, command } from "./command.ts";

/** Characters of a buffer that a list shows. */
const SAMPLE = 50;

interface Buffer_ {
  readonly name: string;
  readonly session: string;
  readonly id: number;
  readonly bytes: number;
  /** Unix time in ms. */
  readonly at: number;
}

export const bufferCommands: readonly Command[] = [
  command(
    "set-buffer setb",
    "ab:n:w",
    [0, 1],
    "[-aw] [-b buffer-name] [-n new-buffer-name] data",
    async (run, args) => {
      const [name, renamed, data] = [args.get("b"), args.get("n"), args.word(0)];
      if (renamed !== undefined) return rename(run, name, renamed);
      if (data === undefined) throw new TmuxError("no data specified");
      const before = args.has("a") && name !== undefined ? await textOf(run, name).catch(() => "") : "";
      const { session } = await run.place(args, "session", "-");
      if (before + data !== "") await addBuffer(run, session.target, name, before + data);
    },
  ),
  command("load-buffer loadb", "b:w", [1, 1], "[-b buffer-name] path", async (run, args) => {
    const data = await run.backend.readFile(args.word(0) ?? "");
    const { session } = await run.place(args, "session", "-");
    await addBuffer(run, session.target, args.get("b"), new TextDecoder().decode(data));
  }),
  command("save-buffer saveb", "ab:", [1, 1], "[-a] [-b buffer-name] path", async (run, args) => {
    const text = await textOf(run, args.get("b"));
    const path = args.word(0) ?? "";
    if (path === "-") return run.backend.print(text);
    await run.backend.writeFile(path, new TextEncoder().encode(text), args.has("a"));
  }),
  command("show-buffer showb", "b:", [0, 0], "[-b buffer-name]", async (run, args) =>
    run.backend.print(await textOf(run, args.get("b"))),
  ),
  command("delete-buffer deleteb", "b:", [0, 0], "[-b buffer-name]", async (run, args) => {
    const found = await find(run, args.get("b"), args.has("b"));
    if (found === null) throw new TmuxError(args.has("b") ? `unknown buffer: ${args.get("b")}` : "no buffer");
    await remove(run, found);
  }),
  command("list-buffers lsb", "F:f:", [0, 0], "[-F format] [-f filter]", listBuffers),
  command(
    "paste-buffer pasteb",
    "b:dprs:t:",
    [0, 0],
    "[-dpr] [-s separator] [-b buffer-name] [-t target-pane]",
    async (run, args) => {
      const { pane } = await run.place(args, "pane");
      const found = await find(run, args.get("b"), args.has("b"));
      if (found === null) {
        if (args.has("b")) throw new TmuxError(`no buffer ${args.get("b")}`);
        return;
      }
      const separator = args.get("s") ?? (args.has("r") ? "\n" : "\r");
      const data = (await read(run, found)).replaceAll("\n", separator);
      await run.backend.call("input.send", { data, paste: args.has("p") }, pane.target);
      if (args.has("d")) await remove(run, found);
    },
  ),
];

async function listBuffers(run: Run, args: Arguments): Promise<void> {
  const template = args.get("F") ?? '#{buffer_name}: #{buffer_size} bytes: "#{buffer_sample}"';
  const filter = args.get("f");
  for (const each of await buffers(run)) {
    const sample = await read(run, each);
    const extra = {
      buffer_name: each.name,
      buffer_size: String(each.bytes),
      buffer_created: String(Math.floor(each.at / 1000)),
      buffer_sample: sampleOf(sample),
    };
    if (filter !== undefined && !isTrue(await run.format(filter, {}, extra))) continue;
    await run.print(await run.format(template, {}, extra));
  }
}

function sampleOf(text: string): string {
  const shown = text.replace(/\n/g, "\\n").replace(/\t/g, "\\t").replace(/\r/g, "\\r").replace(/\x1b/g, "\\033");
  return shown.length > SAMPLE * 4 ? `${shown.slice(0, SAMPLE * 4)}...` : shown;
}

/** All buffers, the newest first. */
async function buffers(run: Run): Promise<readonly Buffer_[]> {
  const { model, state } = await run.load();
  const each = await Promise.all(
    model.sessions.map(async ({ target }) =>
      (await run.backend.call("buffer.list", {}, target)).map((buffer) => ({ ...buffer, session: target })),
    ),
  );
  return each
    .flat()
    .toSorted((a, b) => b.at - a.at || b.id - a.id)
    .flatMap(({ id, session, bytes, at }): Buffer_[] => {
      const names = Object.entries(state.buffers).flatMap(([name, known]) =>
        known.session === session && known.id === id ? [name] : [],
      );
      const number = model.sessions.length === 1 ? `${id - 1}` : `${session.replace("@s", "")}_${id - 1}`;
      return (names.length === 0 ? [`buffer${number}`] : names).map((name) => ({ name, session, id, bytes, at }));
    });
}

async function find(run: Run, name: string | undefined, isNamed: boolean): Promise<Buffer_ | null> {
  const all = await buffers(run);
  const { state } = await run.load();
  // Without a name the newest that was given none.
  if (!isNamed) return all.find((each) => state.buffers[each.name] === undefined) ?? null;
  return all.find((each) => each.name === name) ?? null;
}

async function read(run: Run, { session, id }: Buffer_): Promise<string> {
  return (await run.backend.call("buffer.get", { buffer_id: id }, session)).text;
}

async function textOf(run: Run, name: string | undefined): Promise<string> {
  const found = await find(run, name, name !== undefined);
  if (found === null) throw new TmuxError(name === undefined ? "no buffers" : `no buffer ${name}`);
  return read(run, found);
}

/** @param name undefined: one of tmux's automatic names */
export async function addBuffer(run: Run, session: string, name: string | undefined, text: string): Promise<void> {
  const before = name === undefined ? null : await find(run, name, true);
  const { id } = await run.backend.call("buffer.add", { text }, session);
  if (before !== null && before.id !== id) await remove(run, before);
  if (name === undefined) return;
  await run.change((state) => {
    state.buffers[name] = { session, id };
  });
}

async function remove(run: Run, { name, session, id }: Buffer_): Promise<void> {
  const shared = (await buffers(run)).filter((each) => each.session === session && each.id === id).length > 1;
  if (!shared) {
    await run.backend.call("buffer.delete", { buffer_id: id }, session).catch((thrown) => {
      if (WshError.from(thrown).code !== "buffer_not_found") throw thrown;
    });
  }
  await run.change((state) => {
    delete state.buffers[name];
  });
}

async function rename(run: Run, name: string | undefined, renamed: string): Promise<void> {
  const found = await find(run, name, name !== undefined);
  if (found === null) throw new TmuxError(name === undefined ? "no buffer" : `unknown buffer: ${name}`);
  await run.change((state) => {
    delete state.buffers[found.name];
    state.buffers[renamed] = { session: found.session, id: found.id };
  });
}
