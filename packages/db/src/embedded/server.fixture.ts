// A process that opens a data folder, to be killed by a test: `node server.fixture.ts FOLDER open|write [pglite]`.
import { openDatabase } from "../client.ts";
import { migrate } from "../migrate.ts";

const [folder = "", task, embedded] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);

try {
  const database = await openDatabase({
    dataFolder: folder,
    embedded: embedded === "pglite" || embedded === "postgres" ? embedded : undefined,
    onNotice: (line) => say(`notice ${line}`),
  });
  await migrate(database);
  say(`open ${database.kind}`);
  if (task === "write") {
    for (let n = 1; ; n += 1) {
      await database.kysely
        .insertInto("lease")
        .values({ name: `row ${n}`, owner: "x", expires_at: new Date() })
        .execute();
      say(`wrote ${n}`);
    }
  }
  if (task === "close") {
    await database.close();
    say("closed");
  } else {
    setInterval(() => undefined, 60_000);
  }
} catch (error) {
  say(`failed ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
