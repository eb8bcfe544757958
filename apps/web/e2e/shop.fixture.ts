import { generateKeyPairSync } from "node:crypto";
import type { TestServer } from "../../server/e2e/server.fixture.ts";

export interface Shop {
  readonly project: string;
  readonly api: string;
  readonly worker: string;
  readonly shopdb: string;
  readonly cache: string;
  readonly mail: string;
}

/** An environment with resources of all kinds on two servers, of which none is started. */
export async function shopOf({ client }: TestServer): Promise<Shop> {
  const [local] = await client.servers.list.query({});
  const { uuid: project } = await client.projects.create.mutate({ name: "Shop" });
  const where = { project_uuid: project, environment_name: "production", server_uuid: local?.uuid ?? "" };
  const elsewhere = { ...where, server_uuid: await silentServer(client) };
  const [api, worker] = await Promise.all([
    client.applications.createUpload.mutate({
      ...where,
      name: "api",
      domains: "http://api.shop.test,http://shop.test",
    }),
    client.applications.createUpload.mutate({ ...where, name: "worker" }),
  ]);
  const shopdb = await client.databases.create.postgresql.mutate({ ...where, name: "shopdb" });
  const cache = await client.databases.create.redis.mutate({ ...where, name: "cache" });
  const mail = await client.services.create.mutate({
    ...{ ...elsewhere, name: "mail", docker_compose: "services:\n  web:\n    image: nginx\n" },
  });
  return { project, api: api.uuid, worker: worker.uuid, shopdb: shopdb.uuid, cache: cache.uuid, mail: mail.uuid };
}

/** A server where nothing listens, so that it is never usable. */
async function silentServer(client: TestServer["client"]): Promise<string> {
  const { privateKey } = generateKeyPairSync("ed25519", {
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const key = await client.privateKeys.create.mutate({ private_key: privateKey });
  const { uuid } = await client.servers.create.mutate({
    ...{ name: "far", ip: "127.0.0.7", port: 9, private_key_uuid: key.uuid },
  });
  return uuid;
}

/** Puts a reference to a database into a variable of another resource. */
export async function refer({ client }: TestServer, uuid: string, key: string, database: string): Promise<void> {
  await client.applications.envs.create.mutate({ uuid, key, value: `{{ database.${database}.url }}` });
}
