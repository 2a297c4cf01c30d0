/**
 * Shells inside the session's own shell that have a separate secret (docs/protocol.md, Shells inside the shell).
 *
 * A child is known from the issue of its secret until its process ends or becomes another program. When its
 * terminal is remote (ssh), the local process that relays it counts instead. The secrets are shared with the
 * filter that keeps our marks from clients.
 */
import { platform } from "../../platform/platform.ts";
import type { IntegratedShell } from "../../shell/integration.ts";

/** Children known at once: nesting deeper than this is a loop. */
const MAX_CHILDREN = 32;

export interface ChildShell {
  readonly nonce: string;
  readonly kind: IntegratedShell;
  /** Null when its terminal is remote. */
  readonly pid: number | null;
}

/** The file through which one child shell learns its secret. */
export interface ChildKey {
  readonly nonce: string;
  /** Path of the file, which the script empties. */
  readonly path: string;
  /** The script that the shell sources. */
  script(kind: IntegratedShell): string;
  /** @throws WshError */
  offer(): void;
  withdraw(): void;
}

interface WatchedShell {
  readonly child: ChildShell;
  /** Its process, or the one that relays its terminal; null when unknown. */
  readonly pid: number | null;
  readonly image: string | null;
}

export class ChildShells {
  private readonly byNonce = new Map<string, WatchedShell>();

  /** @param nonces kept in sync with the secrets of the children */
  constructor(private readonly nonces: Set<string>) {}

  /** @param carrier the process that relays its terminal, if it is remote */
  add(child: ChildShell, carrier: number | null): void {
    for (const oldest of this.byNonce.values()) {
      if (this.byNonce.size < MAX_CHILDREN) break;
      this.remove(oldest.child);
    }
    const pid = child.pid ?? carrier;
    this.byNonce.set(child.nonce, { child, pid, image: processImage(pid) });
    this.nonces.add(child.nonce);
  }

  remove({ nonce }: ChildShell): void {
    this.byNonce.delete(nonce);
    this.nonces.delete(nonce);
  }

  clear(): void {
    for (const { child } of [...this.byNonce.values()]) this.remove(child);
  }

  /** Finds the shell with this secret. Runs per mark. */
  find(nonce: string | null): ChildShell | null {
    return nonce === null ? null : (this.byNonce.get(nonce)?.child ?? null);
  }

  /** Removes those whose process has ended or has become another program. */
  removeEnded(): readonly ChildShell[] {
    if (this.byNonce.size === 0) return [];
    const ended = [...this.byNonce.values()].filter(hasEnded).map(({ child }) => child);
    for (const child of ended) this.remove(child);
    return ended;
  }
}

function hasEnded({ pid, image }: WatchedShell): boolean {
  if (pid === null) return false;
  if (!platform().processes.isAlive(pid)) return true;
  const now = processImage(pid);
  return image !== null && now !== null && now !== image;
}

/** Null when the system hides it, as for another user's process. */
function processImage(pid: number | null): string | null {
  const image = pid === null ? null : platform().processes.image(pid);
  return image === null ? null : `${image.executable}\0${image.start}`;
}
