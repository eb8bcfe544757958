import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostileValues } from "@berth/testing";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { deploy, type Outcome, placeOf } from "./applications.fixture.ts";
import { type Json, type Tenant, tenantOf } from "./hostile.fixture.ts";
import type { TestServer } from "./server.fixture.ts";

const START_DEADLINE_MS = 300_000;

/** A control plane with a server, and checks for values that were interpreted instead of stored. */
interface Ground<Server extends TestServer> {
  readonly server: Server;
  readonly serverUuid: string;
  /** @param known Uuids of the tenant's resources. */
  breaches(known: ReadonlySet<string>): Promise<readonly string[]>;
}

/** A tenant that sends hostile values to the suite's own control plane. Call it inside a suite. */
export interface HostileGround<Server extends TestServer> {
  /** All hostile values. */
  readonly values: readonly string[];
  /** Values that arguments and variables of a process can contain. */
  readonly texts: readonly string[];
  /** Folder in which no file may appear on any machine, nor in containers unless a test creates it. */
  readonly markers: string;
  server(): Server;
  tenant(): Tenant;
  /** @returns Its uuid when it was taken. */
  create(path: string, fields: Json): Promise<string | undefined>;
  /** @throws Error when it was refused */
  created(path: string, fields: Json): Promise<string>;
  /** Deploys with any outcome, except an internal error of Berth. */
  deployed(uuid: string): Promise<Outcome>;
}

/** @param start Receives the folder in which no file may appear. */
export function hostileGround<Server extends TestServer>(
  start: (markers: string) => Promise<Ground<Server>>,
): HostileGround<Server> {
  const folder = mkdtempSync(join(tmpdir(), "berth-hostile-"));
  const markers = join(folder, "markers");
  const values = hostileValues(join(markers, "marker")).map(({ value }) => value);
  const known = new Set<string>();
  let ground: Ground<Server>;
  let tenant: Tenant;
  let place: Json;

  beforeAll(async () => {
    // Anyone can write here, so a value that is executed leaves a file.
    chmodSync(folder, 0o755);
    mkdirSync(markers);
    chmodSync(markers, 0o777);
    ground = await start(markers);
    tenant = await tenantOf(ground.server);
    place = { ...(await placeOf(ground.server)), server_uuid: ground.serverUuid };
  }, START_DEADLINE_MS);
  afterEach(() => requireNone());
  afterAll(async () => {
    await ground?.server.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  async function requireNone(log?: string): Promise<void> {
    expect(readdirSync(markers), log).toEqual([]);
    expect(await ground.breaches(known), log).toEqual([]);
  }

  async function create(path: string, fields: Json) {
    const answer = await tenant.ask("POST", path, { ...place, ...fields });
    if (answer.status === 201) known.add(String(answer.body.uuid));
    return answer;
  }

  return {
    values,
    texts: values.filter((value) => value.isWellFormed() && !value.includes("\0")),
    markers,
    server: () => ground.server,
    tenant: () => tenant,
    async create(path, fields) {
      const { status, body } = await create(path, fields);
      return status === 201 ? String(body.uuid) : undefined;
    },
    async created(path, fields) {
      const { status, body } = await create(path, fields);
      expect(status, JSON.stringify(body)).toBe(201);
      return String(body.uuid);
    },
    async deployed(uuid) {
      const outcome = await deploy(ground.server, uuid);
      expect(outcome.log).not.toContain("because of an internal error");
      expect(outcome.error ?? "").not.toContain("Berth's own");
      await requireNone(outcome.log);
      return outcome;
    },
  };
}

/** Some at once, since most of each is waiting. */
export async function someAtOnce<T>(items: readonly T[], work: (item: T) => Promise<void>, count = 3): Promise<void> {
  const left = [...items];
  const next = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: count }, next));
}

/** All values, beginning at a different kind for each number. */
export const shuffled = (values: readonly string[], number: number): readonly string[] =>
  // A step without a common factor with the length reaches each value once.
  values.map((_, n) => values[(number * 17 + n * stepOf(values.length)) % values.length] ?? "");

const stepOf = (count: number): number => [13, 11, 7].find((step) => count % step !== 0) ?? 1;
