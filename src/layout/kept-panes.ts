/**
 * Panes that stay in the layout although their program has ended: their processes stay, too, so that what they printed
 * can be read and the program started again. A process is held by a connection, and ends some time after that is closed.
 */
import { Connection } from "../wire/connection.ts";
import { OWN_CONTEXT } from "./pane-link.ts";

export class KeptPanes {
  private readonly held = new Map<string, Promise<Connection | null>>();

  /** A process that is gone already cannot be held. */
  keep(pane: string, socket: string): void {
    this.release(pane);
    this.held.set(pane, hold(socket));
  }

  /** The pane's program runs again. */
  release(pane: string): void {
    const held = this.held.get(pane);
    this.held.delete(pane);
    void held?.then((connection) => connection?.close());
  }

  /** The pane has left the layout, or its session ends. */
  async end(pane: string): Promise<void> {
    const held = this.held.get(pane);
    this.held.delete(pane);
    const connection = await held;
    await connection?.request("host.end", { reason: "killed" }, OWN_CONTEXT).catch(() => {});
    connection?.close();
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.held.keys()].map((pane) => this.end(pane)));
  }
}

async function hold(socket: string): Promise<Connection | null> {
  try {
    const { connection } = await Connection.open(socket, "layout");
    await connection.request("host.keep", {}, OWN_CONTEXT);
    return connection;
  } catch {
    return null;
  }
}
