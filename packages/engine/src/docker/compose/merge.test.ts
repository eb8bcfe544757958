import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { mergeCompose } from "@berth/core/compose";
import { describeDocker } from "@berth/testing";
import { expect, test } from "vitest";
import { withFolder } from "./stack.fixture.ts";

const BASE = `
name: shop
x-own: { a: 1, b: [1] }
services:
  web:
    image: web:1
    build: .
    command: [a, b]
    entrypoint: [e]
    environment: { A: "1", N: 12, P: , GONE: x }
    env_file: a.env
    labels: ["l=1", "m=1"]
    ports: ["8080:80", "127.0.0.1:9000:9000/udp", "7000"]
    expose: [3000, "4000/tcp"]
    volumes: ["data:/data", "./a:/etc/a:ro", "/anonymous"]
    depends_on: [db]
    networks: [front]
    dns: 10.0.0.1
    extra_hosts: ["h:10.0.0.1"]
    cap_add: [NET_ADMIN]
    tmpfs: /run
    sysctls: { net.core.somaxconn: 1024 }
    ulimits: { nproc: 10, nofile: { soft: 1, hard: 2 } }
    logging: { driver: json-file, options: { max-size: 1m } }
    healthcheck: { test: [CMD, a], interval: 1s }
    deploy: { resources: { limits: { cpus: "1", memory: 64m } }, labels: { d: "1" } }
    configs: [one]
    secrets: [one]
    devices: ["/dev/null:/dev/x"]
    profiles: [p]
    restart: always
  db:
    image: db:1
networks:
  front: { labels: { a: "1" }, ipam: { config: [{ subnet: 10.9.0.0/24 }] } }
volumes: { data: { labels: [a=1] } }
configs: { one: { content: one }, two: { content: two } }
secrets: { one: { file: ./one }, two: { file: ./two } }
`;

