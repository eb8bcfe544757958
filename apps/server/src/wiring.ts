import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout } from "node:timers/promises";
import { backupFiles, decompress, digest, objectStorage, verifyContent } from "@berth/backup";
import { cloudProviders } from "@berth/cloud";
import { type Control, control, type SignIns, signIns, signInTries, type Webhooks, webhooks } from "@berth/control";
import type { OriginCredential } from "@berth/core";
import type { Clock, S3Credentials, S3StorageRecord, ServerRecord, Stores } from "@berth/core/ports";
import { isOwnMachine } from "@berth/core/server";
import type { Scope } from "@berth/core/team";
import { authenticator, cipher, type Database, loadKeyFile, requireKey, stores, systemStores } from "@berth/db";
import { addressBook, certificateIssuer, diskSpace, keyReader, redactor } from "@berth/host";
import { identityProviders, mailer, passkeyVerifier } from "@berth/identity";
import { logDrainSender, notificationSender } from "@berth/notification";
import { githubHost, sourceFetcher } from "@berth/source";
import { gitCredentials, planServerCleanup, type Worker, type WorkerOptions, worker } from "@berth/worker";
import { readTemplates } from "#templates";
import type { Config } from "./config.ts";
import type { DataFolder } from "./data-folder.ts";
import type { DockerServerDeps } from "./docker-server.ts";
import { ids } from "./ids.ts";
import type { Logger } from "./logger.ts";
import { magic } from "./magic.ts";
import { passwordHasher } from "./passwords.ts";
import { Servers } from "./servers.ts";
import { siteProbe } from "./site-probe.ts";

const wait = (seconds: number) => setTimeout(seconds * 1000);
const clock: Clock = { now: () => new Date() };

export const hashToken = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** The parts of the server behind its API. */
export interface Inside {
  readonly controlFor: (scope: Scope) => Control;
  readonly storesFor: (scope: Scope) => Stores;
  readonly webhooks: Webhooks;
  readonly signIns: SignIns;
  readonly authenticator: ReturnType<typeof authenticator>;
  readonly servers: Servers;
  makeWorker(options?: Pick<WorkerOptions, "steps" | "settings">): Worker;
}

/** The only place that connects ports with their adapters: plain calls in dependency order. */
export async function wire(
  config: Config,
  folder: DataFolder,
  database: Database,
  { log, hostOf }: { readonly log: Logger; readonly hostOf?: DockerServerDeps["hostOf"] },
): Promise<Inside> {
  const secrets = { cipher: cipher(await loadKeyFile(folder.keyFile)) };
  const templates = await readTemplates();
  await requireKey(database, secrets.cipher);
  const storesFor = stores(database, secrets);
  const source = sourceFetcher({
    folder: folder.sources,
    allowFileProtocol: true,
    privateFolders: [folder.root],
    allowedPrivateHosts: config.allowedPrivateHosts,
  });
  const gitHost = githubHost({ allowedPrivateHosts: config.allowedPrivateHosts });
  const system = systemStores(database, secrets);
  const servers = new Servers({ config, folder, stores: system, log, hostOf });
  const { members } = servers;
  const engineFor = (server: ServerRecord) => servers.engine(server);
  const cleanerFor = (server: ServerRecord) => servers.cleaner(server);
  const publicUrl = (url: string, serverId: number) => servers.publicUrl(url, serverId);

  const bucketOf = (storage: S3StorageRecord, credentials: OriginCredential<S3Credentials>) =>
    objectStorage({ allowedPrivateHosts: config.allowedPrivateHosts }, storage, credentials);

  const people = {
    ...{ system, passwords: passwordHasher(), tries: signInTries(clock), clock, ids, hashToken },
    providers: identityProviders({ allowedPrivateHosts: config.allowedPrivateHosts }),
    passkeyVerifier: passkeyVerifier(),
    mailer: config.mail && mailer(config.mail, (message, cause) => log.warn(message, { cause })),
    instanceUrl: config.publicUrl ?? null,
  };

  const sendNotification = notificationSender({
    allowedPrivateHosts: config.allowedPrivateHosts,
    instanceMail: config.mail,
    urls: config.notificationUrls,
  });

  const sites = siteProbe(config.allowedPrivateHosts, publicUrl);
  const savedFiles = backupFiles(folder.backups);

  return {
    storesFor,
    signIns: signIns(people),
    authenticator: authenticator(database),
    webhooks: webhooks({
      stores: system,
      ids,
      instanceUrl: config.publicUrl ?? null,
      publicUrl,
    }),
    controlFor: control({
      stores: storesFor,
      source,
      engineFor,
      membershipFor: (server) => members.member(server).membership,
      machineFor: (server) => (isOwnMachine(server) ? undefined : members.member(server).machine),
      hasCleanup: (server) => cleanerFor(server) !== undefined,
      planCleanup: (server) => planServerCleanup({ stores: system, cleanerFor }, server),
      publicUrl,
      urlProblem: (url, serverId) => servers.urlProblem(url, serverId),
      servesHttps: (server) => servers.servesHttps(server),
      reportedVersion: config.reportedVersion,
      teamServersMax: config.teamServersMax,
      keys: keyReader,
      addresses: addressBook(),
      sites,
      gitHost,
      cloud: cloudProviders({
        allowedPrivateHosts: config.allowedPrivateHosts,
        urls: { hetzner: config.hetznerUrl },
      }),
      objectStorage: bucketOf,
      backupFiles: savedFiles,
      verifyContent,
      wait,
      certificates: certificateIssuer,
      sendNotification,
      ...people,
      magic,
      templates,
    }),
    servers,
    makeWorker: (options = {}) =>
      worker({
        stores: system,
        engineFor,
        proxyFor: (server) => servers.proxy(server),
        cleanerFor,
        connectorFor: (server) => members.member(server).connect,
        keepOnly: (servers) => members.keepOnly(servers),
        source,
        credentialsFor: gitCredentials(system, gitHost),
        magic: { ...magic, secret: ids.secret, uuid: ids.uuid },
        redactor,
        clock,
        diskOf: async (server) =>
          servers.isLocal(server) ? await diskSpace(folder.apps) : await members.known(server.id)?.machine?.disk(),
        machineOf: (server) => (members.isWithinReach(server) ? members.member(server).machine : undefined),
        backups: {
          files: savedFiles,
          objectStorage: bucketOf,
          digest,
          decompress,
        },
        sendLogs: logDrainSender({ allowedPrivateHosts: config.allowedPrivateHosts, axiomUrl: config.axiomUrl }),
        notifications: { send: sendNotification, instanceUrl: config.publicUrl ?? null },
        owner: `${hostname()}-${process.pid}-${ids.secret(8)}`,
        ownsServer: (server) => members.isWithinReach(server),
        drivesClusters: true,
        sites,
        logger: log,
        ...options,
        settings: {
          concurrentDeploymentsMax: config.parallelDeployments,
          teamSharePercent: config.teamSharePercent,
          taskExecutionsKept: config.taskExecutionsKept,
          eventKeptDays: config.eventKeptDays,
          ...options.settings,
        },
      }),
  };
}
