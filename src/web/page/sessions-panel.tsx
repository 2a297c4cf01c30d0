/** All sessions: state, agent, newest command, a live miniature; what can be done with each. */
import type { TargetedKeyboardEvent } from "preact";
import { useState } from "preact/hooks";
import type { SessionInfo } from "../../protocol/session.ts";
import { Miniature } from "./miniature.tsx";
import { shortPath, stateOf } from "./session-words.ts";
import { byName, lastCommands, questions } from "./sessions.ts";
import { change, settings } from "./settings.ts";
import type { Workspace } from "./workspace.ts";

export function SessionsPanel({ workspace }: { readonly workspace: Workspace }) {
  const [filter, setFilter] = useState("");
  const wanted = filter.toLowerCase();
  const listed = byName.value.filter(
    ({ name, tags, cwd }) =>
      wanted === "" || [name, ...tags, cwd ?? ""].some((text) => text.toLowerCase().includes(wanted)),
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
          placeholder={`${byName.value.length} ${byName.value.length === 1 ? "session" : "sessions"}`}
          aria-label="Filter sessions"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
        <button
          type="button"
          class="icon"
          title="New session"
          aria-label="New session"
          onClick={() => (workspace.open.value = { kind: "new" })}
        >
          +
        </button>
      </header>
      <ul onKeyDown={(event) => walk(event, workspace)}>
        {listed.map((session) => (
          <SessionItem key={session.id} session={session} workspace={workspace} />
        ))}
        {listed.length === 0 && byName.value.length > 0 && <li class="none">Nothing fits “{filter}”.</li>}
      </ul>
      <footer>
        <Connection workspace={workspace} />
        <button
          type="button"
          class="icon"
          title="Everything that can be done (Ctrl+Shift+P)"
          aria-label="Palette"
          onClick={() => (workspace.open.value = { kind: "palette", query: "" })}
        >
          ⌘
        </button>
        <button
          type="button"
          class="icon"
          title="Settings"
          aria-label="Settings"
          onClick={() => (workspace.open.value = { kind: "settings" })}
        >
          ⚙
        </button>
      </footer>
    </nav>
  );
}

/** Arrows go from session to session, Escape back to the terminal. */
function walk(event: TargetedKeyboardEvent<HTMLElement>, workspace: Workspace): void {
  const { key, target, currentTarget } = event;
  if (key === "Escape") workspace.focus(workspace.active.peek());
  if ((key !== "ArrowDown" && key !== "ArrowUp") || !(target instanceof Element)) return;
  const all = Array.from(currentTarget.querySelectorAll<HTMLElement>(".choose"));
  const at = all.findIndex((each) => each.parentElement?.contains(target) === true);
  all[at + (key === "ArrowDown" ? 1 : -1)]?.focus();
  event.preventDefault();
}

function Connection({ workspace }: { readonly workspace: Workspace }) {
  const { state, why } = workspace.connection.value;
  const words = { live: "connected", lost: "reconnecting…", connecting: "connecting…", refused: "not logged in" }[
    state
  ];
  return (
    <span class={`connection ${state}`} role="status" title={why}>
      <i class="dot" /> {words}
    </span>
  );
}

function SessionItem({ session, workspace }: { readonly session: SessionInfo; readonly workspace: Workspace }) {
  const { id, name, tags, cwd, attached } = session;
  const { words, tone } = stateOf(session);
  const command = lastCommands.value.get(id);
  const asked = questions.value.get(id) ?? [];
  const isShown = workspace.tiles.value.some((tile) => tile.session === id);
  const isActive = workspace.active.value?.session === id;
  const isEnding = workspace.ending.value.has(id);
  return (
    <li
      class={`session${isActive ? " active" : ""}${isShown ? " shown" : ""}${isEnding ? " ending" : ""}`}
      data-session={name}
    >
      <button
        type="button"
        class="choose"
        aria-current={isActive ? "true" : undefined}
        title="Click shows it; with Ctrl beside the others"
        onClick={(event) => workspace.show(id, event.ctrlKey || event.metaKey)}
      >
        <span class="first">
          <i class={`dot ${tone}`} />
          <b>{name}</b>
          {attached > 0 && (
            <span class="viewers" title="Terminals and pages that show it">
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
          <span class="path">{shortPath(cwd)}</span>
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
        {asked.map((question) => (
          <span key={question.ask_id} class="question">
            {question.asked_by} asks: {question.question}
          </span>
        ))}
        {settings.value.miniatures && !isShown && <Miniature session={id} workspace={workspace} />}
      </button>
      <span class="actions">
        <button
          type="button"
          class="icon"
          title="Show beside the others"
          aria-label={`Show ${name} beside the others`}
          onClick={() => workspace.show(id, true)}
        >
          ⊞
        </button>
        <button
          type="button"
          class="icon"
          title="Rename"
          aria-label={`Rename ${name}`}
          onClick={() => (workspace.open.value = { kind: "rename", session })}
        >
          ✎
        </button>
        <button
          type="button"
          class="icon"
          title="Tags"
          aria-label={`Tags of ${name}`}
          onClick={() => (workspace.open.value = { kind: "tags", session })}
        >
          #
        </button>
        <button
          type="button"
          class="icon"
          title="End the session"
          aria-label={`End ${name}`}
          disabled={isEnding}
          onClick={() => workspace.kill(session)}
        >
          ×
        </button>
      </span>
    </li>
  );
}
