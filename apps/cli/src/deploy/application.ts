import { type Application, buildsImage, type CreatedApplication, namesake } from "@berth/core/application";
import { ENGINES } from "@berth/core/server";
import { linkPath, saveLink } from "../application-link.ts";
import { nameInCommand } from "../choose.ts";
import type { Api } from "../connection/api.ts";
import { usage } from "../failure.ts";
import type { Content } from "../pack/walk.ts";
import { printable } from "../printable.ts";
import { requireYes } from "../prompt.ts";
import type { Session } from "../session.ts";
import { linkedApplication, namedApplication } from "../target.ts";
import { COMPOSE_FILES } from "./compose-files.ts";
import { type DeployFolder, nameOf } from "./folder.ts";
import { type ChosenPlacement, chooseEnvironment, choosePlace, type PlaceOptions, requireFreeName } from "./place.ts";
import { type RecognisedFolder, recognised } from "./recognised.ts";

export interface DeployOptions extends PlaceOptions {
  readonly app?: string;
  readonly new?: boolean;
  readonly name?: string;
  readonly git?: string;
  readonly branch?: string;
  readonly force?: boolean;
  readonly detach?: boolean;
}

/** The fields of the deployed application that this command needs. */
export type Target = Pick<Application, "uuid" | "name" | "source">;

/** The application that is named, or that the folder was deployed to; `undefined` when it must be created. */
export async function existingTarget(
  api: Api,
  session: Session,
  folder: DeployFolder,
  options: DeployOptions,
): Promise<Target | undefined> {
  const { output } = session;
  const { path, argument, links } = folder;
  if (options.app !== undefined) {
    if (options.new) throw usage("--app and --new exclude each other.");
    const target = await namedApplication(api, options.app);
    // Flags for a repository are refused for what they are.
    const isForGit = options.git !== undefined || options.branch !== undefined;
    if (target.source === "upload" && !isForGit) await requireMeantFolder(api, folder, target);
    return target;
  }
  if (options.new) return undefined;
  const linked = links.length === 0 ? undefined : await linkedApplication(api, links);
  const former = links.find(({ url }) => url === api.connection.url);
  if (!linked && former) {
    output.line(`${printable(former.name)} is no longer on ${api.connection.url}, so it is created again.`);
  }
  if (linked && options.name !== undefined && options.name !== linked.name) {
    throw usage(`${path} is deployed as ${printable(linked.name)}.`, [
      `Deploy it as another application too with --new, or to one that exists with: berth deploy ${argument} --app NAME`,
    ]);
  }
  return linked ?? (await sameTarget(api, session, folder, options));
}

/** Keeps an application from being replaced by a folder that the command only happened to be run in. */
async function requireMeantFolder(
  { client }: Api,
  { path, argument, isNamed, links }: DeployFolder,
  target: Target,
): Promise<void> {
  if (isNamed || links.some(({ uuid }) => uuid === target.uuid)) return;
  const app = nameInCommand(target, await client.applications.list.query({}));
  throw usage(`${path} is not remembered as a folder of ${printable(target.name)}, so it is not uploaded.`, [
    `Upload it all the same:     berth deploy ${argument} --app ${app}`,
    `Run the last upload again:  berth restart ${app}`,
  ]);
}

/**
 * The application that the same command made before, where nothing remembers it: a CI job begins with an empty folder
 * each time. A name that was typed means it, and so does its repository; a name that a folder happens to have means it
 * where the command names the place. A person at a terminal is asked before a folder that is not named replaces it.
 */
async function sameTarget(
  api: Api,
  { output, system }: Session,
  { path, isNamed }: DeployFolder,
  options: DeployOptions,
): Promise<Target | undefined> {
  const { git, branch } = options;
  const namesPlace = PLACE_FLAGS.some((flag) => options[flag] !== undefined);
  const derived = git !== undefined ? repositoryName(git) : namesPlace ? await nameOf(path) : undefined;
  const name = options.name ?? derived;
  if (name === undefined) return undefined;
  const { project, environment } = await chooseEnvironment(api, options);
  const applications = await api.client.applications.list.query({});
  const found = namesake(applications, { name, project_uuid: project.uuid, environment_name: environment.name });
  if (found === undefined) return undefined;
  const isSame =
    git === undefined
      ? found.source === "upload"
      : found.source === "git" && found.git_repository === git && (branch === undefined || found.git_branch === branch);
  if (!isSame) return undefined;
  // Before anything is said or asked of a deployment that would be refused.
  await requireSamePlace(api, found, options);
  const where = `${printable(name)} is in ${printable(project.name)}/${printable(environment.name)}`;
  if (git !== undefined) {
    output.line(`${where}: deploying it again.`);
    return found;
  }
  output.line(`${where}: deploying it again from ${path}, which was not deployed as it before.`);
  if (system.stdin.isTTY && !isNamed) await requireYes(system);
  output.line(`Undo it with: berth rollback ${nameInCommand(found, applications)}`);
  return found;
}