/** Each is merged into the first file. */
const LATER: readonly (readonly [string, string])[] = [
  ["a value", "services: { web: { image: 'web:2', restart: 'no' } }"],
  ["nothing", "services: { web: { image: , ports: } }\nvolumes:\n"],
  ["another container", "services: { other: { image: other:1, depends_on: [web] } }"],
  ["commands", "services: { web: { command: [c], entrypoint: x y, healthcheck: { test: [CMD, b] } } }"],
  ["no command", "services: { web: { command: , entrypoint: } }"],
  ["a variable in a list", "services: { web: { environment: ['A=2', 'B=3', 'P'] } }"],
  ["a variable in a map", "services: { web: { environment: { A: '2', M: 25, P: x } } }"],
  ["names alone", "services: { web: { environment: [A, Q], labels: { l: } } }"],
  ["names alone in a map", "services: { web: { environment: { A: , Q: }, sysctls: { net.core.somaxconn: 1 } } }"],
  ["labels in a map", "services: { web: { labels: { l: '2', n: '3' }, deploy: { labels: ['d=2', 'e=1'] } } }"],
  ["ports", "services: { web: { ports: ['8080:80/tcp', '8081:80', { target: 7000, published: '7001' }] } }"],
  ["a port of an address", "services: { web: { ports: ['127.0.0.1:9000:9000/udp', '[::1]:9000:9000/udp'] } }"],
  ["exposed ports", "services: { web: { expose: ['3000', '4000', '5000'] } }"],
  [
    "volumes by their target",
    "services: { web: { volumes: ['other:/data', './b:/etc/b', '/anonymous'] } }\nvolumes: { other: }",
  ],
  ["a long volume", "services: { web: { volumes: [{ type: tmpfs, target: /data }] } }"],
  [
    "conditions",
    "services: { web: { depends_on: { db: { condition: service_healthy }, c: { condition: service_started, required: false } } }, c: { image: c } }",
  ],
  ["networks with aliases", "services: { web: { networks: { front: { aliases: [x] }, back: } } }\nnetworks: { back: }"],
  [
    "names of hosts",
    "services: { web: { dns: [10.0.0.2, 10.0.0.1], dns_search: a.b, extra_hosts: { h: 10.0.0.2, i: 10.0.0.3 } } }",
  ],
  ["lists of words", "services: { web: { cap_add: [NET_ADMIN, SYS_TIME], tmpfs: [/tmp, /run], profiles: [q, p] } }"],
  ["sysctls in a list", "services: { web: { sysctls: ['net.core.somaxconn=2048', 'net.ipv4.ip_forward=1'] } }"],
  [
    "limits",
    "services: { web: { ulimits: { nproc: 20, nofile: { soft: 5, hard: 6 } }, deploy: { resources: { limits: { cpus: '2' } } } } }",
  ],
  ["options of the same logging", "services: { web: { logging: { options: { max-file: '2' } } } }"],
  ["another logging", "services: { web: { logging: { driver: syslog, options: { tag: x } } } }"],
  ["a build as a map", "services: { web: { build: { args: { A: '1' }, target: t, extra_hosts: ['h=10.0.0.1'] } } }"],
  [
    "configs and secrets",
    "services: { web: { configs: [one, { source: two, target: /one }], secrets: [{ source: two, target: /run/secrets/one }, two] } }",
  ],
  ["devices", "services: { web: { devices: ['/dev/zero:/dev/x', '/dev/full'] } }"],
  ["files of variables", "services: { web: { env_file: [b.env, { path: a.env, required: false }] } }"],
  [
    "labels of networks and volumes",
    "networks: { front: { labels: ['a=2', 'b=1'], internal: true } }\nvolumes: { data: { labels: { a: '2' } } }",
  ],
  [
    "subnets",
    "networks: { front: { ipam: { config: [{ subnet: 10.9.0.0/24, gateway: 10.9.0.9 }, { subnet: 10.8.0.0/24 }] } } }",
  ],
  ["an anchor", "x-e: &e { A: '9' }\nservices: { web: { environment: { <<: *e, C: '1' } } }"],
  ["extensions", "x-own: { a: 2, b: [2], c: 3 }"],
  [
    "a reset",
    "services: { web: { ports: !reset [], command: !reset null, environment: { GONE: !reset null, A: '3' } } }",
  ],
  [
    "resets and replacements by aliases",
    "x-none: &none !reset null\nx-own: &own { dns: !override [10.0.0.3] }\nservices: { web: { <<: *own, command: *none } }",
  ],
  [
    "a replacement",
    "services: { web: { ports: !override ['1:1'], volumes: !override [], logging: !override { driver: none } } }",
  ],
];

describeDocker("several compose files", [], () => {
  test.each(LATER)("are what the compose tool makes of them: %s", async (_name, later) => {
    await withFolder(async (folder) => {
      const texts = [BASE, later, "services: { web: { environment: { LAST: '1' }, ports: ['8080:80'] } }"];
      const files = texts.map((text, at) => [`${at}.yaml`, text] as const);
      const merged = mergeCompose(files.map(([path, text]) => ({ path, text })));
      if ("problems" in merged) throw new Error(merged.problems.join());
      for (const [path, text] of [...files, ["whole.yaml", merged.text] as const])
        await writeFile(join(folder, path), text);
      for (const name of ["a.env", "b.env"]) await writeFile(join(folder, name), `FILE=${name}\n`);
      await mkdir(join(folder, "home"));
      const said = await config(
        folder,
        files.map(([path]) => path),
      );
      expect(await config(folder, ["whole.yaml"])).toEqual(said);
    });
  });
});

/** The merged file as the compose tool prints it. No engine is needed. */
async function config(folder: string, files: readonly string[]): Promise<unknown> {
  const argv = [
    "compose",
    ...files.flatMap((file) => ["--file", file]),
    "--profile",
    "*",
    "config",
    "--format",
    "json",
  ];
  const { stdout } = await promisify(execFile)("docker", argv, { cwd: folder, env: { PATH: process.env.PATH } });
  return JSON.parse(stdout);
}
