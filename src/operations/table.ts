/** The operation table: every operation of wsh, and the types that transports and handlers derive from it. */
import type * as v from "valibot";
import { agentOperations } from "./agents.ts";
import { askingOperations } from "./asking.ts";
import { bufferOperations } from "./buffers.ts";
import { checkpointOperations } from "./checkpoints.ts";
import { commandOperations } from "./commands.ts";
import type { Operation, OperationScope } from "./define.ts";
import { elementOperations } from "./drawing.ts";
import { eventOperations } from "./events.ts";
import { historyOperations } from "./history.ts";
import { lineOperations } from "./lines.ts";
import { paneOperations } from "./panes.ts";
import { portOperations } from "./ports.ts";
import { receiptOperations } from "./receipts.ts";
import { serverOperations } from "./server.ts";
import { sessionOperations } from "./sessions.ts";
import { terminalOperations } from "./terminal.ts";
import { windowOperations } from "./windows.ts";

/** The sections of the reference of the HTTP API (`/docs`, `/openapi.json`), each with its operations. */
export const sections = [
  {
    title: "Server",
    description: "The server itself, other machines, events, ports.",
    operations: [...serverOperations, ...eventOperations, ...portOperations],
  },
  {
    title: "Sessions",
    description: "Creating, finding, changing and ending sessions.",
    operations: sessionOperations,
  },
  {
    title: "Windows and panes",
    description: "The layout of a session.",
    operations: [...windowOperations, ...paneOperations],
  },
  {
    title: "Terminal",
    description: "Typing, reading screen and lines, waiting for idle.",
    operations: [...terminalOperations, ...lineOperations],
  },
  {
    title: "Commands",
    description: "Running commands and reading their output.",
    operations: [...commandOperations, ...receiptOperations],
  },
  {
    title: "History",
    description: "Commands that ran in any session.",
    operations: historyOperations,
  },
  {
    title: "Overlays, panels and keyboard",
    description: "Drawing over and beside the terminal, capturing the keys that people type.",
    operations: elementOperations,
  },
  {
    title: "Questions",
    description: "Asking the person at a terminal.",
    operations: askingOperations,
  },
  {
    title: "Agents",
    description: "AI agents that run in panes.",
    operations: agentOperations,
  },
  {
    title: "Paste buffers",
    description: "Copied texts, and pasting them.",
    operations: bufferOperations,
  },
  {
    title: "Checkpoints",
    description: "Saving, comparing and restoring sessions.",
    operations: checkpointOperations,
  },
] as const;

type All = (typeof sections)[number]["operations"][number];
const all = sections.flatMap(({ operations: own }): readonly All[] => own);

export type OperationName = All["name"];
type Named<N extends OperationName> = Extract<All, { readonly name: N }>;

/** The input that a caller may write; defaults may be omitted. */
export type OperationInput<N extends OperationName> = v.InferInput<Named<N>["input"]>;
/** A handler's input: validated, with defaults. */
export type ParsedInput<N extends OperationName> = v.InferOutput<Named<N>["input"]>;
export type OperationOutput<N extends OperationName> = v.InferInput<Named<N>["output"]>;

/** Names of a scope's operations, which type its handlers. */
export type OperationNameOf<S extends OperationScope> = Extract<All, { readonly scope: S }>["name"];
export type ServerOperationName = OperationNameOf<"server">;

export const operations: readonly Operation<OperationName>[] = all;

const byName = new Map<string, Operation<OperationName>>(all.map((entry) => [entry.name, entry]));

export function findOperation(name: string): Operation<OperationName> | undefined {
  return byName.get(name);
}

export function getOperation(name: OperationName): Operation<OperationName> {
  const found = byName.get(name);
  if (found === undefined) throw new Error(`operation ${name} is not in the table`);
  return found;
}

/** Returns the input schema of one operation with its full type, for transports that build on its fields. */
export function inputSchema<N extends OperationName>(name: N): Named<N>["input"] {
  return getOperation(name).input as Named<N>["input"];
}

export function outputSchema<N extends OperationName>(name: N): Named<N>["output"] {
  return getOperation(name).output as Named<N>["output"];
}
