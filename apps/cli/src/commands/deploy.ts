import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { EnvCreate } from "@berth/core/env";
import type { Command } from "commander";
import { removeLink } from "../application-link.ts";
import { nameInCommand } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import {
  changeTarget,
  createTarget,
  type DeployOptions,
  existingTarget,
  rememberTarget,
  type Target,
} from "../deploy/application.ts";
import { type DeployFolder, deployFolder, requireNoFolder } from "../deploy/folder.ts";
import { addSettingFlags, SETTING_FLAGS } from "../deploy/setting-flags.ts";
import { pack, upload } from "../deploy/upload.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { collected, valuesOf } from "../flags.ts";
import { followDeployment, UNRECOGNISED } from "../follow/deployment.ts";
import { followJob } from "../follow/job.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { urlRemedy } from "../url-remedy.ts";
import { serverField } from "./app-servers.ts";
import { readVariables, saveByKey } from "./env.ts";

export function define(command: Command, bind: Bind): void {
  command
    .description(
      "Deploy a folder: create its application on first use, upload it, build and start it, and send traffic to it " +
        "when it is healthy. Settings given as flags are kept for the next deployments.",
    )
    .argument("[folder]", "what to upload; default: the current folder, or the one above it that was deployed before")
    .option("--app <app>", "deploy to this application (name or uuid) instead of the folder's own")
    .option("--new", "make a new application, even if the folder was deployed before")
    .option("--name <name>", "name of a new application; default: of the package, else of the folder")
    .option("--project <name>", "project of a new application (name or uuid)")
    .option("--environment <name>", "environment of a new application (name or uuid)")
    .option("--server <name>", "server of a new application (name or uuid)")
    .option("--only <server>", "deploy to this one of the application's servers alone (name or uuid)")
    .option("--git <url>", "get the code from this git repository instead of uploading the folder")
    .option("--branch <name>", "branch of the git repository; default: the default branch of it")
    .option("-e, --env <KEY=VALUE>", "set an environment variable first; can be repeated", collected)
    .option("--env-file <file>", "set those of a file in env format first; - for standard input")
    .option("--force", "build without any cache")
    .option("--detach", "do not follow the deployment");
  addSettingFlags(command);
  command.action(bind(deploy));
}

type DeployFlags = DeployOptions & {
  readonly env?: readonly string[];
  readonly envFile?: string;
  readonly only?: string;
  readonly [flag: string]: unknown;
};

async function deploy(session: Session, named: string | undefined, options: DeployFlags): Promise<ExitCode> {
  const { system } = session;
  const folder = await deployFolder(system, named);
  if (options.git !== undefined) await requireNoFolder(system, options.git);
  const settings = valuesOf(SETTING_FLAGS, options);
  // Read before anything is created, so that a mistake leaves nothing behind.
  const variables = await readVariables(session, options.env ?? [], { file: options.envFile, mayAsk: false });
  const api = await session.connect();
  const existing = await existingTarget(api, session, folder, options);
  if (!existing && options.only !== undefined)
    throw usage("--only names a server of an application that exists. For a new one, use --server.");
  if (!existing && options.git === undefined && options.branch !== undefined)
    throw usage("--branch goes with --git URL.");
  const isUpload = existing ? existing.source === "upload" : options.git === undefined;
  const content = isUpload ? await pack(session, folder.path) : undefined;
  if (existing) await changeTarget(api, session, existing, options, settings);
  const target = existing ?? (await createTarget(api, session, folder, options, settings, content));
  const isRemembered = isUpload || folder.isNamed || (options.app === undefined && (await isCheckout(folder)));
  // What was made exists already. Another application becomes the folder's own once its deployment is accepted.
  if (isRemembered && existing === undefined) await rememberTarget(api, session, folder, target);
  if (variables.length > 0) {
    const save = (data: EnvCreate[]) => api.client.applications.envs.updateBulk.mutate({ uuid: target.uuid, data });
    await saveByKey(save, variables);
    session.output.line(`Set ${variables.map(({ key }) => printable(key)).join(", ")}`);
  }
  if (content) await upload(api, session, target.uuid, folder.path, content);
  const accepted = await start(api, target, options);
  if (isRemembered && existing !== undefined)
    await rememberTarget(api, session, folder, target, options).catch(warnOfLink(session, folder));
  const exitCode = await follow(api, session, target, accepted, options);
  if (existing !== undefined || exitCode !== EXIT.failed) return exitCode;
  if (await hasUnrecognisedSource(api, target)) await removeAgain(api, session, folder, target);
  else await reportKept(api, session, folder, target);
  return exitCode;
}

