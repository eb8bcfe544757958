import { enginePort, engineValues } from "../database/database-engine.ts";
import type { DatabaseRecord } from "../ports/database.ts";
import type { Forward, PresentForward } from "../ports/forward.ts";

export type ForwardOperation =
  | { readonly type: "close"; readonly resourceUuid: string }
  | { readonly type: "open"; readonly forward: Forward };

type Forwarded = Pick<
  DatabaseRecord,
  | "uuid"
  | "engine"
  | "is_public"
  | "public_port"
  | "loopback_port"
  | "settings"
  | "fields"
  | "desired_state"
  | "removing_at"
> & { readonly placement: Pick<DatabaseRecord["placement"], "destination_network"> };

/**
 * The forward of a database: undefined without a port, and while it should not run. A public port also serves its own
 * machine.
 */
export function forwardOf(database: Forwarded): Forward | undefined {
  const { uuid, engine, is_public, settings, fields, desired_state, removing_at, placement } = database;
  const publicPort = is_public ? database.public_port : database.loopback_port;
  if (publicPort === null || desired_state !== "running" || removing_at !== null) return undefined;
  const idleSeconds = settings.public_port_timeout ?? IDLE_SECONDS;
  return {
    resourceUuid: uuid,
    publicPort,
    network: placement.destination_network,
    host: uuid,
    port: enginePort(engine, engineValues(engine, fields)),
    idleSeconds,
    ...(is_public ? {} : { isLoopback: true }),
  };
}

const IDLE_SECONDS = 3600;

/**
 * The changes from the existing forwards of a server to the wanted ones. Ports are closed before others are opened,
 * since a port may move from one resource to another.
 */
export function planForwards(
  wanted: readonly Forward[],
  present: readonly PresentForward[],
): readonly ForwardOperation[] {
  const wantedOf = new Map(wanted.map((forward) => [forward.resourceUuid, forward]));
  const isRight = ({ resourceUuid, forward, isRunning }: PresentForward) => {
    const own = wantedOf.get(resourceUuid);
    return isRunning && own !== undefined && forward !== undefined && isSame(own, forward);
  };
  const right = new Set(present.filter(isRight).map(({ resourceUuid }) => resourceUuid));
  return [
    ...present
      .filter(({ resourceUuid }) => !right.has(resourceUuid))
      .map(({ resourceUuid }) => ({ type: "close", resourceUuid }) as const),
    ...wanted
      .filter(({ resourceUuid }) => !right.has(resourceUuid))
      .map((forward) => ({ type: "open", forward }) as const),
  ];
}

const isSame = (one: Forward, other: Forward): boolean =>
  one.publicPort === other.publicPort &&
  one.network === other.network &&
  one.host === other.host &&
  one.port === other.port &&
  one.idleSeconds === other.idleSeconds &&
  one.isLoopback === other.isLoopback;
