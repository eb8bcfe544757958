import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeDocker, hostileValues } from "@berth/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";
import { beyondLimits, type Json, type Tenant, tenantOf } from "./hostile.fixture.ts";
import { COMPOSE_PLACES } from "./hostile-compose.fixture.ts";

const IMAGES = ["busybox:stable", "caddy:2"];
/** Each place of a compose text meets so many values, and each value the next places. */
const PLACES_EACH = 8;

describeDocker("hostile values in databases and services", IMAGES, (docker) => {
  const folder = mkdtempSync(join(tmpdir(), "berth-hostile-"));
  const markers = join(folder, "markers");
  const values = hostileValues(join(markers, "marker")).map(({ value }) => value);
  const known = new Set<string>();
  let server: DockerServer;
  let tenant: Tenant;
  let place: Json;

  beforeAll(async () => {
    mkdirSync(markers);
    chmodSync(markers, 0o777);
    server = await dockerServer(docker);
    tenant = await tenantOf(server);
    place = { ...(await placeOf(server)), server_uuid: server.dockerUuid };
  }, 120_000);
  afterEach(async () => {
    expect(readdirSync(markers)).toEqual([]);
    expect(await beyondLimits(docker, known)).toEqual([]);
  });
  afterAll(async () => {
    await server?.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  async function created(path: string, fields: Json): Promise<string> {
    const { status, body } = await tenant.ask("POST", path, { ...place, ...fields });
    expect(status, JSON.stringify(body)).toBe(201);
    known.add(String(body.uuid));
    return String(body.uuid);
  }

  async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
    const left = [...items];
    const next = async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
    };
    await Promise.all([next(), next(), next()]);
  }

  test("in every field of a database are refused or mere text", async () => {
    const fields = await tenant.textFields("/databases/{uuid}");
    expect(fields.length).toBeGreaterThan(20);
    const uuid = await created("/databases/postgresql", {});
    await inParallel(values, async (value) => {
      await tenant.patchWhatIsTaken(`/databases/${uuid}`, Object.fromEntries(fields.map((name) => [name, value])));
    });
  }, 300_000);

  test("at each place of a compose text are refused or mere text", async () => {
    const uuid = await created("/services", { docker_compose: textOf("image", "busybox:stable") });
    const places = Object.keys(COMPOSE_PLACES);
    await inParallel([...values.entries()], async ([at, value]) => {
      for (let n = 0; n < PLACES_EACH; n += 1) {
        const name = places[(at * PLACES_EACH + n) % places.length] ?? "";
        await tenant.ask("PATCH", `/services/${uuid}`, { docker_compose: textOf(name, value) });
      }
      const text = `services:\n  worker:\n    image: busybox:stable\n    command: ["sleep", "600"]\n    hostname: ${value}\n`;
      await tenant.ask("PATCH", `/services/${uuid}`, { docker_compose: text });
      const urls = [{ name: value, url: `http://${value}` }];
      await tenant.ask("PATCH", `/services/${uuid}`, { urls });
    });
  }, 600_000);
});

/** JSON is YAML: the value stays the value, whatever is in it. */
const textOf = (place: string, value: string): string => JSON.stringify(COMPOSE_PLACES[place]?.(value));
