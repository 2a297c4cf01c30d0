/**
 * `bun run start`: wsh's main job on this machine, with the binary that was just built. In a terminal it opens `wsh`;
 * without one it starts the server, runs a command in a session, shows its screen and says how to reach it. It opens no
 * TCP port.
 */
import { join } from "node:path";

const wsh = join(import.meta.dir, "../dist/wsh");

if (process.stdin.isTTY) {
  const run = Bun.spawn([wsh, ...process.argv.slice(2)], { stdio: ["inherit", "inherit", "inherit"] });
  process.exit(await run.exited);
}

function run(...args: string[]): string {
  const result = Bun.spawnSync([wsh, ...args], { stderr: "inherit" });
  if (!result.success) {
    console.error(`wsh ${args.join(" ")} failed with code ${result.exitCode}`);
    process.exit(1);
  }
  return result.stdout.toString();
}

const name = "demo";
const info = JSON.parse(run("server", "--ensure", "--bind", "none", "--json"));
run("new", name, "--if-exists", "attach");
run("exec", name, "--", "echo 'hello from wsh' && uname -sm");
console.log(run("screen", name).trimEnd());
console.log(`
The session '${name}' goes on. Reach it with
  ${wsh} attach ${name}
  curl --unix-socket ${info.socket} http://localhost/sessions/${name}/screen?format=plain
Stop it with
  ${wsh} stop`);
