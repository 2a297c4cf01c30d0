/**
 * Alerts the person's terminals when an agent begins to need input, as set by `agent_alert`: once per change, at every
 * attached terminal except those that show that pane.
 */
import { type AgentAlert, type AgentInfo, alertFor, isAlerting } from "../protocol/agent.ts";
import type { Viewer } from "../session/viewers.ts";

interface AlertPort {
  alert(): AgentAlert;
  name(): string;
  viewers(): readonly Viewer[];
}

export class AgentAlerts {
  /** Last reported state of each pane's agent. */
  private readonly reportedStates = new Map<string, string>();

  constructor(private readonly port: AlertPort) {}

  /** @param agent null: the agent is gone */
  agentChanged(pane: string, agent: AgentInfo | null): void {
    const { name, viewers } = this.port;
    const alert = this.port.alert();
    if (alert === "off") return;
    if (agent === null || !isAlerting(agent)) {
      this.reportedStates.delete(pane);
      return;
    }
    const stateKey = `${agent.pid} ${agent.state} ${agent.since}`;
    if (this.reportedStates.get(pane) === stateKey) return;
    this.reportedStates.set(pane, stateKey);
    const text = alertFor(alert, name(), agent);
    for (const viewer of viewers()) if (!viewer.focus.looksAt(pane)) viewer.alert(text);
  }
}
