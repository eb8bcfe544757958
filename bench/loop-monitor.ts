// Loaded into a server: writes the pieces of work in which its event loop answered nothing, when it is asked by a
// signal. Counted in CPU time of the main thread, since other work on the machine makes every timer late.
import { renameSync, writeFileSync } from "node:fs";

const { BERTH_BENCH_PIECES: file } = process.env;
const TICK_MS = 1;

if (file !== undefined) {
  const usedMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let pieces: number[] = [];
  let lastMs = usedMs();
  setInterval(() => {
    const nowMs = usedMs();
    pieces.push(nowMs - lastMs);
    lastMs = nowMs;
  }, TICK_MS).unref();
  process.on("SIGUSR2", () => {
    writeFileSync(`${file}.new`, JSON.stringify(pieces));
    renameSync(`${file}.new`, file);
    pieces = [];
    lastMs = usedMs();
  });
}
