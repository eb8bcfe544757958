import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import type { Control } from "@berth/control";
import type { Authenticator, Ids, ServerRecord, Stores } from "@berth/core/ports";
import { ServerSettings } from "@berth/core/server";
import { ROOT_TEAM_ID, type Scope, secretOf } from "@berth/core/team";
import { ASSETS } from "#assets";
import { writePrivateFile } from "./private-file.ts";

const LOCAL_SERVER = "localhost";
const DOCKER_SERVER = "docker";
/** The name by which containers reach their host. Registered servers cannot have it. */
const DOCKER_ADDRESS = "host.docker.internal";
const EXAMPLE_FOLDER = fileURLToPath(new URL("examples/hello", ASSETS));

/** Scope for actions of the instance itself. */
export const ROOT_SCOPE: Scope = {
  teamId: ROOT_TEAM_ID,
  abilities: ["root"],
  actor: { type: "system", name: "bootstrap" },
};

interface LocalServerOptions {
  readonly file: string;
  readonly stores: Stores;
  readonly control: Control;
  readonly ids: Ids;
}

/**
 * The record of this machine: the one named in the data folder, else a new one, with a first project if the instance
 * has none. Several machines may share one database, each with its own record.
 */
export async function ensureLocalServer({ file, stores, control, ids }: LocalServerOptions): Promise<ServerRecord> {
  const { uuid } = readKept(file) ?? {};
  const known = uuid === undefined ? undefined : await stores.servers.find(uuid);
  if (known !== undefined) return known;
  const others = (await stores.servers.list()).items;
  const isNameFree = others.every(({ name }) => name !== LOCAL_SERVER);
  const server = await stores.transaction(async (inside) => {
    const inserted = await inside.servers.insert({
      uuid: ids.uuid(),
      name: isNameFree ? LOCAL_SERVER : `${LOCAL_SERVER}-${hostname()}`,
      description: "This machine. Applications run as supervised processes.",
      ip: "127.0.0.1",
      port: 22,
      user: "root",
      engine: "process",
      proxy_type: "NONE",
      settings: ServerSettings.parse({ is_reachable: true, is_usable: true }),
    });
    await inside.destinations.insert({
      uuid: ids.uuid(),
      server_id: inserted.id,
      name: "default",
      network: "berth",
    });
    return inserted;
  });
  writePrivateFile(file, JSON.stringify({ uuid: server.uuid }));
  const { total } = await stores.projects.list({ take: 1 });
  if (total === 0) await control.projects.create({ name: "My project" });
  return server;
}

interface LocalDockerOptions extends Pick<LocalServerOptions, "file" | "stores" | "ids"> {
  /** Version of the engine; `undefined` when it does not answer. */
  readonly version: string | undefined;
  readonly network: string;
}

/**
 * The server record of this machine's Docker engine, beside the one without containers. Created when the engine first
 * answers and kept from then on, since resources may use it. `undefined` if it never answered.
 */
export async function ensureDockerServer({
  file,
  stores,
  ids,
  version,
  network,
}: LocalDockerOptions): Promise<ServerRecord | undefined> {
  const { uuid } = readKept(file) ?? {};
  const known = uuid === undefined ? undefined : await stores.servers.find(uuid);
  if (known !== undefined || version === undefined) return known;
  const server = await stores.transaction(async (inside) => {
    const isFirst = !(await inside.servers.isAddressTaken(DOCKER_ADDRESS));
    const inserted = await inside.servers.insert({
      uuid: ids.uuid(),
      name: isFirst ? DOCKER_SERVER : `${DOCKER_SERVER}-${hostname()}`,
      description: "The Docker engine of this machine.",
      ip: isFirst ? DOCKER_ADDRESS : `${ids.uuid()}.${DOCKER_ADDRESS}`,
      port: 22,
      user: "root",
      engine: "docker",
      proxy_type: "CADDY",
      settings: ServerSettings.parse({ is_reachable: true, is_usable: true }),
    });
    await inside.destinations.insert({
      uuid: ids.uuid(),
      server_id: inserted.id,
      name: "default",
      network,
    });
    return inserted;
  });
  writePrivateFile(file, JSON.stringify({ uuid: server.uuid }));
  return server;
}

/**
 * The token in the file for the command line on this machine: the existing one if it is valid, else a new one. A new
 * token is returned, to be shown once.
 */
export async function ensureCliFile(options: {
  readonly file: string;
  readonly url: string;
  readonly control: Control;
  readonly authenticator: Authenticator;
  readonly hashToken: (secret: string) => string;
}): Promise<string | undefined> {
  const { file, url, control, authenticator, hashToken } = options;
  const kept = readKept(file);
  if (kept?.token !== undefined && (await authenticator.findToken(hashToken(secretOf(kept.token))))) {
    if (kept.url !== url) writePrivateFile(file, JSON.stringify({ url, token: kept.token }));
    return undefined;
  }
  const { token } = await control.tokens.create({ name: `Command line on ${hostname()}`, abilities: ["root"] });
  writePrivateFile(file, JSON.stringify({ url, token }));
  return token;
}

/**
 * Sign-in link for the instance's first user while they have no password; later links come from `berth login --web`.
 */
export async function firstSignInUrl(control: Control, url: string): Promise<string | undefined> {
  if (await control.sessions.hasPassword()) return undefined;
  const link = await control.sessions.createLink();
  return link.url ?? `${url}/sign-in#code=${link.code}`;
}

/** Creates the example from its folder and deploys it. Returns both uuids. */
export async function deployExample(control: Control, stores: Stores, server: ServerRecord) {
  const [project] = (await stores.projects.list({ take: 1 })).items;
  if (project === undefined || !existsSync(EXAMPLE_FOLDER)) return undefined;
  const { uuid } = await control.applications.createUpload({
    name: "hello",
    description: "The example that came with Berth.",
    project_uuid: project.uuid,
    environment_name: "production",
    server_uuid: server.uuid,
  });
  const { create } = await import("tar");
  const archive = create({ cwd: EXAMPLE_FOLDER, gzip: true, portable: true }, ["."]);
  await control.applications.uploadSource(uuid, archive);
  const [entry] = (await control.deploy({ uuid })).deployments ?? [];
  return entry?.deployment_uuid === undefined ? undefined : { uuid, deployment: entry.deployment_uuid };
}

function readKept(file: string): Readonly<Partial<Record<"url" | "token" | "uuid", string>>> | undefined {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
    return typeof kept === "object" && kept !== null ? kept : undefined;
  } catch {
    // The file is missing, or incomplete because the disk was full: a new one is written.
    return undefined;
  }
}
