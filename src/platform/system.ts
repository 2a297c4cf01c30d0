/** The only module that asks which system this is: all others use the table, or the platform (port.ts). */
import { darwin } from "./darwin.ts";
import { linux } from "./linux.ts";
import type { PlatformTable } from "./table.ts";

/** Numbers and layouts of the kernel underneath. */
export const system: PlatformTable = process.platform === "darwin" ? darwin : linux;
