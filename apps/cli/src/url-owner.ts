import { type Application, parseDomainUrl } from "@berth/core/application";
import type { Service } from "@berth/core/service";
import { matchingCandidates } from "./choose.ts";
import type { Api } from "./connection/api.ts";
import { namedResource } from "./resource.ts";
import type { Session } from "./session.ts";
import { targetApplication } from "./target.ts";

/** A URL, and the container that gets its requests where a compose file has several. */
export interface OwnedUrl {
  readonly container: string | undefined;
  /** As it is set: a port is the container's. */
  readonly url: string;
}

interface SaveOptions {
  /** Take URLs over from other resources of the team. */
  readonly force_domain_override: boolean;
}

/** An application or a service, whose URLs are listed and changed alike. */
export interface UrlOwner {
  readonly name: string;
  readonly hasContainers: boolean;
  readonly urls: readonly OwnedUrl[];
  /** The same for a browser: a port is the proxy's. */
  readonly opened: readonly string[];
  /** @returns What was left out of them, if anything. */
  save(urls: readonly OwnedUrl[], options: SaveOptions): Promise<string | undefined>;
}

/** The application or the service with this name or uuid; without one, the application of the folder. */
export async function urlOwner(api: Api, { system }: Session, wanted: string | undefined): Promise<UrlOwner> {
  if (wanted !== undefined) {
    const [services, applications] = await Promise.all([
      api.client.services.list.query({}),
      api.client.applications.list.query({}),
    ]);
    const isService = matchingCandidates(wanted, services).length > 0;
    if (isService && matchingCandidates(wanted, applications).length === 0) {
      return ofService(api, await namedResource(api, "service", wanted));
    }
  }
  return ofApplication(api, await targetApplication(api, system, wanted));
}

function ofApplication({ client }: Api, { uuid, name, build_pack, ...application }: Application): UrlOwner {
  const opened = application.urls;
  const save = async (fields: Omit<Parameters<typeof client.applications.update.mutate>[0], "uuid">) =>
    (await client.applications.update.mutate({ uuid, ...fields })).message;
  if (build_pack !== "dockercompose") {
    const urls = split(application.fqdn).map((url) => ({ container: undefined, url }));
    const domains = (all: readonly OwnedUrl[]) => all.map(({ url }) => url).join(",");
    return {
      ...{ name, hasContainers: false, urls, opened },
      save: (all, options) => save({ domains: domains(all), ...options }),
    };
  }
  const current = containerUrls(application.docker_compose_domains);
  const urls = current.flatMap((one) => split(one.domain).map((url) => ({ container: one.name, url })));
  return {
    ...{ name, hasContainers: true, urls, opened },
    save: (all, options) => {
      const names = new Set([...current.map((one) => one.name), ...all.flatMap(({ container }) => container ?? [])]);
      const docker_compose_domains = [...names].map((container) => ({
        ...current.find((one) => one.name === container),
        name: container,
        domain: ofContainer(all, container),
      }));
      return save({ docker_compose_domains, ...options });
    },
  };
}

function ofService({ client }: Api, { uuid, name, applications }: Service): UrlOwner {
  const urls = applications.flatMap((one) => split(one.fqdn).map((url) => ({ container: one.name, url })));
  return {
    ...{ name, hasContainers: true, urls, opened: applications.flatMap((one) => one.urls) },
    save: async (all, options) => {
      const names = new Set([...urls, ...all].flatMap(({ container }) => container ?? []));
      const sent = [...names].map((container) => ({ name: container, url: ofContainer(all, container) }));
      await client.services.update.mutate({ uuid, urls: sent, ...options });
      return undefined;
    },
  };
}

type ContainerUrls = NonNullable<
  Parameters<Api["client"]["applications"]["update"]["mutate"]>[0]["docker_compose_domains"]
>;

/** The API has them as JSON in a text: `{"web":{"domain":"https://shop.example"}}`. */
export function containerUrls(text: string | null): ContainerUrls {
  // The server wrote it from the same type.
  const byName = JSON.parse(text ?? "{}") as Readonly<Record<string, Omit<ContainerUrls[number], "name">>>;
  return Object.entries(byName).map(([name, rest]) => ({ ...rest, name }));
}

/** A host and path belong to one URL, whatever port is set or seen. What is not a URL is refused by the API. */
export function placeOf(url: string): string {
  const read = parseDomainUrl(url);
  return "claim" in read ? `${read.claim.host}${read.claim.path}` : url;
}

const ofContainer = (urls: readonly OwnedUrl[], name: string): string =>
  urls
    .filter(({ container }) => container === name)
    .map(({ url }) => url)
    .join(",");

const split = (text: string | null | undefined): readonly string[] => (text ?? "").split(",").filter(Boolean);
