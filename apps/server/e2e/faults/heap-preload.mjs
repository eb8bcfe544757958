// Loaded into a server whose heap is measured: at SIGUSR2 it collects garbage and writes how much of its heap is used.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const { BERTH_DATA } = process.env;
if (BERTH_DATA !== undefined) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  process.on("SIGUSR2", () => {
    collect();
    writeFileSync(join(BERTH_DATA, "heap-used"), String(process.memoryUsage().heapUsed));
  });
}
