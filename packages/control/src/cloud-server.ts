import { DomainError, isDomainError } from "@berth/core";
import type { CloudTokenRecord, Machine, PrivateKeyRecord } from "@berth/core/ports";
import {
  addressesWanted,
  cloudInitText,
  type HetznerServerCreate,
  type HetznerServerCreated,
  machineAddress,
} from "@berth/core/server";
import { requireAbility } from "@berth/core/team";
import { cloudCall, patience } from "./cloud-call.ts";
import { cloudTokenUuidOf, findHetznerToken } from "./cloud-catalogue.ts";
import { cloudTokenSecret } from "./cloud-token.ts";
import type { UseCaseContext } from "./context.ts";
import { findKey } from "./server.ts";
import { createServer, generatedName, requireMayReach, requireRoom } from "./server-create.ts";

export function cloudServers(context: UseCaseContext) {
  const { scope, stores, ids } = context;
  return {
    /**
     * Rents a machine and adds it as a server. If it cannot be added, the machine is deleted.
     * @throws DomainError `resource.not_found`, `resource.in_use`, and the errors of a `MachineProvider`
     */
    async createHetzner(sent: HetznerServerCreate): Promise<HetznerServerCreated> {
      requireAbility(scope, "write");
      const tokenUuid = cloudTokenUuidOf(sent);
      const addresses = addressesWanted(sent);
      await requireRoom(context, stores);
      const cloudToken = await findHetznerToken(stores, tokenUuid);
      const key = await findKey(stores, sent.private_key_uuid);
      const uuid = ids.uuid();
      const name = sent.name ?? generatedName(uuid);
      const rental = {
        uuid,
        name,
        cloudToken,
        key,
        token: await cloudTokenSecret(context, cloudToken),
        isValidatedAtOnce: sent.instant_validate ?? false,
      };
      return cloudCall("Failed to create Hetzner server.", async () => {
        const machine = await rent(context, rental, { ...sent, ...addresses });
        return await settle(context, rental, machine);
      });
    },
  };
}

interface Rental {
  /** uuid of the future server. */
  readonly uuid: string;
  readonly name: string;
  readonly cloudToken: CloudTokenRecord;
  readonly key: PrivateKeyRecord;
  readonly token: string;
  readonly isValidatedAtOnce: boolean;
}

type WantedServer = HetznerServerCreate & ReturnType<typeof addressesWanted>;

async function rent(context: UseCaseContext, rental: Rental, sent: WantedServer): Promise<Machine> {
  const { cloud, wait } = context;
  const { name, uuid, key, token } = rental;
  const patiently = patience(wait);
  const sshKeyId = await patiently(() =>
    cloud.hetzner.ensureSshKey(token, { name: key.name, publicKey: key.public_key }),
  );
  // After a crash in between, this event names the requested machine.
  await emitMachineEvent(context, rental, "cloud_machine.requested");
  const { location, server_type: serverType, image, hasIpv4, hasIpv6, cloud_init_script: script } = sent;
  const sshKeyIds = [...new Set([sshKeyId, ...(sent.hetzner_ssh_key_ids ?? [])])];
  const userData = script == null ? null : cloudInitText(script);
  return await patiently(() =>
    cloud.hetzner.createMachine(token, {
      ...{ name, location, serverType, image, sshKeyIds, hasIpv4, hasIpv6, userData, serverUuid: uuid },
    }),
  );
}

/** Adds the machine as a server, or deletes it. */
async function settle(context: UseCaseContext, rental: Rental, machine: Machine): Promise<HetznerServerCreated> {
  try {
    return await save(context, rental, machine);
  } catch (error) {
    await giveBack(context, rental, machine, error);
    if (!isDomainError(error)) throw error;
    const { code, message, fields, details } = error;
    throw new DomainError(code, `${message} The machine ${machine.name} was deleted again.`, {
      cause: error,
      ...(fields && { fields }),
      ...(details && { details }),
    });
  }
}

async function save(context: UseCaseContext, rental: Rental, machine: Machine): Promise<HetznerServerCreated> {
  const { uuid, name, cloudToken, key, isValidatedAtOnce } = rental;
  const ip = machineAddress(machine);
  if (ip === undefined) throw new DomainError("cloud.failed", "Hetzner gave the machine no address.");
  await requireMayReach(context, ip);
  await context.stores.transaction(async (tx) => {
    await createServer(context, tx, {
      uuid,
      name,
      description: null,
      ip,
      port: 22,
      user: "root",
      private_key_id: key.id,
      proxy_type: null,
      cloud_provider_token_id: cloudToken.id,
      hetzner_server_id: machine.id,
      isValidatedAtOnce,
    });
  });
  return { uuid, hetzner_server_id: machine.id, ip };
}

/** @throws DomainError `cloud.failed` that names the machine if it could not be deleted */
async function giveBack(context: UseCaseContext, rental: Rental, machine: Machine, reason: unknown): Promise<void> {
  const { cloud, wait } = context;
  try {
    await patience(wait)(() => cloud.hetzner.deleteMachine(rental.token, machine.id));
  } catch (cause) {
    const why = isDomainError(reason) ? reason.message : "The server could not be saved.";
    const named = { hetzner_server_id: machine.id, hetzner_server_name: machine.name };
    // The event may fail for the same reason as the server; then only the error names the machine.
    await emitMachineEvent(context, rental, "cloud_machine.left", named).catch(() => undefined);
    throw new DomainError(
      "cloud.failed",
      `${why} The machine ${machine.name} (${machine.id}) could not be deleted again: delete it at Hetzner.`,
      { cause: new AggregateError([reason, cause]), details: named },
    );
  }
}

/** Outside of any other transaction, since it reports a change at the provider. */
const emitMachineEvent = (
  { stores }: UseCaseContext,
  { uuid, name, cloudToken }: Rental,
  type: "cloud_machine.requested" | "cloud_machine.left",
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> =>
  stores.transaction((tx) =>
    tx.events.append({
      type,
      resource_uuid: uuid,
      payload: { server_name: name, provider: cloudToken.provider, cloud_token_uuid: cloudToken.uuid, ...details },
    }),
  );
