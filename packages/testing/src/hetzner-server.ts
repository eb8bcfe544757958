import { createHash } from "node:crypto";
import { type CloudAnswer, type CloudRequest, type CloudServer, startCloudServer } from "./cloud-server.ts";
import { HETZNER_IMAGES, HETZNER_LOCATIONS, HETZNER_SERVER_TYPES } from "./hetzner-catalogue.ts";

/** One project at Hetzner Cloud, with the documented answers. */
export interface HetznerServer extends CloudServer {
  readonly sshKeys: readonly HetznerSshKey[];
  readonly machines: readonly HetznerMachine[];
  addSshKey(name: string, publicKey: string): HetznerSshKey;
}

export interface HetznerSshKey {
  readonly id: number;
  readonly name: string;
  readonly fingerprint: string;
  readonly public_key: string;
}

export interface HetznerMachine {
  readonly id: number;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Body of the request that created it. */
  readonly wanted: Readonly<Record<string, unknown>>;
}

export interface HetznerOptions {
  /** The only valid token. */
  readonly token: string;
  /** Whether the token is read-only. */
  readonly isReadOnly?: boolean;
  /** Maximum number of entries per page; 50 at Hetzner. */
  readonly perPageMax?: number;
}

interface Project extends Required<HetznerOptions> {
  readonly sshKeys: HetznerSshKey[];
  readonly machines: HetznerMachine[];
  lastId: number;
}

export async function startHetzner(options: HetznerOptions): Promise<HetznerServer> {
  const project: Project = { isReadOnly: false, perPageMax: 50, ...options, sshKeys: [], machines: [], lastId: 1000 };
  const server = await startCloudServer((request) => answerTo(project, request));
  return {
    ...server,
    sshKeys: project.sshKeys,
    machines: project.machines,
    addSshKey: (name, publicKey) => addSshKey(project, name, publicKey),
  };
}

function answerTo(project: Project, request: CloudRequest): CloudAnswer {
  if (request.token !== project.token) return refusal(401, "unauthorized", "unable to authenticate");
  if (project.isReadOnly && !request.name.startsWith("GET ")) {
    return refusal(403, "token_readonly", "The token is only allowed to perform GET requests");
  }
  const [, machine] = /^DELETE \/servers\/(\d+)$/.exec(request.name) ?? [];
  if (machine !== undefined) return deleteMachine(project, Number(machine));
  return HANDLERS[request.name]?.(project, request) ?? refusal(404, "not_found", "not found");
}

const HANDLERS: Readonly<Record<string, (project: Project, request: CloudRequest) => CloudAnswer>> = {
  "GET /locations": (project, request) => listed(project, request, "locations", HETZNER_LOCATIONS),
  "GET /server_types": (project, request) => listed(project, request, "server_types", HETZNER_SERVER_TYPES),
  "GET /images": (project, request) => {
    const { type } = request.query;
    return listed(
      project,
      request,
      "images",
      HETZNER_IMAGES.filter((image) => type === undefined || image.type === type),
    );
  },
  "GET /ssh_keys": (project, request) => {
    const { fingerprint } = request.query;
    return listed(
      project,
      request,
      "ssh_keys",
      project.sshKeys.filter((key) => fingerprint === undefined || key.fingerprint === fingerprint),
    );
  },
  "POST /ssh_keys": (project, { body }) => {
    const { name = "", public_key = "" } = body as { name?: string; public_key?: string };
    const fingerprint = fingerprintOf(public_key);
    if (project.sshKeys.some((key) => key.name === name || key.fingerprint === fingerprint)) {
      return refusal(409, "uniqueness_error", "SSH key with the same fingerprint or name already exists");
    }
    return { status: 201, body: { ssh_key: addSshKey(project, name, public_key) } };
  },
  "GET /servers": (project, request) => {
    const [label, value] = (request.query.label_selector ?? "").split("==");
    const found = project.machines.filter(({ labels }) => !label || labels[label] === value).map(serverOf);
    return listed(project, request, "servers", found);
  },
  "POST /servers": (project, { body }) => makeMachine(project, body as Record<string, unknown>),
};

