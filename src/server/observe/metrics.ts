/**
 * Metrics of the gateway in Prometheus's text format (exposition format 0.0.4). Counting is one increment per call;
 * current values are read when the metrics are requested.
 */
import { VERSION } from "../../protocol/version.ts";
import type { CallRecord } from "./observed-call.ts";

/** Upper ends of the call histogram in seconds: from a local lookup to a wait. */
const BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const;

interface Gauges {
  readonly sessions: number;
  readonly sessionsRunning: number;
  readonly clients: number;
  readonly webSockets: number;
  readonly bridges: number;
  readonly uptimeS: number;
}

interface Histogram {
  readonly counts: number[];
  sum: number;
  count: number;
}

export class Metrics {
  private readonly calls = new Map<string, number>();
  private readonly durations = new Map<string, Histogram>();
  private readonly refusals = new Map<string, number>();

  constructor(private readonly gauges: () => Gauges) {}

  readonly count = ({ operation, context, result, ms }: CallRecord): void => {
    add(this.calls, labels({ operation, interface: context.caller.kind, result }));
    const histogram = this.durations.get(operation) ?? { counts: BUCKETS.map(() => 0), sum: 0, count: 0 };
    this.durations.set(operation, histogram);
    const seconds = ms / 1000;
    const bucket = BUCKETS.findIndex((end) => seconds <= end);
    if (bucket >= 0) histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1;
    histogram.sum += seconds;
    histogram.count++;
  };

  /** A request was refused before it became a call. */
  countRefusal(code: string): void {
    add(this.refusals, labels({ code }));
  }

  text(): string {
    const { sessions, sessionsRunning, clients, webSockets, bridges, uptimeS } = this.gauges();
    const memory = process.memoryUsage();
    const cpu = process.cpuUsage();
    return [
      gauge("wsh_info", "Version of the server.", [[labels({ version: VERSION }), 1]]),
      gauge("wsh_uptime_seconds", "Time since the server started.", [["", uptimeS]]),
      gauge("wsh_sessions", "Sessions, including ended ones within the grace period.", [["", sessions]]),
      gauge("wsh_sessions_running", "Sessions whose program runs.", [["", sessionsRunning]]),
      gauge("wsh_clients", "Streaming clients of all sessions.", [["", clients]]),
      gauge("wsh_websockets", "Open WebSockets.", [["", webSockets]]),
      gauge("wsh_mcp_bridges", "Connected MCP bridges.", [["", bridges]]),
      counter("wsh_calls_total", "Calls of operations.", this.calls),
      counter("wsh_refused_total", "Requests refused before a call.", this.refusals),
      this.histograms(),
      gauge("process_resident_memory_bytes", "Memory of the server's process.", [["", memory.rss]]),
      counter(
        "process_cpu_seconds_total",
        "Processor time of the server's process.",
        new Map([["", (cpu.user + cpu.system) / 1e6]]),
      ),
    ].join("");
  }

  private histograms(): string {
    const name = "wsh_call_duration_seconds";
    let text = head(name, "Time from call to answer.", "histogram");
    for (const [operation, { counts, sum, count }] of this.durations) {
      let below = 0;
      for (const [index, end] of BUCKETS.entries()) {
        below += counts[index] ?? 0;
        text += `${name}_bucket${labels({ operation, le: String(end) })} ${below}\n`;
      }
      text += `${name}_bucket${labels({ operation, le: "+Inf" })} ${count}\n`;
      text += `${name}_sum${labels({ operation })} ${sum}\n${name}_count${labels({ operation })} ${count}\n`;
    }
    return text;
  }
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function labels(pairs: Readonly<Record<string, string>>): string {
  const inside = Object.entries(pairs).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return `{${inside.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function head(name: string, help: string, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function gauge(name: string, help: string, values: readonly (readonly [string, number])[]): string {
  return head(name, help, "gauge") + values.map(([label, value]) => `${name}${label} ${value}\n`).join("");
}

function counter(name: string, help: string, values: ReadonlyMap<string, number>): string {
  return head(name, help, "counter") + [...values].map(([label, value]) => `${name}${label} ${value}\n`).join("");
}
