/**
 * Last rows of sessions by the control socket's window streams, for miniatures. Each session has its own signal, so
 * that a picture updates its own miniature alone, and an identical one updates nothing. Nothing is streamed to a hidden
 * page.
 */
import { type Signal, signal } from "@preact/signals";
import type { ControlEvent, ControlSocket } from "../connection/control-socket.ts";
import { sessions } from "./sessions.ts";

/** Number of rows: a few readable ones are more useful than an unreadable screen. */
const ROWS = 5;

interface Picture {
  rows: readonly string[];
  readonly text: Signal<string>;
}

export class Miniatures {
  readonly isHidden = signal(document.hidden);
  /** By session id, while the session is shown as a miniature. */
  private readonly pictures = new Map<string, Picture>();

  constructor(private readonly control: ControlSocket) {
    document.addEventListener("visibilitychange", () => {
      this.isHidden.value = document.hidden;
    });
  }

  /** Follows the last rows that are not blank. */
  text(session: string): Signal<string> {
    const known = this.pictures.get(session);
    if (known !== undefined) return known.text;
    const text = signal("");
    this.pictures.set(session, { rows: [], text });
    return text;
  }

  forget(session: string): void {
    this.pictures.delete(session);
  }

  /** @returns the function that ends it */
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
    const picture = id === undefined ? undefined : this.pictures.get(id);
    if (picture === undefined || (lines.length === 0 && whole !== true)) return;
    const before = whole === true ? [] : picture.rows;
    const rows = Array.from({ length: count }, (_, index) => before[index] ?? "");
    for (const { index, line } of lines) if (typeof index === "number" && index < count) rows[index] = String(line);
    picture.rows = rows;
    picture.text.value = rows
      .filter((row) => row.trim() !== "")
      .slice(-ROWS)
      .join("\n");
  }
}
