/**
 * Judges an agent's state from the known facts. Pure: the same facts at the same time give the same answer, which names
 * its source. The best source decides: the agent's own hooks, then its announcements to the terminal, then whether it
 * prints. Text on the screen is never read.
 *
 * Each source is blind to something. Hooks report no rejected permission and no interrupt: a hook's
 * `needs_input` is over once the person has typed and the agent continues; a hook's `working` is over when
 * the agent got input and rests. Output alone does not show whether an agent has finished or asks: at rest it
 * is `needs_input`, never `idle` or `done`.
 */
import type { AgentSource, AgentState } from "../../protocol/agent.ts";

/** Duration after input, or after a pause, from which continued output is work and not an echo, in ms. */
const WORK_MS = 1_500;
/** Longest pause within continued output, in ms: counters of seconds redraw once a second. */
const PAUSE_MS = 1_200;
/** Silence after which an agent without hooks may be at rest, in ms: spinners turn faster. */
export const REST_MS = 3_000;
/** The same for an agent whose hooks reported work, in ms: input may have interrupted it. */
const INTERRUPTED_MS = 5_000;
/** The same without input, in ms: agents that work redraw, and a hook that ends a turn can be lost. */
const HOOKS_STOPPED_MS = 300_000;
/** Interval between two checks whether a child of a resting agent still works, in ms. */
export const BUSY_CHECK_MS = 3_000;

/** The last report of an agent's hook, or a conclusion from it. */
interface ReportedState {
  readonly state: AgentState;
  readonly source: AgentSource;
  readonly why: string;
  readonly message?: string | undefined;
  readonly reportedAt: number;
}

/** Times are of the pane's clock; -Infinity for never. */
export interface AgentKnowledge {
  /** The newest report of its hooks. */
  readonly hook: ReportedState | null;
  readonly notification: { readonly by: string; readonly message: string; readonly at: number } | null;
  readonly progress: { readonly state: "active" | "cleared" | "stopped"; readonly at: number } | null;
  /** Time of the last input by anyone. */
  readonly inputAt: number;
  readonly outputAt: number;
  /** Start of the current burst of output. */
  readonly burstAt: number;
  /**
   * Whether it waits for a key, or the kernel hides that; false while it computes or waits for something else.
   */
  readonly isAtRest: boolean;
  /** The command of a child that works although the hooks report rest; null: none does. */
  readonly busy: string | null;
}

export const nothingKnown: AgentKnowledge = {
  hook: null,
  notification: null,
  progress: null,
  inputAt: Number.NEGATIVE_INFINITY,
  outputAt: Number.NEGATIVE_INFINITY,
  burstAt: Number.NEGATIVE_INFINITY,
  isAtRest: false,
  busy: null,
};

export interface Judgement {
  readonly state: AgentState;
  readonly source: AgentSource;
  readonly why: string;
  readonly message?: string | undefined;
  /** The command of its working child. */
  readonly busy?: string;
  /** Time at which the answer may change without an event; Infinity for never. */
  readonly until: number;
}

/** Knowledge after output at `now`. Runs per chunk. */
export function afterOutput(knowledge: AgentKnowledge, now: number): AgentKnowledge {
  const goesOn = now - knowledge.outputAt <= PAUSE_MS;
  return { ...knowledge, outputAt: now, burstAt: goesOn ? knowledge.burstAt : now };
}

/** Whether a state means that the agent does nothing. */
export function isResting(state: AgentState): boolean {
  return state === "done" || state === "idle";
}

/** @param was the last state; without hooks or announcements it stays while output may be an echo */
export function judge(knowledge: AgentKnowledge, now: number, was: AgentState): Judgement {
  const judged = judgeItself(knowledge, now, was);
  const { busy } = knowledge;
  if (busy === null || !isResting(judged.state)) return judged;
  const why = `${judged.why}, but ${busy} is working`;
  return { state: "working", source: "kernel", why, busy, until: now + BUSY_CHECK_MS };
}

