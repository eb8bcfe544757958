import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describeLargeDocker, until } from "@berth/testing";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deploy, get, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

const LENGTH_MAX = 65_536;
const SEED = Date.now();

/** Texts that some layer between a form and a process might interpret. */
const PIECES = [
  ...['"', "'", "`", "\\", "$", "$$", "$HOME", "${", "HOME}", ":-y}", "$(id)", "\n", "\r\n", "\t", " ", "=", "#", ","],
  ...["%s", "{{ team.NOTHING }}", "{{", "}}", "\\n", "\\u0000", "!", "&&", ";", "|", "<<EOF", "\u2028", "\u{1f433}"],
  ...["\ufeff", "e\u0301", "\u0001", "\u001b[31m", "\u007f", "é", "null", "true", "-", "--", "*", "~", "[x]", ": "],
];
const KNOWN = [
  "",
  " ",
  " both ends ",
  "\nlines\n\n",
  "'single'",
  '"double"',
  JSON.stringify({ text: 'a "quoted" \\ $HOME\n', list: [1, null, true], nested: { empty: "" } }, undefined, 2),
  "-----BEGIN KEY-----\r\nMIIB+/=\r\n-----END KEY-----\r\n",
  "postgres://u:p%40ss@db:5432/x?a=b&c=d#e",
  "x".repeat(LENGTH_MAX),
  `${'"$\n\\'.repeat(LENGTH_MAX / 4 - 1)}end `,
];
/** Everything but what neither an environment nor PostgreSQL's text can hold. */
const anyValue = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join("")),
  fc.string({ unit: "binary", maxLength: 200 }).map((text) => text.replaceAll("\0", "")),
  fc.json(),
);

/** Answers with its own environment, and with the one that its build had. */
const dockerfile = (keys: readonly string[]): string =>
  [
    "FROM busybox:stable",
    ...keys.map((key) => `ARG ${key}`),
    "RUN mkdir /www && cat /proc/self/environ >/www/build",
    'CMD ["sh", "-c", "cat /proc/1/environ >/www/index.html && exec httpd -f -p 80 -h /www"]',
    "",
  ].join("\n");

