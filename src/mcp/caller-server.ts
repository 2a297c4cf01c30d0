/**
 * Makes the MCP server for one caller: one per connection or session, or, in the era without sessions, one per request,
 * so all shareable parts are made when the modules load. It is stateless and only calls operations on behalf of the
 * caller.
 */
import {
  type CallToolResult,
  type InputRequiredResult,
  McpServer,
  type McpServerOptions,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Call, CallContext } from "../operations/call.ts";
import type { AskResult } from "../protocol/ask-result.ts";
import { type Access, type Admission, type Caller, isNameless } from "../protocol/caller.ts";
import { type WaitsForPerson, waitingText } from "../protocol/control.ts";
import { defined } from "../protocol/defined.ts";
import { plain } from "../protocol/harmless-text.ts";
import { isRecord } from "../protocol/json.ts";
import { type Owner, type OwnerProcess, ownerOf } from "../protocol/owner.ts";
import { VERSION } from "../protocol/version.ts";
import { DEFAULT_WAIT_MS } from "../protocol/wait-times.ts";
import { askClient, clientAnswer, mayElicit, requestState } from "./elicitation.ts";
import { instructionsFor } from "./instructions.ts";
import { speakClearly } from "./parameter-errors.ts";
import { statedName } from "./resources/listen-events.ts";
import { registerResources } from "./resources/resources.ts";
import { type Skill, skills } from "./skills/skills.ts";
import { askUser } from "./tools/asking.ts";
import { describing } from "./tools/json-schema.ts";
import { DEFAULT_PROGRESS_MS, type PendingLeave, reportProgress } from "./tools/progress.ts";
import { badResult, goodResult, unknownParameterWarnings } from "./tools/results.ts";
import { callScript, type ScriptCaller, script } from "./tools/script.ts";
import { type Ask, listedAnnotations, listedOutput, type Tool } from "./tools/tool.ts";
import type { ToolSet } from "./tools/tool-sets.ts";
import { machineTools, servedTools, tools } from "./tools/tools.ts";

/** Longest name of a client, in characters. */
const LONGEST_NAME = 64;

/** Settings shared by all callers. */
export interface McpSettings {
  readonly call: Call;
  /** Longest wait of a tool call that sets none, in ms; absent: the tool's own default. */
  readonly maxWaitMs?: number;
  /** Interval between progress notifications, in ms. Default 1 000. */
  readonly progressMs?: number;
  /** Whether other machines are reachable. */
  readonly hasMachines?: () => boolean;
  /** Additions to wsh's own tools; absent in use, since only the conformance suite needs more. */
  readonly extend?: McpExtension;
}

/** Registered on every caller's server after wsh's own tools, resources and prompts. */
export interface McpExtension {
  readonly options: McpServerOptions;
  readonly register: (server: McpServer) => void;
}

/** The caller for which a server acts. */
export interface McpCaller {
  /** Stable while the connection or session lives. */
  readonly id: string;
  /** The AI agent that runs the client, if its processes show it. */
  readonly agent?: string;
  /** Whether the id ends with a connection or session. */
  readonly connected: boolean;
  readonly access: Access;
  readonly tools: ToolSet;
  /** Target of tools that need a session and name none. */
  readonly session?: string;
  /** The caller's directory and environment, for programs that it starts. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The process that speaks for it, on this machine. */
  readonly process?: OwnerProcess;
  /** Its admission, and the only session that it may access. */
  readonly via?: Admission;
  /** Aborts when the token by which it was admitted ends. */
  readonly ended?: AbortSignal;
  readonly only?: string;
}

/** Converted once: in the era without sessions a server is made for every request. */
const toolSchemas = new Map(
  [...tools, ...machineTools].map((tool) => [
    tool,
    { input: describing(tool.inputJson), output: describing(listedOutput(tool)) },
  ]),
);