function judgeItself(knowledge: AgentKnowledge, now: number, was: AgentState): Judgement {
  const { hook } = knowledge;
  const announced = judgeAnnounced(knowledge, now, was);
  if (hook === null) return announced ?? judgeProgram(knowledge, now, was);
  const { state, source, why, message, reportedAt } = hook;
  const reported = { state, source, why, message };
  const isNews = announced !== null && announced.announcedAt > reportedAt;
  switch (state) {
    case "needs_input":
      // Valid until work shows that the input was an answer: the first key may only have moved the selection.
      if (knowledge.inputAt > reportedAt && isStillWorking(knowledge, knowledge.inputAt)) {
        return { state: "working", source: "program", why: "it received input and is working", until: Infinity };
      }
      return { ...reported, until: knowledge.inputAt > reportedAt ? now + WORK_MS : Infinity };
    case "done":
      if (isNews && announced.state === "working") return announced;
      // A notification after input is a question; otherwise it repeats that the agent has finished.
      if (isNews && knowledge.inputAt > reportedAt && announced.state === "needs_input") return announced;
      if (knowledge.inputAt > reportedAt) return afterInput(knowledge, reported, now);
      return { ...reported, ...(isNews && announced.message ? { message: announced.message } : {}), until: Infinity };
    case "idle":
      return isNews && announced.state !== "done" ? announced : { ...reported, until: Infinity };
    case "working": {
      if (isNews && announced.state !== "working") return announced;
      const restAt = Math.max(knowledge.inputAt, knowledge.outputAt) + INTERRUPTED_MS;
      if (knowledge.inputAt <= reportedAt) {
        const stoppedAt = Math.max(knowledge.outputAt, reportedAt) + HOOKS_STOPPED_MS;
        if (now < stoppedAt || !knowledge.isAtRest) return { ...reported, until: Math.max(stoppedAt, now + WORK_MS) };
        const why = "its hooks reported work and then fell silent; it waits for a key";
        return { state: "needs_input", source: "program", why, until: Infinity };
      }
      if (now < restAt || !knowledge.isAtRest) return { ...reported, until: Math.max(restAt, now + WORK_MS) };
      const seen = "its hooks reported work; it received input since and is at rest";
      return { state: "needs_input", source: "program", why: seen, until: Infinity };
    }
  }
}

/** Handles input to an agent that had finished; its hooks report further work with the next prompt. */
function afterInput(knowledge: AgentKnowledge, judgement: Omit<Judgement, "until">, now: number): Judgement {
  const working = judgeProgram(knowledge, now, "idle");
  if (working.state === "working") return working;
  return { ...judgement, state: "idle", why: `${judgement.why}; it received input since`, until: now + WORK_MS };
}

/** Judged by notifications and progress; null without any, or when outdated. */
function judgeAnnounced(
  knowledge: AgentKnowledge,
  now: number,
  was: AgentState,
): (Judgement & { readonly announcedAt: number }) | null {
  const { notification, progress, inputAt } = knowledge;
  if (notification !== null && notification.at >= (progress?.at ?? Number.NEGATIVE_INFINITY)) {
    const { by, message, at } = notification;
    const source = "notification";
    if (inputAt <= at)
      return {
        state: "needs_input",
        source,
        why: `it sent a notification (${by})`,
        message,
        announcedAt: at,
        until: Infinity,
      };
    return progress?.state === "active" ? { ...judgeProgram(knowledge, now, was), announcedAt: inputAt } : null;
  }
  if (progress === null) return null;
  const { state, at } = progress;
  const source = "progress";
  if (state === "active") {
    return { state: "working", source, why: "it shows progress (OSC 9;4)", announcedAt: at, until: Infinity };
  }
  if (inputAt > at) return null;
  return state === "cleared"
    ? { state: "done", source, why: "its progress (OSC 9;4) has ended", announcedAt: at, until: Infinity }
    : {
        state: "needs_input",
        source,
        why: "its progress (OSC 9;4) shows an error or a pause",
        announcedAt: at,
        until: Infinity,
      };
}

function judgeProgram(knowledge: AgentKnowledge, now: number, was: AgentState): Judgement {
  const source = "program";
  const restAt = Math.max(knowledge.outputAt, knowledge.inputAt) + REST_MS;
  if (now >= restAt && knowledge.isAtRest) {
    return {
      state: "needs_input",
      source,
      why: "it waits for a key; only hooks can say why",
      until: Infinity,
    };
  }
  if (now >= restAt) return { state: "working", source, why: "it is busy, without output", until: now + REST_MS };
  const working = { state: "working", source, why: "it prints", until: restAt } as const;
  if (isStillWorking(knowledge, knowledge.inputAt)) return working;
  return was === "working" ? working : { state: was, source, why: "it may only be echoing input", until: restAt };
}

/** Whether output has continued longer than a response to input does. */
function isStillWorking({ burstAt, outputAt }: AgentKnowledge, inputAt: number): boolean {
  return outputAt - Math.max(burstAt, inputAt) >= WORK_MS;
}
