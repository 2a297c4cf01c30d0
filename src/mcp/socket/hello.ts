/**
 * The first line each way on `NAME.mcp.sock`, before JSON-RPC begins: the client and its purpose, then the server's
 * identity. Both ends are wsh; the version covers this exchange and the one promise that the bridge relies on (see
 * MESSAGE_START).
 */

export const MCP_SOCKET_VERSION = 1;

/**
 * Every message from the server begins with these keys in this order, so that the bridge finds the id of an answer
 * without parsing a result of megabytes.
 */
export const MESSAGE_START = '{"jsonrpc":"2.0","id":';

/** Longest line from a client: the SDK's own limit for one message. */
export const MAX_LINE_BYTES = 10 * 1024 * 1024;
/** Longest hello, in bytes: an environment may be large. */
export const MAX_HELLO_BYTES = 1024 * 1024;

/** The server's answer; `{"error":{code,message,hint}}` instead when it refuses. */
export interface ServerHello {
  readonly wsh_mcp: typeof MCP_SOCKET_VERSION;
  readonly version: string;
  readonly pid: number;
}
