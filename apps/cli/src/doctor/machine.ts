import { readdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { type Finding, ok, problem, warning } from "./finding.ts";

export interface MachineOptions {
  readonly dataFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder of the proc file system. */
  readonly procFolder?: string;
}

/** Checks a server's ports, descriptors and memory, if it runs on this machine. */
export async function checkMachine({
  dataFolder,
  env,
  procFolder = "/proc",
}: MachineOptions): Promise<readonly Finding[]> {
  const [process, memory] = await Promise.all([serverProcess(procFolder, dataFolder), readText(procFolder, "meminfo")]);
  return [
    await checkProxyPort(process?.env ?? env),
    ...(process === undefined ? [] : [checkDescriptors(process)]),
    ...(memory === undefined ? [] : [checkMemory(memory, process?.memoryMaxBytes)]),
  ];
}

async function checkProxyPort(env: MachineOptions["env"]): Promise<Finding> {
  const port = Number(env.BERTH_PROXY_PORT ?? 8080);
  const { BERTH_PROXY_HOST: host = "0.0.0.0" } = env;
  const subject = `port ${port}`;
  if (await answers(port, host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host))
    return ok(subject, "accepts connections for applications");
  return problem(
    subject,
    "Nothing accepts connections for applications there.",
    `See who has it with ss -ltnp 'sport = :${port}', or set BERTH_PROXY_PORT to another.`,
  );
}

const answers = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host, timeout: ANSWER_MS_MAX });
    const end = (isAnswered: boolean) => {
      socket.destroy();
      resolve(isAnswered);
    };
    socket
      .once("connect", () => end(true))
      .once("error", () => end(false))
      .once("timeout", () => end(false));
  });

interface ServerProcess {
  readonly env: Readonly<Record<string, string>>;
  readonly descriptors: number;
  readonly descriptorsMax: number;
  /** Memory limit of its control group; `undefined`: none. */
  readonly memoryMaxBytes: number | undefined;
}

/** The server process of this data folder, if this user may inspect it. */
async function serverProcess(procFolder: string, dataFolder: string): Promise<ServerProcess | undefined> {
  // The server writes this file at its start.
  const pid = (await readText(dataFolder, "server.pid"))?.trim();
  if (pid === undefined || !/^\d+$/.test(pid)) return undefined;
  const folder = join(procFolder, pid);
  const [command, limits, environ, descriptors, cgroup] = await Promise.all([
    readText(folder, "cmdline"),
    readText(folder, "limits"),
    readText(folder, "environ"),
    readdir(join(folder, "fd")).catch(() => undefined),
    readText(folder, "cgroup"),
  ]);
  const max = /^Max open files +(\d+)/m.exec(limits ?? "")?.[1];
  // After a reboot another process may have its id.
  if (!command?.includes("main.") || max === undefined || descriptors === undefined) return undefined;
  const env = (environ ?? "")
    .split("\0")
    .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]);
  const group = /^0::(\/.*)$/m.exec(cgroup ?? "")?.[1];
  const memoryMax = group === undefined ? undefined : await readText(join("/sys/fs/cgroup", group), "memory.max");
  return {
    env: Object.fromEntries(env),
    descriptors: descriptors.length,
    descriptorsMax: Number(max),
    memoryMaxBytes: memoryMax === undefined || memoryMax.trim() === "max" ? undefined : Number(memoryMax),
  };
}

function checkDescriptors({ descriptors, descriptorsMax }: ServerProcess): Finding {
  const message = `${descriptors} of at most ${descriptorsMax} are open`;
  if (descriptorsMax >= DESCRIPTORS_MIN && descriptors < descriptorsMax * 0.8) return ok("file descriptors", message);
  return warning(
    "file descriptors",
    `${message}: connections are refused beyond.`,
    "Raise it with ulimit -n 65536 before npm start, or with LimitNOFILE= in the unit.",
  );
}

function checkMemory(meminfo: string, memoryMaxBytes: number | undefined): Finding {
  const availableMb = Number(/^MemAvailable:\s+(\d+) kB/m.exec(meminfo)?.[1] ?? Number.NaN) / 1024;
  const maxMb = memoryMaxBytes === undefined ? undefined : memoryMaxBytes / 1024 ** 2;
  if (maxMb !== undefined && maxMb < SERVER_MB) {
    const remedy = `Give it ${SERVER_MB} MB: with MemoryMax= in the unit, or the memory of its container.`;
    return warning("memory", `The server's memory limit is ${maxMb.toFixed(0)} MB.`, remedy);
  }
  if (!(availableMb < FREE_MB_MIN)) return ok("memory", `${availableMb.toFixed(0)} MB are available`);
  const remedy = "Stop an application, limit its memory, or add memory: builds need some too.";
  return warning("memory", `Only ${availableMb.toFixed(0)} MB are available.`, remedy);
}

const readText = (folder: string, name: string): Promise<string | undefined> =>
  readFile(join(folder, name), "utf8").catch(() => undefined);

const ANSWER_MS_MAX = 2000;
/** Two for each connection to an application, plus those for the API, the database and logs. */
const DESCRIPTORS_MIN = 1024;
/** Server, embedded database and proxy together, under load. */
const SERVER_MB = 512;
const FREE_MB_MIN = 256;
