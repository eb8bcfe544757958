import type { ServerRecord } from "@berth/core/ports";
import { testPrivateKey, testServer } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeEach(async () => {
  api = await served();
  Object.assign(api.engine.capabilities, { build_packs: ["nixpacks", "dockerfile", "dockerimage"] });
});
afterEach(() => api.close());

const COMPOSE = Buffer.from("services:\n  web:\n    image: nginx\n").toString("base64");
const CREATIONS: Readonly<Record<string, object>> = {
  "/applications/public": {
    git_repository: "https://git.example/team/hello.git",
    git_branch: "main",
    build_pack: "nixpacks",
  },
  "/applications/upload": {},
  "/applications/dockerfile": { dockerfile: "FROM scratch" },
  "/applications/dockerimage": { docker_registry_image_name: "nginx" },
  "/databases/redis": {},
  "/services": { docker_compose_raw: COMPOSE },
};

/** Of Berth's own machine unless `isAdded`. */
async function dockerServer({ isAdded = false } = {}): Promise<ServerRecord> {
  const { server } = await testServer(api.stores);
  const ip = isAdded ? "192.0.2.7" : "host.docker.internal";
  const key = isAdded ? (await testPrivateKey(api.stores)).id : null;
  const change = { name: isAdded ? "web-1" : "docker", ip, engine: "docker", private_key_id: key } as const;
  const updated = await api.stores.servers.update(server.uuid, change);
  if (updated === undefined) throw new Error("The server is gone.");
  return updated;
}

const create = (path: string, server: object = {}) => {
  const { server_uuid: _, ...place } = api.where;
  return api.ask("POST", path, { body: { ...place, ...CREATIONS[path], ...server } });
};
const serverOf = async (path: string, { json }: { json: { uuid: string } }) =>
  (await api.ask("GET", `/${path.split("/")[1]}/${json.uuid}`)).json.server_uuid;

describe("a creation that names no server", () => {
  test.each(Object.keys(CREATIONS))(
    "by POST %s goes to Docker where it answers, as the first of the list",
    async (path) => {
      const docker = await dockerServer();
      for (const nowhere of [{}, { server_uuid: null }, { server_uuid: "" }]) {
        const made = await create(path, nowhere);
        expect([made.status, made.json]).toEqual([201, expect.objectContaining({ uuid: expect.any(String) })]);
        expect(await serverOf(path, made)).toBe(docker.uuid);
      }
      expect((await api.ask("GET", "/servers")).json[0].uuid).toBe(docker.uuid);
    },
  );

  test("goes to Berth's own processes where there is no Docker, or none that answers", async () => {
    const path = "/applications/upload";
    expect(await serverOf(path, await create(path))).toBe(api.where.server_uuid);
    const docker = await dockerServer();
    await api.stores.servers.update(docker.uuid, { settings: { ...docker.settings, is_reachable: false } });
    expect(await serverOf(path, await create(path))).toBe(api.where.server_uuid);
    expect((await api.ask("GET", "/servers")).json[0].uuid).toBe(api.where.server_uuid);
  });

  test("is refused with the servers to choose from where machines were added, and takes the one that is named", async () => {
    const path = "/applications/upload";
    const added = await dockerServer({ isAdded: true });
    const { status, json } = await create(path);
    expect([status, json.errors.server_uuid]).toEqual([422, [expect.stringContaining(`${added.uuid} (web-1)`)]]);
    expect(json.errors.server_uuid[0]).toContain(api.where.server_uuid);
    expect(await serverOf(path, await create(path, { server_uuid: added.uuid }))).toBe(added.uuid);
    const image = "/applications/dockerimage";
    expect(await serverOf(image, await create(image))).toBe(added.uuid);
  });

  test("is refused with what is missing where nothing can run it", async () => {
    const { status, json } = await create("/databases/redis");
    expect([status, json.errors.server_uuid]).toEqual([422, [expect.stringContaining("No server with Docker")]]);
  });
});