/** Changes the settings given by flags. @throws Failure when the application has another type of source */
export async function changeTarget(
  { client }: Api,
  { output }: Session,
  target: Target,
  options: DeployOptions,
  settings: Readonly<Record<string, unknown>>,
): Promise<void> {
  const name = printable(target.name);
  const isGit = target.source === "git";
  if (!isGit && (options.git !== undefined || options.branch !== undefined)) {
    throw usage(`${name} gets its code from ${SOURCES[target.source]}, not from git.`, [
      "Make another application with --new.",
    ]);
  }
  await requireSamePlace({ client }, target, options);
  const wanted = {
    ...settings,
    ...(options.git === undefined ? {} : { git_repository: options.git }),
    ...(options.branch === undefined ? {} : { git_branch: options.branch }),
  };
  if (Object.keys(wanted).length === 0) return;
  const change = differences(await client.applications.get.query({ uuid: target.uuid }), wanted);
  if (Object.keys(change).length === 0) return;
  await client.applications.update.mutate({ uuid: target.uuid, ...change });
  output.line(
    `Changed ${Object.keys(change)
      .map((key) => key.replaceAll("_", " "))
      .join(", ")}`,
  );
}

/** The same command may be typed again, whose settings are those of the application. */
function differences(application: Application, wanted: Readonly<Record<string, unknown>>) {
  // The API answers the URLs by another name than it accepts them.
  const current = new Map<string, unknown>([...Object.entries(application), ["domains", application.fqdn]]);
  const isSame = (key: string, value: unknown) =>
    current.has(key) && JSON.stringify(current.get(key)) === JSON.stringify(value);
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => !isSame(key, value)));
}

const PLACE_FLAGS = ["project", "environment", "server"] as const;

/** When the same command is repeated, as in a script, its flags must match the application's place. */
async function requireSamePlace(
  { client }: Pick<Api, "client">,
  target: Target,
  options: DeployOptions,
): Promise<void> {
  const named = PLACE_FLAGS.filter((flag) => options[flag] !== undefined);
  if (named.length === 0) return;
  const [application, projects] = await Promise.all([
    client.applications.get.query({ uuid: target.uuid }),
    client.projects.list.query({}),
  ]);
  const { project_uuid, environment_uuid, environment_name, server_uuid, destination } = application;
  const project = projects.find(({ uuid }) => uuid === project_uuid);
  const known = {
    project: [project_uuid, project?.name],
    environment: [environment_uuid, environment_name],
    server: [server_uuid, destination.server.name],
  };
  // Names are chosen whatever their case, so they are compared likewise.
  const isNamed = (value: string | undefined, flag: (typeof named)[number]) =>
    value?.toLowerCase() === options[flag]?.toLowerCase();
  const other = named.find((flag) => !known[flag].some((value) => isNamed(value, flag)));
  if (other === undefined) return;
  const where = printable(known[other][1] ?? known[other][0] ?? "");
  const position = other === "server" ? "on" : "in";
  throw usage(`${printable(target.name)} is ${position} the ${other} ${where} and is not moved by --${other}.`, [
    `Move it:                   berth move ${printable(target.name)} --${other} ${printable(options[other] ?? "")}`,
    "Make another application:  repeat the command with --new",
  ]);
}

const SOURCES = { git: "git", upload: "uploads", dockerfile: "a Dockerfile", image: "an image" } as const;

export async function createTarget(
  api: Api,
  session: Session,
  folder: DeployFolder,
  options: DeployOptions,
  settings: Readonly<Record<string, unknown>>,
  content: Content | undefined,
): Promise<Target> {
  // Whoever names a build pack knows what it does.
  const isOpen = content !== undefined && settings.build_pack === undefined;
  const found = isOpen ? await recognised(folder.path, content, settings) : undefined;
  const isImage = found !== undefined && (await isBuiltByDockerfile(api, content, found, options));
  const isUnknown = found !== undefined && !isImage && found.plan === undefined;
  const compose = isUnknown ? await runnableCompose(api, content, settings, options) : undefined;
  if (isUnknown && compose === undefined) throw found.refusal();
  const needsDocker = isImage || compose !== undefined || buildsImage(settings.build_pack);
  const place = await choosePlace(api, options, needsDocker ? "image" : "application");
  const name = options.name ?? (options.git === undefined ? await nameOf(folder.path) : repositoryName(options.git));
  await requireUnusedName(api, { name, place, folder, options });
  const { output } = session;
  if (isImage) {
    output.line(
      found?.plan === undefined
        ? "It has a Dockerfile and nothing else that says how to start it, so the Dockerfile builds it."
        : `Its Dockerfile builds it. To let Berth build it as ${found.plan.detected}: --build-pack nixpacks`,
    );
  }
  if (compose !== undefined)
    output.line(`It has a compose file and nothing else that says how to start it, so ${compose} runs it.`);
  const chosen = {
    ...(isImage ? { build_pack: "dockerfile" } : {}),
    ...(compose === undefined ? {} : { build_pack: "dockercompose", docker_compose_location: `/${compose}` }),
  };
  const created = await create(api, name, place, options, { ...settings, ...chosen });
  const where = `${printable(place.project.name)}/${printable(place.environment.name)} on ${printable(place.server.name)}`;
  output.line(`Created application ${printable(name)} (${created.uuid}) in ${where}`);
  // Elsewhere the deployment's log shows them, line by line.
  if (!isImage && output.isLive && !output.isVerbose) for (const note of found?.plan?.notes ?? []) output.line(note);
  return { uuid: created.uuid, name, source: options.git === undefined ? "upload" : "git" };
}

