/** Unix sockets that only the listening process itself can connect to. */
import fs from "node:fs";
import { system } from "./system.ts";

export interface NamelessSocket {
  /** Path for this process's own connections. */
  readonly path: string;
  close(): void;
}

/** Removes a socket's name. A system without another way to reach it keeps the name. */
export function withoutName(path: string): NamelessSocket {
  const { O_PATH } = system.constants;
  if (O_PATH === null) return { path, close: () => fs.rmSync(path, { force: true }) };
  const fd = fs.openSync(path, O_PATH);
  fs.unlinkSync(path);
  return { path: `/proc/self/fd/${fd}`, close: () => fs.closeSync(fd) };
}