/**
 * Only a server reads a repository, and only it knows what the program of a named build pack recognises. So the
 * application exists before anything is found out.
 */
async function hasUnrecognisedSource({ client }: Api, { uuid }: Target): Promise<boolean> {
  const { deployments } = await client.deployments.listByApplication.query({ uuid, take: 1 });
  const [newest] = deployments;
  return newest?.error_code === UNRECOGNISED;
}

/** As with a folder that is not recognised, of which nothing is made. */
async function removeAgain({ client }: Api, session: Session, folder: DeployFolder, target: Target): Promise<void> {
  const { job_uuid } = await client.applications.delete.mutate({ uuid: target.uuid });
  if (job_uuid !== undefined) await followJob(session, job_uuid);
  await removeLink(folder.path, target.uuid);
  session.output.line(
    `Application ${printable(target.name)} was removed again. Repeat the command with a flag that helps.`,
  );
}

/** The first deployment failed, so that the application exists, but nothing of it runs. */
async function reportKept(
  { client }: Api,
  { output }: Session,
  { argument }: DeployFolder,
  target: Target,
): Promise<void> {
  const uploaded = target.source === "upload" ? `${argument} ` : "";
  const app = nameInCommand(target, await client.applications.list.query({}));
  output.line(`Application ${printable(target.name)} is kept, and nothing of it runs.`);
  output.line(`  Deploy it again:  berth deploy ${uploaded}--app ${app}, with the flags that help`);
  output.line(`  Delete it:        berth delete ${app}`);
}

/** Whether the folder is a checkout of the repository: only then the link is stored in it. */
const isCheckout = ({ path }: DeployFolder): Promise<boolean> =>
  lstat(join(path, ".git")).then(
    () => true,
    () => false,
  );

/** The deployment is accepted by now, and followed in any case. */
const warnOfLink =
  ({ output }: Session, { path }: DeployFolder) =>
  (error: unknown): void =>
    output.warn(
      `Not remembered in ${printable(path)}: ${printable(error instanceof Error ? error.message : String(error))}`,
    );

/** @throws Failure when the server queues no deployment */
async function start(api: Api, target: Target, options: DeployFlags) {
  const answer = await api.client.deploy.mutate({
    uuid: target.uuid,
    ...(options.force ? { force: true } : {}),
    ...(await serverField(api, target.uuid, options.only)),
  });
  const [entry] = answer.deployments ?? [];
  if (entry?.deployment_uuid === undefined) {
    throw new Failure(printable(entry?.message ?? "The server queued no deployment."));
  }
  return { answer, message: entry.message, uuid: entry.deployment_uuid };
}

async function follow(
  api: Api,
  session: Session,
  target: Target,
  { answer, message, uuid }: Awaited<ReturnType<typeof start>>,
  { detach }: DeployFlags,
): Promise<ExitCode> {
  const { output } = session;
  if (detach) {
    output.show(answer, () => {
      output.line(`Queued deployment ${uuid}`);
      output.line(`Follow it with: berth logs --deployment ${uuid} -f`);
    });
    return EXIT.ok;
  }
  output.json(answer);
  output.line(`${printable(message)} ${output.colors.dim(uuid)}`);
  const exitCode = await followDeployment(api, session, uuid);
  if (exitCode === EXIT.ok) await printUrls(api, session, target);
  return exitCode;
}

async function printUrls({ client }: Api, { output }: Session, { uuid }: Target): Promise<void> {
  const application = await client.applications.get.query({ uuid });
  const { name, build_pack, urls, url_problem } = application;
  if (urls.length === 0) output.line(`It has no URL. ${urlRemedy(name, build_pack === "dockercompose")}`);
  for (const url of urls) output.line(output.colors.bold(printable(url)));
  if (url_problem !== null) output.warn(printable(url_problem));
}
