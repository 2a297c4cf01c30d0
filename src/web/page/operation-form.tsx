/** Any operation of the server as a form generated from its description, and its answer. */
import { useState } from "preact/hooks";
import { Refusal } from "../connection/server.ts";
import { type FormField, fieldValue, operations, perform } from "./operations.ts";
import { sessions } from "./sessions.ts";
import type { Workspace } from "./workspace.ts";

export function OperationForm({ name, workspace }: { readonly name: string; readonly workspace: Workspace }) {
  const operation = operations.value.find(({ method, path }) => `${method} ${path}` === name);
  const active = workspace.active.peek();
  const [target, setTarget] = useState(active === null ? "" : (workspace.infoOf(active)?.name ?? active.session));
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [answer, setAnswer] = useState<{ readonly text: string; readonly failed: boolean } | null>(null);
  if (operation === undefined) return null;
  const run = async (): Promise<void> => {
    try {
      const values = Object.fromEntries(
        operation.fields.flatMap((field) => {
          const value = fieldValue(field, typed[field.name] ?? "");
          return value === undefined ? [] : [[field.name, value]];
        }),
      );
      const text = await perform(workspace.server, operation, target, values);
      setAnswer({ text: text === "" ? "Done." : text, failed: false });
    } catch (thrown) {
      const hint = thrown instanceof Refusal ? thrown.hint : "";
      setAnswer({ text: `${thrown instanceof Error ? thrown.message : String(thrown)}\n${hint}`.trim(), failed: true });
    }
  };
  return (
    <form
      class="form operation"
      onSubmit={(event) => {
        event.preventDefault();
        void run();
      }}
    >
      <h2>{operation.summary}</h2>
      <p class="quiet">
        <code>{name}</code>
      </p>
      {operation.needsSession && (
        <label>
          Target
          <input
            type="text"
            required
            list="targets"
            value={target}
            onInput={({ currentTarget }) => setTarget(currentTarget.value)}
          />
          <datalist id="targets">
            {sessions.value.map((session) => (
              <option key={session.id} value={session.name} />
            ))}
          </datalist>
        </label>
      )}
      {operation.fields.map((field) => (
        <OneField
          key={field.name}
          field={field}
          value={typed[field.name] ?? ""}
          change={(value) => setTyped({ ...typed, [field.name]: value })}
        />
      ))}
      <button type="submit" class="primary">
        Run
      </button>
      {answer !== null && <pre class={answer.failed ? "answer failed" : "answer"}>{answer.text}</pre>}
    </form>
  );
}

function OneField({
  field,
  value,
  change,
}: {
  readonly field: FormField;
  readonly value: string;
  readonly change: (value: string) => void;
}) {
  const { name, description, required, kind, choices } = field;
  const options = kind === "flag" ? ["true", "false"] : choices;
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: one of the two controls is inside
    <label title={description}>
      <span>
        {name}
        {required && " *"} <small>{description}</small>
      </span>
      {options.length > 0 ? (
        <select value={value} required={required} onChange={({ currentTarget }) => change(currentTarget.value)}>
          <option value="" />
          {options.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          inputMode={kind === "number" ? "decimal" : "text"}
          required={required}
          placeholder={kind === "json" ? "JSON" : ""}
          value={value}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      )}
    </label>
  );
}