export function createMcpServer(settings: McpSettings, caller: McpCaller): McpServer {
  const hasMachines = caller.only === undefined && settings.hasMachines?.() === true;
  const served = servedTools(caller.tools, caller.access, hasMachines);
  const server = new McpServer(
    { name: "wsh", title: "wsh", version: VERSION, description: "Terminals for people and agents" },
    {
      capabilities: {
        tools: { listChanged: false },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: false },
        completions: {},
        ...(settings.extend === undefined ? {} : { logging: {} }),
      },
      requestState: { verify: requestState.verify },
      ...settings.extend?.options,
      instructions: instructionsFor(new Set(served.map((tool) => tool.name)), hasMachines),
    },
  );
  const connect = server.server.connect.bind(server.server);
  server.server.connect = (transport) => connect(speakClearly(transport));
  for (const tool of served) registerTool(server, settings, caller, tool);
  registerResources(server, async (context, use) => {
    const leave: PendingLeave = { text: null };
    const signal = context?.mcpReq.signal ?? new AbortController().signal;
    using _progress = context === undefined ? null : progressOf({}, null, leave, context, settings);
    return use(asker(callerAt(server, caller, context), settings, caller, signal, undefined, reportWaitIn(leave)));
  });
  for (const skill of skills) {
    const { name, description } = skill;
    server.registerPrompt(`wsh:${name}`, { title: `wsh: ${name}`, description }, () => promptOf(skill));
  }
  if (settings.extend !== undefined) settings.extend.register(server);
  else nameUnknownPrompts(server);
  return server;
}

/** The SDK's own error for an unknown prompt differs from the wording that clients of wsh know. */
function nameUnknownPrompts(server: McpServer): void {
  server.server.setRequestHandler("prompts/get", ({ params }) => {
    const skill = skills.find(({ name }) => params.name === `wsh:${name}`);
    if (skill !== undefined) return promptOf(skill);
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `unknown prompt '${params.name}'`);
  });
}

function promptOf({ description, text }: Skill) {
  return { description, messages: [{ role: "user" as const, content: { type: "text" as const, text } }] };
}

/** The caller, by the name that the client stated at its connection or, in the era without sessions, in the request. */
export function callerAt(server: McpServer, caller: McpCaller, context?: ServerContext): Caller {
  const stated = statedName({ _meta: context?.mcpReq.envelope });
  return callerNamed(stated ?? server.server.getClientVersion()?.name, caller);
}

/** @param client the name that the client states */
export function callerNamed(client: string | undefined, { id, connected, agent, via, only }: McpCaller): Caller {
  // It is shown to people, who must be able to read it.
  const given = plain((client ?? "").replace(/\s+/g, " ").trim());
  const name = given === "" || isNameless(given) ? undefined : Array.from(given).slice(0, LONGEST_NAME).join("");
  return { kind: "mcp", id, connected, ...defined({ name, agent, via, only }) };
}

/** Calls operations on behalf of the caller until the signal reports that the answer is no longer needed. */
function asker(
  acting: Caller,
  settings: McpSettings,
  caller: McpCaller,
  signal: AbortSignal,
  machine?: string,
  waits?: (waiting: WaitsForPerson) => void,
): Ask {
  const context: CallContext = {
    signal,
    access: caller.access,
    caller: acting,
    ...defined({ ended: caller.ended, cwd: caller.cwd, env: caller.env, process: caller.process, machine, waits }),
  };
  return (name, input, session, ahead) => settings.call(name, input, { ...context, ...defined({ session, ahead }) });
}

function registerTool(server: McpServer, settings: McpSettings, caller: McpCaller, tool: Tool): void {
  const schemas = toolSchemas.get(tool);
  if (schemas === undefined) throw new Error(`${tool.name} is not in the table`);
  const { session } = caller;
  server.registerTool(
    tool.name,
    {
      title: tool.title,
      description: tool.description,
      annotations: listedAnnotations(tool.annotations),
      inputSchema: tool.needsSession && session !== undefined ? optionalSession(tool, session) : schemas.input,
      outputSchema: schemas.output,
    },
    (args: unknown, context: ServerContext) => {
      const leave: PendingLeave = { text: null };
      const acting = callerAt(server, caller, context);
      return callTool(
        tool,
        args,
        asker(acting, settings, caller, context.mcpReq.signal, machineOf(tool, args), reportWaitIn(leave)),
        leave,
        context,
        settings,
        caller,
        ownerOf(acting),
        () => mayElicit(context, server.server.getClientCapabilities()),
        () => ({
          id: caller.id,
          // A program belongs to its agent and has the agent's rights: no other agent and no other token can resume it.
          owner: JSON.stringify([caller.id, caller.only ?? null, caller.access]),
          asker: (signal) => asker(acting, settings, caller, signal, machineOf(tool, args)),
          ended: caller.ended,
          signal: context.mcpReq.signal,
        }),
      );
    },
  );
}

