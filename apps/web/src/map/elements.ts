import type { Outputs } from "../api/client.ts";
import type { Resource } from "../resource/attention.ts";
import { kindOf } from "../resource/kinds.ts";
import type { Arrow, Box } from "./layout.ts";

export type Use = Pick<
  Outputs["projects"]["environments"]["attachments"][number],
  "database_uuid" | "database_name" | "resource_uuid" | "resource_name" | "key" | "is_preview" | "problem"
>;

export interface MapBox extends Box {
  readonly resource: Resource;
  /** The box shows the resource's URLs instead of the resource. */
  readonly isUrls: boolean;
}

export interface MapArrow extends Arrow {
  /** Variables that name what is used; empty for URLs. */
  readonly keys: readonly string[];
  readonly hasProblem: boolean;
}

/** URLs, then what runs, then databases. */
const RANKS = { urls: 0, application: 1, service: 1, database: 2 } as const;

/** Boxes by server and name, and arrows from what uses to what is used. Uses by previews are not shown. */
export function elementsOf(
  resources: readonly Resource[],
  uses: readonly Use[],
): { readonly boxes: readonly MapBox[]; readonly arrows: readonly MapArrow[] } {
  const sorted = [...resources].sort(
    (a, b) => compared(a.server_uuid, b.server_uuid) || compared(a.name, b.name) || compared(a.uuid, b.uuid),
  );
  const boxes = sorted.flatMap((resource): MapBox[] => {
    const { uuid, type, urls, server_uuid: frame } = resource;
    const own = { id: uuid, frame, rank: RANKS[kindOf(type)], resource, isUrls: false };
    return urls.length === 0 ? [own] : [{ ...own, id: urlsId(uuid), rank: RANKS.urls, isUrls: true }, own];
  });
  const routes = boxes
    .filter(({ isUrls }) => isUrls)
    .map(({ id, resource }) => ({ from: id, to: resource.uuid, keys: [], hasProblem: false }));
  const pairs = Map.groupBy(
    uses.filter(({ is_preview }) => !is_preview),
    ({ resource_uuid, database_uuid }) => `${resource_uuid} ${database_uuid}`,
  );
  const references = [...pairs.values()].flatMap((pair) => {
    const [first] = pair;
    if (first === undefined) return [];
    const keys = [...new Set(pair.map(({ key }) => key))];
    const hasProblem = pair.some(({ problem }) => problem !== null);
    return [{ from: first.resource_uuid, to: first.database_uuid, keys, hasProblem }];
  });
  return { boxes, arrows: [...routes, ...references] };
}

const urlsId = (uuid: string): string => `urls of ${uuid}`;
const compared = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
