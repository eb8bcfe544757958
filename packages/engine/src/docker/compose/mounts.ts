import { DomainError } from "@berth/core";
import { type ComposeDocument, folderName, isExternal, recordOf, volumesOf } from "@berth/core/compose";
import type { ReleaseSpec, StorageMount } from "@berth/core/deploy";
import { volumeName } from "../volumes.ts";

type Volume = NonNullable<ComposeDocument["services"][string]["volumes"]>[number];

/** Mounts of one container, for the compose tool. */
export interface ContainerMounts {
  readonly volumes: readonly unknown[];
  /** Volumes that Berth creates and checks before the start. */
  readonly owned: readonly Extract<StorageMount, { type: "volume" }>[];
  readonly files: readonly Extract<StorageMount, { type: "file" }>[];
  /** Existing volumes of the server that the compose file mounts by name. */
  readonly external: readonly string[];
}

/**
 * Mounts of the compose file, where the release's storages replace those at the same path. Other volumes of the
 * compose file belong to the resource as well.
 * @param text Volumes of the service, with references filled in.
 * @param carried Paths of files that are copied from the source into the container.
 */
export function containerMounts(
  spec: Pick<ReleaseSpec, "resourceUuid">,
  document: ComposeDocument,
  text: readonly Volume[],
  { storages, carried }: { readonly storages: readonly StorageMount[]; readonly carried: readonly string[] },
): ContainerMounts {
  // Files of the source are inside the container, and so is the content of a read-only folder.
  const isCarried = ({ mountPath, isReadOnly }: Pick<StorageMount, "mountPath" | "isReadOnly">) =>
    carried.some((path) => path === mountPath || (isReadOnly === true && path.startsWith(`${plainPath(mountPath)}/`)));
  const given = new Map(storages.map((mount) => [plainPath(mount.mountPath), mount]));
  const rest = text.flatMap((volume): readonly Placed[] => {
    const [read] = volumesOf([volume]);
    // Anonymous volumes, tmpfs and folders of the server are passed on as the compose file defines them.
    const isOfServer = read?.content === null && read.hostPath?.startsWith("/");
    if (read === undefined || isOfServer) {
      return read && given.has(plainPath(read.mountPath)) ? [] : [{ volume: plainVolume(volume), mount: undefined }];
    }
    return given.has(plainPath(read.mountPath)) ? [] : [{ volume, mount: ownMount(spec, document, read) }];
  });
  const mounts = [...storages, ...rest.flatMap(({ mount }) => mount ?? [])].filter((mount) => !isCarried(mount));
  const owned = mounts.filter((mount) => mount.type === "volume");
  return {
    owned,
    files: mounts.filter((mount) => mount.type === "file"),
    external: mounts.flatMap((mount) => (mount.type === "external" ? mount.volume : [])),
    volumes: [
      ...rest.flatMap(({ volume, mount }) => (mount === undefined ? [volume] : [])),
      ...mounts.flatMap((mount) => mountEntry(mount, optionsAt(text, mount.mountPath))),
    ],
  };
}

/** A mount of the compose file; `mount` is `undefined` when it is passed on unchanged. */
interface Placed {
  readonly volume: unknown;
  readonly mount: StorageMount | ExternalMount | undefined;
}

/** A volume that existed on the server before, whoever created it. */
interface ExternalMount {
  readonly type: "external";
  readonly volume: string;
  readonly mountPath: string;
  readonly isReadOnly: boolean;
}

type Read = ReturnType<typeof volumesOf>[number];

function ownMount(
  { resourceUuid }: Pick<ReleaseSpec, "resourceUuid">,
  { volumes }: ComposeDocument,
  { name, hostPath, mountPath, isReadOnly, content }: Read,
): StorageMount | ExternalMount {
  const mount = { name: name ?? mountPath, mountPath, isReadOnly };
  if (content !== null) return { ...mount, uuid: `${resourceUuid}${mountPath}`, type: "file", content };
  const defined = name === null ? undefined : volumes?.[name];
  if (isExternal(defined)) return { type: "external", volume: defined?.name ?? name ?? "", mountPath, isReadOnly };
  const key = defined?.name ?? name ?? `folder${folderName(hostPath ?? "")}`;
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(key)) {
    const shown = key.slice(0, 100).replace(/\p{C}/gu, "?");
    throw new DomainError("deploy.start_failed", `The compose file mounts ${shown}, which is not a volume name.`);
  }
  return { ...mount, uuid: `${resourceUuid}_${key}`, type: "volume" };
}

/** Drops keys that the compose specification does not define. */
function plainVolume(volume: Volume): unknown {
  if (typeof volume === "string") return volume;
  const { content: _c, is_directory: _d, isDirectory: _i, ...rest } = volume;
  return rest;
}

/** No entry for files: they are copied into the container itself. */
function mountEntry(
  mount: StorageMount | ExternalMount,
  options: Readonly<Record<string, unknown>>,
): readonly object[] {
  const { type, mountPath: target } = mount;
  if (type === "file") return [];
  const isReadOnly = mount.isReadOnly === true ? { read_only: true } : {};
  if (type === "folder") {
    const bind = { create_host_path: true, ...recordOf(options.bind) };
    return [{ type: "bind", source: mount.hostPath, target, ...isReadOnly, bind }];
  }
  const source = type === "external" ? mount.volume : volumeName(mount.uuid);
  return [{ type: "volume", source, target, ...isReadOnly, ...(options.volume ? { volume: options.volume } : {}) }];
}

/** Options of the mount at a path, in the long syntax. */
const optionsAt = (text: readonly Volume[], path: string): Readonly<Record<string, unknown>> =>
  recordOf(text.find((volume) => typeof volume === "object" && plainPath(volume.target) === plainPath(path)));

const plainPath = (path: string): string => path.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
