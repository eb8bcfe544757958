import type { DockerFixture } from "@berth/testing";
import { expect } from "vitest";
import type { TestServer } from "./server.fixture.ts";

export type Json = Readonly<Record<string, unknown>>;
interface ShownRefusal {
  readonly errors?: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

/** Fields that define where and how the source is built; a failing build would hide what follows. */
export const BUILD_FIELDS = [
  ...["git_repository", "git_branch", "git_commit_sha", "install_command", "build_command", "base_directory"],
  ...["publish_directory", "dockerfile_location", "dockerfile_target_build", "docker_registry_image_name"],
  ...["docker_registry_image_tag", "docker_compose_location", "build_pack", "static_image"],
];
/** Values of these fields mostly make deployments fail, so only some are tried. */
export const FAILING_FIELDS = [
  ...["dockerfile", "pre_deployment_command", "start_command", "custom_docker_run_options"],
  ...["limits_cpuset", "custom_network_aliases"],
  ...["health_check_command", "health_check_path", "health_check_response_text"],
];

/** A tenant's access to the API. */
export interface Tenant {
  /** Sends any request, which must be accepted or refused without an internal error. */
  ask(method: string, path: string, body?: Json): Promise<{ status: number; body: Json & ShownRefusal }>;
  /** Sends all fields, and then again without the refused ones. @returns The accepted fields. */
  patchWhatIsTaken(path: string, wanted: Json): Promise<readonly string[]>;
  /** Fields of an update whose values are or contain texts. */
  textFields(path: string): Promise<readonly string[]>;
}

/** All abilities except those that affect the server itself. */
const TENANT = ["read", "read:sensitive", "write", "write:sensitive", "deploy"];

export async function tenantOf(server: TestServer, abilities: readonly string[] = TENANT): Promise<Tenant> {
  const { body: made } = await server.rest("POST", "/tokens", { name: "tenant", abilities });
  const { token } = made as { token: string };

  async function ask(
    method: string,
    path: string,
    body?: Json,
  ): Promise<{ status: number; body: Json & ShownRefusal }> {
    const response = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new Error(`The server does not answer ${JSON.stringify([path, body])}: ${server.output()}`, { cause });
    });
    const answer = { status: response.status, body: (await response.json()) as Json & ShownRefusal };
    expect(answer.status, JSON.stringify([path, body, answer.body]).slice(0, 500)).toBeLessThan(500);
    return answer;
  }

  async function patchWhatIsTaken(path: string, wanted: Json): Promise<readonly string[]> {
    let rest = { ...wanted };
    while (Object.keys(rest).length > 0) {
      const { status, body } = await ask("PATCH", path, rest);
      if (status === 200) return Object.keys(rest);
      const named = Object.keys(body.errors ?? {}).map((field) => field.split(".")[0] ?? field);
      const refused = named.filter((name) => name in rest);
      // A refusal that names no field, such as for missing rights, is caused by one of them, so each is tried alone.
      if (refused.length === 0) return await patchEach(path, rest);
      rest = Object.fromEntries(Object.entries(rest).filter(([name]) => !refused.includes(name)));
    }
    return [];
  }

  async function patchEach(path: string, wanted: Json): Promise<readonly string[]> {
    const taken: string[] = [];
    for (const [name, value] of Object.entries(wanted)) {
      if ((await ask("PATCH", path, { [name]: value })).status === 200) taken.push(name);
    }
    return taken;
  }

  async function textFields(path: string): Promise<readonly string[]> {
    const description = (await (await fetch(`${server.url}/api/v1/openapi.json`)).json()) as Description;
    const schema = description.paths[path]?.patch?.requestBody?.content["application/json"]?.schema;
    const name = schema?.$ref?.split("/").at(-1);
    const properties = (name === undefined ? schema : description.components.schemas[name])?.properties ?? {};
    const isText = (value: unknown) => JSON.stringify(value).includes('"string"');
    return Object.keys(properties).filter((key) => isText(properties[key]) && key !== "name");
  }

  return { ask, patchWhatIsTaken, textFields };
}

type Inspected = Awaited<ReturnType<ReturnType<DockerFixture["client"]["getContainer"]>["inspect"]>>;
interface Volume {
  readonly Name: string;
  readonly Labels: Readonly<Record<string, string>> | null;
}

