/**
 * JSON Schema for the OpenAPI document, from the schemas that validate and type the operations. Schemas that several
 * operations share become named components. Every field gets a description: its schema's own if present, else the
 * general one of its name. Pure; used when the document is requested.
 */
import * as v from "valibot";
import { descriptionOf, inputJsonSchema, type JsonSchema } from "../../operations/json-schema.ts";
import { CommandRecordSchema, StepResultSchema } from "../../protocol/commands.ts";
import { ConditionSchema } from "../../protocol/conditions.ts";
import { ElementSpanSchema, OverlaySchema, PanelSchema, RegionWriteSchema } from "../../protocol/drawing.ts";
import {
  LifecycleEventSchema,
  MachinesSubscriptionSchema,
  SessionEventSchema,
  SubscriptionSchema,
} from "../../protocol/events.ts";
import { isRecord } from "../../protocol/json.ts";
import { LayoutTreeSchema } from "../../protocol/layout.ts";
import { LineSchema, ScreenSchema, SpanSchema } from "../../protocol/screen.ts";
import { PaneInfoSchema, SessionInfoSchema, WindowInfoSchema } from "../../protocol/session.ts";
import { WindowEventSchema, WindowSubscriptionSchema } from "../../protocol/window-stream.ts";
import { fieldDescriptions } from "./field-descriptions.ts";

/** The entries of `components.schemas`, each with a description. */
const named: Readonly<Record<string, readonly [schema: v.GenericSchema, description: string]>> = {
  SessionInfo: [SessionInfoSchema, "A session."],
  WindowInfo: [WindowInfoSchema, "A window of a session."],
  PaneInfo: [PaneInfoSchema, "A pane: one program in one terminal."],
  LayoutTree: [LayoutTreeSchema, "A row, a column, a pane of the session, or a new pane with its program."],
  Screen: [ScreenSchema, "The screen of a terminal."],
  Line: [LineSchema, "A line: text when plain, spans when styled."],
  Span: [SpanSchema, "A run of cells of one style; unset attributes are omitted."],
  CommandRecord: [CommandRecordSchema, "A command that ran at a shell's prompt. Unknown values are null."],
  StepResult: [StepResultSchema, "The result of one command of an exec."],
  Condition: [ConditionSchema, "A condition to wait for: a name, or an object with a type."],
  Overlay: [OverlaySchema, "A box above the terminal."],
  Panel: [PanelSchema, "A strip at the top or bottom, in rows that the program does not use."],
  ElementSpan: [ElementSpanSchema, "Styled text of an overlay or panel."],
  RegionWrite: [RegionWriteSchema, "Text at a place inside an overlay or panel."],
  Subscription: [SubscriptionSchema, "Parameters of `subscribe` on a WebSocket."],
  SessionEvent: [SessionEventSchema, "Events of a subscription on a WebSocket."],
  MachinesSubscription: [MachinesSubscriptionSchema, "Parameters of `subscribe_machines` on the server's WebSocket."],
  WindowSubscription: [WindowSubscriptionSchema, "Parameters of `subscribe_window` on a WebSocket."],
  WindowEvent: [WindowEventSchema, "Events of a window's stream on a WebSocket."],
  LifecycleEvent: [LifecycleEventSchema, "Events about sessions on every server-level WebSocket."],
};

const definitions = Object.fromEntries(Object.entries(named).map(([name, [schema]]) => [name, schema]));
const overrideRef = ({ referenceId }: { readonly referenceId: string }): string =>
  `#/components/schemas/${referenceId}`;

/** @param of the operation or component of the schema, whose fields may have their own meaning */
export function jsonSchema(schema: v.GenericSchema, of: string): JsonSchema {
  return describeFields(inputJsonSchema(schema, { definitions, overrideRef }), of);
}

/** The shared components, by name. */
export function componentSchemas(): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(named).map(([name, [schema, description]]) => {
      const { [name]: _, ...others } = definitions;
      // A reference to an unknown name is to the component itself, which is recursive.
      const refer = ({ referenceId }: { readonly referenceId: string }): string =>
        overrideRef({ referenceId: referenceId in others ? referenceId : name });
      const json = inputJsonSchema(schema, { definitions: others, overrideRef: refer });
      return [name, describeFields({ description, ...json }, name)];
    }),
  );
}

/** One field as a separate schema, with the description found anywhere in it. */
export function fieldSchema(name: string, entry: v.GenericSchema, of: string): JsonSchema {
  const wrapped = jsonSchema(v.object({ [name]: entry }), of);
  const { [name]: json } = wrapped.properties as Record<string, JsonSchema>;
  const description = descriptionOf(entry);
  return description === undefined ? (json ?? {}) : { ...json, description };
}

export function isRequired(entry: v.GenericSchema): boolean {
  return entry.type !== "optional" && entry.type !== "nullish";
}

/** Gives every property without a description the general one of its name. */
function describeFields(json: JsonSchema, path: string): JsonSchema {
  const entries = Object.entries(json).map(([key, value]): [string, unknown] => {
    if (key === "properties" && isRecord(value)) {
      const described = Object.entries(value).map(([name, property]) => {
        const inner = describeFields(isRecord(property) ? property : {}, path);
        const description = inner.description ?? fieldDescriptions[`${path}.${name}`] ?? fieldDescriptions[name];
        return [name, description === undefined ? inner : { ...inner, description }];
      });
      return [key, Object.fromEntries(described)];
    }
    if (Array.isArray(value)) return [key, value.map((item) => (isRecord(item) ? describeFields(item, path) : item))];
    if (isRecord(value) && key !== "default" && key !== "const") return [key, describeFields(value, path)];
    return [key, value];
  });
  return Object.fromEntries(entries);
}
