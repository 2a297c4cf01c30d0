/**
 * Loaded before every test file (bunfig.toml): a signal to process 0 or -1, which a missing number turns into, would
 * end the test runner itself, or everything on the machine. It throws instead.
 */
const kill = process.kill.bind(process);
process.kill = (pid, signal) => {
  if (!Number.isSafeInteger(pid) || pid === 0 || pid === -1) throw new Error(`${pid} is the number of no process`);
  return kill(pid, signal);
};
