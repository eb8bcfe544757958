import { invalid, notFound } from "@berth/core";
import { basicAuthProblems } from "@berth/core/application";
import type { Page, Paging, PrivateKeyFields, PrivateKeyRecord, PrivateKeySecrets, Stores } from "@berth/core/ports";
import {
  keyInUse,
  type PrivateKey,
  type PrivateKeyCreate,
  type PrivateKeyUpdate,
  privateKeyText,
  privateKeyView,
} from "@berth/core/source";
import { maySeeSecrets, requireAbility } from "@berth/core/team";
import { afterRemovals } from "./after-removals.ts";
import type { UseCaseContext } from "./context.ts";

/** @throws DomainError `resource.not_found` */
export async function findPrivateKey(stores: Stores, uuid: string): Promise<PrivateKeyRecord> {
  const key = await stores.privateKeys.find(uuid);
  if (key === undefined) throw notFound("Private Key");
  return key;
}

export function privateKeys(context: UseCaseContext) {
  const { scope, stores, ids, keys } = context;
  async function views(records: readonly PrivateKeyRecord[]): Promise<PrivateKey[]> {
    const isOpen = maySeeSecrets(scope) && records.length > 0;
    const secrets = isOpen ? await stores.privateKeys.secretsOf(records.map(({ id }) => id)) : undefined;
    return records.map((record) => privateKeyView(record, secrets?.get(record.id)));
  }

  return {
    async list(paging: Paging): Promise<Page<PrivateKey>> {
      requireAbility(scope, "read");
      const { items, total } = await stores.privateKeys.list(paging);
      return { items: await views(items), total };
    },

    async get(uuid: string): Promise<PrivateKey> {
      requireAbility(scope, "read");
      const record = await findPrivateKey(stores, uuid);
      const secrets = maySeeSecrets(scope) ? await stores.privateKeys.secrets(record.id) : undefined;
      return privateKeyView(record, secrets);
    },

    /** @throws DomainError `request.invalid` if it is not a key, or the instance has it already */
    async create(sent: PrivateKeyCreate): Promise<{ uuid: string }> {
      requireAbility(scope, "write");
      const text = privateKeyText(sent.private_key);
      const { type, publicKey, fingerprint, sshKey } = await keys.read(text);
      const uuid = ids.uuid();
      const fields = checked({
        name: sent.name ?? `${type}-key-${uuid.slice(0, NAME_SUFFIX_LENGTH)}`,
        description: sent.description ?? null,
        public_key: publicKey,
        fingerprint,
        is_http_basic_auth_enabled: sent.is_http_basic_auth_enabled ?? false,
        http_basic_auth_username: sent.http_basic_auth_username ?? null,
        secrets: {
          private_key: text,
          ssh_key: sshKey,
          http_basic_auth_password: sent.http_basic_auth_password ?? null,
        },
      });
      return stores.transaction(async (tx) => {
        await tx.privateKeys.insert({ uuid, ...fields });
        await emit(tx, "created", { uuid, name: fields.name });
        return { uuid };
      });
    },

    /**
     * @param uuid Left out: selects the key with the sent text, to change its name or description.
     * @throws DomainError `request.invalid` if it is not a key, or another key of the instance is the same
     */
    async update(uuid: string | undefined, sent: PrivateKeyUpdate): Promise<{ uuid: string }> {
      requireAbility(scope, "write");
      const text = privateKeyText(sent.private_key);
      const read = await keys.read(text);
      return stores.transaction(async (tx) => {
        const record = uuid === undefined ? await findSame(tx, read.fingerprint) : await findPrivateKey(tx, uuid);
        const secrets = await tx.privateKeys.secrets(record.id);
        const fields = checked(changed(record, secrets, sent, { ...read, text }));
        if ((await tx.privateKeys.update(record.uuid, fields)) === undefined) throw notFound("Private Key");
        await emit(tx, "updated", { uuid: record.uuid, name: fields.name });
        return { uuid: record.uuid };
      });
    },

    /** @throws DomainError `private_key.in_use` */
    async delete(uuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      const usersOf = async (of: Stores) => of.privateKeys.users((await findPrivateKey(of, uuid)).id);
      const attempt = () =>
        stores.transaction(async (tx) => {
          const key = await findPrivateKey(tx, uuid);
          const users = await usersOf(tx);
          if (users.length > 0) throw keyInUse(users);
          if (!(await tx.privateKeys.delete(uuid))) throw notFound("Private Key");
          await emit(tx, "deleted", key);
        });
      await afterRemovals(context, attempt, async () => (await usersOf(stores)).some(({ isRemoving }) => !isRemoving));
      return { message: "Private Key deleted." };
    },
  };
}

/** Length of the uuid's part that distinguishes keys without a name. */
const NAME_SUFFIX_LENGTH = 8;

async function findSame(stores: Stores, fingerprint: string): Promise<PrivateKeyRecord> {
  const key = await stores.privateKeys.findByFingerprint(fingerprint);
  if (key === undefined) throw notFound("Private Key");
  return key;
}

/** Omitted fields keep their values; `null` clears them. */
function changed(
  record: PrivateKeyRecord,
  secrets: PrivateKeySecrets,
  sent: PrivateKeyUpdate,
  key: { readonly text: string; readonly publicKey: string; readonly fingerprint: string; readonly sshKey: string },
): PrivateKeyFields {
  const kept = <T>(value: T | undefined, before: T): T => (value === undefined ? before : value);
  return {
    name: sent.name ?? record.name,
    description: kept(sent.description, record.description),
    public_key: key.publicKey,
    fingerprint: key.fingerprint,
    is_http_basic_auth_enabled: kept(sent.is_http_basic_auth_enabled, record.is_http_basic_auth_enabled) ?? false,
    http_basic_auth_username: kept(sent.http_basic_auth_username, record.http_basic_auth_username),
    secrets: {
      private_key: key.text,
      ssh_key: key.sshKey,
      http_basic_auth_password: kept(sent.http_basic_auth_password, secrets.http_basic_auth_password),
      // The key is always sent again and may then belong to another app; the password only if it was sent.
      ...(sent.http_basic_auth_password === undefined && secrets.login_origins !== undefined
        ? { login_origins: secrets.login_origins }
        : {}),
    },
  };
}

/** @throws DomainError `request.invalid` if basic authentication is on without a name or password */
function checked(fields: PrivateKeyFields): PrivateKeyFields {
  const problems = basicAuthProblems(fields, fields.secrets);
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return fields;
}

const emit = (tx: Stores, change: "created" | "updated" | "deleted", { uuid, name }: { uuid: string; name: string }) =>
  tx.events.append({ type: `private_key.${change}`, resource_uuid: uuid, payload: { name } });
