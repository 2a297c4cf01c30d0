/** A person at an attached terminal, as far as a session's host can tell: keys go in, what is shown is thrown away. */
import { Connection } from "../../src/instance/connection.ts";
import type { Instance } from "../../src/instance/paths.ts";
import { findSession } from "../../src/instance/registry.ts";
import type { Attach } from "../../src/protocol/attach.ts";
import { frameTypes } from "../../src/protocol/frames.ts";
import { parseTarget } from "../../src/protocol/names.ts";

export class Person implements Disposable {
  private constructor(private readonly connection: Connection) {}

  static async attach(instance: Instance, session: string): Promise<Person> {
    const entry = findSession(instance, parseTarget(session));
    const { connection } = await Connection.open(entry.socket, "attach");
    const attach: Attach = {
      rows: 24,
      cols: 80,
      scrollback: "none",
      read_only: false,
      paint_only: false,
      prefix: null,
    };
    await connection.request("host.attach", attach, {
      caller: { kind: "cli", id: "person", connected: true },
      access: "admin",
    });
    return new Person(connection);
  }

  type(keys: string): void {
    this.connection.sendBytes(frameTypes.input, new TextEncoder().encode(keys));
  }

  [Symbol.dispose](): void {
    this.connection.close();
  }
}
