/** What `wsh script` and `wsh test` tell the process that carries them out. */

/** JSON of an Orders. */
export const ORDERS_VARIABLE = "WSH_SCRIPT_ORDERS";

interface CommonOrders {
  /** The server's Unix socket. */
  readonly socket: string;
  /** Pane beside which terminals are shown. */
  readonly beside?: string;
  readonly code?: string;
}

export interface ScriptOrders extends CommonOrders {
  readonly kind: "script";
  /** Absolute path; absent: `code`. */
  readonly file?: string;
  readonly args: readonly string[];
  /** Where to write what happened: an HTML file, and a recording beside it. */
  readonly trace?: string;
}

/** A kind of terminal that every test is run on. */
export interface Project {
  readonly cols: number;
  readonly rows: number;
  readonly term?: string;
}

export interface TestOrders extends CommonOrders {
  readonly kind: "test";
  readonly projects: readonly Project[];
  /** Write snapshots that differ. */
  readonly update: boolean;
  /** Directory for the traces of what fails. */
  readonly results: string;
}

export type Orders = ScriptOrders | TestOrders;
