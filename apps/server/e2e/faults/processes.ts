import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestServer } from "../server.fixture.ts";

/** Main process of the embedded database. */
export function postmasterOf({ dataFolder }: TestServer): number {
  const file = join(dataFolder, "database", "data", "postmaster.pid");
  const pid = Number(readFileSync(file, "utf8").split("\n", 1)[0]);
  if (!(pid > 1)) throw new Error("The embedded database does not say its process.");
  return pid;
}

/** The embedded proxy of this server. */
export function proxyOf({ dataFolder }: TestServer): number {
  const found = pids().find((pid) => {
    const command = textOf(pid, "cmdline");
    return (
      command.includes(join(dataFolder, "proxy")) ||
      (command.includes("proxy") && textOf(pid, "environ").includes(dataFolder))
    );
  });
  if (found === undefined) throw new Error("The proxy's process was not found.");
  return found;
}

/** A process and its children, to freeze all of them. */
export const familyOf = (pid: number): readonly number[] => [
  pid,
  ...pids().filter((one) => Number(/^PPid:\s+(\d+)/m.exec(textOf(one, "status"))?.[1]) === pid),
];

/** A process and all below it. */
export function treeOf(pid: number): readonly number[] {
  const [, ...children] = familyOf(pid);
  return [pid, ...children.flatMap(treeOf)];
}

/** Every process of a server: those that name its data folder, and all below them. */
export function processesOf(server: TestServer): readonly number[] {
  const named = pids().filter(
    (pid) =>
      textOf(pid, "cmdline").includes(server.dataFolder) ||
      (pid !== process.pid && textOf(pid, "environ").includes(server.dataFolder)),
  );
  return [...new Set([server.pid(), ...named].flatMap(treeOf))];
}

/** The program's name; empty for a process that has ended. */
export const commandOf = (pid: number): string => textOf(pid, "comm").trim();

/** `false`: the process has ended. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

export const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
export const rssMbOf = (pid: number): number => Number(/^VmRSS:\s+(\d+)/m.exec(textOf(pid, "status"))?.[1] ?? 0) / 1024;

/** `false`: the program `prlimit` is not installed. */
export function limitDescriptors(pid: number, count: number): boolean {
  try {
    execFileSync("prlimit", ["--pid", String(pid), `--nofile=${count}:${count}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const pids = () =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** A process may exit between listing and reading. */
function textOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
