import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { defineQueueing } from "./lifecycle.ts";

interface StartOptions {
  readonly detach?: boolean;
  readonly force?: boolean;
}

export function define(command: Command, bind: Bind): void {
  command.option("--force", "also when it runs; builds the newest source without any cache");
  defineQueueing(command, bind, ({ client }, uuid, { force }: StartOptions) =>
    client.applications.start.mutate({ uuid, ...(force ? { force } : {}) }),
  );
}
