import { describe, expect, test } from "vitest";
import { ApplicationSettings } from "../application/application.ts";
import type { StorageRecord } from "../ports/storage.ts";
import { newStorage } from "../storage/storage.ts";
import type { StorageCreate } from "../storage/storage-input.ts";
import { memoryBytes } from "./memory.ts";
import { mountsOf } from "./mounts.ts";
import {
  type ApplicationInput,
  buildConfig,
  buildRequest,
  limitsOf,
  portsOf,
  releaseSpec,
  sourceSpec,
} from "./release-spec.ts";

const settings = (fields: Partial<ApplicationSettings> = {}) =>
  ApplicationSettings.parse({
    build_pack: "nixpacks",
    git_repository: "https://git.example/me/app.git",
    git_branch: "main",
    ...fields,
  });

describe("what is fetched", () => {
  const SHA = "a".repeat(40);
  const OWNER = { uuid: "app1", team_id: 3, source: "git", private_key_id: null, github_app: null } as const;
  const spec = (fields: object, deployment: object = {}) =>
    sourceSpec(
      { ...OWNER, settings: settings(fields) },
      { commit: "HEAD", pull_request_id: 0, git_type: null, ...deployment },
    );

  test.each([
    [{}, {}, "main", "HEAD"],
    [{ git_commit_sha: "v1.2" }, {}, "main", "v1.2"],
    [{ git_commit_sha: "v1.2" }, { commit: SHA }, "main", SHA],
    [{ git_commit_sha: "v1.2" }, { pull_request_id: 7 }, "refs/pull/7/head", "HEAD"],
    [{}, { pull_request_id: 7, commit: SHA }, "refs/pull/7/head", SHA],
    [{}, { pull_request_id: 7, git_type: "gitlab" }, "refs/merge-requests/7/head", "HEAD"],
    [{}, { pull_request_id: 7, git_type: "bitbucket", commit: SHA }, "main", SHA],
  ])("of an application with %j for a deployment with %j is %s at %s", (fields, deployment, branch, commit) => {
    expect(spec(fields, deployment)).toMatchObject({ type: "git", branch, commit });
  });

  test("of a pull request that the host keeps no ref of needs a commit", () => {
    expect(() => spec({}, { pull_request_id: 7, git_type: "bitbucket" })).toThrow("newest commit of pull request 7");
  });

  test("is kept for the team and its credential alone", () => {
    const deployment = { commit: "HEAD", pull_request_id: 0, git_type: null };
    const github_app = { id: 1, uuid: "x", repository_id: 2, app_uuid: "y", html_url: "https://github.test" };
    const owners = [{}, { team_id: 4 }, { private_key_id: 7 }, { github_app }, { team_id: 37, private_key_id: null }];
    const cacheOwners = owners.map((fields) => {
      const found = sourceSpec({ ...OWNER, settings: settings(), ...fields }, deployment);
      return found.type === "git" ? found.cacheOwner : undefined;
    });
    expect(cacheOwners).toEqual(["team 3", "team 4", "team 3, key 7", "team 3, app 1 repository 2", "team 37"]);
  });

  test("with a key goes over ssh", () => {
    const key = { type: "ssh", privateKey: "k" } as const;
    const application = { ...OWNER, settings: settings() };
    const deployment = { commit: "HEAD", pull_request_id: 0, git_type: null };
    expect(sourceSpec(application, deployment, key)).toMatchObject({
      repository: "ssh://git@git.example/me/app.git",
      credentials: key,
    });
  });
});

describe("an image", () => {
  const config = (name: string, tag: string, ofDeployment: string | null) => {
    const image = { docker_registry_image_name: name, docker_registry_image_tag: tag };
    const read = buildConfig(settings({ build_pack: "dockerimage", ...image }), { dockerfile: null }, ofDeployment);
    return [read.docker_registry_image_name, read.docker_registry_image_tag];
  };
  test("is the application's, unless the deployment names another tag", () => {
    expect(config("nginx", "1.27", null)).toEqual(["nginx", "1.27"]);
    expect(config("nginx", "1.27", "pr-7")).toEqual(["nginx", "pr-7"]);
    expect(config("nginx@sha256", "c".repeat(64), "pr-7")).toEqual(["nginx", "pr-7"]);
  });
});

