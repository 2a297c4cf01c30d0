/**
 * Loaded before every test file (bunfig.toml): a signal to process 0 or -1, which a number that was not there makes of
 * a mistake, would end the test runner itself, or everything on the machine. It throws in place of that.
 */
const kill = process.kill.bind(process);
process.kill = (pid, signal) => {
  if (!Number.isSafeInteger(pid) || pid === 0 || pid === -1) throw new Error(`${pid} is the number of no process`);
  return kill(pid, signal);
};
