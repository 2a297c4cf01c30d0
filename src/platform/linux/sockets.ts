/** Unix sockets on Linux: connecting distinguishes dead from busy listeners, and the kernel lists bound sockets. */
import { dirname } from "node:path";
import type { Sockets } from "../port.ts";
import { readText } from "../readable.ts";
import { tryConnect } from "../unix-socket.ts";
import { watchFile } from "../watch.ts";

export const linuxSockets: Sockets = {
  connect: tryConnect,
  bound,
  watch: watchFile,
  reportsSockets: true,
  canLeaveBun: true,
};

function bound(directory: string): string[] {
  const sockets = readText("/proc/net/unix") ?? "";
  // Num RefCount Protocol Flags Type St Inode Path; it contains other users' sockets, whose names are arbitrary.
  const paths = sockets.split("\n").map((line) => /^(?:\S+ +){7}(\/.*)$/.exec(line)?.[1] ?? "");
  return paths.filter((path) => dirname(path) === directory);
}
