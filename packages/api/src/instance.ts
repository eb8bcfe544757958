import { Message } from "@berth/core";
import { operation } from "./operation.ts";

const SWITCH = { method: "POST", tag: "System", ability: "root", alsoByGet: true, evenWhenDisabled: true } as const;

export const instance = {
  enable: operation({
    ...SWITCH,
    path: "/enable",
    operationId: "enable-api",
    summary: "Switch the API on",
    description: "For tokens of the root team. Answers also while the API is off.",
    errors: ["auth.root_team_only"],
  })
    .output(Message)
    .mutation(({ ctx }) => ctx.control.instance.enableApi()),

  disable: operation({
    ...SWITCH,
    path: "/disable",
    operationId: "disable-api",
    summary: "Switch the API off",
    description: "For tokens of the root team. From then on everything but `/enable` and `/disable` answers 403.",
    errors: ["auth.root_team_only"],
  })
    .output(Message)
    .mutation(({ ctx }) => ctx.control.instance.disableApi()),
};
