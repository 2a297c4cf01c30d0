/**
 * The conversations of one agent process: the current one, as its hooks report it, and earlier ones (`/clear`,
 * `/resume`). Hooks run side by side, so reports may arrive out of order: an earlier conversation returns only by being
 * started again or by a prompt. Before the first report, the id comes from the process's arguments.
 */
import type { Conversation, ReportedConversation } from "../../protocol/agent.ts";
import { defined } from "../../protocol/defined.ts";
import { resumedId } from "../../shell/agent-resume.ts";

/** Maximum number of earlier conversations remembered. */
const MAX_EARLIER = 32;

interface Report {
  readonly conversation?: ReportedConversation | undefined;
  readonly moment?: "started" | "prompted" | "ended" | undefined;
}

export class Conversations {
  private readonly earlier = new Set<string>();
  newest: Conversation | null;

  /** @param args the agent's arguments @param now Unix time in ms */
  constructor(agent: string, args: readonly string[], now: number) {
    const id = resumedId(agent, args);
    this.newest = id === null ? null : { id, started_at: now };
  }

  /** @returns false for a late report of an earlier conversation */
  noteReport({ conversation, moment }: Report, now: number): boolean {
    if (conversation === undefined) return true;
    const { newest, earlier: left } = this;
    if (newest?.id === conversation.id) {
      const { started_at = newest.started_at, title } = conversation;
      // A later prompt does not give the title: the conversation did not begin with it.
      const name = moment === "prompted" ? (newest.title ?? title) : (title ?? newest.title);
      this.newest = { ...newest, ...conversation, started_at, ...defined({ title: name }) };
      return true;
    }
    if (left.has(conversation.id) && moment !== "started" && moment !== "prompted") return false;
    left.delete(conversation.id);
    if (newest !== null) left.add(newest.id);
    for (const oldest of left) {
      if (left.size <= MAX_EARLIER) break;
      left.delete(oldest);
    }
    this.newest = { ...conversation, started_at: conversation.started_at ?? now };
    return true;
  }
}
