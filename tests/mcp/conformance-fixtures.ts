/**
 * Fixtures that the MCP conformance suite (@modelcontextprotocol/conformance 0.2.0-alpha.12) expects of a server,
 * registered on the gateway's own MCP server (conformance-server.ts). Names, texts and shapes are the suite's; nothing here
 * touches a terminal.
 */
import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type ElicitRequestFormParams,
  inputRequired,
  inputResponse,
  type McpServer,
  ResourceTemplate,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { McpExtension } from "../../src/mcp/caller-server.ts";
import { describing } from "../../src/mcp/tools/json-schema.ts";
import type { JsonSchema } from "../../src/operations/json-schema.ts";

/** One red pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** A WAV header without samples. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
/** Interval between two notifications of one call, in ms, as the suite requires. */
const STEP_MS = 50;

type Form = ElicitRequestFormParams["requestedSchema"];

const states = createRequestStateCodec<string>({ key: crypto.getRandomValues(new Uint8Array(32)) });

const description = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });
const picture = { type: "image", data: PNG, mimeType: "image/png" } as const;

function strings(...names: string[]): JsonSchema {
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
    required: names,
  };
}

type Simple = (
  args: Readonly<Record<string, string>>,
  context: ServerContext,
) => Promise<CallToolResult> | CallToolResult;

function addTool(
  server: McpServer,
  name: string,
  run: Simple,
  schema: JsonSchema = { type: "object", properties: {} },
): void {
  server.registerTool(name, { description: `Conformance: ${name}`, inputSchema: describing(schema) }, (args, context) =>
    run(args as Record<string, string>, context),
  );
}

function addContentTools(server: McpServer): void {
  addTool(server, "test_simple_text", () => description("This is a simple text response for testing."));
  addTool(server, "test_image_content", () => ({ content: [picture] }));
  addTool(server, "test_audio_content", () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }));
  addTool(server, "test_embedded_resource", () => ({
    content: [
      {
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      },
    ],
  }));
  addTool(server, "test_multiple_content_types", () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      picture,
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: JSON.stringify({ test: "data", value: 123 }),
        },
      },
    ],
  }));
  addTool(server, "json_schema_2020_12_tool", () => description("listed"), manyKeywords);
  addTool(server, "test_error_handling", () => ({
    ...description("This tool intentionally returns an error for testing"),
    isError: true,
  }));
}

/** A schema with much of JSON Schema's vocabulary, to be listed unchanged. */
const manyKeywords: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, in data that is only listed
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

function addNotifyingTools(server: McpServer): void {
  addTool(server, "test_tool_with_logging", async (_args, { mcpReq }) => {
    for (const text of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await mcpReq.log("info", text);
      await Bun.sleep(STEP_MS);
    }
    return description("logged");
  });
  addTool(server, "test_logging_tool", async (_args, { mcpReq }) => {
    await mcpReq.log("info", "A level was asked for");
    return description("logged where asked for");
  });
  addTool(server, "test_tool_with_progress", async (_args, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
      }
      await Bun.sleep(STEP_MS);
    }
    return description("progressed");
  });
  addTool(server, "test_reconnection", async (_args, { http }) => {
    if (http !== undefined && "closeSSE" in http && typeof http.closeSSE === "function") http.closeSSE();
    await Bun.sleep(STEP_MS);
    return description("reconnected");
  });
}