describe("limits and ports", () => {
  test.each<[string, number | null]>([
    ["0", null],
    ["", null],
    ["lots", null],
    ["-1", null],
    ["512", 512],
    ["512b", 512],
    ["1k", 1024],
    ["512m", 512 * 1024 ** 2],
    ["512M", 512 * 1024 ** 2],
    ["1.5g", 1.5 * 1024 ** 3],
    ["2Gi", 2 * 1024 ** 3],
    ["1gb", 1024 ** 3],
    ["1t", 1024 ** 4],
  ])("reads %s as a size", (text, bytes) => {
    expect(memoryBytes(text)).toBe(bytes);
  });

  test.each<[string, number | null]>([
    ["0", null],
    ["0.5", 0.5],
    ["2", 2],
    ["many", null],
  ])("reads %s processors", (text, cpus) => {
    expect(limitsOf({ limits_memory: "0", limits_cpus: text }).cpus).toBe(cpus);
  });

  test("reads the exposed ports in their order", () => {
    expect(portsOf("3000,80", true)).toEqual([3000, 80]);
    expect(portsOf(null, true)).toEqual([3000]);
    expect(portsOf(null, false)).toEqual([]);
  });

  test.each<[string | null, readonly number[], readonly number[]]>([
    [null, [80], [80]],
    [null, [5000], [5000]],
    [null, [22, 3000], [3000]],
    [null, [22, 80, 443], [80]],
    [null, [22, 8080], [8080]],
    [null, [1883, 9001], [1883]],
    ["8000", [80], [8000]],
  ])("takes the port that the image exposes where none is named (%j, image %j)", (named, ofImage, ports) => {
    expect(portsOf(named, true, ofImage)).toEqual(ports);
  });

  test("does not make a worker of what its image exposes take requests", () => {
    expect(portsOf(null, false, [80])).toEqual([]);
  });
});

describe("storages", () => {
  const record = (uuid: string, sent: StorageCreate): StorageRecord => ({
    id: 1,
    uuid,
    ...newStorage(sent, { resourceUuid: "app1", container: null }),
    has_volume: false,
    created_at: new Date(0),
    updated_at: new Date(0),
  });

  test("are mounted as volumes, folders of the server and files, outer ones first", () => {
    const storages = [
      record("s1", { type: "file", mount_path: "/app/data/app.conf", content: "a=1" }),
      record("s2", { type: "file", mount_path: "/app/conf", is_directory: true, fs_path: "/srv/conf" }),
      record("s3", { type: "persistent", name: "disk", mount_path: "/mnt", host_path: "/srv/disk" }),
      record("s4", { type: "persistent", name: "data", mount_path: "/app/data" }),
    ];
    expect(mountsOf("app1", storages, 0)).toEqual([
      { type: "folder", uuid: "s2", name: "app/conf", mountPath: "/app/conf", hostPath: "/srv/conf" },
      { type: "volume", uuid: "s4", name: "data", mountPath: "/app/data" },
      { type: "file", uuid: "s1", name: "app/data/app.conf", mountPath: "/app/data/app.conf", content: "a=1" },
      { type: "folder", uuid: "s3", name: "disk", mountPath: "/mnt", hostPath: "/srv/disk" },
    ]);
  });

  test("of a preview are its own, unless they are shared with previews", () => {
    const of = (uuid: string, fields: Partial<StorageRecord>) => ({
      ...record(uuid, { type: "persistent", name: uuid, mount_path: `/app/${uuid}` }),
      ...fields,
    });
    const storages = [
      of("a", {}),
      of("b", { is_preview_suffix_enabled: false }),
      of("c", { host_path: "/srv/disk" }),
      of("d", { host_path: "/srv/disk", is_preview_suffix_enabled: false }),
    ];
    expect(mountsOf("app1", storages, 7)).toMatchObject([
      { type: "volume", uuid: "a-pr-7", name: "a-pr-7" },
      { type: "volume", uuid: "b", name: "b" },
      { type: "folder", uuid: "c-pr-7", hostPath: "/srv/disk-pr-7" },
      { type: "folder", uuid: "d", hostPath: "/srv/disk" },
    ]);
  });

  test("keep a name that their owner has given them later", () => {
    const renamed = { ...record("s1", { type: "persistent", name: "data", mount_path: "/data" }), name: "app2-data" };
    expect(mountsOf("app1", [renamed], 0)).toMatchObject([{ name: "app2-data" }]);
  });
});

const input = (commands: Partial<ApplicationSettings>, own: Readonly<Record<string, string>> = {}): ApplicationInput =>
  ({
    application: {
      uuid: "app1",
      id: 1,
      kind: "application",
      name: "shop",
      github_app: null,
      placement: {
        destination_network: "berth",
        project_name: "Shops",
        environment_name: "staging",
        server_ip: "192.0.2.7",
      },
      settings: settings({ build_pack: "dockercompose", ...commands }),
    },
    secrets: { dockerfile: null },
    deployment: { uuid: "d1", commit: "HEAD", pull_request_id: 0, git_type: null, docker_registry_image_tag: null },
    domains: [],
    envs: Object.entries(own).map(([key, value]) => ({ key, value, is_preview: false, is_runtime: true })),
    storages: [],
    // Has only the fields that are read.
  }) as unknown as ApplicationInput;

