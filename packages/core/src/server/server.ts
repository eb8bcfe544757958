import type { ServerRecord } from "../ports/records.ts";
import { ENGINES } from "./server-settings.ts";

/** Whether it is a machine of a control plane itself, which needs no login. */
export const isOwnMachine = ({ engine, private_key_id }: Pick<ServerRecord, "engine" | "private_key_id">): boolean =>
  ENGINES[engine].isOwnMachineOnly || private_key_id === null;
