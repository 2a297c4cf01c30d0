/** A person at an attached terminal, as seen by a session process: keys go in, output is discarded. */

import type { Instance } from "../../../src/instance/paths.ts";
import type { Attach } from "../../../src/protocol/attach.ts";
import { messageTypes } from "../../../src/protocol/messages.ts";
import { parseTarget } from "../../../src/protocol/names.ts";
import { findSession } from "../../../src/registry/registry.ts";
import { Connection } from "../../../src/wire/connection.ts";

/** Requests of a person's client: only the screen. */
export const attachment: Attach = {
  rows: 24,
  cols: 80,
  scrollback: "none",
  read_only: false,
  render_only: false,
  prefix: null,
};
export const personContext = { caller: { kind: "cli", id: "person", connected: true }, access: "admin" } as const;

export class Person implements Disposable {
  private constructor(private readonly connection: Connection) {}

  static async attach(instance: Instance, session: string): Promise<Person> {
    const entry = findSession(instance, parseTarget(session));
    const { connection } = await Connection.open(entry.socket, "attach");
    await connection.request("peer.attach", attachment, personContext);
    return new Person(connection);
  }

  type(keys: string): void {
    this.connection.sendBytes(messageTypes.input, new TextEncoder().encode(keys));
  }

  [Symbol.dispose](): void {
    this.connection.close();
  }
}
