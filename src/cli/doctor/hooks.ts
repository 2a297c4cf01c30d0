/** Finds agents' hooks that were set up and have never run: a host may wait for trust, or not find `wsh`. */

import { statSync } from "node:fs";
import { homedir } from "node:os";
import { errorCode } from "../../base/errno.ts";
import type { Instance } from "../../instance/paths.ts";
import { system } from "../../platform/system.ts";
import { WshError } from "../../protocol/errors.ts";
import { lastHookRun } from "../hooks/last-run.ts";
import { type HookHost, hookHosts } from "../setup/agent-hooks.ts";
import type { PathInputs } from "../setup/ai-hosts.ts";
import { hookFiles } from "../setup/hook-change.ts";
import type { Finding } from "./finding.ts";

export function agentHooks(instance: Instance): Finding[] {
  const places: PathInputs = { home: homedir(), cwd: process.cwd(), platform: system.name, env: process.env };
  const findings = hookHosts.flatMap((host) => checkHost(host, instance, places));
  if (findings.length > 0 && Bun.which("wsh") === null) {
    const advice = "The hooks call it by name: add its directory to the PATH of your agents.";
    findings.push({ subject: "agents' hooks", state: "wrong", text: "wsh is not on PATH", advice });
  }
  return findings;
}

function checkHost(host: HookHost, instance: Instance, places: PathInputs): Finding[] {
  const subject = "agents' hooks";
  let files: string[];
  try {
    files = hookFiles(host, places);
  } catch (thrown) {
    // Another user's home directory has no agents of this user.
    if (errorCode(thrown) === "EACCES") return [];
    const error = WshError.from(thrown);
    return [{ subject, state: "note", text: error.message, advice: error.hintAt("cli") }];
  }
  if (files.length === 0) return [];
  const fired = lastHookRun(instance, host.agent);
  const written = Math.max(...files.map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0));
  if (fired?.isOutside === true) {
    const text = `hooks of ${host.host} run outside its pane and are ignored`;
    return [{ subject, state: "note", text, advice: host.outsideAdvice ?? "Start it in the session itself." }];
  }
  if (fired !== null) {
    const since = fired.at < written ? ", but not since the file was changed" : "";
    return [{ subject, state: "ok", text: `hooks of ${host.host} have run${since}` }];
  }
  return [{ subject, state: "note", text: `hooks of ${host.host} have never run in a session`, advice: host.advice }];
}
