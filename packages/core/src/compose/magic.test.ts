import { createHmac, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type MagicSource, magicValues } from "./magic.ts";
import { MAGIC_COMMANDS, magicUrlOf, readMagic } from "./magic-key.ts";
import { parseCompose } from "./parse.ts";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const source: MagicSource = {
  secret: (length) => [...randomBytes(length)].map((byte) => LETTERS.charAt(byte % LETTERS.length)).join(""),
  bytes: (length) => randomBytes(length),
  hmacSha256: (key, text) => createHmac("sha256", key).update(text).digest(),
};
const now = new Date("2026-01-02T03:04:05Z");
const variable = (key: string) => ({ key, fallback: null, isRequired: false, comment: null });
const made = (keys: readonly string[], existing: Readonly<Record<string, string | null>> = {}) =>
  magicValues(keys.map(variable), { source, now, existing: new Map(Object.entries(existing)) });

/** Length and alphabet of the value. */
const VALUES: readonly (readonly [key: string, length: number, alphabet: RegExp])[] = [
  ["SERVICE_PASSWORD_DB", 32, /^[A-Za-z0-9]+$/],
  ["SERVICE_PASSWORD_64_DB", 64, /^[A-Za-z0-9]+$/],
  ["SERVICE_PASSWORDWITHSYMBOLS_DB", 32, /^[A-Za-z0-9][A-Za-z0-9!@%^*()_.,?:;+=~[\]{}-]+[A-Za-z0-9]$/],
  ["SERVICE_PASSWORDWITHSYMBOLS_64_DB", 64, /^[A-Za-z0-9!@%^*()_.,?:;+=~[\]{}-]+$/],
  ["SERVICE_USER_DB", 16, /^[A-Za-z0-9]+$/],
  ["SERVICE_LOWERCASEUSER_DB", 16, /^[a-z0-9]+$/],
  ["SERVICE_BASE64_KEY", 32, /^[A-Za-z0-9]+$/],
  ["SERVICE_BASE64_32_KEY", 32, /^[A-Za-z0-9]+$/],
  ["SERVICE_BASE64_64_KEY", 64, /^[A-Za-z0-9]+$/],
  ["SERVICE_BASE64_128_KEY", 128, /^[A-Za-z0-9]+$/],
  ["SERVICE_REALBASE64_KEY", 44, /^[A-Za-z0-9+/]{43}=$/],
  ["SERVICE_REALBASE64_32_KEY", 44, /^[A-Za-z0-9+/]{43}=$/],
  ["SERVICE_REALBASE64_64_KEY", 88, /^[A-Za-z0-9+/]{86}==$/],
  ["SERVICE_REALBASE64_128_KEY", 172, /^[A-Za-z0-9+/]{171}=$/],
  ["SERVICE_HEX_32_KEY", 32, /^[0-9a-f]+$/],
  ["SERVICE_HEX_64_KEY", 64, /^[0-9a-f]+$/],
  ["SERVICE_HEX_128_KEY", 128, /^[0-9a-f]+$/],
];

describe("a variable that a service makes by itself", () => {
  test.each(VALUES)("%s has %i characters of its alphabet, different each time", (key, length, alphabet) => {
    const values = Array.from({ length: 50 }, () => made([key]).get(key) ?? "");
    for (const value of values) {
      expect(value).toHaveLength(length);
      expect(value).toMatch(alphabet);
    }
    expect(new Set(values).size).toBe(values.length);
  });

  test("with symbols has at least one of them", () => {
    for (let index = 0; index < 200; index += 1) {
      expect(made(["SERVICE_PASSWORDWITHSYMBOLS_X"]).get("SERVICE_PASSWORDWITHSYMBOLS_X")).toMatch(/[^A-Za-z0-9]/);
    }
  });

  test("is named in a way that the longest command wins, and unknown ones stay empty", () => {
    const commands = [
      "PASSWORD_64_DB",
      "PASSWORD_64",
      "PASSWORD_MY_DB",
      "HEX_32_A_B",
      "HEX_A",
      "NAME_DB",
      "WHAT_X",
      "X",
    ];
    expect(commands.map((rest) => readMagic(`SERVICE_${rest}`)?.command)).toEqual([
      "PASSWORD_64",
      "PASSWORD",
      "PASSWORD",
      "HEX_32",
      null,
      "NAME",
      null,
      null,
    ]);
    expect(readMagic("MY_SERVICE_PASSWORD_X")).toBeUndefined();
    expect(made(["SERVICE_HEX_A", "SERVICE_WHAT_X", "SERVICE_NAME_DB", "SERVICE_URL_A"]).size).toBe(0);
  });

  test("keeps the value that is there, whatever it is", () => {
    fc.assert(
      fc.property(fc.constantFrom(...MAGIC_COMMANDS), fc.oneof(fc.string(), fc.constant(null)), (command, value) => {
        const key = `SERVICE_${command}_X`;
        expect(made([key], { [key]: value }).has(key)).toBe(false);
      }),
    );
  });

  test.each([
    ["SERVICE_URL_APP", "APP", null],
    ["SERVICE_FQDN_APP_3000", "APP", 3000],
    ["SERVICE_URL_MY_APP_8080", "MY_APP", 8080],
    ["SERVICE_URL_APP_0", "APP_0", null],
    ["SERVICE_URL_APP_99999", "APP_99999", null],
  ])("%s is of the name %s and the port %s, and comes with its twins", (key, name, port) => {
    const url = magicUrlOf(key);
    expect(url).toMatchObject({ name, port });
    expect(url?.keys).toContain(`SERVICE_URL_${name}`);
    expect(url?.keys).toContain(`SERVICE_FQDN_${name}`);
    if (port !== null) expect(url?.keys).toEqual(expect.arrayContaining([key, key.replace(/FQDN|URL/, "URL")]));
  });
});

