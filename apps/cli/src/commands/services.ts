import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { ALL_CONTAINERS } from "@berth/core/deploy";
import { type SavedService, type Service, type ServiceChanges, ServiceCreate } from "@berth/core/service";
import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { ProblemError, problemIn } from "../connection/problem.ts";
import { COMPOSE_FILES } from "../deploy/compose-files.ts";
import { addPlaceFlags, chooseEnvironment, choosePlace, type PlaceOptions, requireFreeName } from "../deploy/place.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { cell, type Output } from "../output.ts";
import { printable } from "../printable.ts";
import { readInput } from "../prompt.ts";
import { warnOfSentences } from "../required-variables.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { statusText, warnOfProblems } from "../status-text.ts";
import { defineLifecycle, followNewest, reportKept } from "./lifecycle.ts";
import { addOutputFlags, type OutputFlags, showOutput } from "./logs.ts";
import { defineInstall } from "./service-install.ts";
import { defineTemplates } from "./templates.ts";

const FLAGS = flagsFor(
  ServiceCreate.omit({
    name: true,
    type: true,
    docker_compose: true,
    docker_compose_raw: true,
    instant_deploy: true,
    project_uuid: true,
    environment_name: true,
    environment_uuid: true,
    server_uuid: true,
  }),
);

const COMPOSE_FILE = [
  "[file]",
  "the compose file; - for standard input; default: the only one of this folder",
] as const;

export function define(command: Command, bind: Bind): void {
  command.command("list", { isDefault: true }).description("List services.").action(bind(list));
  defineTemplates(command.command("templates"), bind);
  const create = making(command.command("create"))
    .description("Create a one-click service and start it. Its types: berth services templates")
    .argument("<type>", "such as wordpress")
    .argument("[name]", "default: its type");
  addFlags(create, FLAGS, "Of the service:");
  create.action(bind(createOneClick));
  making(command.command("up"))
    .description("Run a compose file: create its service on first use, change and deploy it from then on.")
    .argument(...COMPOSE_FILE)
    .argument("[service]", "name, or uuid of an existing one; default: named as the file's folder")
    .option("--force-recreate", "replace all its containers, also those that have not changed")
    .action(bind(up));
  command
    .command("diff")
    .description("Show what a changed compose file would change, and change nothing.")
    .argument(...COMPOSE_FILE)
    .argument("[service]", "name or uuid; default: named as the file's folder")
    .action(bind(diff));
  const logging = command
    .command("logs")
    .description("Show what a container of a service printed.")
    .argument("<service>", "name or uuid")
    .argument("[container]", "default: the first that takes requests")
    .option("--all", "all containers, as one log");
  addOutputFlags(logging).action(bind(logs));
  defineLifecycle(command, bind, "service");
  defineInstall(command, bind);
}

const making = (command: Command): Command =>
  addPlaceFlags(command).option("--no-start", "only record it").option("--detach", "do not wait until it runs");

interface MakeOptions extends PlaceOptions {
  readonly start: boolean;
  readonly detach?: boolean;
  readonly forceRecreate?: boolean;
  readonly [flag: string]: unknown;
}

async function list(session: Session): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  const all = await client.services.list.query({});
  output.show(all, () => {
    if (all.length === 0) return output.line("No services yet. Create one with: berth service create TYPE");
    const rows = all.map((service) => [
      cell(service.name),
      statusText(service.status, output.colors),
      cell(service.service_type),
      cell(urlsOf(service).join(" ")),
      cell(service.uuid),
    ]);
    output.table(["NAME", "STATUS", "TYPE", "URL", "UUID"], rows);
    warnOfProblems(
      output,
      all.map(({ name, status_problem }) => [name, status_problem]),
    );
  });
}

const urlsOf = ({ applications }: Service): readonly string[] => (applications ?? []).flatMap(({ urls }) => urls);

