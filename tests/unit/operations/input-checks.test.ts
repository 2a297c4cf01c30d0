/** Values that no state could make valid are refused with the input, so that key bindings and hooks are refused when they are read. */
import { expect, test } from "bun:test";
import { lineCall } from "../../../src/operations/line-input.ts";
import { WshError } from "../../../src/protocol/errors.ts";

const faultOf = (operation: string, parameters: Readonly<Record<string, string>>): string | null => {
  try {
    lineCall({ operation, parameters }, "session");
    return null;
  } catch (thrown) {
    const { code, message } = WshError.from(thrown);
    return `${code}: ${message}`;
  }
};

test.each([
  ["input.send", { keys: "Ctrl+Banana" }, 'unknown_key: unknown key "Ctrl+Banana"'],
  ["input.send", { data: "?", encoding: "base64" }, "invalid_request: "],
  ["run", { keys: "Entre" }, 'unknown_key: unknown key "Entre"; near: Enter'],
  ["run", { steps: '[{"expect":"x","keys":["Entre"]}]' }, 'unknown_key: unknown key "Entre"'],
  ["exec", { command: " " }, "invalid_request: 'command' is empty"],
  ["exec", { create: "true" }, "invalid_request: give either 'command' or 'steps'"],
  ["prompt.offer", { text: "\x03" }, "invalid_request: 'text' contains control characters"],
  ["prompt.offer", { text: " " }, "invalid_request: 'text' is empty"],
  ["agent.prompt", { text: "/clear" }, "invalid_request: the agent would take '/clear' as a command"],
  ["agent.prompt", { text: " \n" }, "invalid_request: 'text' is blank"],
  ["session.signal", { signal: "TREM" }, "invalid_request: 'signal': unknown signal 'TREM'"],
  ["session.signal", { signal: "99" }, "invalid_request: 'signal': unknown signal '99'"],
  ["session.update", { name: "a/b" }, "invalid_session_name: "],
  ["sessions.create", { name: "a:b" }, "invalid_session_name: "],
  ["sessions.create", { name: "build1/a:b" }, "invalid_session_name: "],
  ["sessions.create", { name: "a/b/c" }, "invalid_session_name: "],
  ["sessions.create", { tags: "a b" }, "invalid_tag: "],
  ["sessions.create", { stdin: "text" }, "invalid_request: 'stdin' needs a command"],
  ["pane.split", { command: " " }, "invalid_request: 'command' is empty"],
  ["pane.split", { stdin: "text" }, "invalid_request: 'stdin' needs a command"],
  ["pane.split", { cells: "3", percent: "40" }, "invalid_request: 'cells' cannot be used with 'percent'"],
  ["pane.split", { x: "0" }, "invalid_request: 'x' needs 'float'"],
  ["pane.move", { to: "dev", width: "40%" }, "invalid_request: 'width' needs 'float'"],
  ["pane.move", { float: "true" }, "invalid_request: 'float' needs 'to'"],
  ["pane.float", { on: "false", x: "0" }, "invalid_request: a tiled pane has no place of its own"],
  ["pane.resize", {}, "invalid_request: 'direction' or a size is missing"],
  ["pane.resize", { rows: "3", rows_percent: "40" }, "invalid_request: 'rows' cannot be used with 'rows_percent'"],
  ["pane.respawn", { command: "a\0b" }, "invalid_request: 'command' contains a NUL character"],
  ["popup.open", { command: " " }, "invalid_request: 'command' is empty"],
  ["window.create", { command: " " }, "invalid_request: 'command' is empty"],
  ["window.move", { to: "@7" }, "invalid_request: '@7' is not a session, a number, or session:number"],
  ["window.move", { to: "dev:3", index: "4" }, "invalid_request: 'dev:3' and index 4 differ"],
  ["window.swap", { with: "logs" }, "invalid_request: 'logs' is not a window"],
  ["ask", { question: "x", kind: "choice" }, "invalid_request: 'choices' is missing"],
] as const)("%s %p", (operation, parameters, fault) => {
  expect(faultOf(operation, parameters) ?? "accepted").toStartWith(fault);
});

test.each([
  ["input.send", { keys: "Ctrl+C,Up" }],
  ["exec", { command: "make" }],
  ["prompt.offer", { text: "ls -l" }],
  ["agent.prompt", { text: "/clear", command: "true" }],
  ["session.signal", { signal: "int" }],
  ["session.signal", { signal: "15" }],
  ["session.update", { name: "dev", add_tags: "x" }],
  ["sessions.create", { name: "dev", command: "cat", stdin: "text" }],
  ["sessions.create", { name: "build1/dev" }],
  ["sessions.create", { name: "build1/" }],
  ["pane.split", { percent: "40", view: "build1/dev" }],
  ["pane.split", { float: "true", x: "0" }],
  ["pane.move", {}],
  ["pane.move", { to: "dev", float: "true", x: "center" }],
  ["pane.swap", { with: "left" }],
  ["pane.float", { on: "false" }],
  ["pane.resize", { rows_percent: "40", cols: "3" }],
  ["window.move", { to: "3" }],
  ["window.move", { to: "dev:" }],
  ["window.swap", { with: "next" }],
  ["window.swap", { with: "dev:1" }],
] as const)("%s %p is accepted", (operation, parameters) => {
  expect(faultOf(operation, parameters)).toBeNull();
});