/** Keeps the text of the permission that a call waits for. */
function reportWaitIn(leave: PendingLeave): (waiting: WaitsForPerson) => void {
  return (waiting) => {
    leave.text = waiting.until === 0 ? null : waitingText(waiting);
  };
}

/** The session has a default here, so a model need not name it. */
function optionalSession(tool: Tool, session: string) {
  const { required, ...json } = tool.inputJson;
  const others = Array.isArray(required) ? required.filter((name) => name !== "session") : [];
  const properties = { ...(json.properties as object), session: { type: "string", default: session } };
  return describing({ ...json, properties, ...(others.length > 0 ? { required: others } : {}) });
}

async function callTool(
  tool: Tool,
  args: unknown,
  ask: Ask,
  leave: PendingLeave,
  context: ServerContext,
  settings: McpSettings,
  caller: McpCaller,
  owner: Owner,
  canElicit: () => boolean,
  scriptCaller: () => ScriptCaller,
): Promise<CallToolResult | InputRequiredResult> {
  const { parameters, unknown } = sortParameters(tool, args);
  if (tool.needsSession && parameters.session === undefined && caller.session !== undefined) {
    parameters.session = caller.session;
  }
  if (tool.reportsProgress) parameters.max_wait_ms ??= settings.maxWaitMs ?? tool.defaultWaitMs ?? DEFAULT_WAIT_MS;
  using _progress = progressOf(parameters, tool.reportsProgress ? ask : null, leave, context, settings);
  try {
    const warnings = unknownParameterWarnings(unknown);
    if (tool === script) return goodResult(await callScript(parameters, scriptCaller()), warnings);
    if (tool !== askUser) return goodResult(await callNamingPane(tool, parameters, ask, owner), warnings);
    const answered = clientAnswer(parameters, caller.id, context);
    if (answered !== null) return goodResult(answered, warnings);
    const result = (await tool.call(parameters, ask, owner)) as AskResult;
    const asks = result.decided_by === "nobody_attached" && canElicit();
    return (asks ? await askClient(parameters, caller.id, context) : null) ?? goodResult(result, warnings);
  } catch (thrown) {
    return badResult(thrown);
  }
}

/** If the target matched several panes, the operation names the chosen one, and so does the tool's result. */
async function callNamingPane(
  tool: Tool,
  parameters: Readonly<Record<string, unknown>>,
  ask: Ask,
  owner: Owner,
): Promise<unknown> {
  let pane: string | undefined;
  const askAndRecord: Ask = async (name, input, session, ahead) => {
    const output = await ask(name, input, session, ahead);
    if (hasPane(output)) pane = output.pane;
    return output;
  };
  const result = await tool.call(parameters, askAndRecord, owner);
  return pane === undefined || !isRecord(result) || "pane" in result ? result : { ...result, pane };
}

function hasPane(output: unknown): output is { readonly pane: string } {
  return isRecord(output) && typeof output.pane === "string";
}

/** Every tool accepts `server`, the machine of its target; it is not listed, since `machine/session` does the same. */
function machineOf(tool: Tool, args: unknown): string | undefined {
  const server = isRecord(args) && !tool.parameterNames.has("server") ? args.server : undefined;
  return typeof server === "string" ? server : undefined;
}

/** Some hosts send null for omitted parameters, and add their own. */
function sortParameters(tool: Tool, args: unknown): { parameters: Record<string, unknown>; unknown: string[] } {
  const given = typeof args === "object" && args !== null ? Object.entries(args) : [];
  const parameters = given.filter(([name, value]) => tool.parameterNames.has(name) && value !== null);
  return {
    parameters: Object.fromEntries(parameters),
    unknown: given.map(([name]) => name).filter((name) => name !== "server" && !tool.parameterNames.has(name)),
  };
}

/** @param ask null: the call does not wait for its session, and only waiting for a person is reported */
function progressOf(
  parameters: Readonly<Record<string, unknown>>,
  ask: Ask | null,
  leave: PendingLeave,
  context: ServerContext,
  settings: McpSettings,
): Disposable | null {
  const token = context.mcpReq._meta?.progressToken;
  if (token === undefined) return null;
  const { session, max_wait_ms } = parameters;
  return reportProgress(context, ask, {
    token,
    leave,
    session: typeof session === "string" ? session : undefined,
    total: typeof max_wait_ms === "number" ? max_wait_ms : DEFAULT_WAIT_MS,
    intervalMs: settings.progressMs ?? DEFAULT_PROGRESS_MS,
  });
}
