/**
 * What a process that is kept ready for a pane does beforehand, once: it makes a session without a program, shows it to
 * nobody, and ends it. The engine has read the code of all that then, and the code of streams is loaded, so that the
 * pane shows its prompt sooner. Nothing is left but the shells' scripts, which every session needs: no id, no timer.
 */
import * as v from "valibot";
import { KnownTerminals } from "../endpoint/attach/known-terminals.ts";
import { sessionSettings } from "../endpoint/session-settings.ts";
import { HostSpecSchema } from "../instance/launch/host-spec.ts";
import { type Instance, resolveInstance } from "../instance/paths.ts";
import { loadSettings } from "../instance/settings/settings.ts";
import { Pane } from "../pane/pane.ts";
import { readForeground } from "../platform/foreground.ts";
import { composedAttach } from "../protocol/attach.ts";
import { byKeys } from "../protocol/caller.ts";
import type { Hello } from "../protocol/control.ts";
import { WshError } from "../protocol/errors.ts";
import { PROTOCOL_VERSION } from "../protocol/messages.ts";
import { VERSION } from "../protocol/version.ts";
import { openPty } from "../pty/open.ts";
import { Session } from "../session/session.ts";
import { TakenInput } from "../session/taken-input.ts";
import { Peer } from "../wire/peer.ts";
import type { Carrier } from "../wire/socket.ts";
import { paneSettings, planOf } from "./create.ts";
import { shownPane } from "./shown-pane.ts";

const SIZE = { rows: 24, cols: 80 };
/** What shells print first: marks, a title, a coloured prompt, an answer to a key. */
const PRINTED = "\x1b]133;A\x07\x1b]0;shell\x07\x1b[?2004h\x1b[1;32muser\x1b[m:~$ \x1b]133;B\x07\x1b[Kls\r\nfile\r\n";

const hello: Hello = { wsh: PROTOCOL_VERSION, version: VERSION, role: "host" };

/** No lines of an earlier process. */
const nothing = { lines: new Uint8Array(0), first: 0 };

/** Takes everything, and reads nothing. */
const nowhere: Carrier = { write: (bytes) => bytes.length, pause() {}, resume() {}, rest() {}, end() {} };

export async function rehearse(): Promise<void> {
  const instance = resolveInstance({ flags: {}, env: process.env });
  const { values: settings } = loadSettings(instance, { env: process.env, tolerant: true });
  const [{ TerminalStream }] = await Promise.all([
    import("../endpoint/attach/attached-terminal.ts"),
    import("../endpoint/window-stream.ts"),
    import("./streams/client-streams.ts"),
  ]);
  planOf(v.parse(HostSpecSchema, specOf(instance)), instance, settings);
  const pane = new Pane({
    ...{ id: "@0", command: "", nonce: null, spool: null },
    spawn: { file: "", args: [], cwd: "/", env: {}, ...SIZE },
    open: await openPty(settings.pty),
    shell: { kind: "other", command: null, integration: { active: false, reason: "" } },
    restored: { history: nothing, text: new TextEncoder().encode(PRINTED), commands: [], isLost: true },
    ...paneSettings(settings),
  });
  const none = async (): Promise<void> => {};
  const registry = { rename: none, ended: none, live: none, leave: none };
  const session = new Session(
    { id: 0, windowId: 0, name: "", tags: [], server: "", ...SIZE, settings: sessionSettings(settings) },
    pane,
    registry,
  );
  const peer = new Peer(nowhere, { hello: () => hello, request: none, stream() {}, closed() {} });
  try {
    await pane.start();
    const policy = { instance, titles: false, clipboard: false, mouse: settings.mouse };
    const taken = { known: new KnownTerminals(), taken: new TakenInput() };
    const stream = new TerminalStream(
      session,
      shownPane(session),
      peer,
      { input: { ...SIZE, ...composedAttach }, ...byKeys({ access: "admin", caller: {} }) },
      { ...policy, ...taken },
    );
    await stream.start();
    session.listing();
    readForeground(process.pid);
    stream.close();
  } finally {
    peer.close();
    pane.release(new WshError("session_ended", "this was a rehearsal"));
  }
}

function specOf(instance: Instance): v.InferInput<typeof HostSpecSchema> {
  const given = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const create = { name: null, command: null, cwd: null, shell: null, env: null, tags: [], private: false, ...SIZE };
  return {
    socket: instance.httpSocket,
    create,
    naming: "number",
    env: Object.fromEntries(given),
    cwd: "/",
    nofile: null,
  };
}