function makeMachine(project: Project, wanted: Readonly<Record<string, unknown>>): CloudAnswer {
  const name = String(wanted.name);
  const wrong = [
    ...(HETZNER_LOCATIONS.some((location) => location.name === wanted.location) ? [] : ["location"]),
    ...(HETZNER_SERVER_TYPES.some((type) => type.name === wanted.server_type) ? [] : ["server_type"]),
    ...(HETZNER_IMAGES.some((image) => image.id === wanted.image) ? [] : ["image"]),
  ];
  if (wrong.length > 0) {
    const fields = wrong.map((field) => ({ name: field, messages: [`${field} does not exist`] }));
    return refusal(422, "invalid_input", `invalid input in fields ${wrong.map((f) => `'${f}'`)}`, { fields });
  }
  if (project.machines.some((machine) => machine.name === name)) {
    return refusal(409, "uniqueness_error", "server name is already used");
  }
  project.lastId += 1;
  const labels = (wanted.labels ?? {}) as Record<string, string>;
  const machine = { id: project.lastId, name, labels, wanted };
  project.machines.push(machine);
  return { status: 201, body: { server: serverOf(machine), action: action("create_server"), root_password: null } };
}

function serverOf({ id, name, labels, wanted }: HetznerMachine) {
  const { enable_ipv4 = true, enable_ipv6 = true } = (wanted.public_net ?? {}) as Record<string, boolean>;
  return {
    id,
    name,
    labels,
    status: "initializing",
    created: "2026-01-30T23:55:00+00:00",
    public_net: {
      ipv4: enable_ipv4 ? { id, ip: `192.0.2.${id % 256}`, blocked: false, dns_ptr: "server.example" } : null,
      ipv6: enable_ipv6 ? { id, ip: `2001:db8:${id.toString(16)}::/64`, blocked: false, dns_ptr: [] } : null,
      floating_ips: [],
      firewalls: [],
    },
    server_type: HETZNER_SERVER_TYPES.find((type) => type.name === wanted.server_type),
  };
}

function deleteMachine({ machines }: Project, id: number): CloudAnswer {
  const index = machines.findIndex((machine) => machine.id === id);
  if (index < 0) return refusal(404, "not_found", `server with ID '${id}' not found`);
  machines.splice(index, 1);
  return { status: 200, body: { action: action("delete_server") } };
}

const action = (command: string) => ({ id: 1, command, status: "running", progress: 0, error: null, resources: [] });

function addSshKey(project: Project, name: string, publicKey: string): HetznerSshKey {
  project.lastId += 1;
  const key = { id: project.lastId, name, fingerprint: fingerprintOf(publicKey), public_key: publicKey };
  project.sshKeys.push(key);
  return key;
}

/** MD5 of the key's second word, in pairs. */
function fingerprintOf(publicKey: string): string {
  const bytes = createHash("md5")
    .update(Buffer.from(publicKey.split(" ")[1] ?? "", "base64"))
    .digest();
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}

function listed({ perPageMax }: Project, { query }: CloudRequest, key: string, all: readonly unknown[]): CloudAnswer {
  const page = Number(query.page ?? 1);
  const per_page = Math.min(Number(query.per_page ?? 25), perPageMax);
  const last_page = Math.max(1, Math.ceil(all.length / per_page));
  const pagination = {
    page,
    per_page,
    previous_page: page > 1 ? page - 1 : null,
    next_page: page < last_page ? page + 1 : null,
    last_page,
    total_entries: all.length,
  };
  return { status: 200, body: { [key]: all.slice((page - 1) * per_page, page * per_page), meta: { pagination } } };
}

const refusal = (status: number, code: string, message: string, details: object = {}): CloudAnswer => ({
  status,
  body: { error: { code, message, details } },
});
