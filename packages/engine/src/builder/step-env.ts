import { existsSync } from "node:fs";
import { join } from "node:path";
import type { BuildStep } from "@berth/core/build";
import type { BuildRequest } from "@berth/core/deploy";
import type { BuildPlace } from "./build-place.ts";

export interface StepPlace {
  readonly request: BuildRequest;
  readonly where: BuildPlace;
  readonly workingFolder: string;
  /** Folders with the programs of dependencies, relative to `workingFolder`. */
  readonly bins: readonly string[];
  readonly networkEnv: Readonly<Record<string, string>>;
}

/**
 * The whole environment of a step: the application's build variables, and settings that keep the package managers'
 * files in the application's own folders. Nothing of ours. CI is not set: some builds would treat warnings as errors.
 */
export function stepEnv(step: BuildStep, { request, where, workingFolder, bins, networkEnv }: StepPlace) {
  const { NODE_ENV, PATH, ...own } = request.env;
  const programs = step.usesBins ? [...bins, ".venv/bin"].map((folder) => join(workingFolder, folder)) : [];
  return {
    LANG: "C.UTF-8",
    TERM: "dumb",
    ...trustedAuthorities(),
    ...cacheFolders(where.cacheFolder),
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
    pnpm_config_confirm_modules_purge: "false",
    // pnpm cannot switch to a version before 12 by itself, and would fail.
    pnpm_config_pm_on_fail: "ignore",
    // Scripts run alike in every Yarn version; the version for the installation is chosen by us.
    ...(step.name === "build" ? { SKIP_YARN_COREPACK_CHECK: "1" } : {}),
    YARN_ENABLE_TELEMETRY: "0",
    NEXT_TELEMETRY_DISABLED: "1",
    ...networkEnv,
    ...own,
    ...nodeEnv(step, NODE_ENV),
    ...step.env,
    HOME: where.home,
    TMPDIR: where.temporaryFolder,
    PATH: [...programs, where.path, ...(PATH === undefined ? [] : [PATH])].join(":"),
    [MARKER]: request.deploymentUuid,
  };
}

const MARKER = "BERTH_BUILD";

/** The entry by which every process of a build is found, wherever it went. */
export const markerEnv = ({ deploymentUuid }: BuildRequest) => ({ [MARKER]: deploymentUuid });
export const stepMarker = ({ deploymentUuid }: BuildRequest): string => `${MARKER}=${deploymentUuid}`;

const cacheFolders = (folder: string) => ({
  XDG_CACHE_HOME: folder,
  XDG_DATA_HOME: join(folder, "data"),
  npm_config_cache: join(folder, "npm"),
  pnpm_config_store_dir: join(folder, "pnpm-store"),
  YARN_CACHE_FOLDER: join(folder, "yarn"),
  YARN_GLOBAL_FOLDER: join(folder, "yarn-berry"),
  PIP_CACHE_DIR: join(folder, "pip"),
  GOMODCACHE: join(folder, "go-mod"),
  // What Go downloads is read-only otherwise, and could not be emptied.
  GOFLAGS: "-modcacherw",
  CARGO_HOME: join(folder, "cargo"),
  CARGO_TARGET_DIR: join(folder, "cargo-target"),
  GRADLE_USER_HOME: join(folder, "gradle"),
});

/** A build needs the development dependencies, which package managers leave out for production. */
function nodeEnv(step: BuildStep, wanted: string | undefined): Record<string, string> {
  if (step.name === "build") return { NODE_ENV: wanted ?? "production" };
  return wanted === undefined || wanted === "production" ? {} : { NODE_ENV: wanted };
}

// Paths of Debian, Red Hat and Alpine.
const BUNDLES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/** The machine's certificate authorities: the lists of Node and pip lack those of company proxies. */
function trustedAuthorities(): Record<string, string> {
  const bundle = BUNDLES.find((file) => existsSync(file));
  return { NODE_USE_SYSTEM_CA: "1", ...(bundle === undefined ? {} : { PIP_CERT: bundle }) };
}
