/**
 * The terminals that people look through, and the size that the session takes from them (contract §10.5). `latest`: the
 * terminal that attached, typed or changed its size last decides; `smallest`: everybody sees everything. Read-only
 * terminals look on and decide nothing, unless there is no other. Pure bookkeeping: applying the size is the session's.
 */

export interface Size {
  readonly rows: number;
  readonly cols: number;
}

export type SizePolicy = "latest" | "smallest";

export interface Viewer {
  readonly id: number;
  size: Size;
  readonly readOnly: boolean;
  /** Told when the session's size has changed. */
  sizeChanged(): void;
  /** The session ends this terminal's stream. */
  end(reason: ViewerEnd): void;
}

export type ViewerEnd =
  | { readonly reason: "detached" }
  | { readonly reason: "killed" | "server_stopped" }
  | { readonly reason: "exited"; readonly exit_code: number | null; readonly signal: string | null };

export class Viewers {
  private readonly viewers = new Map<number, Viewer>();
  /** Ids in the order in which they last acted, the newest last. */
  private order: number[] = [];

  constructor(private readonly policy: SizePolicy) {}

  get count(): number {
    return this.viewers.size;
  }

  get all(): readonly Viewer[] {
    return [...this.viewers.values()];
  }

  add(viewer: Viewer): void {
    this.viewers.set(viewer.id, viewer);
    this.acted(viewer.id);
  }

  remove(id: number): void {
    this.viewers.delete(id);
    this.order = this.order.filter((known) => known !== id);
  }

  /** A terminal attached, typed or was resized. @returns whether it is another one than before */
  acted(id: number): boolean {
    if (this.order.at(-1) === id) return false;
    this.order = [...this.order.filter((known) => known !== id), id];
    return true;
  }

  /** The size that the terminals ask for; null when there is none. */
  size(): Size | null {
    const everyone = this.order.flatMap((id) => this.viewers.get(id) ?? []);
    const deciding = everyone.filter((viewer) => !viewer.readOnly);
    const asked = deciding.length > 0 ? deciding : everyone;
    const last = asked.at(-1);
    if (last === undefined) return null;
    if (this.policy === "latest") return last.size;
    return {
      rows: Math.min(...asked.map((viewer) => viewer.size.rows)),
      cols: Math.min(...asked.map((viewer) => viewer.size.cols)),
    };
  }
}
