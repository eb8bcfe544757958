import { type Argv, DomainError, isDomainError, notFound } from "@berth/core";
import { isContainerOf } from "@berth/core/compose";
import { liveKeyOf } from "@berth/core/deploy";
import type { Terminal } from "@berth/core/ports";
import { RESOURCE_KINDS, type ResourceRef, type TerminalSize } from "@berth/core/resource";
import { isOwnMachine } from "@berth/core/server";
import { requireAbility, requireConfirmation, requireOperator } from "@berth/core/team";
import { engineOf, findResource, resourceOn, type UseCaseContext } from "./context.ts";
import { clientOf } from "./database-client.ts";
import { noContainer, requireContainerOf } from "./named-container.ts";

export interface ContainerTerminal {
  /** If the resource has several. Default: the first that takes requests. */
  readonly container?: string | undefined;
  /** Default: the container's shell. */
  readonly argv?: Argv | undefined;
  /** Runs the client of the database's engine instead, signed in. */
  readonly isClient?: boolean;
  /** Uuid of one of the servers of an application. Default: the primary one. */
  readonly serverUuid?: string | undefined;
}

/** Shells and programs for people, in containers and on servers. Opening and closing are recorded as events. */
export function terminals({ scope, stores, engineFor, machineFor, clock }: UseCaseContext) {
  async function recorded(
    terminal: Terminal,
    resource_uuid: string,
    place: Readonly<Record<string, unknown>>,
  ): Promise<Terminal> {
    const openedAt = clock.now();
    const append = (type: "terminal.opened" | "terminal.closed", details: Readonly<Record<string, unknown>> = {}) =>
      stores.transaction((tx) => tx.events.append({ type, resource_uuid, payload: { ...place, ...details } }));
    try {
      // Nobody may use a terminal that is not recorded.
      await append("terminal.opened");
    } catch (cause) {
      await terminal.close();
      throw cause;
    }
    let closing: Promise<void> | undefined;
    const close = async () => {
      await terminal.close();
      const seconds = Math.round((clock.now().getTime() - openedAt.getTime()) / 1000);
      await append("terminal.closed", { seconds });
    };
    return {
      output: terminal.output,
      write: (input) => terminal.write(input),
      resize: (next) => terminal.resize(next),
      exitCode: () => terminal.exitCode(),
      close() {
        closing ??= close();
        return closing;
      },
    };
  }

  return {
    /**
     * @throws DomainError `resource.not_running`, `engine.unsupported`, `engine.unreachable`
     */
    async openInContainer(
      ref: ResourceRef,
      size: TerminalSize,
      { container, argv, isClient = false, serverUuid }: ContainerTerminal = {},
    ): Promise<Terminal> {
      requireAbility(scope, "terminal");
      // A shell shows every variable and can change all data.
      requireConfirmation(scope);
      const resource = await resourceOn(stores, await findResource(stores, ref), serverUuid);
      const { title } = RESOURCE_KINDS[ref.kind];
      const command = isClient
        ? (await clientOf(stores, ref.uuid, "terminal")).command
        : argv && { argv, variables: {} };
      const names = (await stores.services.containers([resource.id])).map(({ name }) => name);
      if (container !== undefined && names.length > 0 && !isContainerOf(names, container))
        throw noContainer(resource, names, container);
      const engine = await engineOf({ stores, engineFor }, resource);
      const { containers } = engine;
      if (containers === undefined) throw noContainers(title);
      const release = await stores.releases.live(liveKeyOf(resource));
      const notRunning = () => new DomainError("resource.not_running", `${title} is not running. Start it first.`);
      if (release === undefined) throw notRunning();
      const releaseRef = { resourceUuid: release.resource_uuid, deploymentUuid: release.deployment_uuid };
      const state = container === undefined ? undefined : await engine.inspect(releaseRef);
      if (container !== undefined && state !== undefined) requireContainerOf(resource, state, container);
      const terminal = await containers.terminal(releaseRef, size, { container, command }).catch((cause: unknown) => {
        throw isDomainError(cause, "resource.not_found") ? notRunning() : cause;
      });
      const place = { resource_kind: ref.kind, resource_name: resource.name };
      return await recorded(terminal, ref.uuid, { ...place, ...(container !== undefined && { container }) });
    },

    /** @throws DomainError `engine.unsupported` for Berth's own machine, `server.unreachable` */
    async openOnServer(uuid: string, size: TerminalSize): Promise<Terminal> {
      requireAbility(scope, "root");
      requireConfirmation(scope);
      const server = await stores.servers.find(uuid);
      if (server === undefined) throw notFound("Server");
      if (isOwnMachine(server)) requireOperator(scope);
      const machine = machineFor?.(server);
      if (machine === undefined) {
        throw new DomainError(
          "engine.unsupported",
          `Server ${server.name} is the machine that Berth runs on, which offers no terminal here. Sign in to it by SSH.`,
        );
      }
      return await recorded(await machine.terminal(size), uuid, { server_name: server.name });
    },
  };
}

const noContainers = (title: string) =>
  new DomainError(
    "engine.unsupported",
    `${title} runs without a container, in a sandbox that a terminal cannot join. Run it on a server with Docker to open one.`,
  );