describe("a token of SUPABASE", () => {
  const read = (token: string) => {
    const [head = "", body = "", signature] = token.split(".");
    const json = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString());
    return { head: json(head), body: json(body), signature, signed: `${head}.${body}` };
  };

  test.each([
    ["SERVICE_SUPABASEANON_KEY", "anon"],
    ["SERVICE_SUPABASESERVICE_KEY", "service_role"],
  ])("%s is signed for the role %s with SERVICE_PASSWORD_JWT", (key, role) => {
    const values = made([key, "SERVICE_PASSWORD_JWT"]);
    const { head, body, signature, signed } = read(values.get(key) ?? "");
    expect(head).toEqual({ alg: "HS256", typ: "JWT" });
    const iat = now.getTime() / 1000;
    expect(body).toEqual({ iss: "supabase", iat, exp: iat + 100 * 365 * 86_400, role });
    const secret = values.get("SERVICE_PASSWORD_JWT") ?? "";
    expect(secret).toHaveLength(32);
    expect(signature).toBe(createHmac("sha256", secret).update(signed).digest("base64url"));
  });

  test("is signed with the secret that is there, and with a new one where the text names none", () => {
    const key = "SERVICE_SUPABASEANON_KEY";
    const known = read(made([key], { SERVICE_PASSWORD_JWT: "s3cret" }).get(key) ?? "");
    expect(known.signature).toBe(createHmac("sha256", "s3cret").update(known.signed).digest("base64url"));
    const values = made([key, "SERVICE_SUPABASESERVICE_KEY"]);
    expect([...values.keys()].sort()).toEqual(["SERVICE_PASSWORD_JWT", key, "SERVICE_SUPABASESERVICE_KEY"].sort());
  });
});

