import { DomainError } from "@berth/core";
import type { InstallationProgress } from "@berth/core/ports";
import type { Argv, Host } from "@berth/host";

/** System and user of a machine, from `/etc/os-release` and the login. */
export interface InstallTarget {
  /** `ID` and `ID_LIKE`. */
  readonly families: readonly string[];
  readonly user: string;
  readonly isRoot: boolean;
  readonly hasSystemd: boolean;
}

export interface InstallStep {
  readonly name: string;
  readonly argv: Argv;
}

/**
 * Steps with their commands, in order. Docker comes from the distribution's packages: signed, updated with the machine, and
 * recent enough from Debian 12 and Ubuntu 22.04 on.
 *
 * @returns `undefined` for systems not based on Debian or Ubuntu.
 */
export function installSteps({
  families,
  user,
  isRoot,
  hasSystemd,
}: InstallTarget): readonly InstallStep[] | undefined {
  if (!families.includes("debian") && !families.includes("ubuntu")) return undefined;
  // Never asks for a password, which nobody could type.
  const asRoot = (...argv: Argv): Argv =>
    isRoot ? argv : ["sudo", "-n", "DEBIAN_FRONTEND=noninteractive", "--", ...argv];
  // Another package installation may be running, e.g. automatic updates after the first start.
  const wait = ["-o", "DPkg::Lock::Timeout=300"] as const;
  return [
    { name: "Package lists", argv: asRoot("apt-get", ...wait, "update") },
    {
      name: "Packages",
      argv: asRoot("apt-get", ...wait, "install", "--yes", "--no-install-recommends", "docker.io", "iptables"),
    },
    {
      name: "Start",
      argv: hasSystemd ? asRoot("systemctl", "enable", "--now", "docker") : asRoot("service", "docker", "start"),
    },
    ...(isRoot ? [] : [{ name: "Login", argv: asRoot("usermod", "--append", "--groups", "docker", user) }]),
  ];
}

/** `ID` and `ID_LIKE` in the content of `/etc/os-release`. */
export function familiesOf(osRelease: string): readonly string[] {
  const values = [...osRelease.matchAll(/^(?:ID|ID_LIKE)=["']?([^"'\n]*)["']?$/gm)];
  return values.flatMap(([, value = ""]) => value.trim().split(/\s+/)).filter((word) => word !== "");
}

interface InstallOptions {
  readonly user: string;
  readonly progress: InstallationProgress;
  readonly signal?: AbortSignal | undefined;
}

/** @throws DomainError `engine.unsupported`, `engine.failed` with the step and its last line */
export async function installEngine(host: Host, { user, progress, signal }: InstallOptions): Promise<void> {
  const release = await host.files.read("/etc/os-release");
  const id = await host.run(["id", "-u"], { env: ENV, signal });
  const hasSystemd = (await host.run(["test", "-d", "/run/systemd/system"], { env: ENV, signal })).exitCode === 0;
  const isRoot = id.output.trim() === "0";
  const steps = installSteps({ families: familiesOf(release?.toString() ?? ""), user, isRoot, hasSystemd });
  if (steps === undefined) throw unsupported(host.name);
  for (const { name, argv } of steps) {
    const command = argv.join(" ");
    progress.onStep({ name, command });
    progress.onLine(`$ ${command}`);
    let last = "";
    const { exitCode, isTimedOut } = await host.run(argv, {
      env: { ...ENV, DEBIAN_FRONTEND: "noninteractive" },
      signal,
      timeoutSeconds: STEP_SECONDS_MAX,
      maxOutputBytes: 0,
      onLine: (line) => {
        last = line.trim() === "" ? last : line;
        progress.onLine(line);
      },
    });
    if (isTimedOut) throw failed(host.name, argv, `it took longer than ${STEP_SECONDS_MAX / 60} minutes`);
    if (exitCode !== 0) throw failed(host.name, argv, last === "" ? `exit code ${exitCode}` : last);
  }
}

const unsupported = (name: string) =>
  new DomainError(
    "engine.unsupported",
    `Berth installs Docker on Debian and Ubuntu only. Install it on server ${name} by hand, then validate the server again.`,
  );

const failed = (name: string, argv: Argv, why: string) =>
  new DomainError(
    "engine.failed",
    `Docker could not be installed on server ${name}: "${argv.join(" ")}" failed: ${why}. Run it there by hand, then validate the server again.`,
  );

const ENV = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
const STEP_SECONDS_MAX = 900;
