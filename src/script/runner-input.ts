/** Input of the process that carries out `wsh script` and `wsh test`. */

/** JSON of an Orders. */
export const ORDERS_VARIABLE = "WSH_SCRIPT_ORDERS";

interface CommonOrders {
  /** The server's Unix socket. */
  readonly socket: string;
  /** Terminals are shown beside this pane. */
  readonly beside?: string;
  readonly code?: string;
}

export interface ScriptOrders extends CommonOrders {
  readonly kind: "script";
  /** Absolute path; absent: `code`. */
  readonly file?: string;
  readonly args: readonly string[];
  /** Destination of the trace: an HTML file, with recordings beside it. */
  readonly trace?: string;
}

/** A kind of terminal; every test runs on each. */
export interface Project {
  readonly cols: number;
  readonly rows: number;
  readonly term?: string;
}

interface TestOrders extends CommonOrders {
  readonly kind: "test";
  readonly projects: readonly Project[];
  /** Overwrite snapshots that differ. */
  readonly update: boolean;
  /** Directory for the traces of failed tests. */
  readonly results: string;
}

export type Orders = ScriptOrders | TestOrders;
