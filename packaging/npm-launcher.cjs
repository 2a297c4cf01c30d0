#!/usr/bin/env node
// Runs the executable of this platform's package, which npm installed as an optional dependency of this one.
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

function isMusl() {
  return process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
}

const target = `${process.platform}-${process.arch}${isMusl() ? "-musl" : ""}`;
let executable;
try {
  executable = require.resolve(`${require("../package.json").name}-${target}/bin/wsh`);
} catch {
  console.error(`wsh: there is no package for ${target}, or it was not installed (npm install without --no-optional)`);
  process.exit(1);
}

const child = spawn(executable, process.argv.slice(2), { stdio: "inherit" });
// The terminal sends its signals to both; a signal to us alone is passed to the child.
for (const signal of ["SIGINT", "SIGQUIT", "SIGTSTP"]) process.on(signal, () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`wsh: ${executable} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
