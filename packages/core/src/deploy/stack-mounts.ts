import { previewName } from "../application/preview.ts";
import { isExternal } from "../compose/flag.ts";
import type { Compose } from "../compose/parse.ts";
import { interpolateCompose } from "../compose/reference.ts";
import { composeStorages } from "../compose/storages.ts";
import { folderName } from "../compose/volume.ts";
import type { StorageFields, StorageRecord } from "../ports/storage.ts";
import { mountsOf } from "./mounts.ts";
import type { StorageMount } from "./storage-mount.ts";

export interface StackMountsSubject {
  readonly owner: { readonly uuid: string };
  readonly compose: Compose;
  readonly storages: readonly StorageRecord[];
  readonly values: Readonly<Record<string, string>>;
  readonly pullRequestId: number;
}

/**
 * Mounts of a stack's containers, by container name: persistent mounts of the compose file, and those that the owner
 * added. Folders of the server and external volumes stay as the compose file says.
 */
export function stackMounts(subject: StackMountsSubject): Readonly<Record<string, readonly StorageMount[]>> {
  const { owner, compose, storages, pullRequestId } = subject;
  const wanted = composeStorages(compose, owner.uuid);
  const mounts = compose.containers.map(({ name }) => {
    const ofText = wanted
      .filter(({ container }) => container === name)
      .flatMap((storage) => textMount(subject, storage));
    const added = storages.filter(({ container, is_managed }) => container === name && !is_managed);
    return [name, [...ofText, ...mountsOf(owner.uuid, added, pullRequestId)].sort(byPath)] as const;
  });
  return Object.fromEntries(mounts);
}

const byPath = (a: StorageMount, b: StorageMount): number =>
  a.mountPath < b.mountPath ? -1 : Number(a.mountPath > b.mountPath);

function textMount(subject: StackMountsSubject, wanted: StorageFields): readonly StorageMount[] {
  const { storages, values } = subject;
  const record = storages.find(
    ({ container, mount_path }) => container === wanted.container && mount_path === wanted.mount_path,
  );
  const mount = {
    name: labelOf(subject, wanted),
    mountPath: interpolateCompose(wanted.mount_path, (key) => values[key]),
    ...(wanted.is_read_only ? { isReadOnly: true } : {}),
  };
  if (wanted.content !== null) {
    const uuid = record?.uuid ?? `${subject.owner.uuid}_${mount.name}`;
    return [{ ...mount, uuid, type: "file", content: wanted.content }];
  }
  const name = volumeOf(subject, wanted);
  if (name === undefined) return [];
  const shared = storages.filter((other) => other.name !== null && other.name === wanted.name);
  const isRecorded = subject.pullRequestId === 0 && shared.some(({ has_volume }) => has_volume);
  return [
    {
      ...mount,
      type: "volume",
      uuid: name,
      ...(record === undefined ? {} : { storageUuid: record.uuid }),
      ...(isRecorded ? { isRecorded } : {}),
    },
  ];
}

const labelOf = ({ owner }: StackMountsSubject, { name, fs_path, mount_path }: StorageFields): string =>
  name?.startsWith(`${owner.uuid}_`) ? name.slice(owner.uuid.length + 1) : (name ?? fs_path ?? mount_path);

/**
 * The volume of a mount: one for each name in the compose file, shared by all containers that mount it. Folders next
 * to the compose file become volumes too, since they do not exist on the server. `undefined`: a folder of the server.
 */
function volumeOf(subject: StackMountsSubject, wanted: StorageFields): string | undefined {
  const { owner, compose, values, pullRequestId } = subject;
  const ownUuid = pullRequestId === 0 ? owner.uuid : previewName(owner.uuid, pullRequestId);
  const said = wanted.host_path ?? wanted.fs_path;
  const source = said === null ? undefined : interpolateCompose(said, (key) => values[key]);
  if (source !== undefined && /^[/~]/.test(source)) return undefined;
  if (source !== undefined && /^\.{1,2}(\/|$)/.test(source)) return `${ownUuid}_folder${folderName(source)}`;
  const key = source ?? keyOf(subject, wanted);
  if (key === undefined || key === "") return undefined;
  const defined = compose.document.volumes?.[key];
  return defined?.name || isExternal(defined, values) ? undefined : `${ownUuid}_${key}`;
}

const keyOf = ({ owner, compose }: StackMountsSubject, { name }: StorageFields): string | undefined => {
  const prefix = `${owner.uuid}_`;
  // Volumes with a `name` of their own lack this prefix and are left to the compose file.
  const key = name?.startsWith(prefix) ? name.slice(prefix.length) : undefined;
  return key !== undefined && !compose.document.volumes?.[key]?.name ? key : undefined;
};
