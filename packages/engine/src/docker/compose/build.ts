import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as otherWork } from "node:timers/promises";
import { DomainError } from "@berth/core";
import {
  type Compose,
  composeWarnings,
  hostPrivileges,
  interpolated,
  isActive,
  parseCompose,
  parseWrittenCompose,
  recordOf,
} from "@berth/core/compose";
import { type BuildRequest, requireBuildable, type StackArtifact, type StackImage } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import {
  containerImageName,
  engineError,
  imageRepository,
  inspectImage,
  isOwnName,
  pullImage,
} from "@berth/docker-client";
import { buildImage } from "../builder/build-image.ts";
import { type BuildTarget, isRemoteContext } from "../builder/build-target.ts";
import { dockerfileOf } from "../builder/dockerfile-source.ts";
import type { StackBuildPlace } from "./build-place.ts";
import { insideSource, prepareStack, type StackSource } from "./source.ts";
import { buildSourceImage, SOURCE_IMAGE } from "./source-image.ts";
import { composeText, fileVariables } from "./text.ts";
import { pairsOf } from "./values.ts";

/**
 * Pulls the images of a compose file, and builds those that it defines from the source.
 * @throws DomainError `deploy.build_failed`, `deploy.cancelled`
 */
export async function buildStack(place: StackBuildPlace, written: BuildRequest, io: WorkIO): Promise<StackArtifact> {
  const { text, source } = await composeText(written);
  const variables = await fileVariables(written);
  const request = { ...written, env: { ...variables, ...written.env } };
  await otherWork();
  const compose = parsed(text);
  // A compose file stored in the settings was checked when it was saved.
  if (request.isHostGuarded === true && source !== undefined) requireNoPowers(compose);
  const warnings = composeWarnings(compose.document, request.isForCluster === true);
  for (const warning of warnings) io.onLine(`Warning: ${warning}`, "stderr");
  await otherWork();
  const { document, files, sent } = await prepareStack(compose, source, request.env);
  const artifactText = JSON.stringify(document);
  await otherWork();
  const started = parsed(artifactText, parseWrittenCompose);
  await otherWork();
  const demands = { text: compose, started, isGenerating: source !== undefined };
  requireBuildable(demands, request.env, { ...variables, ...(written.variables ?? written.env) });
  const more = Object.keys(variables).length === 0 ? {} : { variables };
  request.requireFit?.({ type: "stack", compose: artifactText, ...more, images: {}, files });
  const images: Record<string, StackImage> = {};
  const pulled = new Map<string, StackImage>();
  for (const name of buildOrder(compose)) {
    // An image that is already present needs no waiting, so a cancel is checked here.
    if (io.signal.aborted) throw new DomainError("deploy.cancelled", "The build was cancelled.");
    // Services that are not started need no image.
    if (!isActive(compose.document.services[name] ?? {}, request.env)) continue;
    const image = containerImageName(request, name);
    if (inherited(compose, name, "build") != null) {
      images[name] = await buildOne(place, { request, compose, source, name, image }, io);
      continue;
    }
    const wanted = String(interpolated(inherited(compose, name, "image") ?? "", request.env));
    const known = pulled.get(wanted) ?? (await pullOne(place, wanted, io));
    pulled.set(wanted, known);
    await tag(place, known.id ?? "", request, image);
    images[name] = { ...known, image };
  }
  if (sent.length > 0) images[SOURCE_IMAGE] = await buildSourceImage(place, request, sent, io);
  return { type: "stack", compose: artifactText, ...more, images, files };
}

