/** Plain rows of sessions by the control socket's window streams, for miniatures. */
import { signal } from "@preact/signals";
import type { ControlEvent, ControlSocket } from "../connection/control-socket.ts";
import { sessions } from "./sessions.ts";

export class Miniatures {
  /** By session id. */
  readonly rows = signal<ReadonlyMap<string, readonly string[]>>(new Map());

  constructor(private readonly control: ControlSocket) {}

  /** @returns what ends it */
  watch(session: string, intervalMs: number): () => void {
    const params = { events: ["frames"], format: "plain", interval_ms: intervalMs };
    this.control.call("subscribe_window", params, session).catch(() => undefined);
    return () => {
      this.control.call("subscribe_window", { events: [] }, session).catch(() => undefined);
    };
  }

  event({ event, session, lines, rows: count, whole }: ControlEvent): void {
    if (event !== "frame" || !Array.isArray(lines) || typeof count !== "number") return;
    const id = sessions.peek().find((each) => each.name === session || each.id === session)?.id;
    if (id === undefined) return;
    const before = whole === true ? [] : (this.rows.peek().get(id) ?? []);
    const rows = Array.from({ length: count }, (_, index) => before[index] ?? "");
    for (const { index, line } of lines) if (typeof index === "number" && index < count) rows[index] = String(line);
    this.rows.value = new Map(this.rows.peek()).set(id, rows);
  }
}