describeLargeDocker("variables on a real engine", ["busybox:stable", "redis:8-alpine", "caddy:2"], (docker) => {
  let server: DockerServer;
  beforeAll(async () => {
    server = await dockerServer(docker);
  });
  afterAll(() => server?.dispose());

  /** Gives a resource these variables: by their values, or by references to what each scope in turn shares. */
  async function give(envs: string, wanted: Readonly<Record<string, string>>, isShared: boolean) {
    const { project_uuid, environment_name } = await placeOf(server);
    const owners = [
      ["team", "/teams/current"],
      ["project", `/projects/${project_uuid}`],
      ["environment", `/projects/${project_uuid}/environments/${environment_name}`],
      ["server", `/servers/${server.dockerUuid}`],
    ] as const;
    const of = Object.entries(wanted).map(([key, value], at) => ({ key, value, at: at % owners.length }));
    const save = async (path: string, data: readonly object[]) => {
      const { status, body } = await server.rest("PATCH", `${path}/bulk`, { data });
      expect(status, JSON.stringify(body)).toBeLessThan(300);
    };
    if (!isShared)
      return await save(
        envs,
        of.map(({ key, value }) => ({ key, value })),
      );
    for (const [index, [, path]] of owners.entries()) {
      const own = of.filter(({ at }) => at === index);
      await save(
        `${path}/shared-variables`,
        own.map(({ key, value }) => ({ key, value })),
      );
    }
    await save(
      envs,
      of.map(({ key, at }) => ({ key, value: `{{ ${owners[at]?.[0]}.${key} }}` })),
    );
  }

  test.each([
    ["values that have broken something before", KNOWN, false],
    ["any values", fc.sample(anyValue, { numRuns: 60, seed: SEED }), false],
    ["any values that are shared", [...KNOWN, ...fc.sample(anyValue, { numRuns: 60, seed: SEED + 1 })], true],
  ])("reach a build and a container byte for byte: %s", async (_what, values, isShared) => {
    const wanted = Object.fromEntries(values.map((value, at) => [`VALUE_${at}`, value]));
    const { status, body } = await server.rest("POST", "/applications/dockerfile", {
      ...(await placeOf(server)),
      server_uuid: server.dockerUuid,
      dockerfile: dockerfile(Object.keys(wanted)),
      ports_exposes: "80",
    });
    expect(status, JSON.stringify(body)).toBe(201);
    const { uuid } = body as { uuid: string };
    await give(`/applications/${uuid}/envs`, wanted, isShared);

    const outcome = await deploy(server, uuid);
    expect(outcome.status, `${outcome.log}\nseed ${SEED}`).toBe("finished");
    const { fqdn } = (await server.rest("GET", `/applications/${uuid}`)).body as { fqdn: string };
    const { hostname } = new URL(fqdn);
    for (const path of ["/", "/build"]) {
      const seen = valuesIn((await get(server, hostname, path)).body);
      expect(seen, `seed ${SEED}, ${path}`).toEqual(wanted);
    }
  });

  const VALUES = [...KNOWN, ...fc.sample(anyValue, { numRuns: 50, seed: SEED + 2 })];
  const WANTED = Object.fromEntries(VALUES.map((value, at) => [`VALUE_${at}`, value]));
  const names = Object.keys(WANTED);
  const compose = `services:
  web:
    image: busybox:stable
    command: ["sleep", "600"]
    init: true
    environment:
${names.map((name) => `      ${name}: "\${${name}}"`).join("\n")}
`;

  test.each([
    ["a database", "databases", "/databases/redis", { image: "redis:8-alpine" }, false],
    ["a service", "services", "/services", { docker_compose: compose }, false],
    ["a database that refers to shared ones", "databases", "/databases/redis", { image: "redis:8-alpine" }, true],
    ["a service that refers to shared ones", "services", "/services", { docker_compose: compose }, true],
  ])("reach %s byte for byte", async (_what, kind, path, fields, isShared) => {
    const place = { ...(await placeOf(server)), server_uuid: server.dockerUuid };
    const created = await server.rest("POST", path, { ...place, ...fields });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    const { uuid } = created.body as { uuid: string };
    await give(`/${kind}/${uuid}/envs`, WANTED, isShared);
    const started = await server.rest("POST", `/${kind}/${uuid}/start`);
    expect(started.status, JSON.stringify(started.body)).toBe(200);

    const filters = { label: [`berth.resource=${uuid}`, "berth.role=release"] };
    const id = await until(async () => (await docker.client.listContainers({ filters }))[0]?.Id, { seconds: 60 });
    const exec = await docker.client.getContainer(id).exec({ Cmd: ["cat", "/proc/1/environ"], AttachStdout: true });
    expect(valuesIn(await outputOf(await exec.start({}))), `seed ${SEED}`).toEqual(WANTED);
  });

  test("to shared variables report what is missing, are in no log, and change with the next deployment", async () => {
    // Another one for each try, so that the build is not taken from the cache.
    const secret = `part-of-a-url-${Date.now()}`;
    const share = (value: string) =>
      server.rest("PATCH", "/teams/current/shared-variables/bulk", { data: [{ key: "PART", value }] });
    await share(secret);
    const { body } = await server.rest("POST", "/applications/dockerfile", {
      ...(await placeOf(server)),
      server_uuid: server.dockerUuid,
      dockerfile: Buffer.from(`${dockerfile(["URL"])}RUN echo "the part is ${secret}"\n`).toString("base64"),
      ports_exposes: "80",
    });
    const { uuid } = body as { uuid: string };
    await server.rest("PATCH", `/applications/${uuid}/envs/bulk`, {
      data: [
        { key: "VALUE_1", value: "postgres://u:{{ team.PART }}@db" },
        { key: "VALUE_2", value: "{{ server.NONE }}" },
      ],
    });
    const first = await deploy(server, uuid);
    expect(first, first.log).toMatchObject({ status: "finished" });
    expect(first.log).toContain("The variable VALUE_2 refers to {{ server.NONE }}: no such shared variable");
    expect(first.log).toContain("the part is");
    expect(first.log).not.toContain(secret);
    const { fqdn } = (await server.rest("GET", `/applications/${uuid}`)).body as { fqdn: string };
    const seen = async () => valuesIn((await get(server, new URL(fqdn).hostname, "/")).body);
    expect(await seen()).toEqual({ VALUE_1: `postgres://u:${secret}@db`, VALUE_2: "{{ server.NONE }}" });
    await share("another-part");
    expect((await seen()).VALUE_1).toContain(secret);
    const second = await deploy(server, uuid);
    expect(second, second.log).toMatchObject({ status: "finished" });
    expect((await seen()).VALUE_1).toBe("postgres://u:another-part@db");
  });

  async function outputOf(stream: NodeJS.ReadableStream): Promise<string> {
    const output = new PassThrough();
    docker.client.modem.demuxStream(stream, output, output);
    stream.once("end", () => output.end());
    return await text(output);
  }
});

/** Variables in the kernel's format of an environment. */
function valuesIn(environ: string): Readonly<Record<string, string>> {
  const entries = environ.split("\0").flatMap((entry) => {
    const [, key, value] = /^(VALUE_\d+)=(.*)$/s.exec(entry) ?? [];
    return key === undefined || value === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(entries);
}
