import { DomainError, isDomainError } from "@berth/core";
import {
  CLIENT_OUTPUT_MAX,
  CLIENT_SECONDS_MAX,
  type ClientRun,
  type DatabaseStatements,
  databaseEngine,
  engineValues,
} from "@berth/core/database";
import { liveKeyOf } from "@berth/core/deploy";
import { requireAbility, requireConfirmation } from "@berth/core/team";
import { engineOf, type UseCaseContext } from "./context.ts";
import { findDatabase } from "./database-answer.ts";

/** Runs database clients within the databases' containers. */
export const databaseClients = ({ scope, stores, engineFor }: UseCaseContext) => ({
  /**
   * Each run is a separate session, with all rights in the database.
   * @throws DomainError `auth.confirmation_required`, since the database's password is in the client's environment,
   *   `resource.not_running`, `engine.unsupported`, `engine.unreachable`, `deploy.timeout`
   */
  async run(uuid: string, { statements }: DatabaseStatements, signal?: AbortSignal): Promise<ClientRun> {
    requireAbility(scope, "write");
    requireConfirmation(scope);
    const { database, command } = await clientOf(stores, uuid, "statements");
    const { containers } = await engineOf({ stores, engineFor }, database);
    const release = await stores.releases.live(liveKeyOf(database));
    if (release === undefined || containers === undefined) throw notRunning();

    const kept: Uint8Array[] = [];
    let length = 0;
    let isTruncated = false;
    const late = AbortSignal.timeout(CLIENT_SECONDS_MAX * 1000);
    const ref = { resourceUuid: release.resource_uuid, deploymentUuid: release.deployment_uuid };
    try {
      const { exitCode, errors } = await containers.command(ref, command, {
        signal: signal === undefined ? late : AbortSignal.any([late, signal]),
        input: linesOf(statements),
        output: async (chunks) => {
          for await (const chunk of chunks) {
            const part = chunk.subarray(0, CLIENT_OUTPUT_MAX - length);
            isTruncated ||= part.length < chunk.length;
            length += part.length;
            if (part.length > 0) kept.push(part);
          }
        },
      });
      const output = Buffer.concat(kept).toString("utf8");
      const client = command.argv[0];
      return { client, exit_code: exitCode, output, errors: errors.join("\n"), is_truncated: isTruncated };
    } catch (cause) {
      if (isDomainError(cause, "resource.not_found")) throw notRunning();
      if (!late.aborted) throw cause;
      const sentence = `The client took longer than ${CLIENT_SECONDS_MAX} seconds and was ended. Send less at once.`;
      throw new DomainError("deploy.timeout", sentence, { cause });
    }
  },
});

/**
 * The client that the database's engine has, with the login that the database runs with.
 * @throws DomainError `engine.unsupported`
 */
export async function clientOf(stores: UseCaseContext["stores"], uuid: string, use: "statements" | "terminal") {
  const database = await findDatabase(stores, uuid);
  const row = databaseEngine(database.engine);
  const [own] = await stores.databases.namedBy([database.id], [uuid]);
  const values = engineValues(database.engine, { ...(own?.database ?? database).fields, ...own?.secrets });
  const command = (use === "terminal" ? row.console?.(values) : undefined) ?? row.client?.(values);
  if (command === undefined) throw unsupported(row.title);
  return { database, command };
}

async function* linesOf(input: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(input.endsWith("\n") ? input : `${input}\n`);
}

const notRunning = () => new DomainError("resource.not_running", "Database is not running.");
const unsupported = (title: string) =>
  new DomainError("engine.unsupported", `Berth has no client for ${title}. Connect to its URL with your own client.`);