/** Tools of the protocol versions with sessions, which send requests to the client. */
function addAskingTools(server: McpServer): void {
  addTool(
    server,
    "test_sampling",
    async ({ prompt }, { mcpReq }) => {
      const messages = [{ role: "user" as const, content: { type: "text" as const, text: prompt ?? "" } }];
      const { content } = await mcpReq.requestSampling({ messages, maxTokens: 100 });
      const [first] = Array.isArray(content) ? content : [content];
      return description(`LLM response: ${first?.type === "text" ? first.text : ""}`);
    },
    strings("prompt"),
  );
  const elicitations: Readonly<Record<string, Form>> = {
    test_elicitation: {
      type: "object",
      properties: {
        username: { type: "string", description: "User's response" },
        email: { type: "string", description: "User's email address" },
      },
      required: ["username", "email"],
    },
    test_elicitation_sep1034_defaults: {
      type: "object",
      properties: {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      },
    },
    test_elicitation_sep1330_enums: {
      type: "object",
      properties: {
        untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
        titledSingle: {
          type: "string",
          oneOf: [
            { const: "value1", title: "First Option" },
            { const: "value2", title: "Second Option" },
            { const: "value3", title: "Third Option" },
          ],
        },
        legacyEnum: {
          type: "string",
          enum: ["opt1", "opt2", "opt3"],
          enumNames: ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
        titledMulti: {
          type: "array",
          items: {
            anyOf: [
              { const: "value1", title: "First Choice" },
              { const: "value2", title: "Second Choice" },
              { const: "value3", title: "Third Choice" },
            ],
          },
        },
      },
    },
  };
  for (const [name, requestedSchema] of Object.entries(elicitations)) {
    const isSimple = name === "test_elicitation";
    addTool(
      server,
      name,
      async ({ message }, { mcpReq }) => {
        const { action, content } = await mcpReq.elicitInput({ message: message ?? "Please answer", requestedSchema });
        const answer = `action=${action}, content=${JSON.stringify(content ?? {})}`;
        return description(isSimple ? `User response: ${answer}` : `Elicitation completed: ${answer}`);
      },
      isSimple ? strings("message") : undefined,
    );
  }
}

const nameForm: Form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const okForm: Form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
const colorForm: Form = { type: "object", properties: { color: { type: "string" } }, required: ["color"] };

type Asking = (context: ServerContext) => Promise<CallToolResult | ReturnType<typeof inputRequired>>;

function addAskingByResult(server: McpServer, name: string, run: Asking): void {
  const inputSchema = describing({ type: "object", properties: {} });
  server.registerTool(name, { description: `Conformance: ${name}`, inputSchema }, (_args, context) => run(context));
}

/** Tools of the version without sessions, which answer that they need input. */
function addInputRequiredTools(server: McpServer): void {
  const askName = () => inputRequired.elicit({ message: "What is your name?", requestedSchema: nameForm });
  const askGreeting = (text: string, maxTokens: number) =>
    inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text } }], maxTokens });
  const given = ({ mcpReq }: ServerContext) => mcpReq.inputResponses;

  addAskingByResult(server, "test_input_required_result_elicitation", async (context) => {
    const name = acceptedContent(given(context), "user_name")?.name;
    return typeof name === "string"
      ? description(`Hello, ${name}!`)
      : inputRequired({ inputRequests: { user_name: askName() } });
  });
  addAskingByResult(server, "test_streaming_elicitation", async () =>
    inputRequired({ inputRequests: { user_name: askName() } }),
  );
  // The SDK refuses requests for undeclared capabilities.
  addAskingByResult(server, "test_missing_capability", async () =>
    inputRequired({ inputRequests: { greeting: askGreeting("Generate a greeting", 50) } }),
  );
  addAskingByResult(server, "test_input_required_result_sampling", async (context) => {
    const answer = inputResponse(given(context), "capital_question");
    if (answer.kind === "sampling") return description(JSON.stringify(answer.result.content));
    return inputRequired({ inputRequests: { capital_question: askGreeting("What is the capital of France?", 100) } });
  });
  addAskingByResult(server, "test_input_required_result_list_roots", async (context) => {
    const answer = inputResponse(given(context), "client_roots");
    if (answer.kind === "roots") return description(JSON.stringify(answer.roots));
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });
  addAskingByResult(server, "test_input_required_result_multiple_inputs", async (context) => {
    const answers = ["user_name", "greeting", "client_roots"].map((key) => inputResponse(given(context), key).kind);
    if (!answers.includes("missing")) return description("all given");
    const inputRequests = {
      user_name: askName(),
      greeting: askGreeting("Generate a greeting", 50),
      client_roots: inputRequired.listRoots(),
    };
    return inputRequired({ inputRequests, requestState: await states.mint("multiple") });
  });
  for (const name of ["test_input_required_result_request_state", "test_input_required_result_tampered_state"]) {
    addAskingByResult(server, name, async (context) => {
      const state = context.mcpReq.requestState<string>();
      if (state === name && acceptedContent(given(context), "confirm") !== undefined) return description("state-ok");
      const confirm = inputRequired.elicit({ message: "Please confirm", requestedSchema: okForm });
      return inputRequired({ inputRequests: { confirm }, requestState: await states.mint(name) });
    });
  }
  addAskingByResult(server, "test_input_required_result_multi_round", async (context) => {
    const round = context.mcpReq.requestState<string>();
    if (round === "two" && acceptedContent(given(context), "step2") !== undefined) return description("done");
    if (round === "one" && acceptedContent(given(context), "step1") !== undefined) {
      const step2 = inputRequired.elicit({
        message: "Step 2: What is your favorite color?",
        requestedSchema: colorForm,
      });
      return inputRequired({ inputRequests: { step2 }, requestState: await states.mint("two") });
    }
    const step1 = inputRequired.elicit({ message: "Step 1: What is your name?", requestedSchema: nameForm });
    return inputRequired({ inputRequests: { step1 }, requestState: await states.mint("one") });
  });
  addAskingByResult(server, "test_input_required_result_capabilities", async ({ mcpReq }) => {
    const declared = Reflect.get(mcpReq.envelope ?? {}, CLIENT_CAPABILITIES_META_KEY) ?? {};
    const inputRequests = {
      ...("elicitation" in declared ? { user_name: askName() } : {}),
      ...("sampling" in declared ? { greeting: askGreeting("Generate a greeting", 50) } : {}),
      ...("roots" in declared ? { client_roots: inputRequired.listRoots() } : {}),
    };
    return Object.keys(inputRequests).length === 0 ? description("nothing to ask") : inputRequired({ inputRequests });
  });
}

