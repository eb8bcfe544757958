import type { Application } from "@berth/core/application";
import { findLinks, type Link } from "./application-link.ts";
import { choose, matchingCandidates } from "./choose.ts";
import type { Api } from "./connection/api.ts";
import { problemIn } from "./connection/problem.ts";
import { usage } from "./failure.ts";
import { printable } from "./printable.ts";
import { requireNoOtherKind } from "./resource.ts";
import type { System } from "./system.ts";

/** The application of a command: the named one, else that of the current folder. */
export async function targetApplication(
  api: Api,
  { cwd }: Pick<System, "cwd">,
  wanted: string | undefined,
): Promise<Application> {
  if (wanted !== undefined) return namedApplication(api, wanted);
  const found = await findLinks(cwd);
  if (!found || found.links.length === 0) {
    throw usage("Which application? This folder was not deployed yet.", [
      "Name one (berth apps lists them), or deploy this folder with: berth deploy",
    ]);
  }
  const application = await linkedApplication(api, found.links);
  if (application) return application;
  const former = found.links.find(({ url }) => url === api.connection.url);
  if (former !== undefined) {
    throw usage(`${found.folder} was deployed as ${printable(former.name)}, which is no longer on ${former.url}.`, [
      "It was deleted, or belongs to another team than this token. Deploy the folder again with: berth deploy",
    ]);
  }
  const names = found.links.map(({ name, url }) => `${name} on ${url}`).join(", ");
  throw usage(`${found.folder} was deployed as ${names}, which is not on ${api.connection.url}.`, [
    "Choose another connection with: berth context use NAME, or deploy it here with: berth deploy",
  ]);
}

export async function namedApplication(api: Api, wanted: string): Promise<Application> {
  const byUuid = UUID.test(wanted) ? await applicationIfThere(api, wanted) : undefined;
  if (byUuid) return byUuid;
  const applications = await api.client.applications.list.query({});
  if (matchingCandidates(wanted, applications).length === 0) await requireNoOtherKind(api, wanted);
  return choose(wanted, applications, {
    thing: "application",
    describe: ({ environment_name, urls }) => [environment_name, ...urls.slice(0, 1)].join("  "),
  });
}

/** The first link to an application on this server; links made on this server come first. */
export async function linkedApplication(api: Api, links: readonly Link[]): Promise<Application | undefined> {
  const { url } = api.connection;
  const ordered = [...links.filter((link) => link.url === url), ...links.filter((link) => link.url !== url)];
  for (const { uuid } of ordered) {
    const application = await applicationIfThere(api, uuid);
    if (application) return application;
  }
  return undefined;
}

async function applicationIfThere({ client }: Api, uuid: string): Promise<Application | undefined> {
  try {
    return await client.applications.get.query({ uuid });
  } catch (error) {
    if (problemIn(error)?.status === 404) return undefined;
    throw error;
  }
}

/** The form of a uuid; a name of this form is still found. */
const UUID = /^[a-z0-9]{24}$/;
