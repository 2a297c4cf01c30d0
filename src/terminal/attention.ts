/**
 * Notifications and progress in a program's output: OSC 9 (iTerm2, ConEmu), 777 (urxvt) and 99 (kitty). Pure,
 * except for a kitty notification that is sent in pieces: at most one is pending.
 *
 * Formats: iTerm2's "Proprietary Escape Codes" (OSC 9 ; text), ConEmu's "ANSI escape codes" (OSC 9 ; 4 ; state ; percent,
 * and other subcommands with a number first), kitty's "Desktop notifications" (OSC 99 ; key=value:… ; payload).
 */
import type { NotificationForm } from "../protocol/attention.ts";

/** Maximum characters of a notification. */
const MAX_TEXT = 512;

export type Attention =
  | { readonly kind: "notification"; readonly by: NotificationForm; readonly text: string }
  /** cleared: progress is no longer shown. stopped: it shows an error, or a pause. */
  | { readonly kind: "progress"; readonly state: "active" | "cleared" | "stopped" };

const progressStates: Readonly<Record<string, "active" | "cleared" | "stopped">> = {
  "0": "cleared",
  "1": "active",
  "2": "stopped",
  "3": "active",
  "4": "stopped",
};

/** OSC 9: progress, a notification, or null for ConEmu's other subcommands. */
export function parseOsc9(data: string): Attention | null {
  const [, digits, rest] = /^(\d{1,2})(?:;(.*))?$/s.exec(data) ?? [];
  if (digits === undefined) {
    return data.trim() === "" ? null : { kind: "notification", by: "OSC 9", text: data.slice(0, MAX_TEXT) };
  }
  if (digits !== "4") return null;
  const state = progressStates[(rest ?? "0").split(";", 1)[0] || "0"];
  return state === undefined ? null : { kind: "progress", state };
}

/** OSC 777 ; notify ; title ; body. */
export function parseOsc777(data: string): Attention | null {
  const [command, title = "", ...body] = data.split(";");
  if (command !== "notify") return null;
  const text = [title, body.join(";")].filter((part) => part !== "").join(": ");
  return { kind: "notification", by: "OSC 777", text: text.slice(0, MAX_TEXT) };
}

/** Assembles kitty's notifications from their pieces. */
export class KittyNotifications {
  private id = "";
  private title = "";
  private body = "";

  /** @returns the notification that this piece completes */
  parse(data: string): Attention | null {
    const end = data.indexOf(";");
    if (end < 0) return null;
    const keys = new Map(
      data
        .slice(0, end)
        .split(":")
        .map((pair) => [pair.slice(0, 1), pair.slice(2)] as const),
    );
    const what = keys.get("p") ?? "title";
    const id = keys.get("i") ?? "";
    if (id !== this.id || id === "") this.begin(id);
    const text = decodePayload(data.slice(end + 1), keys.get("e") === "1");
    if (what === "title") this.title = `${this.title}${text}`.slice(0, MAX_TEXT);
    else if (what === "body") this.body = `${this.body}${text}`.slice(0, MAX_TEXT);
    // Closing, queries, icons and buttons cause no notification.
    else if (what !== "icon" && what !== "buttons") return null;
    if (keys.get("d") === "0") return null;
    const whole = [this.title, this.body].filter((part) => part !== "").join(": ");
    this.begin("");
    return whole === "" ? null : { kind: "notification", by: "OSC 99", text: whole.slice(0, MAX_TEXT) };
  }

  private begin(id: string): void {
    this.id = id;
    this.title = "";
    this.body = "";
  }
}

function decodePayload(payload: string, isBase64: boolean): string {
  return isBase64 ? Buffer.from(payload.slice(0, 2 * MAX_TEXT), "base64").toString() : payload.slice(0, MAX_TEXT);
}