async function createOneClick(
  session: Session,
  type: string,
  name: string | undefined,
  options: MakeOptions,
): Promise<ExitCode> {
  const api = await session.connect();
  const fields = valuesOf(FLAGS, options);
  const make = (place: ServicePlacement) => api.client.services.createOneClick.mutate({ ...fields, ...place, type });
  if (name !== undefined) {
    requireFreeName(await api.client.services.list.query({}), {
      name,
      place: await chooseEnvironment(api, options),
      kind: "service",
      remedies: () => [
        `Show it:           berth services get ${printable(name)}`,
        `Make another one:  berth services create ${printable(type)} OTHER`,
      ],
    });
  }
  const called = name ?? (await freeName(api, type));
  return create(api, session, { name: called, make, what: type }, options).catch((error: unknown) => {
    throw withNearTypes(error, type);
  });
}

/** The first service is named after its type, so that users can name it as they requested it. */
async function freeName({ client }: Api, type: string): Promise<string> {
  const taken = new Set((await client.services.list.query({})).map(({ name }) => name));
  if (!taken.has(type)) return type;
  for (let number = 2; ; number++) if (!taken.has(`${type}-${number}`)) return `${type}-${number}`;
}

/** The API lists all types, which would fill more than a screen. */
function withNearTypes(error: unknown, type: string): unknown {
  const similar = problemIn(error)?.similar_service_types;
  if (similar === undefined) return error;
  const [best] = similar;
  return usage(`No one-click service is named ${printable(type)}.${best ? ` Did you mean ${printable(best)}?` : ""}`, [
    ...similar.map((each) => printable(each)),
    "All of them: berth services templates, or berth services templates --search WORD",
  ]);
}

type ServicePlacement = Pick<
  ServiceCreate,
  "project_uuid" | "environment_uuid" | "server_uuid" | "instant_deploy" | "name"
>;

interface Making {
  readonly name: string | undefined;
  readonly make: (place: ServicePlacement) => Promise<SavedService>;
  /** Description for messages. */
  readonly what: string;
}

async function create(
  api: Api,
  session: Session,
  { name, make, what }: Making,
  options: MakeOptions,
): Promise<ExitCode> {
  const { output } = session;
  const { project, environment, server } = await choosePlace(api, options, "service");
  const created = await make({
    ...(name === undefined ? {} : { name }),
    project_uuid: project.uuid,
    environment_uuid: environment.uuid,
    server_uuid: server.uuid,
    instant_deploy: options.start,
  });
  output.json(created);
  const where = `${printable(project.name)}/${printable(environment.name)} on ${printable(server.name)}`;
  output.line(`Created service ${printable(name ?? what)} (${created.uuid}) in ${where}`);
  if (!output.isJson) await warnOfSentences(api.client, output, { uuid: created.uuid, name: name ?? what });
  const exitCode = await follow(api, session, created, options);
  if (exitCode === EXIT.failed) reportKept(output, "service", name ?? created.uuid);
  return exitCode;
}

async function follow(
  api: Api,
  session: Session,
  { uuid }: Pick<SavedService, "uuid">,
  options: MakeOptions,
): Promise<ExitCode> {
  const { output } = session;
  const isFollowed = options.start && options.detach !== true;
  const exitCode = isFollowed ? await followNewest(api, session, "service", uuid) : EXIT.ok;
  if (exitCode !== EXIT.ok || output.isJson) return exitCode;
  // URLs in the answer contain container ports, which cannot be reached from outside.
  const urls = urlsOf(await api.client.services.get.query({ uuid }));
  for (const url of urls) output.line(output.colors.bold(printable(url)));
  return exitCode;
}