/**
 * Whether the Dockerfile comes before what Berth recognises: not before a Procfile or a package.json, and before the
 * rest only where a server has Docker, since that can be built without.
 */
async function isBuiltByDockerfile(
  { client }: Api,
  content: Content | undefined,
  { plan }: RecognisedFolder,
  { server }: DeployOptions,
): Promise<boolean> {
  const names = new Set(content?.entries.map(({ path }) => path));
  if (!names.has("Dockerfile") || names.has("package.json") || names.has("Procfile")) return false;
  return plan === undefined || hasContainers(client, server);
}

/** The compose file of a folder that nothing else says how to start, where a server has Docker. */
async function runnableCompose(
  { client }: Api,
  content: Content | undefined,
  { base_directory }: Readonly<Record<string, unknown>>,
  { server }: DeployOptions,
): Promise<string | undefined> {
  const names = new Set(content?.entries.map(({ path }) => path));
  const file = COMPOSE_FILES.find((name) => names.has(name));
  const isRoot = base_directory === undefined || base_directory === "/";
  return isRoot && file !== undefined && (await hasContainers(client, server)) ? file : undefined;
}

/** Whether the named server, or any, runs containers. */
async function hasContainers(client: Api["client"], server: string | undefined): Promise<boolean> {
  const servers = await client.servers.list.query({});
  const possible = servers.filter(({ name, uuid }) => server === undefined || server === name || server === uuid);
  return possible.some(
    ({ engine, settings: { is_build_server } }) => ENGINES[engine].hasContainers && !is_build_server,
  );
}

function create(
  { client }: Api,
  name: string,
  { project, environment, server }: ChosenPlacement,
  // The server asks the repository which branch that is.
  { git, branch = "HEAD" }: DeployOptions,
  settings: Readonly<Record<string, unknown>>,
): Promise<CreatedApplication> {
  const body = {
    ...settings,
    name,
    project_uuid: project.uuid,
    environment_uuid: environment.uuid,
    server_uuid: server.uuid,
  };
  if (git === undefined) return client.applications.createUpload.mutate(body);
  return client.applications.createPublic.mutate({
    build_pack: "nixpacks",
    ...body,
    git_repository: git,
    git_branch: branch,
  });
}

interface NewApplication {
  readonly name: string;
  readonly place: ChosenPlacement;
  readonly folder: DeployFolder;
  readonly options: DeployOptions;
}

/** Two applications with one name in an environment are rarely intended: probably the folder was cloned. */
async function requireUnusedName({ client }: Api, { name, place, folder, options }: NewApplication): Promise<void> {
  if (options.new) return;
  const uploaded = options.git === undefined ? `${folder.argument} ` : "";
  const applications = await client.applications.list.query({});
  requireFreeName(applications, {
    name,
    place,
    kind: "application",
    remedies: (same) => [
      `Deploy to it:       berth deploy ${uploaded}--app ${nameInCommand(same, applications)}`,
      "Make another one:   berth deploy --name OTHER",
    ],
  });
}

/** `https://example.com/acme/web.git` → `web`. */
function repositoryName(repository: string): string {
  const last = repository.replace(/\/+$/, "").split(/[/:]/).at(-1) ?? "";
  return last.replace(/\.git$/, "") || "application";
}

/**
 * Stores a link in the folder, so that the next deployment finds the application. Where the folder belongs to another
 * one, `--app` means this deployment alone.
 */
export async function rememberTarget(
  api: Api,
  { output }: Session,
  { path, links }: DeployFolder,
  { uuid, name }: Target,
  { app }: Pick<DeployOptions, "app"> = {},
): Promise<void> {
  const { url } = api.connection;
  const known = links.find((link) => link.uuid === uuid);
  if (known && known.url === url && known.name === name) return;
  const others = links.filter((link) => link.url === url && link.uuid !== uuid);
  const owner = app === undefined ? undefined : await linkedApplication(api, others);
  if (owner !== undefined) {
    output.line(`${path} remains the folder of ${printable(owner.name)}: --app is for this deployment only.`);
    return;
  }
  await saveLink(path, { url, uuid, name });
  if (!known) output.line(`Remembered it in ${linkPath(path)}`);
}
