import { DomainError, notFound } from "@berth/core";
import type { Page, Paging } from "@berth/core/ports";
import {
  COMMANDS_KEPT,
  type Command,
  type CommandCreate,
  commandView,
  newCommand,
  RUNNING_COMMANDS_MAX,
  type TaskOwnerRef,
} from "@berth/core/schedule";
import { requireAbility } from "@berth/core/team";
import { findResource, findResourceForUpdate, type UseCaseContext } from "./context.ts";
import { emitResourceEvent } from "./event.ts";
import { mapPage } from "./page.ts";
import { requireTaskContainer } from "./task-container.ts";

/** Commands that are run once in what runs of a resource. They may name secrets: events tell uuids only. */
export function commands({ scope, stores, ids, clock }: UseCaseContext) {
  return {
    /** Newest first. */
    async list(ref: TaskOwnerRef, paging: Paging): Promise<Page<Command>> {
      requireAbility(scope, "read");
      const owner = await findResource(stores, ref);
      return mapPage(await stores.commands.list(owner.id, paging), commandView);
    },

    async get(ref: TaskOwnerRef, uuid: string): Promise<Command> {
      requireAbility(scope, "read");
      const owner = await findResource(stores, ref);
      const found = await stores.commands.find(owner.id, uuid);
      if (found === undefined) throw notFound("Command");
      return commandView(found);
    },

    /**
     * A worker runs it at once, and never twice.
     * @throws DomainError `resource.not_running`, `resource.already_running`, `request.invalid`
     */
    async run(ref: TaskOwnerRef, sent: CommandCreate): Promise<Command> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const owner = await findResourceForUpdate(tx, ref);
        const isStopped = owner.desired_state === "stopped";
        if (isStopped || (await tx.releases.live(owner.id, 0)) === undefined) {
          throw new DomainError("resource.not_running", `The ${owner.kind} is not running. Start it first.`);
        }
        if ((await tx.commands.countRunning(owner.id)) >= RUNNING_COMMANDS_MAX) {
          const limit = `Limit reached: at most ${RUNNING_COMMANDS_MAX} commands at once.`;
          throw new DomainError("resource.already_running", `${limit} Wait until one has ended, or delete it.`);
        }
        await requireTaskContainer(tx, owner, sent.container);
        const command = { ...newCommand(sent), uuid: ids.uuid(), execution_uuid: ids.uuid(), at: clock.now() };
        const made = await tx.commands.insert(owner.id, command, COMMANDS_KEPT);
        await emitResourceEvent(tx, owner, "resource.command_requested", { command_uuid: made.uuid });
        return commandView(made);
      });
    },

    /** Ends one that runs, and forgets what it printed. */
    async delete(ref: TaskOwnerRef, uuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      const owner = await findResource(stores, ref);
      if (!(await stores.commands.delete(owner.id, uuid))) throw notFound("Command");
      return { message: "Command deleted." };
    },
  };
}
