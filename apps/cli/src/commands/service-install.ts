import { accessSync, constants, existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { userInfo } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { ASSETS } from "../assets.ts";
import type { Bind } from "../command-module.ts";
import { Failure, hasCode } from "../failure.ts";
import { serviceUnit } from "../service-unit.ts";
import type { Session } from "../session.ts";
import type { System } from "../system.ts";

/** `berth service install` installs Berth itself as a systemd service, unlike the other commands of the group. */
export function defineInstall(command: Command, bind: Bind): void {
  command
    .command("install")
    .description("Run Berth itself as a service of systemd: it starts at boot, and again after it ended.")
    .option("--print", "show the unit, install nothing")
    .action(bind(install));
}

async function install({ system, output }: Session, { print }: { readonly print?: boolean }): Promise<void> {
  const unit = unitOf(system);
  if (print) return output.show({ file: UNIT_FILE, unit }, () => output.line(unit.trimEnd()));
  if (!existsSync(SYSTEMD_FOLDER)) {
    throw new Failure("systemd does not run this machine.", {
      details: [
        "Let another service manager run npm start and restart it, or run it in a terminal.",
        "The unit, for a machine that has systemd: berth service install --print",
      ],
    });
  }
  if (!system.isRoot) {
    throw new Failure(`Only root may write ${UNIT_FILE}.`, {
      details: ["Run it with sudo. To look at it first: berth service install --print"],
    });
  }
  await write(unit);
  output.show({ file: UNIT_FILE, unit }, () => {
    output.line(`Written: ${UNIT_FILE}`);
    output.line(
      "Stop the running npm start, then start the service: systemctl daemon-reload && systemctl enable --now berth",
    );
    output.line("Its log: journalctl -u berth -f");
  });
}

function unitOf({ env }: System): string {
  const folder = berthFolder();
  const path = (env.PATH ?? "/usr/local/bin:/usr/bin:/bin")
    .split(delimiter)
    // Folders inside Berth's own are replaced by its next version.
    .filter((part) => !part.startsWith(folder))
    .join(delimiter);
  const settings = Object.entries(env).flatMap(([key, value]) =>
    // Secrets must not be in a file that everyone can read.
    key.startsWith("BERTH_") && value && !SECRET.test(key) ? [[key, value] as const] : [],
  );
  return serviceUnit({
    folder,
    node: programIn(path, "node"),
    path,
    // The user who ran sudo owns the data folder.
    user: env.SUDO_USER ?? userInfo().username,
    settings: Object.fromEntries(settings),
  });
}

/** Folder in which `npm start` runs: the one with this program, built or as sources. */
function berthFolder(): string {
  for (let folder = fileURLToPath(ASSETS); folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, "tooling/run.mjs"))) return folder;
  }
  throw new Failure("Berth's own folder was not found.", {
    details: ["Run it in the folder of Berth: npm run -s berth -- service install"],
  });
}

function programIn(path: string, name: string): string {
  const found = path
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable);
  if (found !== undefined) return found;
  throw new Failure(`${name} is not in PATH.`, { details: ["Add its folder to PATH."] });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function write(unit: string): Promise<void> {
  try {
    const file = await open(UNIT_FILE, "wx", 0o644);
    await file.writeFile(unit);
    await file.close();
  } catch (cause) {
    if (!hasCode(cause, "EEXIST")) throw new Failure(`${UNIT_FILE} cannot be written.`, { cause });
    throw new Failure(`${UNIT_FILE} exists.`, {
      details: ["Compare it with berth service install --print, and remove it to have it written anew."],
    });
  }
}

const UNIT_FILE = "/etc/systemd/system/berth.service";
/** Exists only where systemd is the machine's init process. */
const SYSTEMD_FOLDER = "/run/systemd/system";
const SECRET = /KEY|TOKEN|SECRET|PASSWORD|DATABASE_URL/;
