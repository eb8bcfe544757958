// A process that can open few further files when it first starts programs by a launcher; prints what became of them.
import { closeSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { spawnHere } from "../own-spawn.ts";
import { launcher } from "./launcher.ts";

const unhandled: string[] = [];
process.on("unhandledRejection", (cause) => unhandled.push(String(cause)));

async function startWith(free: number): Promise<string> {
  const { start } = launcher({ otherwise: spawnHere, temporaryFolder: tmpdir() });
  const files = openAll();
  for (const file of files.splice(0, free)) closeSync(file);
  const starting = start({ argv: ["/bin/true"], env: {}, ids: {}, stdio: ["ignore"], cgroupFiles: [] });
  const outcome = await starting.then(
    () => "started",
    (cause: NodeJS.ErrnoException) => cause.code ?? cause.message,
  );
  for (const file of files) closeSync(file);
  return outcome;
}

function openAll(): number[] {
  const files: number[] = [];
  try {
    for (;;) files.push(openSync("/dev/null", "r"));
  } catch {
    return files;
  }
}

const outcomes: string[] = [];
for (const free of [0, 1, 2, 3]) outcomes.push(await startWith(free));
console.log(JSON.stringify({ outcomes, unhandled }));