/** Services in build order, each after those whose images it uses. */
function buildOrder(compose: Compose): readonly string[] {
  const ordered = new Set<string>();
  const add = (name: string, depth: number): void => {
    const contexts = pairsOf(recordOf(inherited(compose, name, "build")).additional_contexts);
    const needed = Object.values(contexts).flatMap((path) => SERVICE_CONTEXT.exec(path ?? "")?.[1] ?? []);
    // Circular references are not detected here: the build fails because the image is missing.
    if (depth < EXTENDS_MAX) for (const other of needed) if (!ordered.has(other)) add(other, depth + 1);
    if (compose.document.services[name] !== undefined) ordered.add(name);
  };
  for (const { name } of compose.containers) add(name, 0);
  return [...ordered];
}

function parsed(text: string, parse = parseCompose): Compose {
  const compose = parse(text);
  if (!("problems" in compose)) return compose;
  throw new DomainError("deploy.build_failed", `The compose file cannot be used: ${compose.problems.join(" ")}`);
}

function requireNoPowers({ document, containers }: Compose): void {
  const powers = hostPrivileges(document, containers);
  if (powers.length === 0) return;
  const sentence = `The compose file needs host privileges that only the operator can grant: ${powers.join(", ")}. Remove them, or deploy to another server.`;
  throw new DomainError("deploy.build_failed", sentence);
}

async function pullOne({ docker, host, logins }: StackBuildPlace, image: string, io: WorkIO): Promise<StackImage> {
  if (image === "" || isOwnName(image)) {
    throw new DomainError("deploy.build_failed", `Images under berth/ are Berth's own. Name another than ${image}.`);
  }
  const { id, digest } = await pullImage({ docker, server: host.name, logins }, image, io);
  return { image, id, digest };
}

/** Names the image after the deployment, which keeps it as long as a rollback is possible. */
async function tag({ docker, host }: StackBuildPlace, id: string, request: BuildRequest, image: string): Promise<void> {
  const repository = imageRepository(request.resourceUuid);
  try {
    await docker.getImage(id).tag({ repo: repository, tag: image.slice(repository.length + 1) });
  } catch (cause) {
    throw engineError(host.name, cause);
  }
}

/** A key of the service, or of the service that it extends. */
function inherited(compose: Pick<Compose, "document">, name: string, key: "image" | "build", depth = 0): unknown {
  const service = compose.document.services[name];
  if (service === undefined || depth > EXTENDS_MAX) return undefined;
  const { service: base = service.extends } = recordOf(service.extends);
  if (service[key] != null || typeof base !== "string") return service[key];
  return inherited(compose, base, key, depth + 1);
}

const EXTENDS_MAX = 20;

interface One {
  readonly request: BuildRequest;
  readonly compose: Compose;
  readonly source: StackSource | undefined;
  readonly name: string;
  readonly image: string;
}

async function buildOne(place: StackBuildPlace, one: One, io: WorkIO): Promise<StackImage> {
  const { name, image } = one;
  const jobFolder = join(place.jobFolder, name);
  await mkdir(jobFolder, { mode: 0o700 });
  io.onLine(`Builds ${name}`, "stdout");
  const target = await targetOf(place, one, jobFolder);
  await buildImage(target, io, place);
  const built = await inspectImage(place.docker, place.host.name, image);
  if (built === undefined) throw new DomainError("deploy.build_failed", `The image of ${name} is missing.`);
  io.onLine(`Built ${image}`, "stdout");
  return { image, id: built.id, digest: null };
}

async function targetOf(place: StackBuildPlace, one: One, jobFolder: string): Promise<BuildTarget> {
  const { request, compose, name, image } = one;
  const said = interpolated(inherited(compose, name, "build"), request.env);
  const build = typeof said === "string" ? { context: said } : recordOf(said);
  const args = Object.entries({ ...pairsOf(build.args), ...request.buildArgs }).flatMap(([key, value]) => {
    const text = value ?? (Object.hasOwn(request.env, key) ? request.env[key] : undefined);
    return text === undefined ? [] : [[key, text] as const];
  });
  return {
    ...(await contextOf(one, build, jobFolder)),
    ...(await secretsOf(one, build)),
    target: typeof build.target === "string" && build.target !== "" ? build.target : null,
    image,
    labels: { ...withoutNull(pairsOf(build.labels)), ...place.labels },
    args: Object.fromEntries(args),
    isForced: request.isForced || isTrue(build.no_cache),
    isPulled: request.isPulled === true || isTrue(build.pull),
    more: {
      ...Object.fromEntries(KEPT_KEYS.map((key) => [key, build[key]])),
      contexts: await contextsOf(one, build),
    },
  };
}

