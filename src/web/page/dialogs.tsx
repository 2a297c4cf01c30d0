/** Modal dialogs above the terminals, closed by Escape, which then return the focus. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SessionInfo } from "../../protocol/session.ts";
import { Keys } from "./keys-dialog.tsx";
import type { OpenDialog } from "./open.ts";
import { OperationForm } from "./operation-form.tsx";
import { Palette } from "./palette.tsx";
import { SettingsForm } from "./settings-form.tsx";
import { Toasts } from "./toast-list.tsx";
import { showError } from "./toasts.ts";
import type { Workspace } from "./workspace.ts";

export function Dialogs({ workspace }: { readonly workspace: Workspace }) {
  const open = workspace.openDialog.value;
  const last = useRef({ open, count: 0 });
  if (last.current.open !== open) last.current = { open, count: last.current.count + 1 };
  // A dialog that directly follows another one, even of the same kind, needs a new element: it is requested before the
  // browser reports that the other was closed.
  return open === null ? null : <Dialog key={last.current.count} open={open} workspace={workspace} />;
}

const labels: Readonly<Record<OpenDialog["kind"], string>> = {
  palette: "Palette",
  settings: "Settings",
  keys: "Keys",
  new: "New session",
  rename: "Rename",
  tags: "Tags",
  paste: "Paste",
  confirm: "Confirm",
  operation: "Operation",
};

function Dialog({ open, workspace }: { readonly open: OpenDialog; readonly workspace: Workspace }) {
  const element = useRef<HTMLDialogElement>(null);
  // Runs before the browser handles anything else: a key typed now goes to the dialog, not to the program below.
  useLayoutEffect(() => element.current?.showModal(), []);
  return (
    // A click beside the dialog closes it; so does Escape, which the element itself handles.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <dialog
      ref={element}
      class={open.kind === "palette" || open.kind === "operation" ? "wide" : ""}
      aria-label={labels[open.kind]}
      onClose={() => {
        if (open.kind === "paste") open.decide(false);
        if (workspace.openDialog.peek() === open) workspace.close();
      }}
      onClick={({ target }) => target === element.current && element.current?.close()}
    >
      {contentOf(open, workspace)}
      <Toasts />
    </dialog>
  );
}

function contentOf(open: OpenDialog, workspace: Workspace): ComponentChildren {
  switch (open.kind) {
    case "palette":
      return <Palette workspace={workspace} query={open.query} />;
    case "settings":
      return <SettingsForm workspace={workspace} />;
    case "keys":
      return <Keys />;
    case "new":
      return <NewSession workspace={workspace} />;
    case "rename":
      return (
        <OneLine
          label={`New name of ${open.session.name}`}
          value={open.session.name}
          action="Rename"
          run={(name) => update(workspace, open.session, { name })}
        />
      );
    case "tags":
      return (
        <OneLine
          label={`Tags of ${open.session.name}, separated by blanks`}
          value={open.session.tags.join(" ")}
          action="Save"
          run={(text) => {
            const wanted = text.split(/\s+/).filter((tag) => tag !== "");
            const { tags } = open.session;
            return update(workspace, open.session, {
              add_tags: wanted.filter((tag) => !tags.includes(tag)),
              remove_tags: tags.filter((tag) => !wanted.includes(tag)),
            });
          }}
        />
      );
    case "paste":
      return <Paste text={open.text} decide={open.decide} workspace={workspace} />;
    case "confirm":
      return <Confirm {...open} workspace={workspace} />;
    case "operation":
      return <OperationForm name={open.name} workspace={workspace} />;
  }
}

async function update(workspace: Workspace, { id }: SessionInfo, changes: object): Promise<void> {
  try {
    await workspace.control.call("update_session", changes, id);
    workspace.list.scheduleList(0);
    workspace.close();
  } catch (thrown) {
    showError(thrown);
  }
}

function OneLine({
  label,
  value,
  action,
  run,
}: {
  readonly label: string;
  readonly value: string;
  readonly action: string;
  readonly run: (text: string) => Promise<void>;
}) {
  const [text, setText] = useState(value);
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void run(text.trim());
      }}
    >
      <label>
        {label}
        <input type="text" value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
      </label>
      <button type="submit" class="primary">
        {action}
      </button>
    </form>
  );
}

function NewSession({ workspace }: { readonly workspace: Workspace }) {
  const [fields, setFields] = useState({ name: "", command: "", cwd: "" });
  const filledFields = Object.fromEntries(Object.entries(fields).filter(([, value]) => value.trim() !== ""));
  const field = (name: keyof typeof fields, label: string, placeholder: string) => (
    <label>
      {label}
      <input
        type="text"
        placeholder={placeholder}
        value={fields[name]}
        onInput={({ currentTarget }) => setFields({ ...fields, [name]: currentTarget.value })}
      />
    </label>
  );
  return (
    <form
      class="form"
      onSubmit={async (event) => {
        event.preventDefault();
        if (await workspace.create(filledFields, true)) workspace.close();
      }}
    >
      <h2>New session</h2>
      {field("name", "Name", "the next free number")}
      {field("command", "Command", "a shell")}
      {field("cwd", "Directory", "home")}
      <button type="submit" class="primary">
        Start
      </button>
    </form>
  );
}

/** No has the focus, so that Enter alone loses nothing. */
function Confirm({
  question,
  detail,
  action,
  run,
  workspace,
}: Extract<OpenDialog, { kind: "confirm" }> & { readonly workspace: Workspace }) {
  return (
    <div class="form">
      <h2>{question}</h2>
      <p class="quiet">{detail}</p>
      <div class="row-of-buttons">
        <button type="button" onClick={() => workspace.close()}>
          No
        </button>
        <button
          type="button"
          class="danger"
          onClick={() => {
            workspace.close();
            run();
          }}
        >
          {action}
        </button>
      </div>
    </div>
  );
}

function Paste({
  text,
  decide,
  workspace,
}: {
  readonly text: string;
  readonly decide: (yes: boolean) => void;
  readonly workspace: Workspace;
}) {
  const lines = text.replace(/\r$/, "").split("\r");
  const end = (yes: boolean) => () => {
    decide(yes);
    workspace.close();
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        end(true)();
      }}
    >
      <h2>Paste {lines.length} lines?</h2>
      <p class="quiet">The program cannot distinguish a paste from typing: each line runs once it is typed.</p>
      <pre class="pasted">{lines.join("\n")}</pre>
      <div class="row-of-buttons">
        <button type="submit" class="primary">
          Paste
        </button>
        <button type="button" onClick={end(false)}>
          No
        </button>
      </div>
    </form>
  );
}
