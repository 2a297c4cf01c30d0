/** Activity and the waits for silence that depend on it, joined as in a pane. */
import type { Clock } from "../../src/base/clock.ts";
import { Activity } from "../../src/pane/activity.ts";
import { Silence } from "../../src/pane/waiting/silence.ts";

export function watched(clock: Clock): { readonly activity: Activity; readonly silence: Silence } {
  const activity: Activity = new Activity(clock, () => silence.noteActivity());
  const silence = new Silence(clock, activity);
  return { activity, silence };
}
