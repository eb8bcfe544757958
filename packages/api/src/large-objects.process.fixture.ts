// The API in a process of its own, with a team that stores the largest objects that the rules allow.
import { COMPOSE, type Served, served } from "./berth.fixture.ts";
import type { LargeObjects } from "./large-objects.fixture.ts";
import { madeObjects, type Objects } from "./objects.fixture.ts";

const TEXT = "0123456789\n".repeat(100_000);
/** As long as each may be; with the name of the variable, and with the rest of the compose file. */
const [FILE, VALUE, COMMENT] = [TEXT.slice(0, 524_288), TEXT.slice(0, 131_000), `# ${"x".repeat(1_000_000)}\n`];
/** More would be allowed. Of each kind, what ten clients are answered together exceeds the heap. */
const FILES = 30;
const VARIABLES = 10;
const SERVICES = 2;

const api = await served();
const objects = await madeObjects(api);
await fill(api, objects);
const url = await api.app.listen({ host: "127.0.0.1", port: 0 });
process.send?.({ url, token: api.token, where: api.where, objects } satisfies LargeObjects);
process.once("disconnect", () => void api.close().then(() => process.exit()));

async function fill(api: Served, objects: Objects): Promise<void> {
  const application = `/applications/${objects["/applications/{uuid}"]}`;
  for (let n = 0; n < FILES; n += 1) {
    await make(api, `${application}/storages`, { type: "file", mount_path: `/large/${n}`, content: FILE });
  }
  for (let n = 0; n < VARIABLES; n += 1) {
    await make(api, "/teams/current/shared-variables", { key: `LARGE_${n}`, value: VALUE });
    await make(api, `${application}/envs`, { key: `LARGE_${n}`, value: VALUE });
    await make(api, `${application}/envs`, { key: `SHARED_${n}`, value: `{{ team.LARGE_${n} }}`.repeat(100) });
  }
  for (let n = 0; n < SERVICES; n += 1) {
    await make(api, "/services", { ...api.where, name: `large ${n}`, docker_compose: `${COMPOSE}${COMMENT}` });
  }
}

async function make(api: Served, path: string, body: object): Promise<void> {
  const { status, json } = await api.ask("POST", path, { body });
  if (status !== 201) throw new Error(`It was not made: ${path} ${JSON.stringify(json).slice(0, 300)}`);
}
