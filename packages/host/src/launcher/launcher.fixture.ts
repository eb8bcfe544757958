// A process that starts two programs by a launcher, one to outlive it and one with pipes, and prints the ids.
import { tmpdir } from "node:os";
import { spawnHere } from "../own-spawn.ts";
import type { ProgramRequest } from "../program.ts";
import { launcher } from "./launcher.ts";

const [mode] = process.argv.slice(2);
const plain = { env: {}, ids: {}, cgroupFiles: [] } satisfies Partial<ProgramRequest>;
const { start, pid } = launcher({ otherwise: spawnHere, temporaryFolder: tmpdir() });
const lasting = await start({ ...plain, argv: ["/bin/sleep", "300"], stdio: ["ignore", "ignore", "ignore"] });
lasting.unref();
const piped = await start({ ...plain, argv: ["/bin/cat"], stdio: ["pipe", "pipe", "pipe"] });
console.log(JSON.stringify({ launcher: pid(), lasting: lasting.pid, piped: piped.pid }));
if (mode === "ends") {
  piped.stdin?.end();
  piped.stdout?.resume();
  piped.stderr?.resume();
}
await piped.exitCode;