describe("a URL that a compose text asks for", () => {
  const urls = (text: string) => {
    const compose = parseCompose(text);
    if ("problems" in compose) throw new Error(compose.problems.join());
    return { urls: compose.urls, keys: compose.variables.map(({ key }) => key) };
  };

  test("leads to the container that has the name, wherever it is met", () => {
    const { urls: wanted } = urls(`
services:
  worker: { image: a, environment: { APP: "$SERVICE_URL_MY_APP" } }
  my-app: { image: a }
  db: { image: postgres, environment: { A: "$SERVICE_FQDN_DB_5432" } }
`);
    expect(wanted).toEqual([
      { name: "MY_APP", container: "my-app", port: null, path: "" },
      { name: "DB", container: null, port: 5432, path: "" },
    ]);
  });

  test("leads to the container in whose entries it stands, with its port and its path, once", () => {
    const { urls: wanted, keys } = urls(`
services:
  web:
    image: a
    environment:
      SERVICE_FQDN_API_3000: /v1
      SERVICE_URL_API: ""
      OTHER: "$SERVICE_URL_ELSEWHERE"
  worker: { image: a, environment: [SERVICE_FQDN_API_3000] }
`);
    expect(wanted).toEqual([
      { name: "API", container: "web", port: 3000, path: "/v1" },
      { name: "API", container: "worker", port: 3000, path: "" },
      { name: "ELSEWHERE", container: null, port: null, path: "" },
    ]);
    expect(keys.toSorted()).toEqual([
      "SERVICE_FQDN_API",
      "SERVICE_FQDN_API_3000",
      "SERVICE_FQDN_ELSEWHERE",
      "SERVICE_URL_API",
      "SERVICE_URL_API_3000",
      "SERVICE_URL_ELSEWHERE",
    ]);
  });

  const env = (entries: string, image = "a") => `{ image: ${image}, environment: [${entries}] }`;
  const ROUTES: readonly (readonly [string, Readonly<Record<string, string>>, readonly string[]])[] = [
    [
      "the container it stands on, not the one that is called so",
      { files: env(""), server: env(""), caddy: env("SERVICE_URL_FILES_80") },
      ["files-> caddy:80"],
    ],
    [
      "each container that names a path of its own on one host",
      {
        app: env("SERVICE_URL_APP=/"),
        console: env("SERVICE_URL_APP=/console"),
        live: env("SERVICE_URL_APP=/v1/live"),
      },
      ["app-> app", "app/console-> console", "app/v1/live-> live"],
    ],
    [
      "each port that stands on one container",
      { auth: env("SERVICE_FQDN_AUTH_3001, SERVICE_FQDN_AUTH_3002") },
      ["auth-> auth:3001", "auth_3002-> auth:3002"],
    ],
    [
      "its own port where another container reads the URL with other ports",
      {
        api: env("SERVICE_URL_API_8080, 'ALBUMS=${SERVICE_URL_WEB_3002}', 'CAST=${SERVICE_URL_WEB_3004}'"),
        web: env("SERVICE_URL_WEB_3000, 'API=${SERVICE_URL_API}'"),
      },
      ["api-> api:8080", "web-> web:3000", "web_3002-> web:3002", "web_3004-> web:3004"],
    ],
    [
      "each of two containers with other ports under one name",
      { account: env("SERVICE_URL_HUB_3000"), front: env("SERVICE_URL_HUB_8080") },
      ["hub-> account:3000", "hub_front-> front:8080"],
    ],
    [
      "the container that is called so, of several that share a block of variables",
      { worker: env("SERVICE_URL_WEB_3000"), web: env("SERVICE_URL_WEB_3000"), job: env("SERVICE_URL_WEB") },
      ["web-> web:3000"],
    ],
    [
      "a database that a browser uses",
      { db: env("SERVICE_URL_DB_8086", "influxdb:2"), other: env("", "couchdb:3") },
      ["db-> db:8086"],
    ],
    [
      "each of the URLs of MinIO that nobody gave",
      { store: env("'MINIO_SERVER_URL=$MINIO_SERVER_URL', MINIO_BROWSER_REDIRECT_URL", "quay.io/minio/minio:1") },
      ["minio-> store:9000", "console-> store:9001"],
    ],
    [
      "the one of MinIO that its owner gave, which is no matter of ours",
      {
        store: env(
          "'MINIO_SERVER_URL=${MINIO_SERVER_URL:-http://s3.example}', MINIO_BROWSER_REDIRECT_URL",
          "minio/minio",
        ),
      },
      [],
    ],
    [
      "each of the URLs of Logto",
      { logto: env("'ENDPOINT=$LOGTO_ENDPOINT', 'ADMIN_ENDPOINT=$LOGTO_ADMIN_ENDPOINT'", "svhd/logto:1") },
      ["logto-> logto:3001", "logto-admin-> logto:3002"],
    ],
    [
      "each of the URLs of Garage",
      {
        garage: env("GARAGE_S3_API_URL, GARAGE_WEB_URL, 'GARAGE_ADMIN_URL=${GARAGE_ADMIN_URL:-}'", "dxflrs/garage:v2"),
      },
      ["s3-> garage:3900", "web-> garage:3902", "admin-> garage:3903"],
    ],
  ];

  test.each(ROUTES)("leads to %s", (_, services, routes) => {
    const lines = Object.entries(services).map(([name, service]) => `  ${name}: ${service}`);
    const wanted = urls(`services:\n${lines.join("\n")}`).urls;
    const shown = wanted.map(({ name, label = name, path, container, port }) => {
      return `${label.toLowerCase()}${path}-> ${container}${port === null ? "" : `:${port}`}`;
    });
    expect(shown).toEqual(routes);
  });
});
