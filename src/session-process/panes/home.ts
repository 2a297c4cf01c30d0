/**
 * The session that has a pane of this process, and the pane's end if that session is lost: without a viewer for a
 * while, its last state is saved, so that it is restored with its session, and its program is ended.
 */

/** Time without a viewer after which a pane of another session ends with that session, in ms. */
const ORPHAN_MS = 2_000;

export interface HomeSession {
  readonly number: number;
  readonly name: string;
}

export class Home {
  /** Null: this process's own session. */
  session: HomeSession | null = null;
  /** Saves the pane's last state. */
  onLost: () => Promise<void> = async () => {};
  private isOffered = false;
  private timer: Timer | null = null;

  /** @param port `end` ends the pane's program */
  constructor(private readonly port: { readonly isShown: () => boolean; readonly end: () => Promise<void> }) {}

  /** @param isOffered whether that session has not confirmed yet that it takes the pane */
  set(session: HomeSession | null, isOffered: boolean): void {
    this.session = session;
    this.isOffered = isOffered;
    this.look();
  }

  look(): void {
    this.close();
    if (this.session === null || this.isOffered || this.port.isShown()) return;
    this.timer = setTimeout(() => void this.lost(), ORPHAN_MS);
  }

  close(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
  }

  private async lost(): Promise<void> {
    await this.onLost();
    await this.port.end();
  }
}
