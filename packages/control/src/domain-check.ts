import { notFound } from "@berth/core";
import { type DomainCheck, domainCheck, siteOf, splitUrls } from "@berth/core/application";
import type { Page, Paging, ServerRecord } from "@berth/core/ports";
import { requireAbility } from "@berth/core/team";
import { findApplication } from "./application.ts";
import type { UseCaseContext } from "./context.ts";

/** Looks at the URLs of an application as they are now. Nothing is stored. */
export function domainChecks(context: UseCaseContext) {
  const { scope, stores, sites, clock, publicUrl, urlProblem } = context;

  const checked = async (url: string, server: ServerRecord, serverAddresses: readonly string[]) => {
    const { host, isHttps, hasRecord } = siteOf(url);
    const [found, certificate] = await Promise.all([
      hasRecord ? sites.addresses(host) : undefined,
      isHttps ? sites.certificate(server, host) : undefined,
    ]);
    const findings = {
      found,
      certificate,
      serverAddresses,
      routeProblem: urlProblem(url, server.id),
      now: clock.now(),
    };
    return domainCheck(publicUrl(url, server.id), findings);
  };

  return {
    /** At most twenty at once, since each asks the network. @throws DomainError `resource.not_found` */
    async list(uuid: string, { skip = 0, take = URLS_MAX }: Paging): Promise<Page<DomainCheck>> {
      requireAbility(scope, "read");
      const { server_id, fqdn } = await findApplication(stores, uuid);
      const urls = splitUrls(fqdn);
      const server = await stores.servers.findById(server_id);
      if (server === undefined) throw notFound("Server");
      const page = urls.slice(skip, skip + Math.min(take, URLS_MAX));
      const serverAddresses = page.length === 0 ? [] : await sites.serverAddresses(server);
      const items = await Promise.all(page.map((url) => checked(url, server, serverAddresses)));
      return { items, total: urls.length };
    },
  };
}

const URLS_MAX = 20;
