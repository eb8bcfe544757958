import { isLocalHost } from "../application/generated-domain.ts";
import type { ServerRecord } from "../ports/records.ts";
import { ENGINES } from "./server-settings.ts";

/** Whether it is a machine of a control plane itself, which needs no login. */
export const isOwnMachine = ({ engine, private_key_id }: Pick<ServerRecord, "engine" | "private_key_id">): boolean =>
  ENGINES[engine].isOwnMachineOnly || private_key_id === null;

/** Whether host privileges there are privileges on a machine that Berth runs on, also where it is reached by SSH. */
export const isOnOwnMachine = (server: Pick<ServerRecord, "engine" | "private_key_id" | "ip">): boolean =>
  isLocalHost(server.ip) || isOwnMachine(server);