function addResources(server: McpServer): void {
  const text = (uri: string, mimeType: string, content: string) => ({ contents: [{ uri, mimeType, text: content }] });
  server.registerResource(
    "static-text",
    "test://static-text",
    { description: "Static text", mimeType: "text/plain" },
    async ({ href }) => text(href, "text/plain", "This is the content of the static text resource."),
  );
  server.registerResource(
    "static-binary",
    "test://static-binary",
    { description: "Static picture", mimeType: "image/png" },
    async ({ href }) => ({ contents: [{ uri: href, mimeType: "image/png", blob: PNG }] }),
  );
  server.registerResource(
    "watched-resource",
    "test://watched-resource",
    { description: "Watched text", mimeType: "text/plain" },
    async ({ href }) => text(href, "text/plain", "Watched."),
  );
  server.registerResource(
    "template-data",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { description: "Data by id", mimeType: "application/json" },
    async ({ href }, { id }) =>
      text(href, "application/json", JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })),
  );
}

function addPrompts(server: McpServer): void {
  const user = <C>(content: C) => ({ role: "user" as const, content });
  const line = (text: string) => user({ type: "text" as const, text });
  server.registerPrompt("test_simple_prompt", { description: "Simple" }, () => ({
    messages: [line("This is a simple prompt for testing.")],
  }));
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "With arguments", argsSchema: describing(strings("arg1", "arg2")) },
    (args) => {
      const { arg1, arg2 } = args as Record<string, string>;
      return { messages: [line(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] };
    },
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "With a resource", argsSchema: describing(strings("resourceUri")) },
    (args) => {
      const uri = (args as Record<string, string>).resourceUri ?? "";
      const resource = { uri, mimeType: "text/plain", text: "Embedded resource content for testing." };
      return {
        messages: [user({ type: "resource" as const, resource }), line("Please process the embedded resource above.")],
      };
    },
  );
  server.registerPrompt("test_prompt_with_image", { description: "With a picture" }, () => ({
    messages: [user(picture), line("Please analyze the image above.")],
  }));
  server.registerPrompt("test_input_required_result_prompt", { description: "Asks first" }, ({ mcpReq }) => {
    const context = acceptedContent(mcpReq.inputResponses, "user_context")?.context;
    if (typeof context === "string") return { messages: [line(context)] };
    const requestedSchema: Form = {
      type: "object",
      properties: { context: { type: "string" } },
      required: ["context"],
    };
    const user_context = inputRequired.elicit({ message: "What context should the prompt use?", requestedSchema });
    return inputRequired({ inputRequests: { user_context } });
  });
}

export const fixtures: McpExtension = {
  options: { requestState: { verify: states.verify } },
  register(server) {
    addContentTools(server);
    addNotifyingTools(server);
    addAskingTools(server);
    addInputRequiredTools(server);
    addResources(server);
    addPrompts(server);
  },
};
