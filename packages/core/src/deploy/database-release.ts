import { scriptFiles } from "../application/init-script.ts";
import { NO_RUN_OPTIONS } from "../application/run-options.ts";
import type { Argv } from "../argv.ts";
import { databaseCertificate } from "../database/database-certificate.ts";
import { databaseEngine, enginePort, engineValues } from "../database/database-engine.ts";
import { type DatabaseLogin, loginOf } from "../database/database-login.ts";
import { fieldValues } from "../database/database-view.ts";
import type { DatabaseFile, EngineValues } from "../database/engine/row.ts";
import { isTls } from "../database/engine/tls.ts";
import type { DatabaseRecord, DatabaseSecrets } from "../ports/database.ts";
import type { DeploymentRecord, EnvRecord } from "../ports/records.ts";
import type { StorageRecord } from "../ports/storage.ts";
import type { Artifact } from "./artifact.ts";
import type { ContainerHealthCheck, ContainerOptions } from "./container.ts";
import { mountsOf } from "./mounts.ts";
import type { ReleaseSpec } from "./release.ts";
import { containerLimits } from "./release-container.ts";
import { valuesOf } from "./release-env.ts";
import { limitsOf } from "./release-spec.ts";
import type { FileMount } from "./storage-mount.ts";

/** Input for a release of a database, read at one moment. */
export interface DatabaseSubject {
  readonly database: DatabaseRecord;
  readonly secrets: DatabaseSecrets;
  readonly deployment: Pick<DeploymentRecord, "uuid">;
  /** With shared references replaced. */
  readonly envs: readonly EnvRecord[];
  readonly storages: readonly StorageRecord[];
}

/**
 * How long a database may take to stop: it writes its memory to disk first, and needs a recovery after a kill. The
 * default of PostgreSQL's `pg_ctl`.
 */
export const DATABASE_STOP_GRACE_SECONDS = 60;

/** The release of a database: its image, started as the engine's row says. */
export function databaseSpec(subject: DatabaseSubject, artifact: Artifact): ReleaseSpec {
  const { database, deployment } = subject;
  const { uuid, engine, settings } = database;
  const row = databaseEngine(engine);
  const own = ownEnvs(subject);
  const values = fieldsOf(subject);
  const { argv, files = [] } = row.start(values, isTls(values) ? (databaseCertificate(subject.secrets) ?? null) : null);
  return {
    resourceUuid: uuid,
    deploymentUuid: deployment.uuid,
    resourceNumber: database.id,
    kind: database.kind,
    name: database.name,
    artifact,
    // Variables set by the owner override those of the engine.
    env: {
      ...row.variables(values),
      ...valuesOf(own.filter(({ is_runtime }) => is_runtime)),
    },
    ports: [enginePort(engine, values)],
    // A mounted folder hides files below its path, so files are mounted last.
    storages: [
      ...mountsOf(uuid, subject.storages, 0),
      ...files.map((file) => fileMount(uuid, file, row.accounts)),
      ...scriptFiles(values.init_scripts).map((file) => ({
        ...fileMount(uuid, file, row.accounts),
        isReadOnly: true,
      })),
    ],
    limits: limitsOf(settings),
    network: database.placement.destination_network,
    container: containerOf(database, { command: argv ?? null, healthArgv: row.health(values) }),
  };
}

/** The names and passwords that its release is started with. */
export const databaseLogin = (subject: Pick<DatabaseSubject, "database" | "secrets" | "envs">): DatabaseLogin =>
  loginOf(subject.database.engine, fieldsOf(subject));

function fieldsOf(subject: Pick<DatabaseSubject, "database" | "secrets" | "envs">): EngineValues {
  const { engine, fields } = subject.database;
  const kept = { ...fields, ...subject.secrets };
  // Some fields are stored as variables of the database.
  return engineValues(engine, { ...kept, ...fieldValues(engine, { ...kept, ...valuesOf(ownEnvs(subject)) }) });
}

const ownEnvs = ({ envs }: Pick<DatabaseSubject, "envs">): readonly EnvRecord[] =>
  envs.filter(({ is_preview }) => !is_preview);

const fileMount = (
  databaseUuid: string,
  { path, text, isSecret }: DatabaseFile,
  accounts: readonly string[],
): FileMount => ({
  uuid: `${databaseUuid}${path.replaceAll("/", "-")}`,
  name: path.slice(path.lastIndexOf("/") + 1),
  type: "file",
  mountPath: path,
  content: text,
  ...(isSecret === true ? { readers: accounts } : {}),
});

function containerOf(
  { uuid, settings }: DatabaseRecord,
  { command, healthArgv }: { readonly command: Argv | null; readonly healthArgv: Argv },
): ContainerOptions {
  const check: ContainerHealthCheck = {
    argv: healthArgv,
    intervalSeconds: settings.health_check_interval,
    timeoutSeconds: settings.health_check_timeout,
    retries: settings.health_check_retries,
    startPeriodSeconds: settings.health_check_start_period,
  };
  return {
    command,
    healthCheck: settings.health_check_enabled ? check : null,
    hasImageHealthCheck: false,
    isToldPort: false,
    // The host in its URL, the same for all of its releases.
    networkAliases: [uuid],
    portMappings: [],
    labels: {},
    run: NO_RUN_OPTIONS,
    limits: containerLimits(settings),
  };
}
