/** How a browser logs in, as the OpenAPI document describes it. */
import type { JsonSchema } from "../../operations/json-schema.ts";

const text = (description: string): JsonSchema => ({ type: "string", description });
const seconds: JsonSchema = { type: "number", description: "lifetime in s" };

function object(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { "application/json": { schema: { type: "object", properties, required: Object.keys(properties) } } };
}

function error(description: string): JsonSchema {
  return { description, content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } } };
}

function step(
  operationId: string,
  summary: string,
  body: Readonly<Record<string, JsonSchema>> | null,
  status: "200" | "201",
  answer: Readonly<Record<string, JsonSchema>>,
): JsonSchema {
  return {
    post: {
      operationId,
      tags: ["Login"],
      summary,
      security: [],
      ...(body === null ? {} : { requestBody: { content: object(body) } }),
      responses: {
        [status]: { description: "Done.", content: object(answer) },
        "403": error("`auth_invalid`, `access_denied`, `origin_not_allowed`, `host_not_allowed`"),
        "429": error("`rate_limited`, `resource_limit_reached`"),
      },
    },
  };
}

const device = text("id of the browser's key");

export const loginPaths: Readonly<Record<string, JsonSchema>> = {
  "/auth/code": step("createLoginCode", "A code that logs in one browser; over the Unix socket only", null, "200", {
    code: { type: ["string", "null"], description: "32 characters; null: the server does not use logins" },
    expires_in_s: { type: ["number", "null"], description: "lifetime in s" },
    page: text("address of the page on this machine; the server starts to listen there if needed"),
  }),
  "/auth/device": step(
    "registerDevice",
    "Registers the key of a browser with a code",
    {
      code: text("as created by the command line"),
      key: text("public key of P-256, the uncompressed point in base64"),
    },
    "201",
    { device, name: text("the browser's name in lists") },
  ),
  "/auth/challenge": step("createChallenge", "The challenge that a browser signs", { device }, "200", {
    nonce: text("signed once, within 60 s"),
  }),
  "/auth/session": step(
    "createLogin",
    "A token for a browser with a signed challenge",
    { device, nonce: text("the challenge"), signature: text("ECDSA with SHA-256, r and s in base64") },
    "200",
    {
      token: text("as Authorization: Bearer"),
      expires_in_s: seconds,
      access: text("its access"),
      name: text("of the browser"),
    },
  ),
  "/auth/me": {
    get: {
      operationId: "getMe",
      tags: ["Login"],
      summary: "The caller's token and its access",
      responses: {
        "200": {
          description: "It is this.",
          content: object({
            name: text("of the token or browser"),
            access: { enum: ["observe", "operate", "admin"], description: "its access" },
            session: { type: ["string", "null"], description: "id of the only session it gives access to; null: all" },
            expires_at: {
              type: ["number", "null"],
              description: "end of its lifetime, Unix time in ms; null: unlimited",
            },
          }),
        },
      },
    },
  },
};
