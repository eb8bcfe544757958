import {
  type CreatedDatabase,
  DATABASE_CREATES,
  DATABASE_ENGINE_NAMES,
  type Database,
  type DatabaseEngine,
  databaseEngine,
} from "@berth/core/database";
import type { Command } from "commander";
import type { z } from "zod";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { addPlaceFlags, choosePlace, type PlaceOptions, requireFreeName } from "../deploy/place.ts";
import { EXIT, type ExitCode, Failure } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { addSecretFiles, secretsFromFiles } from "../operations/secret-files.ts";
import { cell } from "../output.ts";
import { printable } from "../printable.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { statusText, warnOfProblems } from "../status-text.ts";
import { defineAttachments } from "./attachments.ts";
import { defineClients } from "./database-client.ts";
import { defineLifecycle, followNewest, reportKept } from "./lifecycle.ts";
import { addOutputFlags, type OutputFlags, showOutput } from "./logs.ts";

const DATABASE = ["<database>", "name or uuid"] as const;

export function define(command: Command, bind: Bind): void {
  command.command("list", { isDefault: true }).description("List databases.").action(bind(list));
  const create = command.command("create").description("Create a database, start it and show its URLs.");
  for (const engine of DATABASE_ENGINE_NAMES) defineCreate(create, bind, engine);
  command
    .command("url")
    .description("Print the URL of a database, with its password.")
    .argument(...DATABASE)
    .option("--public", "the one from outside its server")
    .action(bind(url));
  addOutputFlags(
    command
      .command("logs")
      .description("Show what a database printed.")
      .argument(...DATABASE),
  ).action(bind(logs));
  defineAttachments(command, bind);
  defineClients(command, bind);
  defineLifecycle(command, bind, "database");
}

interface CreateOptions extends PlaceOptions {
  readonly start: boolean;
  readonly detach?: boolean;
  readonly [flag: string]: unknown;
}

/** What people call them. */
const ENGINE_ALIASES: Partial<Record<DatabaseEngine, readonly string[]>> = {
  postgresql: ["postgres"],
  mongodb: ["mongo"],
};

const GIVEN = ["name", "project_uuid", "environment_name", "environment_uuid", "server_uuid", "instant_deploy"];

function defineCreate(group: Command, bind: Bind, engine: DatabaseEngine): void {
  const { title } = databaseEngine(engine);
  // Only the schema is read, which every engine has.
  const flags = flagsFor(DATABASE_CREATES[engine] as z.ZodObject).filter(({ key }) => !GIVEN.includes(key));
  const command = addPlaceFlags(group.command(engine).summary(title).description(`Create a database of ${title}.`))
    .aliases(ENGINE_ALIASES[engine] ?? [])
    .argument("[name]", "default: made from its engine")
    .option("--no-start", "only make it")
    .option("--detach", "do not wait until it runs");
  addFlags(command, flags, "Of the database:");
  addSecretFiles(command, flags, "Of the database:");
  command.action(
    bind(async (session: Session, name: string | undefined, options: CreateOptions) => {
      const sent = { ...valuesOf(flags, options), ...(await secretsFromFiles(session.system, flags, options)) };
      // A requested port implies public access.
      const access = sent.public_port === undefined ? {} : { is_public: true };
      return create(session, engine, { name, fields: { ...access, ...sent } }, options);
    }),
  );
}

async function create(
  session: Session,
  engine: DatabaseEngine,
  { name, fields }: { readonly name: string | undefined; readonly fields: Readonly<Record<string, unknown>> },
  options: CreateOptions,
): Promise<ExitCode> {
  const { output } = session;
  const api = await session.connect();
  const place = await choosePlace(api, options, "database");
  const { project, environment, server } = place;
  if (name !== undefined) {
    requireFreeName(await api.client.databases.list.query({}), {
      name,
      place,
      kind: "database",
      remedies: () => [
        `Show its URL:      berth db url ${printable(name)}`,
        `Make another one:  berth db create ${engine} OTHER`,
      ],
    });
  }
  const body = {
    ...fields,
    ...(name === undefined ? {} : { name }),
    project_uuid: project.uuid,
    environment_uuid: environment.uuid,
    server_uuid: server.uuid,
    instant_deploy: options.start,
  };
  const made = await creations(api)[engine].mutate(body);
  const where = `${printable(project.name)}/${printable(environment.name)} on ${printable(server.name)}`;
  output.json(made);
  // Commands find it by the name that it was given.
  const called = name ?? (await api.client.databases.get.query({ uuid: made.uuid })).name;
  output.line(`Created ${databaseEngine(engine).title} ${printable(called)} (${made.uuid}) in ${where}`);
  const isFollowed = options.start && options.detach !== true;
  const exitCode = isFollowed ? await followNewest(api, session, "database", made.uuid) : EXIT.ok;
  if (exitCode === EXIT.failed) reportKept(output, "database", called);
  if (exitCode !== EXIT.ok) return exitCode;
  output.line(`In its network:  ${printable(made.internal_db_url)}`);
  if (made.external_db_url !== undefined) output.line(`From outside:    ${printable(made.external_db_url)}`);
  const { public_port_problem } = await api.client.databases.get.query({ uuid: made.uuid });
  if (public_port_problem) output.warn(printable(public_port_problem));
  return EXIT.ok;
}

/** Creation calls by engine. The flags are made from each engine's schema. */
const creations = ({ client }: Api) =>
  client.databases.create as unknown as Readonly<
    Record<DatabaseEngine, { mutate(body: object): Promise<CreatedDatabase> }>
  >;

async function list(session: Session): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  const all = await client.databases.list.query({});
  output.show(all, () => {
    if (all.length === 0) return output.line("No databases yet. Create one with: berth db create postgresql NAME");
    const rows = all.map((database) => [
      cell(database.name),
      statusText(database.status, output.colors),
      cell(database.image),
      publicPort(database),
      cell(database.environment_name),
      cell(database.uuid),
    ]);
    output.table(["NAME", "STATUS", "IMAGE", "PUBLIC PORT", "ENVIRONMENT", "UUID"], rows);
    warnOfProblems(
      output,
      all.flatMap(({ name, status_problem, public_port_problem }) => [
        [name, status_problem],
        [name, public_port_problem],
      ]),
    );
  });
}

const publicPort = ({ is_public, public_port }: Database): string =>
  is_public && public_port !== null ? String(public_port) : "-";

async function url(session: Session, wanted: string, options: { readonly public?: boolean }): Promise<void> {
  const { output } = session;
  const api = await session.connect();
  const database = await namedResource(api, "database", wanted);
  const { name, internal_db_url, external_db_url, public_port_problem } = database;
  if (internal_db_url === undefined) {
    throw new Failure("This token may not read passwords.", {
      details: ["Use one that may: berth tokens create NAME --abilities read,read:sensitive"],
    });
  }
  const chosen = options.public ? external_db_url : internal_db_url;
  if (chosen === null || chosen === undefined) {
    throw new Failure(`${printable(name)} is not reached from outside its server.`, {
      details: [`Give it a port: berth db update ${database.uuid} --is-public --public-port 15432`],
    });
  }
  output.show(database, () => output.line(printable(chosen)));
  if (options.public && public_port_problem) output.warn(printable(public_port_problem));
}

async function logs(session: Session, wanted: string, flags: OutputFlags): Promise<ExitCode> {
  const api = await session.connect();
  const { uuid } = await namedResource(api, "database", wanted);
  return showOutput(session, api.client.databases, { uuid }, flags);
}