async function up(
  session: Session,
  typed: string | undefined,
  wanted: string | undefined,
  options: MakeOptions,
): Promise<ExitCode> {
  const { output } = session;
  const file = typed ?? (await onlyComposeFile(session.system.cwd));
  const docker_compose = await textOf(session, file);
  const api = await session.connect();
  const name = wanted ?? folderName(session, file);
  const service = await existing(api, name);
  if (service === undefined) {
    const { requireNoBuild } = await import("./compose-build.ts");
    requireNoBuild(docker_compose, file === "-" ? "FOLDER/docker-compose.yaml" : file);
    warnOfVariablesFile(session, file, name);
    const make = (place: ServicePlacement) =>
      api.client.services.create.mutate({ ...place, docker_compose }).catch(byFile(file));
    return create(api, session, { name, make, what: name }, options);
  }
  const { uuid } = service;
  const { changes } = await api.client.services.update
    .mutate({ uuid, docker_compose, dry_run: true })
    .catch(byFile(file));
  const instant_deploy = options.start && options.forceRecreate !== true;
  const changed = await api.client.services.update.mutate({ uuid, docker_compose, instant_deploy }).catch(byFile(file));
  if (options.start && options.forceRecreate) await api.client.deploy.mutate({ uuid, force: true });
  output.json(changed);
  output.line(whatChanged(changes, `${printable(service.name)} (${uuid})`, options));
  return follow(api, session, changed, options);
}

/** The compose tool reads it, so people expect its values in the containers. */
function warnOfVariablesFile({ output, system }: Session, file: string, name: string): void {
  const beside = join(dirname(file), ".env");
  if (file === "-" || !existsSync(resolve(system.cwd, beside))) return;
  const [shown, service] = [beside, name].map(printable);
  output.warn(
    `${shown} is not read, as it may hold secrets. Set its values with: berth env set --service ${service} --file ${shown}, then run this again.`,
  );
}

/** Variables, files and images may have changed since the last deployment, which only its server can say. */
function whatChanged(
  changes: ServiceChanges | undefined,
  service: string,
  { start, forceRecreate }: MakeOptions,
): string {
  if (changes !== undefined && changeLines(changes).length > 0) return `Changed service ${service}`;
  const nothing = `Nothing changed in the compose file of ${service}`;
  if (!start) return `${nothing}.`;
  return forceRecreate
    ? `${nothing}: all its containers are replaced, as --force-recreate says.`
    : `${nothing}: its containers keep running unless their variables or images have changed. Replace them with --force-recreate.`;
}

/** The service with this name or uuid, if any; several with one name are an error. */
async function existing(api: Api, wanted: string): Promise<Service | undefined> {
  const all = await api.client.services.list.query({});
  const isMeant = ({ name, uuid }: Service) => uuid === wanted || name === wanted;
  return all.some(isMeant) ? namedResource(api, "service", wanted) : undefined;
}

async function diff(session: Session, typed: string | undefined, wanted: string | undefined): Promise<void> {
  const { output } = session;
  const file = typed ?? (await onlyComposeFile(session.system.cwd));
  const docker_compose = await textOf(session, file);
  const api = await session.connect();
  const { uuid, name } = await namedResource(api, "service", wanted ?? folderName(session, file));
  const answer = await api.client.services.update.mutate({ uuid, docker_compose, dry_run: true }).catch(byFile(file));
  output.show(answer, () => showChanges(output, printable(name), answer.changes));
}

export function showChanges(
  output: Pick<Output, "line" | "colors">,
  name: string,
  changes: ServiceChanges | undefined,
): void {
  const lines = changes === undefined ? [] : changeLines(changes);
  if (changes === undefined || lines.length === 0) {
    output.line(`Nothing changes: ${name} is as the file says.`);
    return;
  }
  for (const [sign, text] of lines) output.line(output.colors[SIGN_COLORS[sign]](`${sign} ${printable(text)}`));
  for (const line of howReplaced(changes)) output.line(printable(line));
  for (const warning of changes.warnings) output.line(printable(warning));
}

function howReplaced({ needs_deployment, replacement: { reason, containers } }: ServiceChanges): readonly string[] {
  if (!needs_deployment) return ["It takes effect at once: nothing is restarted."];
  const replaced = containers.filter(({ action }) => action !== "added" && action !== "removed");
  if (replaced.length === 0) return [`With the next deployment: ${reason}`];
  const width = (texts: readonly string[]) => Math.max(...texts.map(({ length }) => length));
  const names = width(replaced.map(({ name }) => name));
  const ways = width(replaced.map(({ action }) => WAYS[action]));
  return [
    "With the next deployment:",
    ...replaced.map((one) => `  ${one.name.padEnd(names)}  ${WAYS[one.action].padEnd(ways)}  ${one.reason}`),
  ];
}

