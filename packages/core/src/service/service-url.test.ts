import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseUrlList } from "../application/domain.ts";
import { parseCompose } from "../compose/parse.ts";
import type { WantedUrl } from "../compose/wanted-urls.ts";
import { isDomainError } from "../errors.ts";
import type { EnvRecord } from "../ports/records.ts";
import { ServerSettings } from "../server/server-settings.ts";
import { generatedServiceUrl, readServiceUrls } from "./service-url.ts";
import { planUrls } from "./service-url-plan.ts";
import { planVariables } from "./service-variable.ts";

const UUID = "abcdefghijklmnopqrstuvwx";
const serverAt = (ip: string, wildcard_domain: string | null = null) => ({
  ip,
  settings: { ...ServerSettings.parse({}), wildcard_domain },
});
const local = serverAt("127.0.0.1");
const wanted = (fields: Partial<WantedUrl> = {}): WantedUrl => ({
  name: "MY_APP",
  container: "my-app",
  port: null,
  path: "",
  ...fields,
});
const composeOf = (text: string) => {
  const compose = parseCompose(text);
  if ("problems" in compose) throw new Error(compose.problems.join());
  return compose;
};
const claims = (text: string) => parseUrlList(text).claims;
const source = {
  secret: (length: number) => "s".repeat(length),
  bytes: (length: number) => new Uint8Array(length),
  hmacSha256: () => new Uint8Array(32),
};

describe("the URL that is made for a container", () => {
  test.each([
    [wanted(), local, `http://my-app-${UUID}.localhost`],
    [wanted({ port: 3000 }), local, `http://my-app-${UUID}.localhost:3000`],
    [wanted({ port: 3000, path: "/v1" }), local, `http://my-app-${UUID}.localhost:3000/v1`],
    [wanted(), serverAt("10.0.0.7"), `http://my-app-${UUID}.10.0.0.7.sslip.io`],
    [wanted(), serverAt("2001:db8::1"), `http://my-app-${UUID}.2001-db8--1.sslip.io`],
    [
      wanted({ port: 80 }),
      serverAt("10.0.0.7", "https://*.apps.example/in"),
      `https://my-app-${UUID}.apps.example:80/in`,
    ],
  ])("%j on %j", (url, server, expected) => {
    expect(generatedServiceUrl(url, server, UUID)).toBe(expected);
  });

  test("is one that a resource may claim, whatever the name", () => {
    const name = fc.stringMatching(/^[A-Za-z0-9_.]{1,200}$/);
    const port = fc.option(fc.integer({ min: 1, max: 65_535 }));
    fc.assert(
      fc.property(name, port, fc.constantFrom("", "/a", "/a/b"), (text, at, path) => {
        const url = generatedServiceUrl(wanted({ name: text, port: at, path }), local, UUID);
        expect(parseUrlList(url)).toMatchObject({ problems: [], claims: [{ path: path || "/" }] });
      }),
    );
  });
});

describe("the URLs of a request", () => {
  const containers = [
    { name: "web", kind: "application" as const },
    { name: "db", kind: "database" as const },
  ];
  const refused = (sent: Parameters<typeof readServiceUrls>[0], isForced = false) => {
    try {
      readServiceUrls(sent, containers, isForced);
      return [];
    } catch (error) {
      if (isDomainError(error, "request.invalid")) return error.fields?.urls;
      throw error;
    }
  };

  test("are read for each container; an empty one takes them away", () => {
    const read = readServiceUrls([{ name: "web", url: "http://a.example, http://b.example/x" }], containers, false);
    expect(read.get("web")?.map(({ url }) => url)).toEqual(["http://a.example", "http://b.example/x"]);
    for (const url of ["", null, undefined]) {
      expect([...readServiceUrls([{ name: "web", url }], containers, false)]).toEqual([["web", []]]);
    }
    for (const sent of [null, undefined, []]) expect(readServiceUrls(sent, containers, false).size).toBe(0);
  });

  test("are refused with a sentence for each that is wrong", () => {
    expect(
      refused([
        { name: "web", url: "nope,ftp://a.example" },
        { name: "other", url: "http://a.example" },
        { name: "db", url: "http://b.example" },
      ]),
    ).toEqual([
      "Invalid URL: nope",
      "Invalid URL scheme: ftp for URL: ftp://a.example. Only http and https are supported.",
      "Service container with 'other' not found.",
      "The container db is a database, which has no URLs.",
    ]);
  });

  test("are refused when one is there twice, unless it is overridden", () => {
    const both = [
      { name: "web", kind: "application" as const },
      { name: "api", kind: "application" as const },
    ];
    const sent = [
      { name: "web", url: "http://a.example" },
      { name: "api", url: "https://A.example/" },
    ];
    expect(() => readServiceUrls(sent, both, false)).toThrow("Validation failed.");
    expect(readServiceUrls(sent, both, true).size).toBe(2);
    expect(
      refused([
        { name: "web", url: "" },
        { name: "web", url: "" },
      ]),
    ).toEqual(["The container web is named twice."]);
  });
});

