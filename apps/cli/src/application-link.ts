import { mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { Failure, hasCode } from "./failure.ts";

const Link = z.object({ url: z.string(), uuid: z.string(), name: z.string() });
/** The application that a folder is deployed to, on one server. */
export type Link = z.infer<typeof Link>;

const LinkFile = z.object({ applications: z.array(Link) });

/** Contains no secret: it may be committed, so that a team deploys to the same application. */
export const linkPath = (folder: string): string => join(folder, ".berth", "app.json");

export async function readLinks(folder: string): Promise<readonly Link[] | undefined> {
  const path = linkPath(folder);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (hasCode(cause, "ENOENT", "ENOTDIR")) return undefined;
    throw new Failure(`${path} cannot be read.`, { cause });
  }
  try {
    return LinkFile.parse(JSON.parse(text)).applications;
  } catch (cause) {
    throw new Failure(`${path} is not valid. Correct it, or remove it and name the application instead.`, {
      cause,
    });
  }
}

/** The nearest folder from `start` upwards that was deployed, with its links. */
export async function findLinks(start: string): Promise<{ folder: string; links: readonly Link[] } | undefined> {
  let folder = await realpath(start);
  for (;;) {
    const links = await readLinks(folder);
    if (links) return { folder, links };
    const parent = dirname(folder);
    if (parent === folder) return undefined;
    folder = parent;
  }
}

/** Each server has its own link. */
export async function saveLink(folder: string, link: Link): Promise<void> {
  const others = ((await readLinks(folder)) ?? []).filter(({ url, uuid }) => url !== link.url && uuid !== link.uuid);
  await write(folder, [link, ...others]);
}

/** @returns Whether a link existed. */
export async function removeLink(folder: string, uuid: string): Promise<boolean> {
  const links = (await readLinks(folder)) ?? [];
  const others = links.filter((link) => link.uuid !== uuid);
  if (others.length === links.length) return false;
  await write(folder, others);
  return true;
}

async function write(folder: string, applications: readonly Link[]): Promise<void> {
  const path = linkPath(folder);
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `${JSON.stringify({ applications }, undefined, 2)}\n`);
  } catch (cause) {
    throw new Failure(`${path} cannot be written, so this folder does not remember its application.`, { cause });
  }
}
