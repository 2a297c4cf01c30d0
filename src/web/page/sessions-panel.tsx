/** All sessions: state, agent, newest command, a live miniature, and their actions. */
import type { TargetedFocusEvent, TargetedKeyboardEvent } from "preact";
import { useState } from "preact/hooks";
import { activePane } from "../../protocol/active-pane.ts";
import { plural } from "../../protocol/plural.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import { IconButton } from "./icon-button.tsx";
import { Miniature } from "./miniature.tsx";
import { SessionName } from "./session-name.tsx";
import { describeState, shortPath } from "./session-state.ts";
import { byName, lastCommands, questions } from "./sessions.ts";
import { change, settings } from "./settings.ts";
import type { Workspace } from "./workspace.ts";

export function SessionsPanel({ workspace }: { readonly workspace: Workspace }) {
  const [filter, setFilter] = useState("");
  const [tabStop, setTabStop] = useState<TabStop>({ id: null, buttonIndex: 0 });
  const filterText = filter.toLowerCase();
  const listedSessions = byName.value.filter(
    ({ name, tags, cwd }) =>
      filterText === "" || [name, ...tags, cwd ?? ""].some((text) => text.toLowerCase().includes(filterText)),
  );
  const tabStopId = [tabStop.id, workspace.active.value?.session].find((id) =>
    listedSessions.some((each) => each.id === id),
  );
  return (
    <nav class="sessions" aria-label="Sessions">
      <header>
        <button
          type="button"
          class="icon fold-list"
          title={settings.value.sidebar ? "Hide the list" : "Show the list"}
          aria-label={settings.value.sidebar ? "Hide the list" : "Show the list"}
          onClick={() => change({ sidebar: !settings.value.sidebar })}
        >
          ☰
        </button>
        <input
          type="search"
          placeholder={plural(byName.value.length, "session")}
          aria-label="Filter sessions"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
        {workspace.mayCreate && (
          <IconButton glyph="+" title="New session" onClick={() => (workspace.openDialog.value = { kind: "new" })} />
        )}
      </header>
      <ul
        onKeyDown={(event) => moveFocus(event, workspace)}
        onFocusIn={(event) => setTabStop(tabStopOf(event))}
        // The actions of a session are hidden without the focus, and Tab must not stop at them.
        onFocusOut={() => setTabStop(({ id }) => ({ id, buttonIndex: 0 }))}
      >
        {listedSessions.map((session) => (
          <SessionItem
            key={session.id}
            session={session}
            workspace={workspace}
            stop={
              (tabStopId ?? listedSessions[0]?.id) === session.id
                ? session.id === tabStop.id
                  ? tabStop.buttonIndex
                  : 0
                : null
            }
          />
        ))}
        {listedSessions.length === 0 && byName.value.length > 0 && <li class="none">No session matches “{filter}”.</li>}
      </ul>
      <footer>
        <Connection workspace={workspace} />
        <IconButton
          glyph="⌘"
          title="All actions (Ctrl+Shift+P)"
          label="Palette"
          onClick={() => (workspace.openDialog.value = { kind: "palette", query: "" })}
        />
        <IconButton glyph="⚙" title="Settings" onClick={() => (workspace.openDialog.value = { kind: "settings" })} />
      </footer>
    </nav>
  );
}

/** The only Tab stop of the list: a session, and one of its buttons. */
interface TabStop {
  readonly id: string | null;
  readonly buttonIndex: number;
}

function tabStopOf({ target }: TargetedFocusEvent<HTMLElement>): TabStop {
  const row = target instanceof Element ? target.closest<HTMLElement>(".session") : null;
  const index = target instanceof HTMLElement ? buttonsOf(row).indexOf(target) : -1;
  return { id: row?.dataset.id ?? null, buttonIndex: Math.max(0, index) };
}

function buttonsOf(row: Element | null | undefined): HTMLElement[] {
  return Array.from(row?.querySelectorAll("button") ?? []);
}

