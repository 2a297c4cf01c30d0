/** Unix sockets that only the process that listens at them can reach. */
import fs from "node:fs";
import { system } from "./system.ts";

export interface NamelessSocket {
  /** Where this process connects to it. */
  readonly path: string;
  close(): void;
}

/** Takes a socket's name away. A system that knows no other way to reach it leaves the name. */
export function withoutName(path: string): NamelessSocket {
  const { O_PATH } = system.constants;
  if (O_PATH === null) return { path, close: () => fs.rmSync(path, { force: true }) };
  const fd = fs.openSync(path, O_PATH);
  fs.unlinkSync(path);
  return { path: `/proc/self/fd/${fd}`, close: () => fs.closeSync(fd) };
}
