/**
 * Loads the code of streams (terminals, subscribers, followers of commands) with the first of them: a tenth of a
 * session process's code, which a session in the background never needs. Requests that need it wait for it in order;
 * messages for their streams (keys typed at once) wait until those requests have begun. Once loaded, nothing waits.
 */

import type { ClientStreams } from "./served-session.ts";

export interface StreamModules {
  readonly knownTerminals: import("../viewer/terminal/known-terminals.ts").KnownTerminals;
  readonly AttachedTerminal: typeof import("../viewer/terminal/attached-terminal.ts").AttachedTerminal;
  readonly askTerminal: typeof import("../viewer/terminal/requests.ts").handleTerminalRequest;
  readonly WindowStream: typeof import("./window-stream.ts").WindowStream;
  readonly clients: ClientStreams;
}

export class LazyStreams {
  /** Null until it is loaded. */
  loaded: StreamModules | null = null;
  private loading: Promise<StreamModules> | null = null;
  /** Pending messages; null when nothing must wait. */
  private pendingMessages: (() => void)[] | null = null;

  /** @param loadClients loads the streams other than terminals, which differ from process to process */
  constructor(private readonly loadClients: () => Promise<ClientStreams>) {}

  load(): Promise<StreamModules> {
    this.pendingMessages ??= [];
    this.loading ??= this.loadModules().catch((error) => {
      // The next request retries; the pending messages belonged to streams that never began.
      this.loading = null;
      this.pendingMessages = null;
      throw error;
    });
    return this.loading;
  }

  /** Runs once per message of a stream. `deliver` must not throw: it may run later. */
  deliverInOrder(deliver: () => void): void {
    if (this.pendingMessages === null) deliver();
    else this.pendingMessages.push(deliver);
  }

  private async loadModules(): Promise<StreamModules> {
    const [{ AttachedTerminal }, { handleTerminalRequest }, { WindowStream }, { KnownTerminals }, clients] =
      await Promise.all([
        import("../viewer/terminal/attached-terminal.ts"),
        import("../viewer/terminal/requests.ts"),
        import("./window-stream.ts"),
        import("../viewer/terminal/known-terminals.ts"),
        this.loadClients(),
      ]);
    this.loaded = {
      knownTerminals: new KnownTerminals(),
      AttachedTerminal,
      askTerminal: handleTerminalRequest,
      WindowStream,
      clients,
    };
    // Lets the pending requests continue first.
    setImmediate(() => {
      const { pendingMessages } = this;
      this.pendingMessages = null;
      for (const deliver of pendingMessages ?? []) deliver();
    });
    return this.loaded;
  }
}
