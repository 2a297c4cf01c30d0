/** Drawing by an agent over HTTP: overlays, panels, captured keys of one session. */

import type * as v from "valibot";
import type { CreateOverlaySchema, CreatePanelSchema } from "../../src/protocol/drawing.ts";
import { Http } from "./http.ts";
import type { Wsh } from "./wsh.ts";

type NewOverlay = v.InferInput<typeof CreateOverlaySchema>;
type NewPanel = v.InferInput<typeof CreatePanelSchema>;

export interface Captured {
  readonly keys: readonly {
    seq: number;
    raw: number[];
    parsed: { key: string; modifiers: string[] } | null;
    target?: string;
  }[];
  readonly seq: number;
  readonly missed: number;
  readonly mode: string;
}

export class Canvas {
  readonly http: Http;
  private readonly path: string;

  constructor(wsh: Wsh, name: string) {
    this.http = new Http({ unix: wsh.instance.httpSocket });
    this.path = `/sessions/${name}`;
  }

  /** Draws an overlay and returns its id. */
  async overlay(overlay: NewOverlay): Promise<string> {
    return (await this.post<{ id: string }>(201, "overlay", overlay)).id;
  }

  panel(panel: NewPanel): Promise<{ id: string; visible: boolean; rows: number; cols: number }> {
    return this.post(201, "panel", panel);
  }

  async patch(kind: "overlay" | "panel", id: string, change: object): Promise<void> {
    await this.http.expect(204, this.http.json("PATCH", `${this.path}/${kind}/${id}`, change));
  }

  async delete(kind: "overlay" | "panel", id = ""): Promise<void> {
    await this.http.expect(204, this.http.delete(`${this.path}/${kind}${id === "" ? "" : `/${id}`}`));
  }

  async capture(leaseMs?: number): Promise<void> {
    await this.post(204, "input/capture", leaseMs === undefined ? {} : { lease_ms: leaseMs });
  }

  async release(): Promise<void> {
    await this.post(204, "input/release", {});
  }

  async focus(id: string): Promise<void> {
    await this.post(204, "input/focus", { id });
  }

  focused(): Promise<{ focused: string | null }> {
    return this.get("input/focus");
  }

  mode(): Promise<{ mode: string; owner?: string; lease_ms?: number }> {
    return this.get("input/mode");
  }

  keys(query: { since?: number; wait_ms?: number } = {}): Promise<Captured> {
    const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return this.get(`input/keys?${text}`);
  }

  get<T>(path: string): Promise<T> {
    return this.http.expect(200, this.http.get(`${this.path}/${path}`));
  }

  post<T>(status: number, path: string, value: object): Promise<T> {
    return this.http.expect(status, this.http.post(`${this.path}/${path}`, value));
  }
}
