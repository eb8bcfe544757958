import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ServiceSettings } from "../service/service.ts";
import { planStorages } from "../service/service-storage.ts";
import { hostPrivileges } from "./host-access.ts";
import { type Compose, parseCompose } from "./parse.ts";
import { renderCompose } from "./render.ts";
import { composeStorages } from "./storages.ts";

function composeOf(text: string): Compose {
  const compose = parseCompose(text);
  if ("problems" in compose) throw new Error(compose.problems.join());
  return compose;
}
const rendered = (text: string, settings: Partial<ServiceSettings> = {}) =>
  parse(
    renderCompose(composeOf(text), {
      uuid: "abc",
      settings: ServiceSettings.parse(settings),
      network: "berth",
    }),
  );

describe("the compose file that is started", () => {
  const TEXT = `
services:
  web:
    image: nginx
    environment: [A=1, V, "N=1.10"]
    networks: [front]
    labels: { rule: "Host(\`a\`) && $X" }
    volumes: [data:/data, ./x:/x, { type: bind, source: ./f, target: /f, content: c, is_directory: false }]
    exclude_from_hc: true
    restart: always
  my-db: { image: postgres, network_mode: none, labels: ["a=$X"] }
volumes: { data: , shared: { external: true }, named: { name: other } }
networks: { front: { driver: bridge } }
x-note: kept
`;

  test("names each container after the service, in a network and with volumes of its own", () => {
    const { services, volumes, networks, "x-note": note } = rendered(TEXT);
    expect(services.web).toMatchObject({
      container_name: "web-abc",
      restart: "always",
      networks: { front: null, abc: null },
      volumes: ["data:/data", "./x:/x", { type: "bind", source: "./f", target: "/f" }],
    });
    expect(services.web).not.toHaveProperty("exclude_from_hc");
    expect(services["my-db"]).toMatchObject({
      container_name: "my-db-abc",
      restart: "unless-stopped",
      network_mode: "none",
    });
    expect(services["my-db"]).not.toHaveProperty("networks");
    expect(volumes).toEqual({
      data: { name: "abc_data" },
      shared: { external: true, name: "shared" },
      named: { name: "other" },
    });
    expect(networks).toEqual({ front: { driver: "bridge" }, abc: { name: "abc" } });
    expect(note).toBe("kept");
  });

  test("gives each container the names of all, and its variables as they were written", () => {
    const { services } = rendered(TEXT);
    const names = { SERVICE_NAME_WEB: "web", SERVICE_NAME_MY_DB: "my-db" };
    expect(services.web.environment).toEqual({ A: "1", V: null, N: "1.10", ...names });
    expect(services["my-db"].environment).toEqual(names);
  });

  test("keeps what is in internal networks alone out of the network of all, which leads outside", () => {
    const text = `
services: { web: { image: nginx, networks: [back, front] }, db: { image: postgres, networks: [back] }, job: { image: a } }
networks: { front: , back: { internal: true }, default: { internal: true } }
`;
    const { services, networks } = rendered(text);
    expect(services).toMatchObject({
      web: { networks: { back: null, front: null, abc: null } },
      db: { networks: { back: null } },
      job: { networks: { default: null } },
    });
    expect([services.db.networks, services.job.networks].map(Object.keys)).toEqual([["back"], ["default"]]);
    expect(networks).toHaveProperty("abc");
    expect(rendered(text, { connect_to_docker_network: true }).services.db.networks).toEqual({
      back: null,
      berth: null,
    });
  });

  test("declares the volumes that its containers mount, and names what they share once", () => {
    const { services, volumes } = rendered(`
services:
  web:
    image: a
    container_name: chosen
    scale: 2
    env_file: [.env, { path: other.env, format: raw }]
    label_file: labels
    volumes: [files:/data, ./f:/f, { type: volume, source: more, target: /m }, { type: tmpfs, target: /t }]
  next: { extends: { service: web }, volumes: [files:/data], network_mode: host, networks: [gone] }
networks: { gone: }
`);
    expect(volumes).toEqual({ files: { name: "abc_files" }, more: { name: "abc_more" } });
    expect(services.web.env_file).toEqual([
      { path: ".env", required: false },
      { path: "other.env", format: "raw", required: false },
    ]);
    for (const key of ["container_name", "label_file"]) expect(services.web).not.toHaveProperty(key);
    for (const key of ["container_name", "networks"]) expect(services.next).not.toHaveProperty(key);
  });

  test("gives no name to a service that another one extends, whose containers would have it too", () => {
    const { services } = rendered(`
services: { base: { image: a }, many: { extends: base, scale: 3 }, few: { extends: { service: many }, scale: 1 } }
`);
    const named = Object.keys(services).filter((name) => services[name].container_name !== undefined);
    expect(named).toEqual(["few"]);
  });

  test("joins the destination's network when it is asked to", () => {
    const { services, networks } = rendered(TEXT, { connect_to_docker_network: true });
    expect(services.web.networks).toEqual({ front: null, abc: null, berth: null });
    expect(networks.berth).toEqual({ name: "berth", external: true });
  });

  test("[S66] escapes $ in labels, unless it is told not to", () => {
    const escaped = rendered(TEXT).services;
    expect([escaped.web.labels, escaped["my-db"].labels]).toEqual([{ rule: "Host(`a`) && $$X" }, ["a=$$X"]]);
    const plain = rendered(TEXT, { is_container_label_escape_enabled: false }).services;
    expect([plain.web.labels, plain["my-db"].labels]).toEqual([{ rule: "Host(`a`) && $X" }, ["a=$X"]]);
  });

  test("reads a mode as the compose tool does", () => {
    expect(rendered("services: {a: {image: a, configs: [{source: c, mode: 0440}]}}").services.a.configs[0].mode).toBe(
      288,
    );
  });
});

