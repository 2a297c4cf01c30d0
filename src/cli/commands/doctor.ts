/** `wsh doctor`: checks everything that wsh needs and reports problems with advice; then the exit code is 1. */
import { existsSync } from "node:fs";
import type { Command } from "commander";
import type { LinkStep } from "../../cluster/link.ts";
import type { Instance } from "../../instance/paths.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { visibleCell } from "../../protocol/harmless-text.ts";
import { checks } from "../doctor/checks.ts";
import type { Finding } from "../doctor/finding.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson } from "../print.ts";

const marks = { ok: "ok", note: "note", wrong: "WRONG" } as const;

export function register(program: Command): void {
  program
    .command("doctor [machine]")
    .description(
      "Check this installation, report problems and suggest fixes. Changes nothing.\n" +
        "With a machine (wsh servers) or an address: check the connection step by step.",
    )
    .option("--json", "print the findings as JSON")
    .action(async (machine: string | undefined, { json }: { readonly json?: boolean }, command: Command) => {
      const instance = instanceOf(command);
      const findings: Finding[] = [];
      if (machine !== undefined) findings.push(...(await examineMachine(instance, machine)));
      else {
        for (const [subject, check] of checks) {
          try {
            findings.push(...(await check(instance)));
          } catch (thrown) {
            const error = WshError.from(thrown);
            findings.push({ subject, state: "wrong", text: error.message, advice: error.hintAt("cli") });
          }
        }
        findings.push(...(await fleetOf(instance)));
      }
      if (findings.some(({ state }) => state === "wrong")) process.exitCode = 1;
      if (json === true) return printJson(findings);
      await print(findings.map(findingLine).join(""));
    });
}

/**
 * Checks each step of the way to another machine's server until one fails. The way to a machine of the fleet
 * leads through the fleet's servers.
 */
async function examineMachine(instance: Instance, machine: string): Promise<Finding[]> {
  const { linkOf, machinesOf } = await import("../session/machines.ts");
  const { isAddress } = await import("../../protocol/machines.ts");
  const isAdded = isAddress(machine) || (await machinesOf(instance)).addedMachines.some(({ name }) => name === machine);
  const before = isAdded ? [] : await fleetOf(instance);
  if (before.some(({ state }) => state === "wrong")) return before;
  return [...before, ...(await findingsOf((await linkOf(instance, machine)).examine()))];
}

/** Checks each step to the servers of this instance's fleet; empty outside of a fleet. */
async function fleetOf(instance: Instance): Promise<Finding[]> {
  const [{ settingsOf }, { joinedFile, readCredentials }] = await Promise.all([
    import("../instance.ts"),
    import("../../cluster/fleet/creds-file.ts"),
  ]);
  // A separate check reports errors in the settings.
  const settings = await settingsOf(instance, {}, null).catch(() => null);
  if (settings === null) return [];
  const { values } = settings;
  const path = values.fleet === "" ? joinedFile(instance) : values.fleet;
  if (values.fleet === "" && !existsSync(path)) return [];
  try {
    const credentials = readCredentials(path);
    const { examineFleet } = await import("../../cluster/fleet/connection-check.ts");
    return (await findingsOf(examineFleet(credentials))).map((each) => ({ ...each, subject: `fleet ${each.subject}` }));
  } catch (thrown) {
    const error = WshError.from(thrown);
    return [{ subject: "fleet credentials", state: "wrong", text: error.message, advice: error.hintAt("cli") }];
  }
}

async function findingsOf(steps: AsyncIterable<LinkStep>): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const { step, ok, text, advice } of steps) {
    const state = !ok ? "wrong" : advice === undefined ? "ok" : "note";
    findings.push({ subject: step, state, text, ...defined({ advice }) });
  }
  return findings;
}

function findingLine({ subject, state, text, advice }: Finding): string {
  const more = advice === undefined ? "" : `${" ".repeat(27)}${visibleCell(advice)}\n`;
  return `${marks[state].padEnd(7)}${subject.padEnd(20)}${visibleCell(text)}\n${more}`;
}
