/** Loaded by Bun before wsh's own code in a process that a test starts (environment.ts). */
import { usePlatform } from "../../../src/platform/platform.ts";
import { fakeDarwin } from "./platform.ts";

usePlatform(fakeDarwin);
