import { expect } from "vitest";
import type { TestServer } from "./server.fixture.ts";

export type Json = Readonly<Record<string, unknown>>;
interface Refusal {
  readonly errors?: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

/** They shape where from and how it is built; a build that fails would hide what comes after it. */
export const BUILD_FIELDS = [
  ...["git_repository", "git_branch", "git_commit_sha", "install_command", "build_command", "base_directory"],
  ...["publish_directory", "dockerfile_location", "dockerfile_target_build", "docker_registry_image_name"],
  ...["docker_registry_image_tag", "docker_compose_location", "build_pack", "static_image"],
];
/** With these a deployment ends as failed, and what they stand for is tried with some of the values only. */
export const FAILING_FIELDS = [
  ...["dockerfile", "pre_deployment_command", "start_command", "custom_docker_run_options"],
  ...["limits_cpuset", "custom_network_aliases"],
  ...["health_check_command", "health_check_path", "health_check_response_text"],
];

/** What a tenant may ask of the API. */
export interface Tenant {
  /** Whatever is sent, it is refused or taken: it breaks nothing. */
  ask(method: string, path: string, body?: Json): Promise<{ status: number; body: Json & Refusal }>;
  /** Sends all fields at once, then again without the refused ones. @returns Which were taken. */
  patchWhatIsTaken(uuid: string, wanted: Json): Promise<readonly string[]>;
  /** Fields of a change whose values are, or hold, a text. */
  textFields(path: string): Promise<readonly string[]>;
}

/** May do everything but reach into the server itself. */
const TENANT = ["read", "read:sensitive", "write", "write:sensitive", "deploy"];

export async function tenantOf(server: TestServer, abilities: readonly string[] = TENANT): Promise<Tenant> {
  const { body: made } = await server.rest("POST", "/tokens", { name: "tenant", abilities });
  const { token } = made as { token: string };

  async function ask(method: string, path: string, body?: Json): Promise<{ status: number; body: Json & Refusal }> {
    const response = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new Error(`The server does not answer ${JSON.stringify([path, body])}: ${server.output()}`, { cause });
    });
    const answer = { status: response.status, body: (await response.json()) as Json & Refusal };
    expect(answer.status, JSON.stringify([path, body, answer.body]).slice(0, 500)).toBeLessThan(500);
    return answer;
  }

  async function patchWhatIsTaken(uuid: string, wanted: Json): Promise<readonly string[]> {
    let rest = { ...wanted };
    while (Object.keys(rest).length > 0) {
      const { status, body } = await ask("PATCH", `/applications/${uuid}`, rest);
      if (status === 200) return Object.keys(rest);
      const named = Object.keys(body.errors ?? {}).map((path) => path.split(".")[0] ?? path);
      const refused = named.filter((name) => name in rest);
      // A refusal that names no field, as one for missing rights, is of one of them: each is tried alone.
      if (refused.length === 0) return await patchEach(uuid, rest);
      rest = Object.fromEntries(Object.entries(rest).filter(([name]) => !refused.includes(name)));
    }
    return [];
  }

  async function patchEach(uuid: string, wanted: Json): Promise<readonly string[]> {
    const taken: string[] = [];
    for (const [name, value] of Object.entries(wanted)) {
      if ((await ask("PATCH", `/applications/${uuid}`, { [name]: value })).status === 200) taken.push(name);
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

interface Schema {
  readonly $ref?: string;
  readonly properties?: Json;
}

/** What is read of the API's description. */
interface Description {
  readonly paths: Readonly<Record<string, { readonly patch?: Operation } | undefined>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema | undefined>> };
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema } | undefined>> };
}