const WAYS = {
  kept: "kept",
  candidate_first: "new one first",
  stop_first: "stops first",
  added: "new",
  removed: "goes",
} as const satisfies Record<ServiceChanges["replacement"]["containers"][number]["action"], string>;

type Sign = "+" | "-" | "~";
const SIGNS = { added: "+", changed: "~", removed: "-" } as const satisfies Record<string, Sign>;
const SIGN_COLORS = { "+": "green", "-": "red", "~": "yellow" } as const;

const changeLines = (changes: ServiceChanges): readonly (readonly [Sign, string])[] => [
  ...changes.containers.map(
    ({ name, change, fields }) =>
      [SIGNS[change], `container ${name}${fields.length === 0 ? "" : `: ${fields.join(", ")}`}`] as const,
  ),
  ...changes.variables.map(({ key, change }) => [SIGNS[change], `variable ${key}`] as const),
  ...changes.storages.map(
    ({ container, mount_path, change }) =>
      [SIGNS[change], `storage ${mount_path}${container === null ? "" : ` of ${container}`}`] as const,
  ),
  ...changes.urls.map(
    ({ container, before, after }) =>
      ["~", `URL of ${container}: ${before.join(" ") || "none"} -> ${after.join(" ") || "none"}`] as const,
  ),
];

async function logs(
  session: Session,
  wanted: string,
  container: string | undefined,
  { all = false, ...flags }: OutputFlags & { readonly all?: boolean },
): Promise<ExitCode> {
  if (all && container !== undefined) throw usage("Name a container or use --all, not both.");
  const api = await session.connect();
  const { uuid } = await namedResource(api, "service", wanted);
  const chosen = all ? ALL_CONTAINERS : container;
  const source = { uuid, ...(chosen === undefined ? {} : { container: chosen }) };
  return showOutput(session, api.client.services, source, flags);
}

async function textOf(session: Session, file: string): Promise<string> {
  const text = await readCompose(session, file);
  if (text.trim() === "") throw usage(`${composeName(file)} is empty.`);
  return text;
}

async function readCompose({ system }: Session, file: string): Promise<string> {
  if (file === "-") return `${await readInput(system)}\n`;
  const path = resolve(system.cwd, file);
  return readFile(path, "utf8").catch((cause: unknown) => {
    throw new Failure(`${path} cannot be read.`, { cause });
  });
}

const composeName = (file: string): string => (file === "-" ? "Standard input" : printable(file));

/** The API names the field that the compose file is sent in, but users know the file. @throws The API's error */
const byFile =
  (file: string) =>
  (error: unknown): never => {
    const problem = problemIn(error);
    if (problem?.errors === undefined) throw error;
    const errors = Object.entries(problem.errors).map(
      ([field, texts]) => [field === "docker_compose" ? composeName(file) : field, texts] as const,
    );
    throw new ProblemError({ ...problem, errors: Object.fromEntries(errors) });
  };

/** @throws Failure unless the folder has exactly one */
async function onlyComposeFile(folder: string): Promise<string> {
  const names = new Set(await readdir(folder).catch(() => []));
  const [only, ...others] = COMPOSE_FILES.filter((name) => names.has(name));
  if (only === undefined)
    throw usage(`${printable(folder)} has no compose file.`, ["Name one: berth services up FILE"]);
  if (others.length === 0) return only;
  throw usage(`${printable(folder)} has several compose files: ${[only, ...others].join(", ")}.`, [
    `Name one, such as: berth services up ${only}`,
  ]);
}

/** The default project name of compose. */
function folderName({ system }: Session, file: string): string {
  if (file === "-") throw usage("Name the service: berth services up - NAME");
  return basename(dirname(resolve(system.cwd, file)));
}
