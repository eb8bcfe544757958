import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { defineQueueing } from "./lifecycle.ts";

export function define(command: Command, bind: Bind): void {
  defineQueueing(command, bind, ({ client }, uuid) => client.applications.restart.mutate({ uuid }));
}