describe("the URLs and variables of a service", () => {
  const TEXT = `
services:
  web: { image: a, environment: { SERVICE_URL_WEB_3000: "", B: "$SERVICE_PASSWORD_X" } }
  console: { image: a, environment: [SERVICE_FQDN_CONSOLE] }
  plain: { image: a, environment: { A: "\${A:-1}", C: "\${C}", R: "\${R:?m}", O: "$SERVICE_WHAT_X" } }
`;
  const compose = composeOf(TEXT);
  const record = (key: string, value: string | null, fields: Partial<EnvRecord> = {}): EnvRecord => ({
    ...{ id: 1, uuid: `of-${key}`, key, value, is_preview: false, is_literal: false, is_multiline: false },
    ...{ is_shown_once: false, is_runtime: true, is_buildtime: true, is_required: false, comment: null, order: null },
    ...{ created_at: new Date(0), updated_at: new Date(0) },
    ...fields,
  });
  /** As behind a proxy on the usual ports. */
  const withoutPort = (url: string) => url.replace(/:\d+(?=\/|$)/, "");
  const planned = (
    requested: Readonly<Record<string, string>> = {},
    current: Readonly<Record<string, string>> = {},
    existing: readonly EnvRecord[] = [],
    text = compose,
  ) => {
    const toClaims = (urls: Readonly<Record<string, string>>) =>
      new Map(Object.entries(urls).map(([name, url]) => [name, claims(url)]));
    const urls = planUrls(
      text,
      { uuid: UUID, server: local },
      {
        requested: toClaims(requested),
        current: toClaims(current),
        isNewCompose: true,
        isNamedBefore: ({ name, variable = `SERVICE_URL_${name}` }) => existing.some(({ key }) => key === variable),
      },
    );
    const variables = planVariables({
      ...{
        variables: text.variables,
        existing,
        urls: urls.urls,
        publicUrl: withoutPort,
        source,
        now: new Date(0),
        isNewCompose: true,
      },
    });
    const fqdns = Object.fromEntries([...urls.claims].map(([name, list]) => [name, list.map(({ url }) => url).join()]));
    return { fqdns, variables, values: Object.fromEntries(variables.insert.map(({ key, value }) => [key, value])) };
  };

  test("are made for the containers that the text names, and for no other", () => {
    const { fqdns, values } = planned();
    const [web, console] = [`web-${UUID}.localhost`, `console-${UUID}.localhost`];
    expect(fqdns).toEqual({ web: `http://${web}:3000`, console: `http://${console}` });
    expect(values).toEqual({
      SERVICE_URL_WEB: `http://${web}`,
      SERVICE_FQDN_WEB: web,
      SERVICE_URL_WEB_3000: `http://${web}`,
      SERVICE_FQDN_WEB_3000: web,
      SERVICE_URL_CONSOLE: `http://${console}`,
      SERVICE_FQDN_CONSOLE: console,
      SERVICE_PASSWORD_X: "s".repeat(32),
      SERVICE_WHAT_X: null,
      A: "1",
      C: "",
      R: "m",
    });
  });

  test("follow the URLs that were asked for", () => {
    const { fqdns, values } = planned({ web: "https://shop.example:8443/in,https://b.example", console: "" });
    expect(fqdns).toEqual({ web: "https://shop.example:8443/in,https://b.example", console: "" });
    expect(values).toMatchObject({
      SERVICE_URL_WEB: "https://shop.example/in",
      SERVICE_FQDN_WEB: "shop.example",
      SERVICE_URL_WEB_3000: "https://shop.example/in",
      SERVICE_FQDN_WEB_3000: "shop.example",
      SERVICE_URL_CONSOLE: null,
      SERVICE_FQDN_CONSOLE: null,
    });
  });

  test("stay as they are when the same text is read again", () => {
    const first = planned();
    const existing = first.variables.insert.map(({ key, value, is_required }) => record(key, value, { is_required }));
    const again = planned({}, first.fqdns, existing);
    expect(again.fqdns).toEqual({});
    expect(again.variables).toEqual({ insert: [], update: [], delete: [] });
  });

  test("keep each value, whatever the text becomes, but those of URLs that are chosen anew", () => {
    const text = fc.array(fc.constantFrom("$A", "${B:-1}", "$SERVICE_USER_X", "$SERVICE_URL_WEB", "${C:?m}"));
    const given = fc.dictionary(fc.constantFrom("A", "B", "C", "SERVICE_USER_X", "SERVICE_URL_WEB"), fc.string());
    fc.assert(
      fc.property(text, given, (parts, values) => {
        const existing = Object.entries(values).map(([key, value]) => record(key, value));
        const read = composeOf(`services: {web: {image: a, environment: {X: "${parts.join(" ")}"}}}`);
        const { variables } = planned({}, { web: "http://kept.example" }, existing, read);
        const kept = existing.filter(({ uuid }) => !variables.delete.includes(uuid));
        for (const { change } of variables.update) expect(change).not.toHaveProperty("value");
        for (const { key } of variables.insert) expect(values).not.toHaveProperty(key);
        for (const { key } of existing.filter((one) => !kept.includes(one))) expect(key).toMatch(/^SERVICE_/);
      }),
    );
  });

  test("go when Berth made them and the text no longer names them", () => {
    const existing = [
      record("SERVICE_USER_OLD", "u"),
      record("SERVICE_URL_OLD", "http://old"),
      record("SERVICE_MINE", "by hand"),
      record("MINE", "by hand"),
      record("R", "given", { is_required: false }),
    ];
    const { variables } = planned({}, {}, existing);
    expect(variables.delete).toEqual(["of-SERVICE_USER_OLD", "of-SERVICE_URL_OLD"]);
    expect(variables.update).toEqual([{ uuid: "of-R", change: { is_required: true } }]);
  });

  test("go to the values of a URL that is asked for later", () => {
    const first = planned();
    const existing = first.variables.insert.map(({ key, value, is_required }) => record(key, value, { is_required }));
    const { variables } = planned({ console: "https://console.example" }, first.fqdns, existing);
    expect(variables.update).toEqual([
      { uuid: "of-SERVICE_FQDN_CONSOLE", change: { value: "console.example" } },
      { uuid: "of-SERVICE_URL_CONSOLE", change: { value: "https://console.example" } },
    ]);
  });

  const webAs = (lines: string) => composeOf(`services: {site: {image: a, environment: ${lines}}}`);
  const stored = (first: ReturnType<typeof planned>) =>
    first.variables.insert.map(({ key, value, is_required }) => record(key, value, { is_required }));

  test("follow the text where Berth made them: its port, its path, and names that are no more", () => {
    const first = planned({}, {}, [], webAs("{SERVICE_URL_WEB_3000: /a, SERVICE_URL_OLD: ''}"));
    const [web, old] = [`web-${UUID}.localhost`, `old-${UUID}.localhost`];
    expect(first.fqdns).toEqual({ site: `http://${web}:3000/a,http://${old}` });
    const current = { site: `https://chosen.example,${first.fqdns.site}` };
    const next = planned({}, current, stored(first), webAs("{SERVICE_URL_WEB_4000: ''}"));
    expect(next.fqdns).toEqual({ site: `https://chosen.example,http://${web}:4000` });
    expect(next.values).toEqual({
      SERVICE_URL_WEB_4000: `http://${web}`,
      SERVICE_FQDN_WEB_4000: web,
    });
    expect(next.variables.delete.toSorted()).toEqual(
      ["SERVICE_FQDN_OLD", "SERVICE_FQDN_WEB_3000", "SERVICE_URL_OLD", "SERVICE_URL_WEB_3000"].map(
        (key) => `of-${key}`,
      ),
    );
  });

  test("are made again for a container that has a new name, and not for one that gave them up", () => {
    const text = webAs("[SERVICE_URL_WEB]");
    const first = planned({}, {}, [], text);
    expect(planned({}, { other: "http://gone.example" }, stored(first), text).fqdns).toEqual(first.fqdns);
    expect(planned({}, { site: "" }, stored(first), text).fqdns).toEqual({});
  });

  test("are told apart by the names they were made for, whatever the order of the text", () => {
    const [web, api] = [`http://web-${UUID}.localhost`, `http://api-${UUID}.localhost`];
    const { values } = planned(
      { site: `${web},http://x.example,${api}` },
      {},
      [],
      webAs("[SERVICE_URL_API, SERVICE_URL_OTHER, SERVICE_URL_MORE, SERVICE_URL_WEB]"),
    );
    expect(values).toMatchObject({
      SERVICE_URL_API: api,
      SERVICE_URL_WEB: web,
      SERVICE_URL_OTHER: "http://x.example",
      SERVICE_URL_MORE: "http://x.example",
    });
  });

  test("move to another container with their name", () => {
    const before = planned({}, {}, [], composeOf("services: {a: {image: a, environment: [SERVICE_URL_X_80]}}"));
    const text = composeOf("services: {a: {image: a}, b: {image: b, environment: [SERVICE_URL_X_90]}}");
    const next = planned({}, { ...before.fqdns, b: "" }, stored(before), text);
    expect(next.fqdns).toEqual({ a: "", b: `http://x-${UUID}.localhost:90` });
  });

  test("of one name hold the path of each container, and the variables what leads to all of it", () => {
    const text = composeOf(`
services:
  console: { image: a, environment: { SERVICE_URL_APP: /console } }
  app: { image: a, environment: { SERVICE_URL_APP: /, SERVICE_FQDN_APP_8080: /, LIVE: "$SERVICE_URL_APP_9000" } }
`);
    const { fqdns, values } = planned({}, {}, [], text);
    const [host, live] = [`app-${UUID}.localhost`, `app-9000-${UUID}.localhost`];
    expect(fqdns).toEqual({ console: `http://${host}/console`, app: `http://${host}:8080,http://${live}:9000` });
    expect(values).toEqual({
      SERVICE_URL_APP: `http://${host}`,
      SERVICE_FQDN_APP: host,
      SERVICE_URL_APP_8080: `http://${host}`,
      SERVICE_FQDN_APP_8080: host,
      SERVICE_URL_APP_9000: `http://${live}`,
      SERVICE_FQDN_APP_9000: live,
    });
  });

  test("stand in the variables by which a program is told them, until their owner gives others", () => {
    const text = composeOf(
      "services: {s3: {image: minio/minio, environment: [MINIO_SERVER_URL, MINIO_BROWSER_REDIRECT_URL]}}",
    );
    const first = planned({}, {}, [], text);
    const [server, console] = [`http://minio-${UUID}.localhost`, `http://console-${UUID}.localhost`];
    expect(first.fqdns).toEqual({ s3: `${server}:9000,${console}:9001` });
    expect(first.values).toEqual({ MINIO_SERVER_URL: server, MINIO_BROWSER_REDIRECT_URL: console });
    const own = [record("MINIO_SERVER_URL", "https://s3.example"), record("MINIO_BROWSER_REDIRECT_URL", null)];
    expect(planned({}, { s3: "" }, own, text)).toMatchObject({ fqdns: {}, variables: { insert: [], update: [] } });
  });

  test("of a container that became a database: it loses its URLs", () => {
    const text = composeOf("services: {web: {image: redis}}");
    expect(planned({}, { web: "http://a.example" }, [], text).fqdns).toEqual({ web: "" });
  });
});
