/**
 * A separate network for one machine: a network namespace of Linux, joined to this one by a pair of interfaces. Its link
 * can go down like an unplugged cable: packets vanish without notice, no connection ends. Requires root.
 *
 * The namespace, its interfaces and its processes end with their owner, a shell that waits for its standard input to
 * end: also when the test was killed.
 */
import { pathOf, say } from "./programs.ts";
import { until } from "./until.ts";

/** 198.18.0.0/15 is reserved for benchmarks (RFC 2544): nobody routes to it. It contains so many networks of four. */
const NETWORKS = 2 ** 15;

const OWN = `
trap '' HUP INT TERM
ip netns add "$1" && ip link add "$2" type veth peer name "$3" netns "$1" || exit 1
ip address add "$4/30" dev "$2" && ip link set "$2" up || exit 1
ip -n "$1" address add "$5/30" dev "$3" && ip -n "$1" link set "$3" up && ip -n "$1" link set lo up || exit 1
echo ready
cat >/dev/null
`;
const END = `
ip netns pids "$1" 2>/dev/null | xargs -r kill -9
ip netns del "$1" 2>/dev/null
ip link del "$2" 2>/dev/null
`;

/** The shell's script that owns a network, and its arguments: names of namespace and interfaces, both addresses. */
function owner(): [script: string, name: string, localEnd: string, remoteEnd: string, local: string, remote: string] {
  // An interface name has at most 15 bytes.
  const id = crypto.randomUUID().slice(0, 8);
  const at = Math.floor(Math.random() * NETWORKS) * 4;
  const address = (host: number): string => `198.${18 + (at >> 16)}.${(at >> 8) & 0xff}.${(at & 0xff) + host}`;
  return [`trap '${END}' EXIT\n${OWN}`, `wsh-${id}`, `wn${id}`, `wf${id}`, address(1), address(2)];
}

/** Whether namespaces can be made here; prints why not. */
export function canMakeNetworks(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) {
    say("networks", "network namespaces take root on Linux, so what tests them does not run");
    return false;
  }
  if (pathOf("ip") === null) {
    say("networks", "'ip' is not installed, so what tests network namespaces does not run");
    return false;
  }
  // A container may have root and lack this right, or part of it: one namespace is made, and ended again.
  const [script, ...args] = owner();
  const probe = Bun.spawnSync(["setsid", "sh", "-c", script, "sh", ...args], { stdin: "ignore", stderr: "ignore" });
  const isAllowed = probe.stdout.toString() === "ready\n";
  if (!isAllowed) say("networks", "network namespaces are not allowed here, so what tests them does not run");
  return isAllowed;
}

export class Network implements AsyncDisposable {
  private constructor(
    private readonly owner: Bun.Subprocess<"pipe", "pipe", "pipe">,
    private readonly name: string,
    private readonly remoteEnd: string,
    /** Addresses of this side and of the other. */
    readonly local: string,
    readonly remote: string,
  ) {}

  static async make(): Promise<Network> {
    const [script, ...args] = owner();
    const [name, , remoteEnd, local, remote] = args;
    const child = Bun.spawn(["setsid", "sh", "-c", script, "sh", ...args], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    const { value } = await child.stdout.getReader().read();
    if (value === undefined) throw new Error(`no network: ${await new Response(child.stderr).text()}`);
    return new Network(child, name, remoteEnd, local, remote);
  }

  /** Prefix of a command line that runs in the other machine's network. */
  get inside(): readonly string[] {
    return [pathOf("ip") ?? "ip", "netns", "exec", this.name];
  }

  /** Unplugs the cable, or plugs it in again. */
  async link(state: "up" | "down"): Promise<void> {
    const set = Bun.spawnSync(["ip", "-n", this.name, "link", "set", this.remoteEnd, state]);
    if (!set.success) throw new Error(set.stderr.toString());
    if (state === "down") return;
    const ping = (): boolean => Bun.spawnSync([...this.inside, "ip", "route", "get", this.local]).success;
    await until("the route to be back", ping);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.owner.stdin.end();
    await this.owner.exited;
  }
}
