import { Message } from "@berth/core";
import { operation } from "./operation.ts";

const SWITCH = {
  method: "POST",
  tag: "System",
  ability: "root",
  isRootTeamOnly: true,
  alsoByGet: true,
  evenWhenDisabled: true,
} as const;

export const instance = {
  enable: operation({
    ...SWITCH,
    path: "/enable",
    operationId: "enable-api",
    summary: "Switch the API on",
    description: "Also works while the API is off.",
  })
    .output(Message)
    .mutation(({ ctx }) => ctx.control.instance.enableApi()),

  disable: operation({
    ...SWITCH,
    path: "/disable",
    operationId: "disable-api",
    summary: "Switch the API off",
    description: "Afterwards all operations except `/enable` and `/disable` answer 403.",
  })
    .output(Message)
    .mutation(({ ctx }) => ctx.control.instance.disableApi()),
};
