/** The page's frame: the list of sessions, the terminals, and dialogs above them. */
import { useEffect } from "preact/hooks";
import { Dialogs } from "./dialogs.tsx";
import { KeyBar } from "./key-bar.tsx";
import { byName, isListed } from "./sessions.ts";
import { SessionsPanel } from "./sessions-panel.tsx";
import { settings } from "./settings.ts";
import { TileFrame } from "./tile-frame.tsx";
import { Toasts } from "./toast-list.tsx";
import type { Workspace } from "./workspace.ts";

export function App({ workspace }: { readonly workspace: Workspace }) {
  const tiles = workspace.tiles.value;
  const { state, why } = workspace.connection.value;
  useEffect(() => workspace.start(), [workspace]);
  return (
    <div class={`app${settings.value.sidebar ? "" : " narrow"}${workspace.isDrawerOpen.value ? " drawer-open" : ""}`}>
      <SessionsPanel workspace={workspace} />
      {workspace.isDrawerOpen.value && (
        <button
          type="button"
          class="shade"
          aria-label="Close the list"
          onClick={() => (workspace.isDrawerOpen.value = false)}
        />
      )}
      <main class={`tiles tiles-${tiles.length}`} aria-label="Terminals">
        {state === "refused" ? (
          <RefusedNotice why={why} byLink={workspace.isOpenedByLink} />
        ) : tiles.length === 0 ? (
          <EmptyWorkspace workspace={workspace} />
        ) : (
          tiles.map((tile) => <TileFrame key={tile.initialTarget} tile={tile} workspace={workspace} />)
        )}
      </main>
      <KeyBar workspace={workspace} />
      {workspace.openDialog.value === null && <Toasts />}
      <Dialogs workspace={workspace} />
    </div>
  );
}

function EmptyWorkspace({ workspace }: { readonly workspace: Workspace }) {
  if (!isListed.value)
    return (
      <div class="empty">{workspace.connection.value.why === "" ? "Connecting…" : workspace.connection.value.why}</div>
    );
  return (
    <div class="empty">
      <p>{byName.value.length === 0 ? "No sessions are running." : "No session selected."}</p>
      {workspace.mayCreate && (
        <button type="button" class="primary" onClick={() => void workspace.create({})}>
          New session
        </button>
      )}
    </div>
  );
}

function RefusedNotice({ why, byLink }: { readonly why: string; readonly byLink: boolean }) {
  if (byLink) {
    return (
      <div class="empty">
        <p>This link does not admit this browser.</p>
        <p class="quiet">
          It has ended or was revoked, or another browser opened it first: a link admits only one. Ask for another link.
        </p>
        <p class="quiet">{why}</p>
      </div>
    );
  }
  return (
    <div class="empty">
      <p>This browser is not logged in.</p>
      <p class="quiet">
        Run <code>wsh open</code> on the machine of the sessions: it opens this page logged in.{" "}
        <code>wsh open --print</code> prints the address, for another browser.
      </p>
      <p class="quiet">{why}</p>
    </div>
  );
}
