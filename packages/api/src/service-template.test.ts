import { readdir, readFile } from "node:fs/promises";
import type { EnvironmentVariable } from "@berth/core/env";
import { parseTemplate, type ServiceTemplate, type TemplateRecord } from "@berth/core/service";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

const FOLDER = new URL("../../../templates/", import.meta.url);

async function catalogue(): Promise<readonly TemplateRecord[]> {
  const files = (await readdir(FOLDER)).toSorted();
  const read = (file: string) => readFile(new URL(file, FOLDER), "utf8");
  return Promise.all(files.map(async (file) => parseTemplate(file.replace(/\.yaml$/, ""), await read(file))));
}

let api: Served;
let types: readonly string[];
beforeAll(async () => {
  const templates = await catalogue();
  types = templates.map(({ type }) => type);
  api = await served({ templates });
});
afterAll(() => api.close());

const found = async (query: string): Promise<readonly ServiceTemplate[]> =>
  (await api.ask("GET", `/services/templates?${query}`)).json;
const typesOf = async (query: string) => (await found(query)).map(({ type }) => type);

/** Creates a service, and returns the keys that need a value before its start. */
async function missing(type: string): Promise<readonly string[]> {
  const { status, json } = await api.ask("POST", "/services/one-click", { body: { ...api.where, type } });
  expect([type, status]).toEqual([type, 201]);
  expect(json.domains.length, type).toBeGreaterThan(0);
  const envs: readonly EnvironmentVariable[] = (await api.ask("GET", `/services/${json.uuid}/envs`)).json;
  for (const { key, value } of envs) {
    if (key.startsWith("SERVICE_")) expect(value, `${type} ${key}`).toMatch(/./);
  }
  return envs.filter(({ is_required, value }) => is_required && !value).map(({ key }) => key);
}

describe("the catalogue of one-click services", () => {
  test("is told whole, or in pages that leave none out and tell none twice", async () => {
    expect(types.length).toBeGreaterThanOrEqual(45);
    expect(await typesOf("")).toEqual(types);
    const pages: string[] = [];
    for (let skip = 0; skip < types.length; skip += 20) {
      const { json, headers } = await api.ask("GET", `/services/templates?skip=${skip}&take=20`);
      expect(headers["x-total-count"]).toBe(String(types.length));
      expect(String(headers.link).includes('rel="next"')).toBe(skip + 20 < types.length);
      pages.push(...json.map(({ type }: ServiceTemplate) => type));
    }
    expect(pages).toEqual(types);
    expect(await typesOf(`skip=${types.length}&take=20`)).toEqual([]);
  });

  test("is found by words of any of its texts, by category and by tags, all of which must fit", async () => {
    expect(await typesOf("search=WIKI&tags=collaboration")).toEqual(["docmost", "outline"]);
    expect(await typesOf("search=postgresql%20browser")).toEqual(["pgadmin", "strapi", "superset"]);
    expect(await typesOf("category=Identity")).toEqual([
      ...["authentik", "casdoor", "fusionauth", "keycloak", "lldap", "logto", "passbolt", "pocket-id"],
      ...["supertokens", "vaultwarden", "zitadel"],
    ]);
    expect(await typesOf("category=identity&tags=oidc,saml&search=ldap")).toEqual(["authentik"]);
    expect(await typesOf("category=ident")).toEqual([]);
    expect(await typesOf("search=no-such-thing-at-all")).toEqual([]);
    const media = await found("category=media&skip=1&take=2");
    expect(media.map(({ category }) => category)).toEqual(["media", "media"]);
  });

  test("refuses pages of no size", async () => {
    for (const query of ["take=0", "skip=-1"]) {
      expect((await api.ask("GET", `/services/templates?${query}`)).status).toBe(422);
    }
  });

  test.each([
    ["nextclod", ["nextcloud"]],
    ["Keycloack", ["keycloak"]],
    ["paperles-ngx", ["paperless-ngx"]],
    ["mattermots", ["mattermost"]],
    ["zzzzzzzzzz", []],
  ])("answers 404 to the unknown type %s, with the types there are and those near it", async (type, near) => {
    const { status, json } = await api.ask("POST", "/services/one-click", { body: { ...api.where, type } });
    expect([status, json.message, json.valid_service_types]).toEqual([404, "Invalid service type.", types]);
    expect(json.similar_service_types.slice(0, 1)).toEqual(near);
  });

  test("holds no type that cannot be created, with a URL and without a variable left to chance", async () => {
    const left: string[] = [];
    // A few at a time, like a real client.
    for (let at = 0; at < types.length; at += 8) {
      const some = types.slice(at, at + 8);
      const keys = await Promise.all(some.map(missing));
      left.push(...some.filter((_, index) => keys[index]?.length !== 0));
    }
    // Values that only the owner can know.
    expect(left).toEqual([
      "collabora",
      "foundryvtt",
      "outline",
      "roundcube",
      "woodpecker",
      "wordpress-without-database",
    ]);
  });
});
