/** The settings of this browser. */
import { change, FONT_SIZES, settings } from "./settings.ts";
import { toast } from "./toasts.ts";
import type { Workspace } from "./workspace.ts";

export function SettingsForm({ workspace }: { readonly workspace: Workspace }) {
  const now = settings.value;
  return (
    <form class="form settings" method="dialog">
      <h2>Settings of this browser</h2>
      <label>
        Theme
        <select
          value={now.theme}
          onChange={({ currentTarget: { value } }) =>
            change({ theme: value === "light" || value === "dark" ? value : "system" })
          }
        >
          <option value="system">same as the system</option>
          <option value="light">light</option>
          <option value="dark">dark</option>
        </select>
      </label>
      <label>
        Font size
        <input
          type="number"
          min={FONT_SIZES.least}
          max={FONT_SIZES.greatest}
          value={now.fontSize}
          onChange={({ currentTarget: { valueAsNumber } }) => {
            if (valueAsNumber >= FONT_SIZES.least && valueAsNumber <= FONT_SIZES.greatest)
              change({ fontSize: valueAsNumber });
          }}
        />
      </label>
      <label>
        Font
        <input
          type="text"
          placeholder="the system's monospace"
          value={now.fontFamily}
          onChange={({ currentTarget }) => change({ fontFamily: currentTarget.value.trim() })}
        />
      </label>
      <label title="fit: sessions take this page's size while it is used; follow: the page takes theirs">
        Size
        <select
          value={now.size}
          onChange={({ currentTarget: { value } }) => change({ size: value === "follow" ? "follow" : "fit" })}
        >
          <option value="fit">fit sessions to this page</option>
          <option value="follow">follow the sessions' size</option>
        </select>
      </label>
      {check("Live rows in the list", now.miniatures, (miniatures) => change({ miniatures }))}
      {check("Cursors blink where programs want it", now.cursorBlinks, (cursorBlinks) => change({ cursorBlinks }))}
      {check("Notices when an agent needs you, or a command has ended", now.notices, async (wanted) => {
        const may = !wanted || (await workspace.notices.allow());
        if (!may) toast("The browser does not allow notifications for this page.", { kind: "error" });
        change({ notices: wanted && may });
      })}
      <label>
        …that took longer than, in seconds
        <input
          type="number"
          min={0}
          value={now.noticeAfterS}
          onChange={({ currentTarget: { valueAsNumber } }) => {
            if (valueAsNumber >= 0) change({ noticeAfterS: valueAsNumber });
          }}
        />
      </label>
      <button type="submit" class="primary">
        Done
      </button>
    </form>
  );
}

function check(label: string, checked: boolean, changed: (checked: boolean) => void) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={({ currentTarget }) => changed(currentTarget.checked)} />
      {label}
    </label>
  );
}