/** Berth's objects on an engine. */
interface Holdings {
  readonly releases: readonly Inspected[];
  readonly isOwnNetwork: (name: string) => boolean;
  readonly volumes: readonly Volume[];
}

/** An engine that has Berth's objects, and maybe others. */
interface CheckedEngine {
  readonly client: DockerFixture["client"];
  /** Default: the objects of any. */
  readonly instance?: string;
  /** Whether a network that no object of Berth's has belongs to the check's own side. */
  readonly isOwnNetwork: (name: string) => boolean;
  /** Uuids of resources with folders or privileges of the server, which members may grant on the team's own machine. */
  readonly withRights?: ReadonlySet<string>;
}

/**
 * Compares everything that Berth runs on an engine, except its proxy, with a tenant's limits.
 * @param known Uuids of the tenant's resources.
 */
export async function beyondLimits(
  { client, instance, isOwnNetwork, withRights = new Set() }: CheckedEngine,
  known: ReadonlySet<string>,
): Promise<readonly string[]> {
  const label = instance === undefined ? "berth.instance" : `berth.instance=${instance}`;
  const own = { label: [label] };
  const ownNetworks = async () => (await client.listNetworks({ filters: own })).map(({ Name }) => Name);
  const ownVolumes = async () => (await client.listVolumes({ filters: own })).Volumes ?? [];
  // Others come and go meanwhile, each with its network and volumes.
  const before = { networks: await ownNetworks(), volumes: await ownVolumes() };
  const filters = { label: [label, "berth.role=release"] };
  const containers = await client.listContainers({ all: true, filters });
  const found = await Promise.all(
    containers.map(({ Id }) =>
      client
        .getContainer(Id)
        .inspect()
        .catch(() => undefined),
    ),
  );
  const networks = new Set([...before.networks, ...(await ownNetworks())]);
  const releases = found.filter((container) => container !== undefined);
  return limitsLeft(known, {
    releases: releases.filter(({ Config }) => !withRights.has(Config.Labels["berth.resource"] ?? "")),
    isOwnNetwork: (name) => isOwnNetwork(name) || networks.has(name),
    volumes: [...before.volumes, ...(await ownVolumes())],
  });
}

/** On the machine's engine, which other tests use too. */
export const beyondLimitsHere = (docker: DockerFixture, known: ReadonlySet<string>): Promise<readonly string[]> =>
  beyondLimits(
    { client: docker.client, instance: docker.instance, isOwnNetwork: (name) => name.startsWith(docker.run) },
    known,
  );

function limitsLeft(known: ReadonlySet<string>, { releases, isOwnNetwork, volumes }: Holdings): readonly string[] {
  const ownerOf = new Map(volumes.map(({ Name, Labels }) => [Name, Labels?.["berth.resource"]]));
  return releases.flatMap((container) => {
    const { HostConfig, Mounts, NetworkSettings, Config } = container;
    const owner = Config.Labels["berth.resource"] ?? "";
    const foreign = Object.keys(NetworkSettings.Networks).filter((name) => name !== "none" && !isOwnNetwork(name));
    const wrong = {
      privileged: HostConfig.Privileged,
      capabilities: (HostConfig.CapAdd ?? []).length > 0,
      devices: (HostConfig.Devices ?? []).length > 0,
      security: (HostConfig.SecurityOpt ?? []).length > 0,
      processes: !["", "private"].includes(HostConfig.PidMode ?? ""),
      memory: !["", "private", "shareable"].includes(HostConfig.IpcMode ?? ""),
      host: [HostConfig.NetworkMode, HostConfig.UTSMode, HostConfig.UsernsMode].includes("host"),
      [`network ${foreign}`]: foreign.length > 0,
      mounts: Mounts.some(({ Type, Name = "" }) => Type !== "volume" || ownerOf.get(Name) !== owner),
      foreign: !known.has(owner),
    };
    const reasons = Object.entries(wrong).flatMap(([what, isWrong]) => (isWrong ? [what] : []));
    return reasons.map((what) => `${container.Name} ${what}`);
  });
}

interface Schema {
  readonly $ref?: string;
  readonly properties?: Json;
}

interface Description {
  readonly paths: Readonly<Record<string, { readonly patch?: DescribedOperation } | undefined>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema | undefined>> };
}

interface DescribedOperation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema } | undefined>> };
}
