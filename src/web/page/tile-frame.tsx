/** One terminal with its header: name, windows, actions of panes, and the state of the connection. */
import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "../../protocol/plural.ts";
import type { WindowInfo } from "../../protocol/session.ts";
import { CommandMenu } from "./command-menu.tsx";
import { FindBar } from "./find-bar.tsx";
import { IconButton } from "./icon-button.tsx";
import { SessionName } from "./session-name.tsx";
import { describeState } from "./session-state.ts";
import type { Tile } from "./tile.ts";
import type { Workspace } from "./workspace.ts";

const READ_ONLY = "You can neither type nor change anything here";

export function TileFrame({ tile, workspace }: { readonly tile: Tile; readonly workspace: Workspace }) {
  const home = useRef<HTMLDivElement>(null);
  const info = workspace.infoOf(tile);
  const isActive = workspace.active.value === tile;
  useEffect(() => {
    home.current?.append(tile.terminal.element);
    tile.mounted();
    if (workspace.active.peek() === tile) workspace.focus(tile);
  }, [tile, workspace]);
  return (
    <section class={`tile${isActive ? " active" : ""}`} aria-label={`Session ${tile.name}`}>
      <header>
        <button
          type="button"
          class="icon menu"
          aria-label="Sessions"
          onClick={() => (workspace.isDrawerOpen.value = true)}
        >
          ☰
        </button>
        <b class="name" title={tile.name}>
          <SessionName name={tile.name} />
        </b>
        {info !== undefined && <span class={`state ${describeState(info).tone}`}>{describeState(info).words}</span>}
        {info !== undefined && <Windows windows={info.windows} tile={tile} workspace={workspace} />}
        <span class="title">{tile.title.value}</span>
        <TileState tile={tile} />
        <Actions tile={tile} workspace={workspace} />
      </header>
      {tile.isFindOpen.value && <FindBar tile={tile} />}
      <div class="home" ref={home} />
      <CommandMenu tile={tile} workspace={workspace} />
      {tile.isScrolledUp.value && (
        <button type="button" class="newest" onClick={() => toNewest(tile)}>
          ↓ newest
        </button>
      )}
      <Interrupted tile={tile} workspace={workspace} />
    </section>
  );
}

function toNewest(tile: Tile): void {
  for (const pane of tile.terminal.panes) pane.scrollToEnd();
  tile.terminal.input.focus();
}

function Windows({
  windows,
  tile,
  workspace,
}: {
  readonly windows: readonly WindowInfo[];
  readonly tile: Tile;
  readonly workspace: Workspace;
}) {
  if (windows.length < 2) return null;
  return (
    <span class="windows" role="tablist" aria-label="Windows">
      {windows.map(({ id, index, name, active }) => (
        <button
          type="button"
          key={id}
          role="tab"
          aria-selected={active}
          class={active ? "active" : ""}
          onClick={() => {
            void workspace.act("select_window", {}, id, tile);
            tile.terminal.input.focus();
          }}
          disabled={workspace.isReadOnly.value}
          title={workspace.isReadOnly.value ? READ_ONLY : `Window ${index} of ${tile.name}`}
        >
          {index} {name}
        </button>
      ))}
    </span>
  );
}

function TileState({ tile }: { readonly tile: Tile }) {
  const { value } = tile.state;
  return (
    <span class="tile-state">
      {tile.access.value === "observe" && value === "live" && (
        <span class="badge" title={READ_ONLY}>
          read-only
        </span>
      )}
      {tile.isCaptured.value && tile.access.value !== "observe" && (
        <button
          type="button"
          class="badge needs"
          title="A program has captured the keyboard; click to take it back"
          onClick={() => tile.release()}
        >
          keyboard captured
        </button>
      )}
      <i
        class={`dot ${value === "live" ? "live" : value === "lost" || value === "silent" ? "lost" : ""}`}
        title={value === "live" ? "live" : tile.why.value}
      />
    </span>
  );
}

function Actions({ tile, workspace }: { readonly tile: Tile; readonly workspace: Workspace }) {
  const [isOpen, setOpen] = useState(false);
  const target = (): string => tile.terminal.activePane?.place.id ?? tile.session;
  const runOnTile = (method: string, params: object) => () => {
    setOpen(false);
    void workspace.act(method, params, target(), tile);
    tile.terminal.input.focus();
  };
  return (
    <span class={`actions${isOpen ? " open" : ""}`}>
      {!workspace.isReadOnly.value && (
        <>
          <IconButton
            glyph="◫"
            title="Split to the right"
            onClick={runOnTile("split_pane", { direction: "right", focus: true })}
          />
          <IconButton
            glyph="◫"
            title="Split below"
            isTurned
            onClick={runOnTile("split_pane", { direction: "down", focus: true })}
          />
          <IconButton glyph="+" title="New window" onClick={runOnTile("create_window", { focus: true })} />
        </>
      )}
      <IconButton glyph="⌕" title="Find (Ctrl+Shift+F)" label="Find" onClick={() => (tile.isFindOpen.value = true)} />
      <IconButton
        glyph="×"
        title="Remove it from the page; the session keeps running"
        label="Close"
        onClick={() => workspace.hide(tile)}
      />
    </span>
  );
}

/** Shows that a connection is interrupted, and the input typed meanwhile. */
function Interrupted({ tile, workspace }: { readonly tile: Tile; readonly workspace: Workspace }) {
  const { value } = tile.state;
  const pendingCharacters = tile.pendingCharacters.value;
  const isOver = value === "ended" || value === "refused";
  if ((value === "live" || value === "connecting") && pendingCharacters === 0) return null;
  const why = tile.why.value;
  const words =
    value === "lost" ? `Reconnecting: ${why}.` : value === "silent" ? `Waiting: ${why}.` : isOver ? why : "Waiting.";
  return (
    <div class={`lost ${isOver ? value : "lost"}`} role="status">
      <span>{words}</span>
      {pendingCharacters > 0 && <span class="held">{plural(pendingCharacters, "character")} pending.</span>}
      {pendingCharacters > 0 && (
        <button type="button" onClick={() => tile.dropUnsentInput()}>
          Drop
        </button>
      )}
      {isOver && (
        <button type="button" onClick={() => workspace.hide(tile)}>
          Close
        </button>
      )}
      {(isOver || value === "lost") && (
        <button type="button" onClick={() => (isOver ? tile.connect() : tile.retry())}>
          {isOver ? "Again" : "Now"}
        </button>
      )}
    </div>
  );
}
