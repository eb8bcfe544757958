import { setTimeout as delay } from "node:timers/promises";
import type { Page, Paging } from "@berth/core/ports";
import type { ResourceRef } from "@berth/core/resource";
import {
  type Metric,
  metricView,
  type ResourceUsage,
  type ServerMetric,
  USAGE_CURRENT_SECONDS,
} from "@berth/core/schedule";
import { requireAbility } from "@berth/core/team";
import { findResource, type UseCaseContext } from "./context.ts";
import { mapPage } from "./page.ts";
import { findServer } from "./server.ts";
import { whileTokenWorks } from "./token-watch.ts";

interface FollowOptions {
  /** The last sample that the follower has. */
  readonly after?: Date | undefined;
  /** Default: now. */
  readonly since?: Date | undefined;
  readonly signal: AbortSignal;
}

/** Usage of resources and servers. */
export function metrics({ scope, stores, clock }: UseCaseContext) {
  /** Yields samples as they are added, until `signal` fires, the token becomes invalid, or `read` finds no subject. */
  const followed = <M extends { readonly at: Date }>(
    { after, since = clock.now(), signal }: FollowOptions,
    read: (since: Date) => Promise<readonly M[] | undefined>,
    isRepeated: boolean,
  ): AsyncIterable<M> =>
    whileTokenWorks({ scope, stores }, signal, async function* (ended) {
      const next = (at: Date) => (isRepeated ? at : new Date(at.getTime() + 1));
      let from = after === undefined ? since : next(after);
      while (!ended.aborted) {
        const samples = await read(from);
        if (samples === undefined) return;
        for (const sample of samples) {
          from = next(sample.at);
          yield sample;
        }
        await stores.metrics.changed(ended);
      }
    });

  const current = () => new Date(clock.now().getTime() - USAGE_CURRENT_SECONDS * 1000);

  return {
    /** Oldest first. */
    async list(ref: ResourceRef, since: Date | undefined, paging: Paging): Promise<Page<Metric>> {
      requireAbility(scope, "read");
      const resource = await findResource(stores, ref);
      return mapPage(await stores.metrics.list(resource.id, since ?? new Date(0), paging), metricView);
    },

    /** Ends when the resource is removed. @throws DomainError `resource.not_found` */
    async follow(ref: ResourceRef, options: FollowOptions): Promise<AsyncIterable<Metric>> {
      requireAbility(scope, "read");
      const { id } = await findResource(stores, ref);
      const read = async (since: Date) =>
        (await stores.resources.find(ref)) && (await stores.metrics.list(id, since)).items;
      return viewed(followed(options, read, false));
    },

    /** Oldest first. @throws DomainError `resource.not_found` */
    async listByServer(uuid: string, since: Date | undefined): Promise<readonly ServerMetric[]> {
      requireAbility(scope, "read");
      const { id } = await findServer(stores, uuid);
      return (await stores.metrics.listByServer(id, since ?? new Date(0))).map(metricView);
    },

    /** The newest interval is repeated while it grows. @throws DomainError `resource.not_found` */
    async followByServer(uuid: string, options: FollowOptions): Promise<AsyncIterable<ServerMetric>> {
      requireAbility(scope, "read");
      const { id } = await findServer(stores, uuid);
      const read = (since: Date) => stores.metrics.listByServer(id, since);
      return viewed(followed(options, read, true));
    },

    /** The newest sample of each running resource, in order of creation. */
    async newest(paging: Paging): Promise<Page<ResourceUsage>> {
      requireAbility(scope, "read");
      return mapPage(await stores.metrics.newest(current(), paging), metricView);
    },

    /** The newest samples of all running resources, each time that one was added or a resource does not run any more. */
    followNewest(signal: AbortSignal): AsyncIterable<readonly ResourceUsage[]> {
      requireAbility(scope, "read");
      return whileTokenWorks({ scope, stores }, signal, async function* (ended) {
        let sent: string | undefined;
        while (!ended.aborted) {
          const { items } = await stores.metrics.newest(current());
          const version = items.map(({ uuid, at }) => `${uuid} ${at.getTime()}`).join();
          if (version !== sent) yield items.map(metricView);
          sent = version;
          await stores.metrics.changed(ended);
          await delay(GATHER_MS, undefined, { signal: ended }).catch(() => undefined);
        }
      });
    },
  };
}

/** The servers are sampled one after the other; the samples of all of them are sent together. */
const GATHER_MS = 1000;

async function* viewed<Sample extends { readonly at: Date }>(samples: AsyncIterable<Sample>) {
  for await (const sample of samples) yield metricView(sample);
}