describe("the storages of a compose file", () => {
  const TEXT = `
services:
  web:
    image: a
    volumes:
      - data:/data
      - ./conf:/etc/conf:ro
      - { type: bind, source: ./f, target: /f, content: c }
      - { type: bind, source: ./d, target: /d, is_directory: true }
  db: { image: postgres, volumes: [data:/data/] }
volumes: { data: }
`;
  const of = (text: string) => composeStorages(composeOf(text), "abc");

  test("are managed by it, each in its container", () => {
    const none = { name: null, host_path: null, fs_path: null, content: null, is_directory: false };
    const managed = { is_managed: true, is_read_only: false, is_preview_suffix_enabled: true };
    const web = { ...none, ...managed, container: "web" };
    expect(of(TEXT)).toEqual([
      { ...web, type: "persistent", name: "abc_data", mount_path: "/data" },
      {
        ...web,
        type: "persistent",
        name: "abc_conf",
        host_path: "./conf",
        mount_path: "/etc/conf",
        is_read_only: true,
      },
      { ...web, type: "file", fs_path: "./f", mount_path: "/f", content: "c" },
      { ...web, type: "file", fs_path: "./d", mount_path: "/d", is_directory: true },
      { ...web, container: "db", type: "persistent", name: "abc_data", mount_path: "/data" },
    ]);
  });

  test("stay the same while their place does, with what users added", () => {
    const date = new Date(0);
    const stored = (storage: ReturnType<typeof of>[number], index: number) => {
      return { ...storage, id: index, uuid: `s${index}`, has_volume: false, created_at: date, updated_at: date };
    };
    const before = of(TEXT).map(stored);
    const own = stored({ ...before[0], is_managed: false, mount_path: "/own" } as (typeof before)[0], 7);
    const lost = stored({ ...own, container: "gone" }, 8);
    const suffix = before.with(0, { ...before[0], is_preview_suffix_enabled: false } as (typeof before)[0]);
    expect(planStorages(of(TEXT), [...suffix, own], ["web", "db"])).toEqual({ insert: [], update: [], delete: [] });
    const after = of(TEXT.replace("./conf", "./other").replace("target: /d", "target: /e"));
    const plan = planStorages(after, [...before, own, lost], ["web", "db"]);
    expect(plan.insert.map(({ mount_path }) => mount_path)).toEqual(["/e"]);
    expect(plan.update).toMatchObject([{ uuid: "s1", change: { host_path: "./other" } }]);
    expect(plan.update[0]?.change).not.toHaveProperty("is_preview_suffix_enabled");
    expect(plan.delete).toEqual(["s3", "s8"]);
  });
});

describe("privileges on the server", () => {
  const powers = (lines: string, rest = "") => {
    const { document, containers } = composeOf(`services:\n  web:\n    image: a\n    ${lines}\n${rest}`);
    return hostPrivileges(document, containers);
  };

  test.each([
    "privileged: true",
    'privileged: "${P}"',
    "cap_add: [SYS_ADMIN]",
    "pid: host",
    "network_mode: host",
    'network_mode: "container:other"',
    "devices: [/dev/sda]",
    "security_opt: [seccomp:unconfined]",
    "volumes: [/:/host]",
    "volumes: [/var/run/docker.sock:/var/run/docker.sock]",
    "volumes: [~/x:/x]",
    "volumes: [../x:/x]",
    "volumes: [./$X:/x]",
    'volumes: ["${X}:/x"]',
    "volumes: [{ type: bind, source: /etc, target: /etc }]",
    'volumes: [{ type: "${T:-bind}", source: /etc, target: /etc }]',
    "volumes_from: ['container:berth']",
    "post_start: [{ command: id, privileged: true }]",
    "build: { context: ., privileged: true }",
  ])("is asked for by %s", (lines) => expect(powers(lines)).not.toEqual([]));

  test("is asked for by a volume that is a folder, or another's", () => {
    expect(powers("volumes: [d:/d]", "volumes: {d: {driver_opts: {type: none, o: bind, device: /}}}")).not.toEqual([]);
    expect(powers("volumes: [d:/d]", "volumes: {d: {external: true}}")).not.toEqual([]);
    // What is not external by default may be so with another value.
    expect(powers("volumes: [d:/d]", "volumes: {d: {external: '${E:-false}'}}")).not.toEqual([]);
    expect(powers("volumes: [d:/d]", "volumes: {d: {external: 'false'}}")).toEqual([]);
  });

  test.each([
    "volumes: [data:/data, ./conf:/conf, { type: tmpfs, target: /tmp }]",
    "network_mode: 'service:db'",
    "network_mode: none",
    "security_opt: [no-new-privileges:true]",
    "privileged: false",
    "cap_drop: [ALL]",
    "ports: ['80:80']",
  ])("is not asked for by %s", (lines) => expect(powers(lines)).toEqual([]));
});
