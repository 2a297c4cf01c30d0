/**
 * Records which AI agents made the overlays and panels of a session: an agent's drawings are removed when the session
 * becomes private.
 */
import { WshError } from "../../protocol/errors.ts";
import type { ElementKind } from "./element.ts";
import type { ElementStore } from "./element-store.ts";

/** Maximum recorded elements; beyond that, removed ones are forgotten: more than a session may have. */
const MAX_RECORDED = 1_000;

export class ElementMakers {
  private readonly makerOf = new Map<string, { readonly kind: ElementKind; readonly agent: string }>();

  constructor(private readonly elements: ElementStore) {}

  /** @param agent the agent's name as an owner; undefined: another caller */
  record(kind: ElementKind, id: string, agent: string | undefined): void {
    if (agent === undefined) return;
    if (this.makerOf.size >= MAX_RECORDED)
      for (const known of this.makerOf.keys()) if (!this.has(known)) this.makerOf.delete(known);
    this.makerOf.set(id, { kind, agent });
  }

  get agents(): ReadonlySet<string> {
    return new Set([...this.makerOf.values()].map(({ agent }) => agent));
  }

  /** Removes an agent's elements. */
  removeOf(agent: string): void {
    for (const [id, made] of this.makerOf) {
      if (made.agent !== agent) continue;
      if (this.has(id)) this.elements.delete(made.kind, id);
      this.makerOf.delete(id);
    }
  }

  private has(id: string): boolean {
    const kind = this.makerOf.get(id)?.kind;
    try {
      if (kind === "overlay") this.elements.overlay(id);
      else this.elements.panel(id);
      return true;
    } catch (thrown) {
      if (thrown instanceof WshError) return false;
      throw thrown;
    }
  }
}
