/** The flags of a client in control mode: `refresh-client -f` sets them, `#{client_flags}` prints them. */

const UNITS_MS = 1_000;
/** Flags without effect here; they are stored and printed. */
const KEPT = ["ignore-size", "read-only", "active-pane"];

export class ClientFlags {
  /** Longest wait of a pane's output in ms; null: without limit. */
  pauseAfterMs: number | null = null;
  /** Whether no output is sent. */
  isSilent = false;
  waitsForExit = false;
  private readonly storedFlags = new Set<string>();

  set(names: string): void {
    for (const name of names.split(",")) {
      const isOn = !name.startsWith("!");
      const flag = isOn ? name : name.slice(1);
      const [, seconds] = /^pause-after(?:=(\d+))?$/.exec(flag) ?? [];
      if (flag.startsWith("pause-after")) this.pauseAfterMs = isOn ? Number(seconds ?? 0) * UNITS_MS : null;
      if (flag === "no-output") this.isSilent = isOn;
      if (flag === "wait-exit") this.waitsForExit = isOn;
      if (!KEPT.includes(flag)) continue;
      if (isOn) this.storedFlags.add(flag);
      else this.storedFlags.delete(flag);
    }
  }

  get text(): string {
    const kept = (flag: string): string => (this.storedFlags.has(flag) ? flag : "");
    return [
      ...["attached", "focused", "control-mode", kept("ignore-size")],
      ...[this.isSilent ? "no-output" : "", this.waitsForExit ? "wait-exit" : ""],
      this.pauseAfterMs === null ? "" : `pause-after=${this.pauseAfterMs / UNITS_MS}`,
      ...[kept("read-only"), kept("active-pane"), "UTF-8"],
    ]
      .filter((flag) => flag !== "")
      .join(",");
  }
}