/** Arrow keys move between sessions and along a session's actions; Escape returns to the terminal. */
function moveFocus(event: TargetedKeyboardEvent<HTMLElement>, workspace: Workspace): void {
  const { key, target, currentTarget, ctrlKey } = event;
  if (key === "Escape") workspace.focus(workspace.active.peek());
  if (!(target instanceof HTMLElement) || event.altKey || event.metaKey || event.shiftKey) return;
  const rows = Array.from(currentTarget.querySelectorAll(".session"));
  const row = rows.findIndex((each) => each.contains(target));
  const buttons = buttonsOf(rows[row]);
  const index = buttons.indexOf(target);
  const targets = new Map<string, HTMLElement | undefined>(
    ctrlKey
      ? [
          ["Home", buttonsOf(rows[0])[0]],
          ["End", buttonsOf(rows.at(-1))[0]],
        ]
      : [
          ["ArrowDown", buttonsOf(rows[row + 1])[0]],
          ["ArrowUp", buttonsOf(rows[row - 1])[0]],
          ["ArrowRight", buttons[index + 1]],
          ["ArrowLeft", buttons[index - 1]],
          ["Home", buttons[0]],
          ["End", buttons.at(-1)],
        ],
  );
  if (!targets.has(key)) return;
  targets.get(key)?.focus();
  event.preventDefault();
}

function Connection({ workspace }: { readonly workspace: Workspace }) {
  const { state, why } = workspace.connection.value;
  const words = {
    live: "connected",
    silent: "no answer",
    lost: "reconnecting…",
    connecting: "connecting…",
    refused: "not logged in",
  }[state];
  return (
    <span class={`connection ${state}`} role="status" title={why}>
      <i class="dot" /> {words}
    </span>
  );
}

function SessionItem({
  session,
  workspace,
  stop,
}: {
  readonly session: SessionInfo;
  readonly workspace: Workspace;
  /** The button that is the Tab stop; null: none. */
  readonly stop: number | null;
}) {
  const { id, name, tags, attached } = session;
  const pane = activePane(session);
  const { words, tone } = describeState(session);
  const command = lastCommands.value.get(pane?.id ?? "");
  const sessionQuestions = questions.value.get(id) ?? [];
  const isShown = workspace.tiles.value.some((tile) => tile.session === id);
  const isActive = workspace.active.value?.session === id;
  const isEnding = workspace.endingSessions.value.has(id);
  return (
    <li
      data-id={id}
      class={`session${isActive ? " active" : ""}${isShown ? " shown" : ""}${isEnding ? " ending" : ""}`}
      data-session={name}
    >
      <button
        type="button"
        class="choose"
        tabIndex={stop === 0 ? 0 : -1}
        aria-current={isActive ? "true" : undefined}
        title="Click shows it; Ctrl+click shows it beside the others"
        onClick={(event) => workspace.show(id, event.ctrlKey || event.metaKey)}
      >
        <span class="first">
          <i class={`dot ${tone}`} />
          <b>
            <SessionName name={name} />
          </b>
          {attached > 0 && (
            <span class="viewers" title="Attached terminals and pages">
              {attached} here
            </span>
          )}
          {tags.map((tag) => (
            <span key={tag} class="tag">
              {tag}
            </span>
          ))}
        </span>
        <span class="second">
          <span class={`state ${tone}`}>{words}</span>
          <span class="path">{shortPath(pane?.cwd ?? session.cwd)}</span>
        </span>
        {command?.command != null && (
          <span class="command">
            {command.state === "running" ? (
              "▸"
            ) : command.exit_code === 0 ? (
              "✓"
            ) : command.exit_code === null ? (
              "·"
            ) : (
              <em>{command.exit_code}</em>
            )}{" "}
            <code>{command.command.split("\n")[0]}</code>
          </span>
        )}
        {sessionQuestions.map((question) => (
          <span key={question.ask_id} class="question">
            {question.asked_by} asks: {question.question}
          </span>
        ))}
        {settings.value.miniatures && !isShown && <Miniature session={id} workspace={workspace} />}
      </button>
      <span class="actions">
        <IconButton
          glyph="⊞"
          title="Show beside the others"
          label={`Show ${name} beside the others`}
          isStop={stop === 1}
          onClick={() => workspace.show(id, true)}
        />
        {!workspace.isReadOnly.value && (
          <>
            <IconButton
              glyph="✎"
              title="Rename"
              label={`Rename ${name}`}
              isStop={stop === 2}
              onClick={() => (workspace.openDialog.value = { kind: "rename", session })}
            />
            <IconButton
              glyph="#"
              title="Tags"
              label={`Tags of ${name}`}
              isStop={stop === 3}
              onClick={() => (workspace.openDialog.value = { kind: "tags", session })}
            />
            <IconButton
              glyph="×"
              title="End the session"
              label={`End ${name}`}
              isStop={stop === 4}
              isDisabled={isEnding}
              onClick={() => workspace.kill(session)}
            />
          </>
        )}
      </span>
    </li>
  );
}
