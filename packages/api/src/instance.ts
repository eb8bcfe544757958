import { Message } from "@berth/core";
import { InstanceSettings, InstanceSettingsUpdate } from "@berth/core/team";
import { operation } from "./operation.ts";

const SWITCH = {
  method: "POST",
  tag: "System",
  ability: "root",
  alsoByGet: true,
  evenWhenDisabled: true,
  errors: ["auth.confirmation_required"],
} as const;

export const instance = {
  enable: operation({
    ...SWITCH,
    path: "/enable",
    rootTeamOnly: "enable the API",
    operationId: "enable-api",
    summary: "Switch the API on",
    description: "Also works while the API is off.",
  })
    .output(Message)
    .mutation(({ ctx }) => ctx.control.instance.enableApi()),

  disable: operation({
    ...SWITCH,
    path: "/disable",
    rootTeamOnly: "disable the API",
    operationId: "disable-api",
    summary: "Switch the API off",
    description: "Afterwards all operations except `/enable` and `/disable` answer 403.",
  })
    .output(Message)
    .mutation(({ ctx }) => ctx.control.instance.disableApi()),
};

const SETTINGS = {
  path: "/settings",
  tag: "System",
  ability: "root",
  rootTeamOnly: "read or change the settings of the instance",
} as const;

export const settings = {
  get: operation({
    ...SETTINGS,
    method: "GET",
    operationId: "get-settings",
    summary: "The settings of the instance",
  })
    .output(InstanceSettings)
    .query(({ ctx }) => ctx.control.instance.settings()),

  update: operation({
    ...SETTINGS,
    method: "PATCH",
    errors: ["auth.confirmation_required"],
    operationId: "update-settings",
    summary: "Change the settings of the instance",
    description: "A change holds at once. `reported_version` lets clients in that refuse older versions.",
  })
    .input(InstanceSettingsUpdate)
    .output(InstanceSettings)
    .mutation(({ ctx, input }) => ctx.control.instance.updateSettings(input)),
};
