/**
 * Wraps the async functions of the agent's program, so that a failed promise is detected even if nothing awaits it: the
 * interpreter does not report those. Lines keep their numbers. Pure.
 */
import { type Node, parse, type Token } from "acorn";

/** Global of the sandbox: receives an async function, or a promise, and tracks its result. */
export const NOTED = "__noted";

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface AsyncFunction extends Node {
  readonly async: true;
  readonly generator: boolean;
  readonly id?: (Node & { readonly name: string }) | null;
  readonly body: Node;
}

/** @param body body of an async function */
export function withNotedPromises(body: string): string {
  const head = "async () => {";
  const source = `${head}${body}\n}`;
  const edits: Edit[] = [];
  const tokens: Token[] = [];
  const insert = (at: number, text: string): void => void edits.push({ from: at, to: at, text });

  function visit(node: Node, parent: Node | null): void {
    if (isAsync(node)) wrap(node, parent);
    for (const child of Object.values(node)) {
      for (const each of Array.isArray(child) ? child : [child]) if (isNode(each)) visit(each, node);
    }
  }

  function wrap(node: AsyncFunction, parent: Node | null): void {
    const { start, end, body: inner, id } = node;
    if (node.type === "FunctionDeclaration" && id != null) {
      // The name is the outer function's, with the properties that the program gives it.
      insert(start, `function ${id.name}() { return ${NOTED}((`);
      edits.push({ from: id.start, to: id.end, text: "" });
      insert(end, ").apply(this, arguments)); }");
    } else if (parent !== null && isMethod(parent, node)) {
      const at = source.slice(parent.start).search(/\basync\b/) + parent.start;
      // A line without a semicolon may precede it in a class.
      const text = parent.type === "MethodDefinition" && at === parent.start ? ";" : "";
      edits.push({ from: at, to: at + "async".length, text });
      insert(start, `() { return ${NOTED}((async `);
      // No line may end between the parameters and the arrow.
      insert(tokens.findLast((token) => token.end <= inner.start)?.end ?? inner.start, " =>");
      insert(inner.end, ")(...arguments)); }");
    } else {
      insert(start, `${NOTED}(`);
      insert(end, ")");
    }
  }

  try {
    const whole = parse(source, { ecmaVersion: "latest", onToken: tokens });
    for (const statement of statementsOf(whole)) visit(statement, null);
  } catch {
    // Invalid JavaScript, or syntax that only the interpreter supports: the interpreter reports errors.
    return body;
  }
  return applyEdits(source, edits).slice(head.length, -"\n}".length);
}

/** The statements of the body. */
function statementsOf(program: Node): readonly Node[] {
  let node: unknown = program;
  for (const key of ["body", 0, "expression", "body", "body"]) node = (node as Record<string | number, unknown>)[key];
  return node as readonly Node[];
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function isAsync(node: Node): node is AsyncFunction {
  return "async" in node && node.async === true && "generator" in node && node.generator !== true;
}

function isMethod(node: Node, value: Node): boolean {
  if (!("value" in node) || node.value !== value) return false;
  return node.type === "MethodDefinition" || (node.type === "Property" && "method" in node && node.method === true);
}

/** Applies edits in order; edits of inner functions lie within those of outer ones. */
function applyEdits(source: string, edits: readonly Edit[]): string {
  let text = "";
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.from - b.from)) {
    text += source.slice(at, edit.from) + edit.text;
    at = edit.to;
  }
  return text + source.slice(at);
}
