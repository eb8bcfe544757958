import { isDomainError } from "@berth/core";
import type { Stores } from "@berth/core/ports";
import { CLOUD_PROVIDERS } from "@berth/core/server";
import { testCipher, testServer, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const URL = "https://gateway.example/v1";

const insertToken = (stores: Stores, token = "t0ken") =>
  stores.cloudTokens.insert({ uuid: testUuid(), provider: "hetzner", name: "Shop", token, url: URL });

async function rentServer(stores: Stores, cloudTokenId: number) {
  const { server } = await testServer(stores);
  return await stores.servers.update(server.uuid, { cloud_provider_token_id: cloudTokenId, hetzner_server_id: 42 });
}

onEachBackend((database) => {
  it("keeps the token encrypted, for the row it was written to alone", async () => {
    const stores = await testTeam(database());
    const [one, other] = [await insertToken(stores, "readable"), await insertToken(stores, "another")];
    const { kysely } = database().database;
    const { rows } = await sql<{ token: Uint8Array }>`select token from cloud_token where id = ${one.id}`.execute(
      kysely,
    );
    expect(Buffer.from(rows[0]?.token ?? []).toString("latin1")).not.toContain("readable");
    expect((await stores.cloudTokens.secret(one.uuid))?.for(URL)).toBe("readable");
    await sql`update cloud_token set token = ${rows[0]?.token} where id = ${other.id}`.execute(kysely);
    await expect(stores.cloudTokens.secret(other.uuid)).rejects.toThrow("cannot be decrypted");
  });

  it("gives the token for the origin that it was stored for alone, and one of an older release for the provider's own", async () => {
    const stores = await testTeam(database());
    const { uuid } = await insertToken(stores);
    const credential = await stores.cloudTokens.secret(uuid);
    expect([URL, "https://gateway.example/v2"].map((url) => credential?.for(url))).toEqual(["t0ken", "t0ken"]);
    const others = [CLOUD_PROVIDERS.hetzner.url, "https://gateway.example:8443/v1", "http://gateway.example/v1"];
    expect(others.map((url) => credential?.for(url))).toEqual([undefined, undefined, undefined]);
    const older = testCipher().seal("0lder", `cloud_token ${uuid} token`);
    await sql`update cloud_token set token = ${older} where uuid = ${uuid}`.execute(database().database.kysely);
    const kept = await stores.cloudTokens.secret(uuid);
    expect([CLOUD_PROVIDERS.hetzner.url, URL].map((url) => kept?.for(url))).toEqual(["0lder", undefined]);
  });

  it("lists a team's tokens with how many servers were made with each", async () => {
    const stores = await testTeam(database());
    const tokens = [await insertToken(stores), await insertToken(stores), await insertToken(stores)];
    await rentServer(stores, tokens[1]?.id ?? 0);
    await rentServer(stores, tokens[1]?.id ?? 0);
    const { items, total } = await stores.cloudTokens.list({ skip: 1, take: 1 });
    expect([total, items]).toEqual([3, [{ ...tokens[1], servers_count: 2 }]]);
    expect((await stores.cloudTokens.list()).items.map(({ servers_count }) => servers_count)).toEqual([0, 2, 0]);
  });

  it("changes the name and nothing else", async () => {
    const stores = await testTeam(database());
    const token = await insertToken(stores, "kept");
    await stores.cloudTokens.update(token.uuid, { name: "New" });
    expect(await stores.cloudTokens.find(token.uuid)).toMatchObject({
      ...token,
      name: "New",
      updated_at: expect.any(Date),
    });
    expect((await stores.cloudTokens.secret(token.uuid))?.for(URL)).toBe("kept");
    expect(await stores.cloudTokens.update(testUuid(), { name: "New" })).toBeUndefined();
  });

  it("keeps a token while a server uses it", async () => {
    const stores = await testTeam(database());
    const token = await insertToken(stores);
    const server = await rentServer(stores, token.id);
    expect(server).toMatchObject({ cloud_provider_token_id: token.id, hetzner_server_id: 42 });
    expect(await stores.cloudTokens.deleteIfUnused(token.uuid)).toBe(false);
    await sql`delete from server where id = ${server?.id}`.execute(database().database.kysely);
    expect(await stores.cloudTokens.deleteIfUnused(token.uuid)).toBe(true);
    expect(await stores.cloudTokens.deleteIfUnused(token.uuid)).toBe(false);
  });

  it("goes with its team, together with the servers that use it", async () => {
    const stores = await testTeam(database());
    const token = await insertToken(stores);
    await rentServer(stores, token.id);
    await sql`delete from team where id = ${token.team_id}`.execute(database().database.kysely);
    expect(await stores.cloudTokens.find(token.uuid)).toBeUndefined();
  });

  it("gives no server another team's token", async () => {
    const [own, other] = [await testTeam(database()), await testTeam(database())];
    const { id } = await insertToken(other);
    await expect(rentServer(own, id)).rejects.toSatisfy((error) => isDomainError(error, "resource.not_found"));
  });
});