describe("an application", () => {
  test("of an image listens where the image says it does, unless a port is named", () => {
    const of = (ports_exposes: string | null) => {
      const made = input({ build_pack: "dockerfile", ports_exposes });
      const domains = [{ url: "http://app.example" }] as unknown as ApplicationInput["domains"];
      return releaseSpec({ ...made, domains }, { type: "image", image: "app:1", ports: [80] }).ports;
    };
    expect(of(null)).toEqual([80]);
    expect(of("8000")).toEqual([8000]);
  });

  test("runs where its constraints say, whether it is an image or a stack", () => {
    const made = input({ swarm_placement_constraints: "node.labels.zone == a", is_swarm_only_worker_nodes: false });
    const stack = {
      type: "stack",
      compose: "services: { web: { image: a } }",
      variables: {},
      images: {},
      files: [],
    } as const;
    for (const artifact of [{ type: "image", image: "app:1" }, stack] as const) {
      const { placement } = releaseSpec(made, artifact);
      expect(placement).toEqual({ constraints: ["node.labels.zone==a"], isOnlyOnWorkers: false });
    }
  });
});

describe("an application of several compose files", () => {
  test("is built from those that either command names", () => {
    const docker_compose_custom_start_command = "docker compose -f docker-compose.yaml -f b.yaml --env-file x up -d";
    const { config } = buildRequest(input({ docker_compose_custom_start_command }), "/source");
    expect(config).toMatchObject({ composeFiles: ["docker-compose.yaml", "b.yaml"], composeEnvFiles: ["x"] });
    expect(buildRequest(input({}), "/source").config).not.toHaveProperty("composeFiles");
  });

  test("knows the variables of files behind its own, and gives them to no container by themselves", () => {
    const compose = `services: { web: { image: a, environment: ["A=\${A:?}", "B=\${B:?}"] } }`;
    const variables = { A: "file", B: "file", UNUSED: "file" };
    const artifact = { type: "stack", compose, variables, images: {}, files: [] } as const;
    const { stack } = releaseSpec(input({}, { A: "own" }), artifact);
    expect(stack?.variables).toMatchObject({ A: "own", B: "file" });
    expect(Object.values(stack?.containers.web?.env ?? {})).not.toContain("file");
  });

  test("reads what every release gets in its compose file, under the names of the family too, unless it is set", () => {
    const compose = `services: { web: { image: a, environment: ["A=\${COOLIFY_RESOURCE_UUID:?}", "B=$SOURCE_COMMIT"] } }`;
    const artifact = { type: "stack", compose, images: {}, files: [] } as const;
    const of = (own: Readonly<Record<string, string>>) => releaseSpec(input({}, own), artifact).stack?.variables;
    const given = { BERTH_RESOURCE_UUID: "app1", COOLIFY_RESOURCE_UUID: "app1", SOURCE_COMMIT: "HEAD" };
    expect(of({})).toMatchObject(given);
    expect(of({ COOLIFY_RESOURCE_UUID: "mine" })).toMatchObject({ ...given, COOLIFY_RESOURCE_UUID: "mine" });
    expect(buildRequest(input({}), "/source").variables).toMatchObject(given);
  });

  test("gets the generated values and its URLs where its compose file names them", () => {
    const compose =
      "services: { web: { image: a, environment: { SERVICE_PASSWORD_WEB: '', SERVICE_URL_WEB: '', KEY: $SERVICE_USER_B } } }";
    const variables = { SERVICE_PASSWORD_WEB: "made", SERVICE_USER_B: "me" };
    const artifact = { type: "stack", compose, variables, images: {}, files: [] } as const;
    const domains = [
      { url: "http://a.test:80", public_url: "http://a.test", host: "a.test", path: "/", container: "web" },
    ];
    const of = (own: Readonly<Record<string, string>>) => releaseSpec({ ...input({}, own), domains }, artifact).stack;
    expect(of({})?.containers.web?.env).toMatchObject({
      SERVICE_PASSWORD_WEB: "made",
      SERVICE_URL_WEB: "http://a.test",
    });
    expect(of({})?.variables).toMatchObject({ SERVICE_USER_B: "me" });
    expect(of({ SERVICE_PASSWORD_WEB: "mine" })?.containers.web?.env).toMatchObject({ SERVICE_PASSWORD_WEB: "mine" });
  });
});