async function contextOf(
  { request, source, name }: One,
  build: Readonly<Record<string, unknown>>,
  jobFolder: string,
): Promise<Pick<BuildTarget, "context" | "dockerfile">> {
  const context = String(build.context ?? ".");
  const inline = typeof build.dockerfile_inline === "string" ? build.dockerfile_inline : null;
  const location = typeof build.dockerfile === "string" ? build.dockerfile : "Dockerfile";
  const isFetched = isRemoteContext(context);
  if (isFetched && inline === null) return { context, dockerfile: location };
  const folder = isFetched ? context : await contextFolder(source, name, context);
  const { text, ignore } =
    inline === null
      ? await dockerfileOf(source?.root ?? folder, folder, {
          ...request.config,
          dockerfile: null,
          dockerfile_location: `/${location}`,
        })
      : { text: inline, ignore: undefined };
  const dockerfile = join(jobFolder, "Dockerfile");
  await writeFile(dockerfile, text, { mode: 0o600 });
  if (ignore !== undefined) await writeFile(`${dockerfile}.dockerignore`, ignore, { mode: 0o600 });
  return { context: folder, dockerfile };
}

async function contextFolder(source: StackSource | undefined, name: string, context: string): Promise<string> {
  const folder = source && (await insideSource(source, context));
  if (folder !== undefined) return folder;
  const reason =
    source === undefined
      ? "has no repository to build from. Deploy its folder as an application: berth deploy --build-pack dockercompose"
      : `has no folder ${context.slice(0, 200)}.`;
  throw new DomainError("deploy.build_failed", `The compose file builds ${name}, but its source ${reason}`);
}

async function contextsOf({ source, request }: One, build: Readonly<Record<string, unknown>>) {
  const entries: [string, string][] = [];
  for (const [name, path] of Object.entries(withoutNull(pairsOf(build.additional_contexts)))) {
    // The image of another service, which is built before.
    const [, other] = SERVICE_CONTEXT.exec(path) ?? [];
    const image = other === undefined ? undefined : `docker-image://${containerImageName(request, other)}`;
    entries.push([name, image ?? (isRemoteContext(path) ? path : await contextFolder(source, name, path))]);
  }
  return Object.fromEntries(entries);
}

async function secretsOf(
  { request, compose, source }: One,
  build: Readonly<Record<string, unknown>>,
): Promise<Pick<BuildTarget, "secrets" | "secretFiles">> {
  const secrets: [string, string][] = [];
  const secretFiles: [string, string][] = [];
  for (const entry of [build.secrets ?? []].flat()) {
    const { source: key = entry, target = key } = recordOf(entry);
    const { file, environment } = recordOf(recordOf(compose.document.secrets)[String(key)]);
    const found = typeof file === "string" && source !== undefined ? await insideSource(source, file) : undefined;
    if (found !== undefined) secretFiles.push([String(target), found]);
    else secrets.push([String(target), request.env[String(environment ?? key)] ?? ""]);
  }
  return { secrets: Object.fromEntries(secrets), secretFiles: Object.fromEntries(secretFiles) };
}

const withoutNull = (pairs: Readonly<Record<string, string | null>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(pairs).map(([key, value]) => [key, value ?? ""]));

const isTrue = (value: unknown): boolean => value === true || value === "true";

const KEPT_KEYS = ["cache_from", "cache_to", "extra_hosts", "network", "shm_size", "ulimits"] as const;
const SERVICE_CONTEXT = /^service:(.+)$/;
