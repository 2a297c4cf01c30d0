/** A child process for tests of the instance layer; the first argument selects its role. */

import fs from "node:fs";
import { withLock } from "../../src/instance/lock.ts";
import { resolveInstance } from "../../src/instance/paths.ts";
import { reportFailure, reportReady } from "../../src/launch/report.ts";
import { WshError } from "../../src/protocol/errors.ts";
import { claimSession } from "../../src/registry/register.ts";
import { claimServer } from "../../src/registry/single-server.ts";
import { ensureToken } from "../../src/secrets/own-secrets.ts";

const [role, argument = ""] = process.argv.slice(2);
const instance = resolveInstance({ env: process.env });

/** Keeps the process until it is killed. */
function stay(): void {
  setInterval(() => undefined, 1 << 30);
}

function listen(path: string): void {
  Bun.listen({ unix: path, socket: { data() {} } });
}

/** The path behind a descriptor; null: it is closed. */
function target(fd: string): string | null {
  try {
    return fs.readlinkSync(`/dev/fd/${fd}`);
  } catch {
    return null;
  }
}

switch (role) {
  case "claim": {
    const name = { kind: "exact", name: argument } as const;
    try {
      const claim = await claimSession(instance, { name, maxSessions: 9, bind: listen });
      process.stdout.write(`claimed ${claim.name}\n`);
    } catch (error) {
      process.stdout.write(`${WshError.from(error).code}\n`);
    }
    stay();
    break;
  }
  case "claim-and-leave": {
    // A session whose program outlives it: started like the programs of sessions, with its own descriptors only.
    await claimSession(instance, { name: { kind: "exact", name: argument }, maxSessions: 9, bind: listen });
    const program = Bun.spawn(["sleep", "1000"], { terminal: { cols: 80, rows: 24 }, detached: true });
    const plain = Bun.spawn(["sleep", "1000"], { stdio: ["ignore", "ignore", "ignore"], detached: true });
    process.stdout.write(`${program.pid} ${plain.pid}\n`);
    stay();
    break;
  }
  case "serve-with-child": {
    // As in the moment between fork and exec, in which a child has all descriptors of the server.
    const { life } = await claimServer(instance, () => listen(instance.httpSocket));
    const fd = fs.readdirSync("/dev/fd").find((each) => target(each) === life.path) ?? "";
    const child = Bun.spawn(["sleep", "1000"], { stdio: ["ignore", "ignore", "ignore", Number(fd)] });
    process.stdout.write(`${child.pid}\n`);
    stay();
    break;
  }
  case "hold-lock":
    await withLock(argument, async () => {
      process.stdout.write("held\n");
      await new Promise(stay);
    });
    break;
  case "listen":
    listen(argument);
    process.stdout.write("listening\n");
    break;
  case "token":
    process.stdout.write(ensureToken(instance));
    break;
  case "host": {
    const spec: unknown = JSON.parse(await Bun.stdin.text());
    reportReady({ pid: process.pid, cwd: process.cwd(), spec });
    process.stdout.write("after the report\n");
    fs.writeFileSync(argument, [0, 1].map((fd) => fs.readlinkSync(`/proc/self/fd/${fd}`)).join(" "));
    stay();
    break;
  }
  case "server":
    // Appended before the bind: counts all that were started.
    fs.appendFileSync(argument, `${process.pid}\n`);
    try {
      await claimServer(instance, () => listen(instance.httpSocket));
      reportReady({ pid: process.pid, token: process.env.WSH_TOKEN, nofile: process.env.WSH_NOFILE });
    } catch (error) {
      reportFailure(error);
      process.exit(1);
    }
    stay();
    break;
  case "refuse":
    reportFailure(new WshError("invalid_request", "the port 8080 is in use"));
    process.exit(1);
    break;
  case "die":
    process.stderr.write("a terrible thing happened\n");
    process.exit(3);
    break;
  case "silent":
    stay();
    break;
  default:
    throw new Error(`no such role: ${role}`);
}
